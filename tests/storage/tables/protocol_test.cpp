#include "storage/tables/protocol.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "tests/fuzz/table_input.hpp"

namespace weft::storage {
namespace {

/// One of each kind, with something in every list.
std::vector<Buffer> messages() {
  TableRequest request{TableOperation::commit, "t", "s", 4, 3, 17, {1, 2, 3}};
  TableStatus table{
      TableId(1), "t", 1, 3, 99, 1, 0, {{SnapshotId(4), "s", 5}}, {{7, "w1", {{"w1", "h1", "A", "h1:1", true}}, 99, "w2"}}};
  TableReply reply{5, {table}};
  const PlaceId place{TableId(1), 3};
  TableBeat beat{false, true, "h1:1", {{place, 4, 2, 9, 100, "broken", ReplicaState::absent}}};
  TableOrders orders;
  orders.cluster = "c", orders.name = "w1", orders.lease_ms = 2000, orders.erase = {place};
  orders.assignments = {{place,
                         2,
                         4,
                         "w1",
                         {{"w1", "h1:1", true}},
                         {SnapshotId(4)},
                         {TransactionId(5)},
                         6,
                         TableCommit{TransactionId(5), {8, 9}},
                         true}};
  InSyncChange change{place, 2, 4, {"w1", "w2"}, 11};
  PartitionRequest asked;
  asked.operation = PartitionOperation::entries, asked.place = place, asked.epoch = 2, asked.keys = {"k"}, asked.tokens = {1};
  asked.writes = {{"k", "v"}, {"l", std::nullopt}};
  asked.entries = {{9, {{"k", "v"}}, 2, EntryKind::commit, 5, 6, {7, 8}}};
  PartitionReply answer;
  answer.values = {"v", std::nullopt}, answer.rows = {{"k", "v"}}, answer.page = {{"a", "b"}};
  std::vector<Buffer> all;
  all.push_back(std::move(encode_table(request).header));
  all.push_back(std::move(encode_table(reply).header));
  all.push_back(std::move(encode_table(beat).header));
  all.push_back(std::move(encode_table(orders).header));
  all.push_back(std::move(encode_table(change).header));
  all.push_back(std::move(encode_table(asked).header));
  all.push_back(std::move(encode_table(answer).header));
  return all;
}

TEST(TableProtocol, MessagesAreReadWholeOrRefused) {
  const auto all = messages();
  ASSERT_EQ(all.size(), fuzz::kTableMessages);
  for (unsigned kind = 0; kind < all.size(); ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    EXPECT_TRUE(fuzz::read_table_message(kind, all[kind].view()));
    for (std::size_t bytes = 0; bytes < all[kind].size(); ++bytes)
      EXPECT_FALSE(fuzz::read_table_message(kind, all[kind].view().first(bytes))) << bytes;
    std::string longer(as_chars(all[kind].view()));
    longer += '\0';
    EXPECT_FALSE(fuzz::read_table_message(kind, as_bytes(longer)));
  }
}

TEST(TableProtocol, DamagedMessagesAreReadOrRefused) {
  const auto all = messages();
  Random random(11);
  for (unsigned kind = 0; kind < all.size(); ++kind) {
    for (int round = 0; round < 3000; ++round) {
      std::string text(as_chars(all[kind].view()));
      for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes)
        text[random.below(text.size())] = static_cast<char>(random.chance(0.3) ? 0xff : random.below(256));
      fuzz::read_table_message(kind, as_bytes(text));
    }
  }
}

TEST(TableProtocol, WhatIsOverItsLimitsIsRefused) {
  const auto refused = [](const PartitionRequest& request) {
    return !fuzz::read_table_message(5, encode_table(request).header.view());
  };
  PartitionRequest request;
  request.operation = PartitionOperation::put;
  request.writes = {{"k", "v"}};
  EXPECT_FALSE(refused(request));
  request.writes = {{std::string(kLargestKeyBytes + 1, 'k'), "v"}};
  EXPECT_TRUE(refused(request));
  request.writes = {{"", "v"}};
  EXPECT_TRUE(refused(request));
  request.writes = {{"k", std::string(kLargestValueBytes, 'v')}, {"l", std::string(kMostBatchBytes - kLargestValueBytes - 2, 'v')}};
  EXPECT_FALSE(refused(request));
  request.writes.push_back({"m", std::nullopt});
  EXPECT_TRUE(refused(request)) << "too much together";
  request.writes = {{"k", std::string(kLargestValueBytes + 1, 'v')}};
  EXPECT_TRUE(refused(request));
  request.writes.clear();
  request.keys = {""};
  EXPECT_TRUE(refused(request));
  request.keys.clear();
  request.entries = {{1, {}, 1, static_cast<EntryKind>(17)}};
  EXPECT_TRUE(refused(request));
}

}  // namespace
}  // namespace weft::storage
