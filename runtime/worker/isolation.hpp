// What the processes of a job have of their own on a worker, and what they may not do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/account.hpp"
#include "base/control_group.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/worker/confinement.hpp"
#include "runtime/worker/options.hpp"

namespace weft::runtime {

class WorkerIsolation;

/// Of an executor's job, or of a driver. Any thread.
class JobIsolation {
 public:
  const std::string& directory() const { return directory_; }
  /// "NAME=value" of what its processes are to know.
  const std::vector<std::string>& environment() const { return environment_; }
  /// Whose its processes are; nothing: the worker's user.
  const std::optional<Account>& account() const { return account_; }
  /// Of a process that is about to start.
  Confinement confinement() const;
  /// What stood in the way of a task that failed with that message, as the end of it: "; the job's processes reached …". Empty when
  /// nothing is known.
  std::string limit_reached(const std::string& message) const;
  /// How many of its processes the kernel has killed because they together needed more than memory_limit(). 0 when they have no
  /// limit of their own.
  std::uint64_t memory_kills() const { return group_ ? group_->memory_kills() : 0; }
  std::uint64_t memory_limit() const { return limits_.memory_bytes; }

 private:
  friend class WorkerIsolation;
  JobIsolation(std::string directory, const GroupLimits& limits, std::optional<Account> account)
      : directory_(std::move(directory)), limits_(limits), account_(std::move(account)) {}

  const std::string directory_;
  const GroupLimits limits_;
  const std::optional<Account> account_;
  std::vector<std::string> environment_;
  std::shared_ptr<const Sandbox> sandbox_;  // null: all files are seen
  std::optional<ControlGroup> group_;
};

/// What is to be isolated, of one worker.
struct IsolatedJob {
  std::string name;                // of its control group; unlike those of all others that are there
  std::string directory;           // is made
  std::optional<Account> account;  // as whom its processes run; nothing: as the worker
  std::uint32_t task_slots = 1;
  std::uint64_t memory_bytes = 0;  // of its process, map outputs excluded
};

/// Reactor thread only. Outlives what it makes.
class WorkerIsolation {
 public:
  /// Ends the processes in control groups that workers of this machine have left here which are gone, and says in the log when jobs
  /// get no control groups. `background` removes them: their processes take a moment to end. `directory`: the worker's, in which
  /// those of jobs will be. `options` and `background` outlive it.
  WorkerIsolation(const WorkerOptions& options, rpc::Reactor& background, std::string directory);
  /// Once the directories are there: other users get the right to pass through them when jobs run as theirs. Error: they cannot
  /// reach them, the user that worker.run_as names is not there or administers the machine, or there can be no sandbox.
  Result<void> prepare();

  /// Makes the directory with a place for temporary files in it, both for their owner only, and the control group. Whatever is in
  /// the group is killed when the last holder of the result lets go of it. Error: one of these cannot be made, or is there already:
  /// its owner could have put a link to something else there.
  Result<std::shared_ptr<const JobIsolation>> isolate(const IsolatedJob& job);

 private:
  void open_groups();
  Result<void> check_user() const;
  Result<void> let_others_pass();
  Result<void> try_sandbox() const;

  const WorkerOptions& options_;
  rpc::Reactor& background_;
  const std::string directory_;
  std::optional<GroupParent> groups_;
};

}  // namespace weft::runtime
