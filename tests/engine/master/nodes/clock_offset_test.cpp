#include "engine/master/nodes/clock_offset.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using namespace std::chrono_literals;

TEST(ClockOffset, TwoSecondsEitherWayAreNearEnough) {
  EXPECT_EQ(clock_text(0s), "");
  EXPECT_EQ(clock_text(2s), "");
  EXPECT_EQ(clock_text(-2s), "");
  EXPECT_EQ(clock_text(12300ms), "12.3 s ahead");
  EXPECT_EQ(clock_text(-12300ms), "12.3 s behind");
}

TEST(ClockOffset, TheLargestOfFourSamplesCountsAndIsReportedOnce) {
  ClockOffset offset;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(offset.add(-10s));
    EXPECT_EQ(offset.ahead(), 0s) << "too few samples say nothing";
  }
  EXPECT_FALSE(offset.add(-1s)) << "the others waited";
  EXPECT_EQ(offset.ahead(), -1s);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(offset.add(-10s));
  EXPECT_TRUE(offset.add(-8s)) << "the good sample has gone";
  EXPECT_EQ(offset.ahead(), -8s);
  EXPECT_FALSE(offset.add(-9s)) << "once is enough";
}

}  // namespace
}  // namespace weft::master
