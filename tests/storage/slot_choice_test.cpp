#include "storage/chunks/slot_choice.hpp"

#include <gtest/gtest.h>

namespace weft::storage {
namespace {

TEST(SlotChoice, TakesTheRoomiestThatHasRoomAndWasNotTried) {
  EXPECT_EQ(roomiest_slot({10, 30, 20}, 5, {}), 1u);
  EXPECT_EQ(roomiest_slot({10, 30, 20}, 5, {1}), 2u);
  EXPECT_EQ(roomiest_slot({30, 30}, 30, {}), 0u) << "the first among equals";
  EXPECT_EQ(roomiest_slot({10, 30, 20}, 31, {}), std::nullopt);
  EXPECT_EQ(roomiest_slot({10}, 5, {0}), std::nullopt);
  EXPECT_EQ(roomiest_slot({0, 0}, 0, {}), std::nullopt) << "a full or failed directory takes nothing";
}

}  // namespace
}  // namespace weft::storage
