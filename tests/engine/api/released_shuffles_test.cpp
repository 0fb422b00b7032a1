// Which shuffles a program that goes on reports as released.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/engine/api/plan_of.hpp"

namespace weft::test {
namespace {

using Ranks = Dataset<std::pair<std::uint64_t, std::uint64_t>>;

/// Keeps all parts of the plan; every action counts nothing.
class CountingSession final : public client::Session {
 public:
  explicit CountingSession(std::vector<plan::PlanPart>& parts) : parts_(parts) {}
  Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) override {
    std::vector<std::vector<Buffer>> results(part.targets.size());
    for (auto& result : results) result.push_back(detail::encoded(std::uint64_t{0}));
    parts_.push_back(std::move(part));
    return results;
  }
  Result<void> record(ActionId, ByteView) override { return {}; }
  Result<void> close() override { return {}; }
  master::JobStatus status() override { return {}; }
  std::uint32_t parallelism() override { return 2; }
  client::Executors executors() override { return {1, 1u << 30}; }

 private:
  std::vector<plan::PlanPart>& parts_;
};

/// Ranks are joined with what stays the same, by another key than that of their partitions.
Ranks next(const Ranks& ranks, Flow& flow, JoinStrategy strategy) {
  return ranks.map([](const auto& row) { return std::pair(row.second, row.first); })
      .join(pairs(flow), strategy)
      .map([](const auto& key, const auto& left, const auto& right) { return std::pair(left + right, key); })
      .reduce_by_key(std::plus<>());
}

void expect_early_release(JoinStrategy strategy) {
  std::vector<plan::PlanPart> parts;
  detail::DriverSettings settings;
  settings.open_session = [&](runtime::JobProgram&) -> Result<std::unique_ptr<client::Session>> {
    return std::make_unique<CountingSession>(parts);
  };
  Flow flow(std::make_shared<detail::DriverGraph>(settings));
  Ranks ranks = pairs(flow).reduce_by_key(std::plus<>());
  for (int i = 0; i < 4; ++i) {
    ranks = next(ranks, flow, strategy);
    (void)ranks.count();
  }
  ASSERT_EQ(parts.size(), 4u);
  std::vector<ShuffleId> released;
  for (std::size_t i = 1; i < 3; ++i) released.insert(released.end(), parts[i].released.begin(), parts[i].released.end());
  for (const plan::Stage& stage : parts[0].stages) {
    if (stage.output != plan::OutputKind::shuffle) continue;
    EXPECT_THAT(released, testing::Contains(ShuffleId(stage.id.value()))) << stage.name;
  }
}

TEST(ReleasedShuffles, AreThoseOfTheIterationBeforeTheLast) {
  expect_early_release(JoinStrategy::hash);
  expect_early_release(JoinStrategy::broadcast);
}

TEST(ReleasedShuffles, AreNotHeldByTheWaysThatAJoinDoesNotGo) { expect_early_release(JoinStrategy::automatic); }

}  // namespace
}  // namespace weft::test
