// One executor: its process, its socket, and the attempts it was given. Whatever happens to it, every attempt ends in an event.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/executor.hpp"
#include "runtime/protocol/position_page.hpp"
#include "runtime/worker/isolation.hpp"
#include "runtime/worker/spawn.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::runtime {

struct ExecutorStart {
  std::string path;                                 // of the binary
  std::vector<std::string> arguments;               // argv
  std::string directory;                            // working directory
  std::string log_path;                             // stdout and stderr are appended to it
  Duration stop_grace = std::chrono::seconds(2);    // between asking an attempt to stop and killing the process
  Duration patience = std::chrono::seconds(30);     // until it says that it is there
  std::vector<std::string> environment{};           // "NAME=value", beside what executors are given anyway
  bool limits_data = true;                          // false: a driver's own memory does not count (data_limit)
  std::shared_ptr<const JobIsolation> isolation{};  // null: only what is said here
  std::shared_ptr<storage::RackTally> racks = std::make_shared<storage::RackTally>();  // what its tasks count is added to it
  protocol::ExecutorSetup setup;
};

/// With address space that the tasks' budget does not count: the program itself, thread stacks, transfers, the allocator's slack.
std::uint64_t data_limit(const protocol::ExecutorSetup& setup);

/// Reactor thread only.
class ExecutorProcess {
 public:
  struct Callbacks {
    std::function<void(std::vector<protocol::Event>)> on_events;
    std::function<void(rpc::Message, rpc::Responder)> on_request;
    std::function<void(const AttemptId&)> on_stop;     // it was asked to stop
    std::function<Duration(const AttemptId&)> waited;  // for maps to end, so far; its time limit does not count that
    /// The process is gone and reaped; every attempt it had was reported. May destroy this object.
    std::function<void()> on_gone;
  };

  /// Starts the process; what is sent before it answers waits. Where it cannot come to its program, that is how its attempts end.
  static Result<std::unique_ptr<ExecutorProcess>> start(rpc::Reactor& reactor, ExecutorStart start, Callbacks callbacks);
  ~ExecutorProcess();  // kills the process if it still runs

  pid_t pid() const { return pid_; }
  std::size_t running() const { return running_.size(); }
  /// Those that run, or wait for the process to begin.
  std::vector<AttemptId> attempts() const;
  void launch(protocol::Launches launches);
  void provide(ActionId action, SharedBytes value);
  void forget(ShuffleId shuffle);
  /// Asks the attempt to stop; the process is killed when it does not in time.
  void kill(const AttemptId& attempt, const std::string& reason);
  /// No more attempts: closes the socket, on which the process ends.
  void end();
  /// Notices a process that died without its socket closing. Called now and then.
  void check();

 private:
  struct Running {
    std::string stage_name;
    Duration timeout{0}, waited{0};  // by how much the limit was put off
    bool timed_out = false, asked_to_stop = false;
    std::string reason;  // of the request to stop
    std::unique_ptr<rpc::Timer> timer;
  };

  ExecutorProcess(rpc::Reactor& reactor, ExecutorStart start, Callbacks callbacks)
      : reactor_(reactor), start_(std::move(start)), callbacks_(std::move(callbacks)) {}
  Result<void> spawn_process();
  void shake_hands(Fd socket);
  rpc::Handler handler();
  void send(protocol::ExecutorMessage type, rpc::Payload payload);
  Result<void> on_message(const rpc::Message& message);
  void on_events(std::vector<protocol::Event> events);
  void stop_attempt(const AttemptId& attempt, Running& running);
  /// After `left` the attempt has had its time, unless it waited.
  void limit(const AttemptId& attempt, Running& running, Duration left);
  void closed(const std::string& why);
  std::string kept_from_starting() const;
  void reap();
  /// Whether the process has ended; then what it left in its group has, too.
  bool has_ended();
  protocol::Event verdict(const AttemptId& attempt, const Running& running, const std::string& how) const;
  /// What ended it: a signal, the kernel for want of memory, a connection that broke, itself.
  std::string death(const std::string& how) const;
  /// In the groups that this process and its job are in.
  std::uint64_t memory_kills() const;
  /// Which limit of its job a task with that error met (JobIsolation).
  std::string limit_reached(const std::string& message) const;

  rpc::Reactor& reactor_;
  ExecutorStart start_;
  Callbacks callbacks_;
  Spawned spawned_;
  pid_t pid_ = -1;  // -1: reaped
  int status_ = 0;
  bool closing_ = false, ending_ = false, set_up_ = false;
  int polls_ = 0;
  std::string fault_;   // why the socket closed, when it was not the process's end
  std::string blamed_;  // the attempt that did not stop, so that the process was killed
  std::uint64_t log_start_ = 0;
  std::uint64_t memory_kills_ = 0;  // by the kernel in this control group, before it began
  protocol::PositionPage page_;
  Fd page_fd_;
  rpc::ConnectionPtr connection_;
  std::vector<std::pair<protocol::ExecutorMessage, rpc::Payload>> waiting_;  // until the connection stands
  std::map<AttemptId, Running> running_;
  std::unique_ptr<rpc::Timer> reap_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool unknown_noted_ = false;
  Log log_{"worker"};
};

/// The last line of the file past `from`, fit for a one-line message; empty when there is none. The line that the process logged
/// about its own fatal signal (base/fatal_signal.hpp) does not count: the caller knows that it died.
std::string last_line(const std::string& path, std::uint64_t from);

}  // namespace weft::runtime
