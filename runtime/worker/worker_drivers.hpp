// The drivers of detached jobs on a worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/account.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/worker/context.hpp"
#include "runtime/worker/driver_process.hpp"

namespace weft::runtime {

/// Reactor thread only. What it is made of outlives it. The end of each driver is reported once, whether it was started or not,
/// unless the object goes first: then the drivers are killed.
class WorkerDrivers {
 public:
  /// `report` sends the end of a driver to the master; false: there is none at present, and it is kept for report_again().
  WorkerDrivers(WorkerContext& worker, std::function<bool(const protocol::DriverEnded&)> report)
      : worker_(worker), report_(std::move(report)) {}

  /// Fetches the program when it is not here. A driver of the same job that runs is stopped.
  void start(protocol::StartDriver command);
  void stop(const protocol::StopDriver& command);
  /// Kills them all at once; nothing is reported. For a master that does not want them back.
  void end_all();

  /// Jobs whose driver runs here, is about to, or has ended without the master having heard of it, for Held.
  std::vector<JobId> running_drivers() const;
  /// Reports those that ended while there was no master. After the worker has registered.
  void report_again();
  /// Of all drivers, those that are being stopped too.
  std::vector<pid_t> pids() const;
  bool empty() const { return drivers_.empty() && stopping_.empty(); }

 private:
  void find_account(const protocol::StartDriver& command, const std::string& path);
  Result<void> spawn(const protocol::StartDriver& command, const std::string& path, std::optional<Account> account);
  /// Not when it was stopped meanwhile.
  bool is_awaited(const protocol::StartDriver& command) const;
  void not_started(const protocol::StartDriver& command, const Error& why);
  void ended(const protocol::DriverEnded& how);
  void report(protocol::DriverEnded how);
  void kill(std::unique_ptr<DriverProcess> process);

  struct Driver {
    std::uint64_t key = 0;
    std::unique_ptr<DriverProcess> process;  // null: its program is being fetched, or its user looked up
  };

  WorkerContext& worker_;
  const std::function<bool(const protocol::DriverEnded&)> report_;
  std::map<JobId, Driver> drivers_;
  std::map<std::pair<JobId, std::uint64_t>, std::unique_ptr<DriverProcess>> stopping_;  // by job and key
  std::vector<protocol::DriverEnded> unreported_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft::runtime
