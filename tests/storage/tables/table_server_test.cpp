// A worker's partitions and what it tells a master, which is pretended here.
#include "storage/tables/table_server.hpp"

#include <filesystem>
#include <optional>

#include <gtest/gtest.h>

#include "storage/tables/protocol.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::storage::tables {
namespace {

using test::eventually;

class TableServerTest : public testing::Test {
 protected:
  TableServerTest() {
    reactor_->run([&] {
      listener_ = *reactor_->listen({"127.0.0.1:0"}, {}, [this](const rpc::ConnectionPtr&) { return master(); });
      server_.emplace(*reactor_, "127.0.0.1:1", TableServerOptions{{scratch_ / "chunks"}, 0, 2},
                      [this](const Error& why) { given_up_ = why; });
    });
  }
  ~TableServerTest() override {
    reactor_->run([&] {
      server_.reset();
      listener_.reset();
    });
    reactor_->stop();
  }

  void join() {
    const auto connection = rpc::connect(*reactor_, listener_->endpoint(), std::chrono::seconds(10), {});
    ASSERT_TRUE(connection) << connection.error().to_string();
    reactor_->run([&] { server_->registered(*connection); });
  }
  /// The next master is of that cluster, and has every replica erased that it hears of.
  void meet_another(const std::string& cluster) {
    reactor_->run([&] {
      server_->lost();
      cluster_ = cluster;
      assigned_.reset();
      erases_ = true;
      heartbeats_ = greetings_ = 0;
    });
    join();
  }
  template <class F>
  bool seen(F what) {
    bool result = false;
    reactor_->run([&] { result = what(); });
    return result;
  }
  bool soon(const std::function<bool()>& what) {
    return eventually([&] { return seen(what); });
  }

  const PlaceId place_{TableId(1), 0};
  test::ScratchDirectory scratch_;
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("tables");
  std::optional<TableServer> server_;
  std::string cluster_ = "first";
  std::optional<Assignment> assigned_;
  bool erases_ = false;
  std::size_t greetings_ = 0, heartbeats_ = 0;
  std::vector<ReplicaReport> reported_;
  std::optional<Error> given_up_;

 private:
  rpc::Handler master() {
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
      const auto beat = decode<TableHeartbeat>(message).value();
      ++(beat.hello ? greetings_ : heartbeats_);
      TableOrders orders;
      orders.cluster = cluster_, orders.name = "w", orders.lease_ms = 2000;
      if (!beat.hello) reported_ = beat.replicas;
      if (!beat.hello && assigned_) orders.assignments.push_back(*assigned_);
      for (const ReplicaReport& report : beat.replicas)
        if (erases_) orders.erase.push_back(report.place);
      responder.reply(encode(orders));
    };
    return handler;
  }

  std::unique_ptr<rpc::Listener> listener_;
};

TEST_F(TableServerTest, AMasterOfAnotherClusterHearsOfNoReplicaAndHasNoneErased) {
  assigned_ = Assignment{};
  assigned_->place = place_;
  assigned_->epoch = assigned_->revision = 1;
  assigned_->primary = "w";
  assigned_->members = {{"w", "127.0.0.1:1", true}};
  join();
  ASSERT_TRUE(soon([&] { return reported_.size() == 1 && reported_[0].state == ReplicaState::good; }));
  meet_another("second");
  ASSERT_TRUE(soon([&] { return given_up_.has_value() || heartbeats_ > 1; }));
  ASSERT_TRUE(given_up_);
  EXPECT_EQ(given_up_->code(), Code::version_mismatch);
  EXPECT_NE(given_up_->to_string().find("cluster second"), std::string::npos) << given_up_->to_string();
  EXPECT_EQ(heartbeats_, 0u);
  EXPECT_TRUE(std::filesystem::exists(scratch_ / "chunks/tables/1-0/CURRENT"));
}

TEST_F(TableServerTest, TheSameClustersNextMasterHearsOfAllReplicas) {
  assigned_ = Assignment{};
  assigned_->place = place_;
  assigned_->epoch = assigned_->revision = 1;
  assigned_->members = {{"w", "127.0.0.1:1", true}};
  join();
  ASSERT_TRUE(soon([&] { return reported_.size() == 1 && reported_[0].state == ReplicaState::good; }));
  meet_another("first");
  ASSERT_TRUE(soon([&] { return heartbeats_ > 0; }));
  EXPECT_FALSE(given_up_);
  EXPECT_TRUE(soon([&] { return !std::filesystem::exists(scratch_ / "chunks/tables/1-0"); })) << "what it orders is done";
}

}  // namespace
}  // namespace weft::storage::tables
