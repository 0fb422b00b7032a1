// A job as one worker knows it: its program, the values its definition waits for, its shuffles, and its executor.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/worker/binary_cache.hpp"
#include "runtime/worker/context.hpp"
#include "runtime/worker/executor_process.hpp"
#include "runtime/worker/job_shuffle.hpp"

namespace weft::runtime {

/// Reactor thread only.
class WorkerJob : public std::enable_shared_from_this<WorkerJob> {
 public:
  WorkerJob(WorkerContext& worker, protocol::JobSetup setup);

  /// Makes the program ready; launches wait for it.
  void prepare(BinaryCache& binaries);
  void launch(std::vector<protocol::Launch> launches);
  void provide(ActionId action, SharedBytes value);
  void kill(const protocol::KillTask& kill);
  JobShuffle& shuffle() { return shuffle_; }
  /// The shuffle is not read any more.
  void release(ShuffleId shuffle);
  /// Ends the executor; `done` is called, later, when it is gone.
  void end(std::function<void()> done);
  /// Looks after the executor; called now and then.
  void check();
  /// -1: there is none now.
  pid_t executor_pid() const { return executor_ ? executor_->pid() : -1; }

 private:
  void refuse(std::vector<protocol::Launch> launches, const std::string& why);
  ExecutorStart executor_start() const;

  WorkerContext& worker_;
  const protocol::JobSetup setup_;
  const std::uint32_t task_slots_;  // how many tasks run at a time
  JobShuffle shuffle_;
  std::string binary_path_;  // empty: not ready
  std::string binary_error_;
  std::vector<protocol::Launch> waiting_;  // for the program
  std::map<ActionId, SharedBytes> values_;
  std::unique_ptr<ExecutorProcess> executor_;
  bool ended_ = false;
  std::function<void()> on_end_;
};

}  // namespace weft::runtime
