// How an attempt of a task runs: in an executor's slot, or in one of the embedded engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/page_pool.hpp"
#include "base/result.hpp"
#include "runtime/executor/task.hpp"
#include "runtime/operators/shared_table.hpp"
#include "runtime/protocol/task.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::runtime {

/// The job's own definition, as the executor needs it.
class JobProgram {
 public:
  virtual ~JobProgram() = default;
  /// The body of a stage; waits until define() has reached it. `values` are the recorded values of the actions before the stage.
  /// plan_mismatch when the fingerprint differs, or the definition ended without such a stage.
  virtual Result<const StageBody*> stage(StageId id, std::uint64_t fingerprint) = 0;
  /// Hands over the recorded value of an action (or broadcast); the n-th call for n = 0, 1, …
  virtual void provide(ActionId action, Buffer value) = 0;
};

/// What an attempt works with. All of it outlives the attempt.
struct TaskResources {
  shuffle::TaskShuffle& shuffle;
  storage::RemoteFiles* files = nullptr;  // of the cluster; null: there are none
  MemoryGrant& memory;
  PagePool& pages;
  SharedTables& tables;
  std::string spill_directory;
  const std::atomic<bool>& stop;
};

/// The context of an attempt that has not begun. `spec` outlives it.
TaskContext context_of(const AttemptId& attempt, const protocol::TaskSpec& spec, TaskResources resources);

/// Runs the program's code for the context's stage on the calling thread, and reports how the attempt ended and what it counted.
/// Whatever the code throws becomes an end; a program that has no such stage ends the attempt with its error. The event takes the
/// counters and the histogram out of the context.
protocol::Event run_task(JobProgram& program, std::uint64_t fingerprint, TaskContext& context);

}  // namespace weft::runtime
