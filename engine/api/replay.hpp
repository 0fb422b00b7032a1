// An executor's side of a definition: runs it again, on a thread of its own, to have the code of its stages. Nothing is planned or
// run; the definition waits at every action and broadcast until the driver's recorded value is handed over.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/executor/run_task.hpp"
#include "weft/detail/graph.hpp"

namespace weft {
class Flow;
}

namespace weft::detail {

class ReplayGraph;

/// Any thread.
class ReplayProgram final : public runtime::JobProgram {
 public:
  explicit ReplayProgram(std::function<void(Flow&)> define, bool check_variants = false);
  /// Ends a definition that waits.
  ~ReplayProgram() override;

  Result<const runtime::StageBody*> stage(StageId id, std::uint64_t fingerprint) override;
  void provide(ActionId action, Buffer value) override;

 private:
  std::shared_ptr<ReplayGraph> graph_;
  std::thread thread_;
};

}  // namespace weft::detail
