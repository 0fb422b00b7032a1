// The embedded engine's task slots: threads that run one task at a time against an in-process shuffle store.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/page_pool.hpp"
#include "engine/master/core/events.hpp"
#include "runtime/executor/run_task.hpp"
#include "shuffle/store/local_task_shuffle.hpp"
#include "shuffle/store/store.hpp"

namespace weft::client {

/// Events on their way from the slots to the driver's thread.
class Mailbox {
 public:
  Mailbox();
  void post(master::Event event);
  /// Everything posted so far; waits until there is something, a crash is announced, or `timeout` has passed.
  std::vector<master::Event> take(Duration timeout);
  int fd() const { return event_fd_.get(); }

 private:
  Fd event_fd_;
  std::mutex mutex_;
  std::vector<master::Event> events_;
};

/// What the slots' threads share. Kept alive by them, so that a task that never ends cannot touch freed memory.
class Slots : public std::enable_shared_from_this<Slots> {
 public:
  struct Settings {
    std::uint32_t count = 1;
    std::uint64_t memory_per_task = 0;
    std::string spill_directory;
    NodeId node;
    shuffle::Mode shuffle_mode = shuffle::Mode::memory;
    std::shared_ptr<storage::RemoteFiles> files{};  // of the cluster
  };

  Slots(Settings settings, std::unique_ptr<shuffle::Store> store, runtime::JobProgram& program);
  void start();

  void launch(master::LaunchTask task);
  /// Asks the attempt to stop; one that has not started is dropped and reported as killed.
  void stop(const AttemptId& attempt);
  void set_outputs(ShuffleId shuffle, shuffle::KnownOutputs outputs);
  /// There is one more, or another one of its map.
  void add_output(ShuffleId shuffle, const shuffle::MapOutput& output, shuffle::Written written);
  void release(JobId job, ShuffleId shuffle);
  shuffle::Store& store() { return *store_; }
  Mailbox& mailbox() { return mailbox_; }

  struct Overdue {
    AttemptId attempt;
    std::string stage_name;
    std::optional<Duration> limit;  // of its time; nothing when it was stopped for another reason
    std::string position;
  };
  /// Asks tasks past their time limit to stop; returns one that was asked `grace` ago, for that or another reason, and still runs.
  std::optional<Overdue> check_stops(TimePoint now, Duration grace);
  std::string stage_name(const AttemptId& attempt);

  /// Asks everything to stop and waits; false when some task still runs after `timeout` (its thread is abandoned).
  bool finish(Duration timeout);

 private:
  struct Slot {
    std::optional<master::LaunchTask> task;  // while running
    TimePoint started{};
    Duration waited{0};                      // of the time since, for maps to end
    std::optional<TimePoint> waiting_since;  // waits for map outputs since then
    std::optional<TimePoint> asked;          // to stop
    bool timed_out = false;
    std::atomic<bool> stop{false};
    runtime::TaskContext context;
    bool ended = false;
  };

  void work(Slot& slot);
  /// False at the end. May have found nothing to run.
  bool next(Slot& slot);
  void run(Slot& slot);
  master::Event report(Slot& slot, runtime::protocol::Event ended);
  /// As LocalTaskShuffle asks.
  std::shared_ptr<const shuffle::KnownOutputs> outputs(Slot& slot, ShuffleId shuffle, std::optional<std::uint32_t> map);
  static bool over_time(const Slot& slot, TimePoint now);

  const Settings settings_;
  const std::unique_ptr<shuffle::Store> store_;
  runtime::JobProgram& program_;
  PagePool pages_;
  runtime::SharedTables tables_;
  Mailbox mailbox_;

  std::mutex mutex_;  // everything below
  std::condition_variable changed_;
  std::deque<master::LaunchTask> queue_;
  std::deque<std::pair<JobId, ShuffleId>> releases_;  // for idle slots: giving back gigabytes takes a while
  std::uint32_t idle_ = 0;
  std::map<ShuffleId, std::shared_ptr<shuffle::KnownOutputs>> outputs_;
  std::condition_variable more_;  // outputs, or a task was asked to stop
  std::deque<Slot> slots_;
  std::vector<std::thread> threads_;
  bool closing_ = false;
};

}  // namespace weft::client
