// The drivers that run in the cluster: those of detached jobs, and those of jobs whose own driver has gone away (--on-disconnect
// continue). Which worker has which, when one is started elsewhere, and when its job fails for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/core/core_shell.hpp"
#include "engine/master/journal/job_facts.hpp"
#include "engine/master/server/running_jobs.hpp"
#include "engine/master/server/worker_context.hpp"

namespace weft::master {

/// What a restarted master has to know of a job's driver.
struct DriverState {
  JobId job;
  NodeId node;                     // that has it, or last had it; 0: none yet
  std::vector<Time> died{};        // when its process did, the oldest first; those that counted the last time that it did
  std::uint64_t key = 0;           // with which it attaches; another for each start (client::key_of_next_start)
  bool wanted = false;             // it is to run: its program is uploaded, or its own driver is gone
  bool running = false;            // on that node, as far as is known
  std::vector<std::string> files;  // absolute paths
  bool needs_files = false;        // a worker without one of them will not do; otherwise the one that has the most is taken. One
                                   // with the directory of the submission is preferred
  bool detached = false;           // no driver outside of the cluster comes back
  friend bool operator==(const DriverState&, const DriverState&) = default;
};

DriverFact fact_of(const DriverState& state);
DriverState state_of(JobId job, DriverFact fact);

struct DriverTimes {
  Duration pause = std::chrono::seconds(1);  // before another start
  Duration longest_pause = std::chrono::seconds(10);
  Duration attach = std::chrono::seconds(30);        // for a driver whose connection is lost
  Duration first_attach = std::chrono::minutes(30);  // for a driver that was sent to a worker: it lists its inputs first
  Duration take_over = std::chrono::seconds(10);     // for one that is to be started in the cluster otherwise
  Duration files = std::chrono::seconds(5);          // for workers to say which files they have
  Duration lost_files = std::chrono::minutes(1);     // for a worker with the files, after the one that had them was lost
  Duration unstarted = std::chrono::minutes(10);     // between the submission and the order to start
  Duration deaths = std::chrono::hours(1);           // in which its process may die kMostDriverDeaths times
  Duration heard = std::chrono::seconds(5);          // of a worker: one that was not heard of for longer may be cut off
  Duration starts = std::chrono::minutes(2);         // in which workers may fail to start it: a file system or a server may be away
  Duration end = std::chrono::seconds(30);           // for the process, when its job has finished
  Duration fail = std::chrono::seconds(5);           // when it has failed or was killed
};

/// A process may die as often within DriverTimes::deaths, by a signal or because it stays away from the master while its worker
/// does not; the next time the job fails. So a job that runs for days is not ended by what happens to its driver now and then
/// (Spark's spark.yarn.am.attemptFailuresValidityInterval). What is lost with its worker is not counted, nor are starts that fail:
/// these are repeated for DriverTimes::starts.
inline constexpr std::uint32_t kMostDriverDeaths = 3;

/// Reactor thread only. What it is made of outlives it.
class Drivers {
 public:
  using Started = std::function<void(const Result<void>&)>;
  /// Called with each change that a restarted master has to know, to record it as a promise (JobRecorder::record). May be empty.
  using Changed = std::function<void(const DriverState&)>;

  Drivers(CoreShell& shell, RunningJobs& jobs, WorkerContext& workers, Changed changed = {}, DriverTimes times = {})
      : shell_(shell), jobs_(jobs), workers_(workers), changed_(std::move(changed)), times_(times) {}
  Drivers(const Drivers&) = delete;
  Drivers& operator=(const Drivers&) = delete;

  /// For the driver of a job; none that was given before.
  static std::uint64_t new_key();
  /// A job that was submitted without a driver. It is killed when start() does not follow.
  void add(JobId job, std::vector<std::string> files);
  /// The submission of such a job goes on over another connection.
  void goes_on(JobId job);
  /// Its program is there. `started` hears whether its driver was sent to a worker, or waits for one, or why it never will: the job
  /// has failed then. A second call for a job does nothing more.
  void start(JobId job, Started started);
  /// A job whose own driver went away and that is to go on: its driver is started here unless it attaches in time.
  void take_over(JobId job);

  bool knows(JobId job) const { return drivers_.contains(job); }
  /// It was to be started, here or by its worker.
  bool wanted(JobId job) const;
  /// Why the last start of the job's driver failed, and on which worker, in words that follow "job 7: ". Empty when none failed
  /// since a driver attached, or when the job has no driver here.
  std::string why_not_started(JobId job) const;
  /// A driver has attached to the job.
  void attached(JobId job);
  /// The connection of the job's driver, or of the client that submits it, is closed.
  void disconnected(JobId job);

  void ended(NodeId node, const protocol::DriverEnded& how);
  /// Starts what ran there elsewhere, a little later. May be called while the core's commands are carried out.
  void node_lost(NodeId node);
  /// The worker has registered as the node that it was, with these drivers.
  void resumed(NodeId node, const std::vector<JobId>& drivers);
  /// The job is over: its driver ends, by itself or not.
  void job_ended(JobId job, bool failed);

  /// Of an earlier master. Before any worker registers; RunningJobs has the job. A driver whose node is away is waited for until
  /// resumed() or node_lost(); one whose node was lost is started elsewhere. False: the job's own driver had come back, so that
  /// there is none to look after.
  bool restore(DriverState state);
  std::vector<DriverState> states() const;
  /// No timer fires and no answer is taken any more.
  void close();

 private:
  struct Driver {
    DriverState state;
    std::unique_ptr<rpc::Timer> timer;  // the next thing to be done
    std::uint64_t asking = 0;           // the question after files that is under way; 0: none
    std::uint32_t pauses = 0;           // in a row
    std::map<NodeId, unsigned> failed;  // how often a worker could not start it, since one could
    Time first_failed{0};               // of these
    std::string why_failed;             // the last of these
    Time lost{0};                       // when its worker was, or it ended there, or one did not say which files it has; 0: not
    Started started;                    // hears of the first start
  };
  struct Ending {
    NodeId node;
    std::unique_ptr<rpc::Timer> timer;
  };
  /// A worker that may take a driver, and how many of its files it lacks.
  struct Place {
    NodeId node;
    std::vector<std::string> missing{};
    bool silent = false;  // it has not said what it lacks
  };
  struct Inquiry;

  Driver* find(JobId job);
  void change(Driver& driver);
  void await_start(JobId job, Driver& driver);
  void again(JobId job, Driver& driver, Duration wait);
  void later(JobId job, Driver& driver);
  void place(JobId job);
  std::vector<NodeId> candidates() const;
  void ask(JobId job, const std::vector<NodeId>& nodes);
  void choose(JobId job, const std::vector<Place>& places);
  double room(NodeId node) const;
  void send(JobId job, NodeId node);
  void order(JobId job, std::uint64_t key);
  void lack(JobId job, const std::string& file);
  void stop(JobId job, NodeId node, const std::string& reason);
  void await_attach(JobId job, Driver& driver, Duration wait, void (Drivers::*end)(JobId, const std::string&));
  void away(JobId job, const std::string& how);
  void died(JobId job, const std::string& how);
  void move(JobId job, Driver& driver);
  void not_started(JobId job, const std::string& why);
  void fail(JobId job, const std::string& reason);
  static void answer(Driver& driver, const Result<void>& how);

  CoreShell& shell_;
  RunningJobs& jobs_;
  WorkerContext& workers_;
  const Changed changed_;
  const DriverTimes times_;
  std::map<JobId, Driver> drivers_;
  std::map<JobId, Ending> ending_;  // of jobs that are over
  std::uint64_t next_inquiry_ = 1;
  bool closed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Log log_{"master"};
};

}  // namespace weft::master
