// Words, lines in and lines out.
#include <random>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

template <class T>
std::string line_of(const T& value) {
  std::string line;
  LineFormat<T>::append(line, value);
  return line;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> all;
  for (std::string_view word : words(text)) all.emplace_back(word);
  return all;
}

TEST(Words, AreWhatLiesBetweenWhitespace) {
  EXPECT_EQ(words_of("a bc\t\td\r\n e\v\ff"), (std::vector<std::string>{"a", "bc", "d", "e", "f"}));
  EXPECT_EQ(words_of("   "), std::vector<std::string>{});
  EXPECT_EQ(words_of(""), std::vector<std::string>{});
  EXPECT_EQ(words_of("\xff\xfe \x80"), (std::vector<std::string>{"\xff\xfe", "\x80"}));
  EXPECT_EQ(words_of(std::string_view("a\0b", 3)), std::vector<std::string>{std::string("a\0b", 3)});
}

TEST(Words, OfAnyTextAreThoseOfACharacterLoop) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 5'000; ++round) {
    std::string text(random() % 300, 'x');
    const auto spacing = 1 + random() % 80;
    for (char& c : text) c = random() % spacing == 0 ? " \t\n\v\f\r"[random() % 6] : static_cast<char>(33 + random() % 200);
    std::vector<std::string> expected;
    bool inside = false;
    for (char c : text) {
      const bool space = std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos;
      if (!space && !inside) expected.emplace_back();
      if (!space) expected.back() += c;
      inside = !space;
    }
    ASSERT_EQ(words_of(text), expected);
  }
}

TEST(Columns, AreBetweenTabsAndTheFirstOnesOnly) {
  EXPECT_EQ(columns<2>("a\tb c\td"), (std::array<std::string_view, 2>{"a", "b c"}));
  EXPECT_EQ(columns<3>("\t\t"), (std::array<std::string_view, 3>{"", "", ""}));
  EXPECT_EQ(columns<1>("a,b"), (std::array<std::string_view, 1>{"a,b"}));
  EXPECT_EQ(columns<2>("a,b\tc", ','), (std::array<std::string_view, 2>{"a", "b\tc"}));
  EXPECT_THROW(columns<3>("a\tb"), std::invalid_argument);
  EXPECT_THROW(columns<2>(""), std::invalid_argument);
}

TEST(LineFormat, PrintsTextNumbersAndTheirCombinations) {
  EXPECT_EQ(line_of(std::string("x y")), "x y");
  EXPECT_EQ(line_of(-17), "-17");
  EXPECT_EQ(line_of(0.1), "0.1");
  EXPECT_EQ(line_of(true), "1");
  EXPECT_EQ(line_of(std::pair(std::string_view("k"), std::uint64_t{3})), "k\t3");
  EXPECT_EQ(line_of(std::tuple(1, std::string("b"), 2.5)), "1\tb\t2.5");
  EXPECT_EQ(line_of(std::pair(1, std::optional<int>())), "1\t");
}

TEST(ReadText, GivesEveryLineOnceWhateverTheTextAndTheNumberOfTasks) {
  const ScratchDirectory scratch;
  std::string large;
  for (int i = 0; i < 60'000; ++i) large += "line " + std::to_string(i) + (i % 3 == 0 ? "\r\n" : "\n");
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases{
      {"", {}},
      {"\n\n", {"", ""}},
      {"no end", {"no end"}},
      {"a\r\nb\r\n\r\n", {"a", "b", ""}},
      {"lone\rcr\n", {"lone\rcr"}},
      {"\xff\xc3\x28\n", {"\xff\xc3\x28"}},
      {std::string(3 << 20, 'x') + "\nend\n", {std::string(3 << 20, 'x'), "end"}},
  };
  int number = 0;
  for (const auto& [text, lines] : cases) {
    const std::string path = scratch / ("in" + std::to_string(number++));
    write_file(path, text);
    const auto report =
        run_locally([&, &wanted = lines](Flow& flow) { EXPECT_EQ(flow.read_text(path).collect(), wanted); }, {.threads = 3});
    ASSERT_TRUE(report) << report.error().to_string();
  }
  write_file(scratch / "large", large);
  const auto report = run_locally(
      [&](Flow& flow) {
        const auto lines = flow.read_text(scratch / "large").collect();
        ASSERT_EQ(lines.size(), 60'000u);
        for (std::size_t i = 0; i < lines.size(); ++i) ASSERT_EQ(lines[i], "line " + std::to_string(i));
      },
      {.threads = 4});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->input_records, 60'000u);
  EXPECT_EQ(report->input_bytes, large.size());
}

TEST(ReadText, OfNothingWritesAnEmptyOutput) {
  const ScratchDirectory scratch;
  write_file(scratch / "empty", "");
  const auto report = run_locally([&](Flow& flow) {
    flow.read_text(scratch / "empty")
        .map([](std::string_view line) { return std::pair(line, 1); })
        .reduce_by_key(std::plus<>())
        .write_text(scratch / "out");
  });
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(part_lines(scratch / "out").empty());
}

}  // namespace
}  // namespace weft::test
