#include "shuffle/store/reservations.hpp"

#include <gtest/gtest.h>

namespace weft::shuffle {
namespace {

TEST(Reservations, AreCountedByJobAndGivenBackInAnyOrder) {
  Reservations reservations;
  reservations.add(JobId(1), 100, false);
  reservations.add(JobId(2), 10, true);
  reservations.add(JobId(2), 5, false);
  EXPECT_EQ(reservations.bytes(), 115u);
  EXPECT_EQ(reservations.bytes_of(JobId(2)), 15u);
  EXPECT_EQ(reservations.overdrawn(), 10u);
  reservations.remove(JobId(2), 10, true);
  EXPECT_EQ(reservations.overdrawn(), 0u);
  EXPECT_EQ(reservations.bytes_of(JobId(2)), 5u);
  reservations.remove(JobId(1), 100, false);
  reservations.remove(JobId(2), 5, false);
  EXPECT_EQ(reservations.bytes(), 0u);
  EXPECT_EQ(reservations.bytes_of(JobId(1)), 0u);
}

TEST(Reservations, ASegmentIsLikelyAQuarterLargerThanTheMeanOfThoseThatAreThere) {
  Reservations reservations;
  const auto likely = [&](std::uint32_t shuffle) { return reservations.likely_segment(JobId(1), ShuffleId(shuffle)); };
  EXPECT_EQ(likely(0), 0u);
  reservations.segment_came(JobId(1), ShuffleId(0), 100);
  reservations.segment_came(JobId(1), ShuffleId(0), 300);
  EXPECT_EQ(likely(0), 250u);
  EXPECT_EQ(likely(1), 0u) << "another shuffle";
  reservations.segment_went(JobId(1), ShuffleId(0), 300);
  EXPECT_EQ(likely(0), 125u);
  reservations.segment_went(JobId(1), ShuffleId(0), 100);
  EXPECT_EQ(likely(0), 0u);
}

}  // namespace
}  // namespace weft::shuffle
