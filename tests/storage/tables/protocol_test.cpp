#include "storage/tables/protocol.hpp"

#include <gtest/gtest.h>

namespace weft::storage::tables {
namespace {

template <class T>
rpc::Message message_of(const T& value) {
  rpc::Message message;
  message.header = std::move(encode(value).header);
  return message;
}

TEST(TableProtocol, KeysAndValuesHaveAnyBytes) {
  const std::string binary("\0\xff k", 4);
  const LogEntry sent{9, {{binary, binary}, {"l", std::nullopt}, {"m", ""}}, 2, EntryKind::commit, 5, 6, {7, 8}};
  const PlaceId place{TableId(1), 3};
  const auto append = decode_partition_request(message_of(PartitionRequest{place, 2, AppendEntries{3, {sent}}}));
  ASSERT_TRUE(append) << append.error().to_string();
  EXPECT_EQ(append->place, place);
  EXPECT_EQ(append->epoch, 2u);
  const LogEntry entry = std::get<AppendEntries>(append->operation).entries.at(0);
  EXPECT_EQ(entry.writes, sent.writes);
  EXPECT_EQ(entry.kind, EntryKind::commit);
  EXPECT_EQ(entry.tokens, sent.tokens);
  const auto get = decode_partition_request(message_of(PartitionRequest{place, 0, GetRows{SnapshotId(4), {binary}}}));
  ASSERT_TRUE(get);
  EXPECT_EQ(std::get<GetRows>(get->operation).keys.at(0), binary);
  EXPECT_EQ(std::get<GetRows>(get->operation).snapshot, SnapshotId(4));
  const auto values = decode_partition_reply(message_of(PartitionReply(Values{{{binary}, {std::nullopt}, {""}}})));
  ASSERT_TRUE(values);
  EXPECT_EQ(std::get<Values>(*values).values.at(0).value, binary);
  EXPECT_EQ(std::get<Values>(*values).values.at(1).value, std::nullopt);
  EXPECT_EQ(std::get<Values>(*values).values.at(2).value, "");
}

TEST(TableProtocol, WhatIsLeftOfPartitionsTravelsWhole) {
  const auto request = decode_table_request(message_of(TableRequest(PromoteRemaining{"t", true})));
  ASSERT_TRUE(request) << request.error().to_string();
  EXPECT_EQ(std::get<PromoteRemaining>(*request).table, "t");
  EXPECT_TRUE(std::get<PromoteRemaining>(*request).accept_loss);
  const auto reply = decode_table_reply(message_of(TableReply(RemainingReplicas{{{3, "w", 17, 21, "away", true}}})));
  ASSERT_TRUE(reply) << reply.error().to_string();
  const RemainingReplica left = std::get<RemainingReplicas>(*reply).replicas.at(0);
  EXPECT_EQ(left.partition, 3u);
  EXPECT_EQ(left.worker, "w");
  EXPECT_EQ(left.version, 17u);
  EXPECT_EQ(left.known, 21u);
  EXPECT_EQ(left.fault, "away");
  EXPECT_TRUE(left.promoted);
}

TEST(TableProtocol, WhatIsOverItsLimitsIsRefused) {
  const auto refused = [](const PartitionRequest& request) { return !decode_partition_request(message_of(request)); };
  const auto put = [](std::vector<TableWrite> writes) { return PartitionRequest{{}, 0, PutRows{std::move(writes)}}; };
  EXPECT_FALSE(refused(put({{"k", "v"}})));
  EXPECT_TRUE(refused(put({{std::string(kLargestKeyBytes + 1, 'k'), "v"}})));
  EXPECT_TRUE(refused(put({{"", "v"}})));
  std::vector<TableWrite> full = {{"k", std::string(kLargestValueBytes, 'v')},
                                  {"l", std::string(kMostBatchBytes - kLargestValueBytes - 2, 'v')}};
  EXPECT_FALSE(refused(put(full)));
  full.push_back({"m", std::nullopt});
  EXPECT_TRUE(refused(put(full))) << "too much together";
  EXPECT_TRUE(refused({{}, 0, StageRows{{}, 1, full}}));
  EXPECT_TRUE(refused({{}, 1, AppendEntries{1, {{1, full}}}}));
  EXPECT_TRUE(refused(put({{"k", std::string(kLargestValueBytes + 1, 'v')}})));
  EXPECT_TRUE(refused({{}, 0, GetRows{{}, {""}}}));
  EXPECT_TRUE(refused({{}, 1, AppendEntries{1, {{1, {}, 1, static_cast<EntryKind>(17)}}}}));
}

}  // namespace
}  // namespace weft::storage::tables
