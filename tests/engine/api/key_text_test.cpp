// Keys of all kinds as the finding of a hot partition names them.
#include "weft/detail/key_text.hpp"

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace weft::detail {
namespace {

template <class K>
std::string text_of(const K& key) {
  std::string text;
  append_key_text(text, key);
  return text;
}

enum class Colour : std::uint8_t { red, green };
struct Tagged {
  char tag[4];
  int numbers[2];
  std::string name;
};

TEST(KeyText, OfNumbersAndTexts) {
  EXPECT_EQ(text_of(std::string("the")), "the");
  EXPECT_EQ(text_of(std::string_view("a b")), "a b");
  EXPECT_EQ(text_of(-7), "-7");
  EXPECT_EQ(text_of(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text_of(0.5), "0.5");
  EXPECT_EQ(text_of(true), "true");
  EXPECT_EQ(text_of('a'), "97");
  EXPECT_EQ(text_of(U'x'), "120") << "characters that are no char are numbers, too";
  EXPECT_EQ(text_of(Colour::green), "1");
}

TEST(KeyText, OfWhatIsComposed) {
  EXPECT_EQ(text_of(std::pair(2026, std::string("may"))), "2026, may");
  EXPECT_EQ(text_of(std::tuple(1, 2.5, 'c')), "1, 2.5, 99");
  EXPECT_EQ(text_of(std::array{1, 2}), "1, 2");
  EXPECT_EQ(text_of(std::optional(3)), "3");
  EXPECT_EQ(text_of(std::optional<int>()), "");
  EXPECT_EQ(text_of(std::vector{1}), "?");
}

TEST(KeyText, OfAnArrayOfCharactersEndsWithIt) {
  Tagged key{{}, {4, 5}, "n"};
  std::memcpy(key.tag, "abcd", 4);  // no 0 behind
  EXPECT_EQ(text_of(key), "abcd, 4, 5, n");
  key.tag[2] = 0;
  EXPECT_EQ(text_of(key), "ab, 4, 5, n");
}

}  // namespace
}  // namespace weft::detail
