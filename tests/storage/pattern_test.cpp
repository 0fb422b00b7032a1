#include "storage/pattern.hpp"

#include <gtest/gtest.h>

namespace weft::storage {
namespace {

TEST(Patterns, MeanWhatTheyMeanForPaths) {
  const auto means = [](const std::string& pattern, const std::string& key) {
    const std::size_t end = Pattern(pattern).match(key);
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
  EXPECT_EQ(without_braces("{a,b}{1,2}"), (std::vector<std::string>{"a1", "b1", "a2", "b2"}));
  EXPECT_EQ(without_braces("a{b"), std::vector<std::string>{"a{b"});
}

TEST(Patterns, LeadBelowDirectoriesThatMayHoldAMatch) {
  EXPECT_TRUE(Pattern("in/*/x").leads_below("in"));
  EXPECT_TRUE(Pattern("in/*/x").leads_below("in/a"));
  EXPECT_FALSE(Pattern("in/*/x").leads_below("in/a/x"));
  EXPECT_FALSE(Pattern("in/*/x").leads_below("out"));
  EXPECT_TRUE(Pattern("in/**/x").leads_below("in/a/b/c"));
}

}  // namespace
}  // namespace weft::storage
