// Several masters under random faults, over many seeds: whoever may lead has what was acknowledged, at every moment, and when the
// faults end, one leads and the others are in sync.
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/sanitized.hpp"
#include "tests/engine/master/standby/simulated_group.hpp"

namespace weft::master::test {
namespace {

using namespace std::chrono_literals;

std::uint64_t seeds() { return std::getenv("WEFT_LONG") != nullptr ? 100'000 : kSanitized ? 25 : 500; }

TEST(SimulatedMasters, LoseNothingThatWasAcknowledged) {
  std::uint64_t acknowledged = 0, leaderships = 0, in_sync = 0, restored = 0;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    SimulatedGroup group(seed);
    group.run(60s);
    ASSERT_TRUE(group.violations().empty()) << "seed " << seed << ": " << group.violations().front();
    ASSERT_TRUE(group.recovers(30s)) << "seed " << seed;
    ASSERT_TRUE(group.violations().empty()) << "seed " << seed << ": " << group.violations().front();
    acknowledged += group.acknowledged();
    leaderships += group.leaderships();
    in_sync += group.times_in_sync();
    restored += group.times_restored();
  }
  EXPECT_GT(acknowledged, 50 * seeds());
  EXPECT_GT(leaderships, 3 * seeds());
  EXPECT_GT(in_sync, 5 * seeds());
  EXPECT_GT(restored, 0u);
}

}  // namespace
}  // namespace weft::master::test
