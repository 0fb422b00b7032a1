#include "runtime/worker/worker_drivers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/guarded.hpp"
#include "base/text.hpp"
#include "runtime/worker/binary_cache.hpp"
#include "runtime/worker/executor_process.hpp"
#include "runtime/worker/isolation.hpp"
#include "runtime/worker/job_accounts.hpp"
#include "storage/files/job_files.hpp"

namespace weft::runtime {
namespace {

constexpr std::size_t kMostUnreported = 1000;

std::string driver_directory(const WorkerContext& worker, const protocol::StartDriver& command) {
  return fmt::format("{}-driver-{:016x}", worker.job_directory(command.job), command.key);
}

/// A driver has no budget of its own: as much as an executor of default size.
std::uint64_t driver_memory(const WorkerOptions& options) {
  protocol::ExecutorSetup setup;
  setup.memory_bytes = options.memory_bytes;
  return data_limit(setup);
}

}  // namespace

void WorkerDrivers::start(protocol::StartDriver command) {
  if (const auto old = drivers_.find(command.job); old != drivers_.end()) {
    if (old->second.key == command.key) return;
    stop({command.job, "it was started again"});
  }
  drivers_[command.job].key = command.key;
  const ProgramId program{command.binary, command.user};
  worker_.binaries->get(program, guarded(alive_, [this, command = std::move(command)](const Result<std::string>& path) {
                          if (!is_awaited(command)) return;
                          if (path) return find_account(command, *path);
                          not_started(command, path.error());
                        }));
}

void WorkerDrivers::find_account(const protocol::StartDriver& command, const std::string& path) {
  worker_.accounts->find(command.user, guarded(alive_, [this, command, path](Result<std::optional<Account>> account) {
                           if (!is_awaited(command)) return;
                           const auto started =
                               account ? spawn(command, path, *std::move(account)) : fail(std::move(account).error());
                           if (!started) not_started(command, started.error());
                         }));
}

bool WorkerDrivers::is_awaited(const protocol::StartDriver& command) const {
  const auto driver = drivers_.find(command.job);
  return driver != drivers_.end() && driver->second.key == command.key;
}

void WorkerDrivers::not_started(const protocol::StartDriver& command, const Error& why) {
  ended({command.job, command.key, kDriverNotStarted, why.to_string()});
}

Result<void> WorkerDrivers::spawn(const protocol::StartDriver& command, const std::string& path, std::optional<Account> account) {
  DriverStart start;
  start.command = command;
  start.path = path;
  start.master = worker_.options.master;
  start.log_path = worker_.driver_log_path(command.job);
  start.directory = driver_directory(worker_, command);
  start.stop_grace = worker_.options.stop_grace;
  WEFT_ASSIGN(start.isolation,
              worker_.isolation->isolate({.name = fmt::format("{}-driver-{}", command.job.value(), worker_.next_isolated++),
                                          .directory = start.directory,
                                          .account = std::move(account),
                                          .task_slots = worker_.options.slots,
                                          .memory_bytes = driver_memory(worker_.options)}));
  const std::string directory = start.directory;
  auto on_end = [this, directory](const protocol::DriverEnded& how) {
    worker_.remove_directory(directory);
    ended(how);
  };
  auto process = DriverProcess::start(worker_.reactor, std::move(start), std::move(on_end));
  if (!process) {
    worker_.remove_directory(directory);
    return fail(std::move(process).error());
  }
  drivers_[command.job].process = std::move(*process);
  worker_.log.info("job {}: started its driver {} of {}", command.job.value(), drivers_[command.job].process->pid(), command.name);
  return {};
}

void WorkerDrivers::ended(const protocol::DriverEnded& how) {
  std::unique_ptr<DriverProcess> gone;  // which called this, and is destroyed when it has returned
  if (const auto driver = drivers_.find(how.job); driver != drivers_.end() && driver->second.key == how.key) {
    gone = std::move(driver->second.process);
    drivers_.erase(driver);
  } else if (auto stopped = stopping_.extract({how.job, how.key}); !stopped.empty()) {
    gone = std::move(stopped.mapped());
  }
  if (gone) worker_.reactor.post([keep = std::shared_ptr<DriverProcess>(std::move(gone))] {});
  worker_.on_process_gone();
  report(how);
}

void WorkerDrivers::report(protocol::DriverEnded how) {
  if (report_(how)) return;
  unreported_.push_back(std::move(how));
  if (unreported_.size() > kMostUnreported) unreported_.erase(unreported_.begin());
}

void WorkerDrivers::stop(const protocol::StopDriver& command) {
  const auto driver = drivers_.find(command.job);
  if (driver == drivers_.end()) return;
  Driver stopped = std::move(driver->second);
  drivers_.erase(driver);
  if (!stopped.process) return report({command.job, stopped.key, kDriverNotStarted, command.reason});
  DriverProcess& process = *(stopping_[{command.job, stopped.key}] = std::move(stopped.process));
  process.stop(command.reason);
}

void WorkerDrivers::end_all() {
  for (auto& [job, driver] : std::exchange(drivers_, {})) kill(std::move(driver.process));
  for (auto& [start, process] : std::exchange(stopping_, {})) kill(std::move(process));
  unreported_.clear();
}

void WorkerDrivers::kill(std::unique_ptr<DriverProcess> process) {
  if (!process) return;
  const std::string directory = process->directory();
  process.reset();
  worker_.remove_directory(directory);
}

std::vector<JobId> WorkerDrivers::running_drivers() const {
  std::set<JobId> jobs;
  for (const auto& [job, driver] : drivers_) jobs.insert(job);
  for (const protocol::DriverEnded& how : unreported_) jobs.insert(how.job);
  return {jobs.begin(), jobs.end()};
}

void WorkerDrivers::report_again() {
  for (protocol::DriverEnded& how : std::exchange(unreported_, {})) report(std::move(how));
}

std::vector<pid_t> WorkerDrivers::pids() const {
  std::vector<pid_t> processes;
  for (const auto& [job, driver] : drivers_)
    if (driver.process) processes.push_back(driver.process->pid());
  for (const auto& [start, process] : stopping_) processes.push_back(process->pid());
  return processes;
}

}  // namespace weft::runtime
