// The plan that a definition makes, without running it. For tests.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "engine/api/driver.hpp"
#include "engine/client/session.hpp"

namespace weft::test {

/// Keeps what it is given and runs nothing.
class KeepingSession final : public client::Session {
 public:
  explicit KeepingSession(plan::PlanPart& part) : part_(part) {}
  Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) override {
    part_ = std::move(part);
    return fail(Code::cancelled, "nothing runs here");
  }
  Result<void> record(ActionId, ByteView) override { return {}; }
  Result<void> close() override { return {}; }
  master::JobStatus status() override { return {}; }
  std::uint32_t parallelism() override { return 2; }
  client::Executors executors() override { return {1, 1u << 30}; }

 private:
  plan::PlanPart& part_;
};

/// The stages up to the first action.
inline std::vector<plan::Stage> plan_of(const std::function<void(Flow&)>& define) {
  plan::PlanPart part;
  detail::DriverSettings settings;
  settings.open_session = [&](runtime::JobProgram&) -> Result<std::unique_ptr<client::Session>> {
    return std::make_unique<KeepingSession>(part);
  };
  auto graph = std::make_shared<detail::DriverGraph>(settings);
  Flow flow(graph);
  EXPECT_THROW(define(flow), JobFailure);
  return std::move(part.stages);
}

inline auto numbers(Flow& flow) {
  return flow.generate(10, [](std::uint64_t i) { return i; });
}
inline auto pairs(Flow& flow) {
  return flow.generate(10, [](std::uint64_t i) { return std::pair(i % 3, i); });
}

}  // namespace weft::test
