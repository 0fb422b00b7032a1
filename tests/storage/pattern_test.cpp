#include "storage/pattern.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace weft::storage {
namespace {

TEST(Patterns, MeanWhatTheyMeanForPaths) {
  const auto means = [](const std::string& pattern, const std::string& key) {
    const std::size_t end = Pattern::parse(pattern).value().match(key);
    return end == std::string::npos ? std::string("-") : key.substr(0, end);
  };
  EXPECT_EQ(means("in/*.txt", "in/a.txt"), "in/a.txt");
  EXPECT_EQ(means("in/*.txt", "in/a.csv"), "-");
  EXPECT_EQ(means("in/*", "in/dir/a"), "in/dir");
  EXPECT_EQ(means("in/*", "in/.hidden"), "-");
  EXPECT_EQ(means("in/{a,b}/[0-9]", "in/b/7"), "in/b/7");
  EXPECT_EQ(means("in/{a,b}/[0-9]", "in/c/7"), "-");
  EXPECT_EQ(means("**/x", "x"), "x");
  EXPECT_EQ(means("in/**/x", "in/a/b/x"), "in/a/b/x");
  EXPECT_EQ(means("in/**/x", "in/_a/b/x"), "-");
  EXPECT_EQ(means("in/**", "in/a/b"), "in/a/b");
  EXPECT_EQ(fixed_prefix("in/2026-*/a"), "in/");
  EXPECT_EQ(fixed_prefix("*"), "");
  EXPECT_EQ(without_braces("{a,b}{1,2}").value(), (std::vector<std::string>{"a1", "b1", "a2", "b2"}));
  EXPECT_EQ(without_braces("a{b").value(), std::vector<std::string>{"a{b"});
}

/// All days of three years are 1,116 patterns, and none of them may be left out.
TEST(Patterns, StandForAllThatTheirBracesSayOrAreRefused) {
  const auto numbers = [](int count) {
    std::string words = "{1";
    for (int i = 2; i <= count; ++i) words += "," + std::to_string(i);
    return words + "}";
  };
  const auto days = without_braces("logs/" + numbers(3) + "/" + numbers(12) + "/" + numbers(31));
  ASSERT_TRUE(days);
  EXPECT_EQ(days->size(), 1116u);
  EXPECT_TRUE(std::none_of(days->begin(), days->end(), is_pattern));
  EXPECT_EQ(without_braces(numbers(128) + numbers(128)).value().size(), 16384u);
  const auto refused = Pattern::parse(numbers(128) + numbers(129));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().to_string().ends_with(
      "stand for more than 16384 patterns; write * for some of them, or give several patterns"))
      << refused.error().to_string();
}

TEST(Patterns, LeadBelowDirectoriesThatMayHoldAMatch) {
  EXPECT_TRUE(Pattern::parse("in/*/x").value().leads_below("in"));
  EXPECT_TRUE(Pattern::parse("in/*/x").value().leads_below("in/a"));
  EXPECT_FALSE(Pattern::parse("in/*/x").value().leads_below("in/a/x"));
  EXPECT_FALSE(Pattern::parse("in/*/x").value().leads_below("out"));
  EXPECT_TRUE(Pattern::parse("in/**/x").value().leads_below("in/a/b/c"));
}

}  // namespace
}  // namespace weft::storage
