#include "engine/master/election/leader_record.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

TEST(LeaderRecordTest, IsReadAsItWasWritten) {
  const LeaderRecord record{"c-1", 1234567890123, "m\"1\n", "host:7077", {"m\"1\n", "m2", ""}};
  EXPECT_EQ(parse_leader_record(text_of(record), "k"), record);
  EXPECT_EQ(parse_leader_record(text_of(LeaderRecord{}), "k"), LeaderRecord{});
  EXPECT_EQ(text_of({"c", 2, "m", "h:1", {"m", "n"}}),
            R"({"cluster":"c","epoch":2,"leader":"m","address":"h:1","in_sync":["m","n"]})");
}

TEST(LeaderRecordTest, HasTheMarksOfMembersInSync) {
  const LeaderRecord record{"c", 2, "m", "h:1", {"m", "n"}, {{"m", "2.0"}, {"n\"", "2.7"}}};
  EXPECT_EQ(parse_leader_record(text_of(record), "k"), record);
  EXPECT_FALSE(parse_leader_record(R"({"cluster":"c","epoch":2,"leader":"m","address":"a","in_sync":[],"marks":{"m":1}})", "k"));
}

TEST(LeaderRecordTest, NeedsAllMembersOfTheirKind) {
  const std::string whole = text_of({"c", 2, "m", "h:1", {"m"}});
  ASSERT_TRUE(parse_leader_record(whole, "k"));
  for (const auto& [from, to] : {std::pair("cluster", "clustre"),
                                 {"epoch", "era"},
                                 {"leader", "lead"},
                                 {"address", "a"},
                                 {"in_sync", "sync"},
                                 {":2", ":2.5"},
                                 {":2", ":\"2\""},
                                 {":2", ":99999999999999999999"},
                                 {"[\"m\"]", "\"m\""},
                                 {"[\"m\"]", "[1]"},
                                 {"}", "}}"},
                                 {"}", ""}}) {
    std::string text = whole;
    text.replace(text.find(from), std::string_view(from).size(), to);
    const auto record = parse_leader_record(text, "the key");
    ASSERT_FALSE(record) << text;
    EXPECT_EQ(record.error().code(), Code::corrupt);
    EXPECT_NE(record.error().to_string().find("the key"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::master
