#include "base/display_width.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(DisplayWidth, CountsColumnsAndNotBytes) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("plain"), 5u);
  EXPECT_EQ(display_width("Müller"), 6u);
  EXPECT_EQ(display_width("…×"), 2u);
  EXPECT_EQ(display_width("東京"), 4u);
  EXPECT_EQ(display_width("한국"), 4u);
  EXPECT_EQ(display_width("🚀"), 2u);
  EXPECT_EQ(display_width("e\u0301"), 1u) << "a combining accent";
  EXPECT_EQ(display_width("\xff\xc3"), 2u) << "no UTF-8";
  EXPECT_EQ(display_width("\xe6\x9d"), 2u) << "cut off";
}

TEST(DisplayWidth, FitsTextIntoColumnsWithoutCuttingCharacters) {
  EXPECT_EQ(fitting("plain", 3), "pla");
  EXPECT_EQ(fitting("東京都", 5), "東京");
  EXPECT_EQ(fitting("Müller", 2), "Mü");
  EXPECT_EQ(fitting("ab", 10), "ab");
  EXPECT_EQ(fitting("東", 1), "");
}

}  // namespace
}  // namespace weft
