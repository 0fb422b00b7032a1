// A client of a table that is dropped and made again under its name: the master and the only worker are a few lines each.
#include "storage/tables/table_client.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/base/rpc_fixture.hpp"

namespace weft::storage::tables {
namespace {

using rpc::testing::Awaited;

class TableClientTest : public testing::Test {
 protected:
  TableClientTest() {
    serving_->run([this] {
      const auto take = [this](const rpc::ConnectionPtr& connection) {
        connections_.push_back(connection);
        rpc::Handler handler;
        handler.on_request = [this](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder to) {
          answer(message, std::move(to));
        };
        return handler;
      };
      listener_ = serving_->listen({"127.0.0.1:0"}, {}, take).value();
      address_ = listener_->endpoint().text;
    });
    client_ = TableClient::connect(address_, {.user = "ann", .host = "here"}).value();
  }
  ~TableClientTest() override {
    client_.reset();
    serving_->run([this] {
      listener_.reset();
      held_.clear();
      for (const auto& connection : std::exchange(connections_, {})) connection->close();
    });
    serving_->stop();
  }

  /// In the place of the table of before.
  void make(std::uint32_t partitions) {
    serving_->run([&] {
      id_ = TableId(id_.value() + 1);
      partitions_ = partitions;
      rows_.clear();
    });
  }
  std::map<std::string, std::string> rows() {
    std::map<std::string, std::string> all;
    serving_->run([&] { all = rows_; });
    return all;
  }
  static std::vector<TableWrite> some_writes() {
    std::vector<TableWrite> writes;
    for (int i = 0; i < 100; ++i) writes.push_back({"key " + std::to_string(i), "value " + std::to_string(i)});
    return writes;
  }
  /// Keys of that partition.
  static std::vector<std::string> keys_of(std::uint32_t partition, std::uint32_t partitions, std::size_t count) {
    std::vector<std::string> keys;
    for (int i = 0; keys.size() < count; ++i)
      if (std::string key = "k" + std::to_string(i); partition_of(key, partitions) == partition) keys.push_back(std::move(key));
    return keys;
  }

  const std::unique_ptr<rpc::Reactor> serving_ = rpc::Reactor::start("cluster");
  std::shared_ptr<TableClient> client_;
  bool holds_ = false;  // the next write waits to be answered
  Awaited<bool> held_one_;
  std::vector<std::function<void()>> held_;

 private:
  void answer(const rpc::Message& message, rpc::Responder to) {
    if (message.type == kTableRequest) return to.reply(encode(TableReply(status())));
    if (message.type != kPartitionRequest) return to.fail(Error(Code::invalid_argument, "nobody knows that message"));
    const auto request = decode_partition_request(message);
    ASSERT_TRUE(request) << request.error().to_string();
    if (request->place.table != id_) return to.fail(Error(Code::unavailable, "it is not on this worker any more"));
    const auto shared = std::make_shared<rpc::Responder>(std::move(to));
    const auto reply = [shared, reply = carry_out(*request)] { shared->reply(encode(reply)); };
    if (!std::exchange(holds_, false)) return reply();
    held_.push_back(reply);
    held_one_.set(true);
  }
  TableStatus status() const {
    TableStatus table;
    table.id = id_, table.name = "t";
    table.partition_count = partitions_;
    for (std::uint32_t p = 0; p < partitions_; ++p) {
      PartitionStatus partition;
      partition.primary = "w";
      partition.members = {{"w", "there", "rack", address_, true}};
      table.partitions.push_back(std::move(partition));
    }
    return table;
  }
  PartitionReply carry_out(const PartitionRequest& request) {
    const auto here = [&](const std::string& key) {
      EXPECT_EQ(partition_of(key, partitions_), request.place.partition) << key << " in another partition";
    };
    if (const auto* const put = std::get_if<PutRows>(&request.operation)) {
      for (const TableWrite& write : put->writes) here(write.key), rows_[write.key] = write.value.value_or("");
      return AtVersion{1};
    }
    Values found;
    for (const std::string& key : std::get<GetRows>(request.operation).keys) {
      here(key);
      const auto known = rows_.find(key);
      found.values.push_back({known == rows_.end() ? std::nullopt : std::optional(known->second)});
    }
    return found;
  }

  // Of the cluster's thread.
  std::unique_ptr<rpc::Listener> listener_;
  std::vector<rpc::ConnectionPtr> connections_;
  std::string address_;
  TableId id_;
  std::uint32_t partitions_ = 0;
  std::map<std::string, std::string> rows_;
};

TEST_F(TableClientTest, RowsAreSplitAgainForAnotherTableOfTheName) {
  make(4);
  ASSERT_TRUE(client_->put("t", some_writes()));
  EXPECT_EQ(rows().size(), 100u);
  for (const std::uint32_t partitions : {3u, 7u}) {
    make(partitions);
    const auto put = client_->put("t", some_writes());
    ASSERT_TRUE(put) << put.error().to_string();
    EXPECT_EQ(rows().size(), 100u);
    EXPECT_EQ(rows().at("key 17"), "value 17");
  }
  std::vector<std::string> keys;
  for (const TableWrite& write : some_writes()) keys.push_back(write.key);
  EXPECT_EQ(client_->get("t", keys).value().at(17), "value 17");
  make(2);
  const auto none = client_->get("t", keys);
  ASSERT_TRUE(none) << none.error().to_string();
  EXPECT_EQ(none->at(17), std::nullopt) << "that one is empty";
}

TEST_F(TableClientTest, ARouteThatAnotherThreadHasFoundMeanwhileSplitsNoRowsOfBefore) {
  make(4);
  ASSERT_TRUE(client_->put("t", some_writes()));
  // Two messages of the last partition. While the first is under way another table is made, which has no such partition.
  std::vector<TableWrite> writes;
  for (std::string& key : keys_of(3, 4, 2)) writes.push_back({std::move(key), std::string(3u << 20, 'v')});
  serving_->run([this] { holds_ = true; });
  std::string error = "no answer";
  std::thread writer([&] {
    const auto put = client_->put("t", writes);
    error = put ? "" : put.error().to_string();
  });
  (void)held_one_.get();
  make(2);
  EXPECT_TRUE(client_->get("t", {"k"}));  // this thread knows the new one
  serving_->run([this] {
    for (const auto& reply : std::exchange(held_, {})) reply();
  });
  writer.join();
  EXPECT_EQ(error, "");
  const auto there = rows();
  EXPECT_EQ(there.size(), 2u);
  for (const TableWrite& write : writes) EXPECT_TRUE(there.contains(write.key)) << write.key;
}

}  // namespace
}  // namespace weft::storage::tables
