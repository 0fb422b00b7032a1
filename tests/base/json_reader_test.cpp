#include "base/json_reader.hpp"

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "base/random.hpp"

namespace weft {
namespace {

std::string error_of(std::string_view text) {
  JsonReader json(text, "f.json", 7);
  auto skipped = json.skip();
  if (skipped) skipped = json.finish();
  return skipped ? "" : skipped.error().to_string();
}

TEST(JsonReader, WalksWhatTheWriterWrote) {
  JsonWriter out;
  out.begin_object().member("name", "a\"b\\c\n\x7f ü").member("count", -12).member("share", 0.25).member("on", true);
  out.key("none").null().key("list").begin_array().value(1).value("two").begin_object().end_object().end_array().end_object();
  JsonReader json(out.text(), "memory");
  std::vector<std::string> seen;
  const auto walked = json.object([&](std::string_view key) -> Result<void> {
    seen.emplace_back(key);
    if (key == "name") {
      WEFT_ASSIGN(const auto name, json.text());
      EXPECT_EQ(name, "a\"b\\c\n\x7f ü");
    } else if (key == "count") {
      WEFT_ASSIGN(const auto count, json.integer());
      EXPECT_EQ(count, -12);
    } else if (key == "share") {
      WEFT_ASSIGN(const auto share, json.number());
      EXPECT_EQ(share, 0.25);
    } else if (key == "on") {
      WEFT_ASSIGN(const auto on, json.flag());
      EXPECT_TRUE(on);
    } else if (key == "list") {
      int items = 0;
      WEFT_TRY(json.array([&] { return ++items, json.skip(); }));
      EXPECT_EQ(items, 3);
    } else {
      return json.skip();
    }
    return {};
  });
  ASSERT_TRUE(walked.has_value()) << walked.error().to_string();
  EXPECT_TRUE(json.finish().has_value());
  EXPECT_EQ(seen, (std::vector<std::string>{"name", "count", "share", "on", "none", "list"}));
}

TEST(JsonReader, ResolvesEscapes) {
  JsonReader json(R"(["\u00fc\u20ac\ud83d\ude00", "\ud83dx", "\/\b\f\r\t"])", "memory");
  std::vector<std::string> texts;
  ASSERT_TRUE(json.array([&]() -> Result<void> {
                    WEFT_ASSIGN(texts.emplace_back(), json.text());
                    return {};
                  })
                  .has_value());
  EXPECT_EQ(texts, (std::vector<std::string>{"ü€😀", "\xef\xbf\xbdx", "/\b\f\r\t"}));
}

TEST(JsonReader, SaysWhereAndWhy) {
  EXPECT_EQ(error_of("{\"a\": 1,\n \"b\" 2}"), "f.json:8: ':' was expected, not '2'");
  EXPECT_EQ(error_of("[1 2]"), "f.json:7: ',' was expected, not '2'");
  EXPECT_EQ(error_of("[1,"), "f.json:7: the text ends too early");
  EXPECT_EQ(error_of("\n\n\"abc"), "f.json:9: a string that does not end");
  EXPECT_EQ(error_of("01"), "f.json:7: '01' is not a number");
  EXPECT_EQ(error_of("{} {}"), "f.json:7: more text after the end");
  EXPECT_EQ(error_of("[NaN]"), "f.json:7: a value was expected, not 'N'");
  EXPECT_EQ(error_of(std::string(300, '[')), "f.json:7: nested too deeply");
  for (const char* bad : {"", "{", "{\"a\"", "{a:1}", "[1,]", "{\"a\":1,}", "tru", "nul", "-", "1.", "1e", ".5", "\"\\x\"",
                          "\"\\u12\"", "\"\x01\"", "}", "]"}) {
    EXPECT_NE(error_of(bad), "") << bad;
  }
}

TEST(JsonReader, IntegersAreWhole) {
  const auto integer = [](std::string_view text) { return JsonReader(text, "memory").integer(); };
  EXPECT_EQ(integer("9223372036854775807").value(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(integer("5.0").value(), 5);
  EXPECT_EQ(integer("1e3").value(), 1000);
  for (const char* bad : {"1.5", "1e300", "9223372036854775808", "\"1\"", "null"}) EXPECT_FALSE(integer(bad).has_value()) << bad;
  EXPECT_FALSE(JsonReader("1e999", "memory").number().has_value());
}

TEST(JsonReader, SurvivesDamagedText) {
  const std::string good = R"({"a":[1,2.5e-3,"x\u00e9y"],"b":{"c":null,"d":[true,false]}})";
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    Random random(seed);
    std::string text = good;
    for (int i = 0; i < 3; ++i) text[random.below(text.size())] = static_cast<char>(random.below(256));
    text.resize(text.size() - random.below(5));
    (void)error_of(text);  // ends, without a crash
  }
}

}  // namespace
}  // namespace weft
