#include "base/json.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(Json, NestsAndSeparates) {
  JsonWriter json;
  json.begin_object().key("a").begin_array().value(1).value("two").value(true).null().value(0.5).end_array();
  json.member("b", std::uint64_t{18446744073709551615ULL}).key("c").begin_object().end_object().end_object();
  EXPECT_EQ(json.text(), R"({"a":[1,"two",true,null,0.5],"b":18446744073709551615,"c":{}})");
  JsonWriter infinite;
  infinite.value(std::numeric_limits<double>::infinity());
  EXPECT_EQ(infinite.text(), "null");
}

TEST(Json, EscapesWhatMustBeEscaped) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\t\x01"), R"("a\"b\\c\n\t\u0001")");
  EXPECT_EQ(json_quoted("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"");
}

TEST(Json, ReplacesInvalidUtf8) {
  EXPECT_EQ(json_quoted("\xff"), R"("\ufffd")");
  EXPECT_EQ(json_quoted("a\xc3"), R"("a\ufffd")");                             // cut short
  EXPECT_EQ(json_quoted("\xc0\x80"), R"("\ufffd\ufffd")");                     // overlong
  EXPECT_EQ(json_quoted("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");           // surrogate
  EXPECT_EQ(json_quoted("\xf4\x90\x80\x80").find("\xf4"), std::string::npos);  // past U+10FFFF
}

TEST(JsonDeathTest, AValueWithoutAKeyIsABug) { EXPECT_DEATH(JsonWriter().begin_object().value(1), "assertion failed"); }

TEST(Json, KeysAndTextsOfEveryLengthAreWritten) {
  for (std::size_t length = 0; length < 200; ++length) {
    const std::string plain(length, 'x');
    const std::string last_escaped = plain + '\n';
    JsonWriter json;
    json.begin_object().member("first", 1).member(plain, plain).member(last_escaped, last_escaped).end_object();
    const std::string escaped = '"' + plain + "\\n\"";
    EXPECT_EQ(json.text(), "{\"first\":1,\"" + plain + "\":\"" + plain + "\"," + escaped + ':' + escaped + '}');
  }
}

TEST(Json, NumbersAreExact) {
  JsonWriter json;
  json.begin_array().value(std::numeric_limits<std::int64_t>::min()).value(std::numeric_limits<std::uint64_t>::max());
  json.value(std::int8_t{-5}).value(std::uint16_t{65535}).value(0).value(0.1).end_array();
  EXPECT_EQ(json.text(), "[-9223372036854775808,18446744073709551615,-5,65535,0,0.1]");
}

TEST(Json, ATextThatIsCompleteCanBeTaken) {
  JsonWriter json;
  json.begin_array().end_array();
  EXPECT_EQ(std::move(json).text(), "[]");
}

}  // namespace
}  // namespace weft
