// How the executor finds a task's code, runs it, and tells how that ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "runtime/executor/task.hpp"
#include "runtime/protocol/task_end.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::runtime {

/// The job's own definition, as the executor needs it.
class JobProgram {
 public:
  virtual ~JobProgram() = default;
  /// The body of a stage; waits until define() has come so far. `values` are the recorded values of the actions before the stage.
  /// plan_mismatch when the fingerprint differs, or the definition ended without such a stage.
  virtual Result<const StageBody*> stage(StageId id, std::uint64_t fingerprint) = 0;
  /// Hands over the recorded value of an action (or broadcast); the n-th call for n = 0, 1, …
  virtual void provide(ActionId action, Buffer value) = 0;
};

/// How one attempt ended.
struct TaskOutcome {
  TaskEnd kind = TaskEnd::finished;
  std::string message;  // unless finished; includes the input position
  std::optional<shuffle::FetchFailure> fetch;
  Buffer result;
  std::vector<shuffle::PartitionSize> output;
};

/// Runs `body` under the context on the calling thread and turns whatever it throws into an outcome.
TaskOutcome run_task(const StageBody& body, TaskContext& context);
/// Likewise the code that the program has for the context's stage; a program that has none ends the attempt with its error.
TaskOutcome run_task(JobProgram& program, std::uint64_t fingerprint, TaskContext& context);

}  // namespace weft::runtime
