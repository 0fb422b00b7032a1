// The driver of a detached job: a process of its own on a worker, which attaches to its job by what is in its environment.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/worker.hpp"
#include "runtime/worker/isolation.hpp"
#include "runtime/worker/spawn.hpp"

namespace weft::runtime {

/// The job that a driver attaches to, the key with which it does, and the user whose job it is, in its environment.
inline constexpr const char* kDriverJobVariable = "WEFT_DRIVER_JOB";
inline constexpr const char* kDriverKeyVariable = "WEFT_DRIVER_KEY";
inline constexpr const char* kDriverUserVariable = "WEFT_DRIVER_USER";
/// Where the job was submitted, and the directory that the driver is in when it cannot enter that one: by these it knows that its
/// relative paths mean nothing here.
inline constexpr const char* kDriverSubmittedInVariable = "WEFT_DRIVER_SUBMITTED_IN";
inline constexpr const char* kDriverOwnDirectoryVariable = "WEFT_DRIVER_OWN_DIRECTORY";

inline constexpr int kDriverNotStarted = -1;  // DriverEnded::status

struct DriverStart {
  protocol::StartDriver command;
  std::string path;                                 // of the binary
  std::string master;                               // or masters, of the worker, which become the driver's --cluster
  std::string log_path;                             // stdout and stderr are appended to it
  std::string directory;                            // entered when the command's own is not there; exists
  Duration stop_grace = std::chrono::seconds(2);    // between SIGTERM and SIGKILL
  Duration patience = std::chrono::seconds(10);     // until its program runs
  std::vector<std::string> environment{};           // "NAME=value", beside what drivers are given anyway
  std::shared_ptr<const JobIsolation> isolation{};  // null: only what is said here
};

/// Its arguments, without the program: those of the command, with another --cluster.
std::vector<std::string> driver_arguments(const std::vector<std::string>& arguments, const std::string& master);

/// Reactor thread only.
class DriverProcess {
 public:
  /// Called once, after start() has returned, when the process is gone and reaped, with what is to be reported. May destroy the
  /// object.
  using Ended = std::function<void(protocol::DriverEnded)>;

  /// Starts it in a process group of its own. It gets SIGKILL when the reactor's thread ends. Error: there is no room for its log,
  /// or no process can be made. That it cannot be executed is reported as its end.
  static Result<std::unique_ptr<DriverProcess>> start(rpc::Reactor& reactor, DriverStart start, Ended ended);
  /// Kills it and waits for that; `ended` is not called then.
  ~DriverProcess();
  DriverProcess(const DriverProcess&) = delete;
  DriverProcess& operator=(const DriverProcess&) = delete;

  /// SIGTERM, and SIGKILL when it does not end in time. A second call does nothing.
  void stop(const std::string& reason);
  std::uint64_t key() const { return start_.command.key; }
  const std::string& directory() const { return start_.directory; }
  pid_t pid() const { return pid_; }

 private:
  DriverProcess(rpc::Reactor& reactor, DriverStart start, Ended ended)
      : reactor_(reactor), start_(std::move(start)), ended_(std::move(ended)) {}
  Result<void> spawn_process();
  void watch_soon();
  void watch();
  /// Ends what the driver left in its group, and takes its status. False: it still runs.
  bool reap(int& status);
  void give_back_room() const;
  void kill();
  protocol::DriverEnded report(int status);
  std::string message(int status) const;

  rpc::Reactor& reactor_;
  DriverStart start_;
  Ended ended_;
  Spawned spawned_;
  pid_t pid_ = -1;
  std::uint64_t log_start_ = 0;                              // of this process in the log
  bool stopping_ = false, kept_ = false, given_up_ = false;  // kept: from its program
  std::string stop_reason_;
  std::unique_ptr<rpc::Timer> watch_timer_, kill_timer_, patience_timer_;
  Log log_{"worker"};
};

}  // namespace weft::runtime
