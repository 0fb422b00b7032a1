#include "base/printable.hpp"

#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/print_error.hpp"
#include "base/random.hpp"
#include "base/result.hpp"
#include "base/text.hpp"

namespace weft {
namespace {

using namespace std::string_literals;

TEST(Printable, TextStaysAsItIs) {
  for (const char* text : {"", "plain \\ \"quoted\" 'text'", "grüße, 世界, 😀, e\u0301, \u200d"}) EXPECT_EQ(printable(text), text);
}

TEST(Printable, WhatActsOnATerminalIsSeenInstead) {
  EXPECT_EQ(printable("a\x1b[31mred\x07"), "a\\x1b[31mred\\x07");
  EXPECT_EQ(printable("two\r\nlines\tand\x7f"), "two\\r\\nlines\\tand\\x7f");
  EXPECT_EQ(printable("before\0after"s), "before\\x00after") << "nothing is cut off";
  EXPECT_EQ(printable("\xc2\x9b[2J"), "\\u{009b}[2J") << "C1: what ESC [ is in eight bits";
  EXPECT_EQ(printable("\u202egnp.exe\u2066\u200f\u061c"), "\\u{202e}gnp.exe\\u{2066}\\u{200f}\\u{061c}");
  EXPECT_EQ(printable("\u2028\ufeff\U000e0041"), "\\u{2028}\\u{feff}\\u{e0041}");
}

TEST(Printable, BytesThatAreNoUtf8AreSeenOneByOne) {
  EXPECT_EQ(printable("\xff\xc3(\xe2\x82"), "\\xff\\xc3(\\xe2\\x82");
  EXPECT_EQ(printable("\xed\xa0\x80\xc0\x80"), "\\xed\\xa0\\x80\\xc0\\x80") << "surrogates, overlong forms";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "past U+10FFFF";
}

TEST(Printable, LengthIsBoundedInWholeCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef…");
  EXPECT_EQ(printable("abcd€", 6), "abcd…") << "no part of a character";
  EXPECT_EQ(printable("abcd\x01", 6), "abcd…") << "no part of an escape";
  EXPECT_LE(printable(std::string(1u << 20, '\x01')).size(), kMostPrintable + 3);
}

TEST(Printable, TextToBeStoredStaysAsItIsUnlessItIsTooLong) {
  EXPECT_EQ(bounded("a\nb\x01", 4), "a\nb\x01");
  EXPECT_EQ(bounded("abcd€", 6), "abcd…");
  EXPECT_EQ(bounded("a\nbcdef", 6), "a\\nbcd…");
  EXPECT_LE(bounded(std::string(1u << 20, 'a')).size(), kMostPrintable + 3);
}

/// Whatever it is given: one line of well-formed UTF-8 that acts on nothing, and that stays as it is when it is passed once more.
TEST(Printable, HoldsForAnyBytes) {
  Random random(17);
  for (int run = 0; run < 2000; ++run) {
    std::string text;
    for (std::uint64_t n = random.below(40); n > 0; --n) {
      const char* const pieces[] = {"\xe2\x80", "\xae", "\xf0\x9f", "\x98\x80", "é", "\x1b[", "\n"};
      if (random.below(2) == 0)
        text += pieces[random.below(7)];
      else
        text += static_cast<char>(random.below(256));
    }
    const std::string line = printable(text);
    EXPECT_EQ(printable(line), line);
    for (std::string_view rest = line; !rest.empty();) {
      const std::size_t length = utf8_length(rest);
      ASSERT_NE(length, 0u) << line;
      ASSERT_FALSE(is_invisible(code_point(rest.substr(0, length)))) << line;
      rest.remove_prefix(length);
    }
    std::string lines = printable_lines(text);
    EXPECT_EQ(printable_lines(lines), lines);
  }
}

TEST(Printable, LinesAndColumnsStayInLines) {
  EXPECT_EQ(printable_lines("a\tb\n\x1b[2Jc\r\n"), "a\tb\n\\x1b[2Jc\\r\n");
  EXPECT_EQ(printable_lines(std::string(100'000, 'x')).size(), 100'000u);
}

TEST(Printable, IsHowErrorsEscapedTextAndJsonSpeakOfData) {
  const std::string data = "\x1b]0;title\x07\xff\u202e\0end"s;
  EXPECT_EQ(Error(Code::io, data).wrap("cannot read '\n'").to_string(),
            "cannot read '\\n': \\x1b]0;title\\x07\\xff\\u{202e}\\x00end");
  EXPECT_EQ(escaped(data), "\\x1b]0;title\\x07\\xff\\u{202e}\\x00end");
  EXPECT_EQ(json_quoted("\u202e\U000e0041\xc2\x9b"), "\"\\u202e\\udb40\\udc41\\u009b\"");
  JsonReader json("\"\\u202e\\udb40\\udc41\"", "test");
  EXPECT_EQ(json.text().value(), "\u202e\U000e0041") << "as it was";
}

TEST(PrintError, LosesWhatCannotBeWrittenAndGoesOn) {
  const auto on_a_full_disk = [] {
    ASSERT_EQ(::dup2(::open("/dev/full", O_WRONLY | O_CLOEXEC), STDERR_FILENO), STDERR_FILENO);  // which has no buffer
    print_error("{} lines\n", 3);
    std::_Exit(7);
  };
  EXPECT_EXIT(on_a_full_disk(), testing::ExitedWithCode(7), "");
  EXPECT_EXIT((print_error("{} lines", 3), std::_Exit(7)), testing::ExitedWithCode(7), "3 lines");
}

}  // namespace
}  // namespace weft
