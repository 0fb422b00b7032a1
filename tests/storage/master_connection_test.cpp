// A client's connection to masters that are a few lines each: which one is asked when one dies, or does not lead any more.
#include "storage/master_connection.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/base/rpc_fixture.hpp"

namespace weft::storage {
namespace {

using namespace std::chrono_literals;
using rpc::testing::Awaited;
using rpc::testing::kLong;
using rpc::testing::text_of;
using rpc::testing::text_payload;

constexpr rpc::MessageType kQuestion = 7, kLongQuestion = 8;
constexpr Retry::Pauses kPauses{1ms, 10ms};

struct Patience {
  Duration patience = kLong;
  Waiting waiting{};
};

class MasterConnectionTest : public testing::Test {
 protected:
  struct Master {
    std::string name, address;
    std::unique_ptr<rpc::Listener> listener;
    std::vector<rpc::ConnectionPtr> connections;
    std::vector<rpc::Responder> held;  // of kLongQuestion
    bool ends = false;                 // and says so
    bool worker = false;               // it is none: a worker's port for map outputs
    int asked = 0, connected = 0;
    Awaited<bool> holds;
  };

  ~MasterConnectionTest() override {
    if (connection_) connection_->close();
    connection_.reset();
    clients_->stop();
    for (const auto& master : masters_) die(*master);
    serving_->stop();
  }
  Master& add_master(const std::string& name) {
    masters_.push_back(std::make_unique<Master>());
    masters_.back()->name = name;
    listen(*masters_.back(), "127.0.0.1:0");
    list_ += (list_.empty() ? "" : ",") + masters_.back()->address;
    return *masters_.back();
  }
  void listen(Master& master, const std::string& where) {
    serving_->run([&] {
      master.listener = serving_
                            ->listen({where}, {},
                                     [&master](const rpc::ConnectionPtr& connection) {
                                       ++master.connected;
                                       master.connections.push_back(connection);
                                       rpc::Handler handler;
                                       handler.on_request = [&master](const rpc::ConnectionPtr&, const rpc::Message& message,
                                                                      rpc::Responder responder) {
                                         answer(master, message, std::move(responder));
                                       };
                                       return handler;
                                     })
                            .value();
      master.address = master.listener->endpoint().text;
    });
  }
  static void answer(Master& master, const rpc::Message& message, rpc::Responder responder) {
    ++master.asked;
    if (master.worker) return responder.fail(Error(Code::invalid_argument, "this port serves map output only"));
    if (message.type == kLongQuestion) {
      master.held.push_back(std::move(responder));
      return master.holds.set(true);
    }
    if (master.ends) return responder.fail(Error(Code::unavailable, "the master ends"));
    responder.reply(text_payload(master.name));
  }
  void die(Master& master) {
    serving_->run([&] {
      master.listener.reset();
      master.held.clear();
      for (const auto& connection : std::exchange(master.connections, {})) connection->close();
    });
  }
  void begin() { connection_ = std::make_unique<MasterConnection>(*clients_, rpc::Endpoint::parse_list(list_).value(), list_); }
  std::string ask(Duration patience = kLong) {
    const Patience options{patience, {}};
    const auto reply = connection_->call(
        kQuestion, [] { return text_payload("?"); }, kLong, Retry(options, kPauses), nullptr);
    return reply ? text_of(*reply) : reply.error().to_string();
  }
  template <class Condition>
  void wait_for(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    for (bool met = false; !met;) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      serving_->run([&] { met = condition(); });
    }
  }

  std::unique_ptr<rpc::Reactor> serving_ = rpc::Reactor::start("masters"), clients_ = rpc::Reactor::start("clients");
  std::vector<std::unique_ptr<Master>> masters_;
  std::string list_;
  std::unique_ptr<MasterConnection> connection_;
};

TEST_F(MasterConnectionTest, AnotherMasterOfTheListTakesOver) {
  Master& first = add_master("first");
  Master& second = add_master("second");
  const std::string there = second.address;
  die(second);  // it stands by
  begin();
  EXPECT_EQ(ask(), "first");
  die(first);
  (void)ask(0s);  // the end of the connection may not have arrived yet
  const std::string none = ask(0s);
  EXPECT_EQ(none.find("no weft master answers at " + list_ +
                      "; start one with `weft master` or name another with --master; where masters run there, none of them leads: "
                      "look at their logs and at etcd: "
                      "cannot connect to " +
                      first.address + " (Connection refused), nor to " + there + " (Connection refused)"),
            0u)
      << none;
  listen(second, there);
  EXPECT_EQ(ask(), "second");
}

TEST_F(MasterConnectionTest, AMasterThatDoesNotLeadAnyMoreIsAskedOnceOnEachConnection) {
  Master& first = add_master("first");
  Master& second = add_master("second");
  begin();
  EXPECT_EQ(ask(), "first");
  serving_->run([&] { first.ends = true; });
  std::thread asking([&] { EXPECT_EQ(ask(), "second"); });
  wait_for([&] { return first.connected >= 3; });
  serving_->run([&] {
    EXPECT_LE(first.asked, first.connected + 1) << "the first question was before";
    first.listener.reset();
  });
  asking.join();
  EXPECT_EQ(second.connected, 1);
}

TEST_F(MasterConnectionTest, PatienceWithAMasterThatDoesNotLeadAnyMoreEnds) {
  Master& only = add_master("only");
  begin();
  serving_->run([&] { only.ends = true; });
  EXPECT_EQ(ask(100ms), "the master ends");
  EXPECT_GT(only.connected, 1);
}

TEST_F(MasterConnectionTest, RequestsOfOtherThreadsGetTheirRepliesOnAConnectionThatIsLeft) {
  Master& first = add_master("first");
  begin();
  ASSERT_EQ(ask(), "first");
  std::thread other([&] {
    const auto reply = connection_->call(kLongQuestion, text_payload("?"), kLong);
    ASSERT_TRUE(reply) << reply.error().to_string();
    EXPECT_EQ(text_of(*reply), "late");
  });
  (void)first.holds.get();
  serving_->run([&] { first.ends = true; });
  EXPECT_EQ(ask(0s), "the master ends");
  serving_->run([&] { first.ends = false; });
  EXPECT_EQ(ask(), "first");
  serving_->run([&] {
    EXPECT_EQ(first.connected, 2);
    first.held.front().reply(text_payload("late"));
  });
  other.join();
}

TEST_F(MasterConnectionTest, AWorkerOfTheListIsPassedOver) {
  Master& worker = add_master("worker");
  Master& master = add_master("master");
  serving_->run([&] { worker.worker = true; });
  begin();
  const Patience options{};
  const auto found = connection_->await(Retry(options, kPauses));
  ASSERT_TRUE(found) << found.error().to_string();
  const auto order = connection_->call(kQuestion, text_payload("!"), kLong);
  ASSERT_TRUE(order) << order.error().to_string();
  EXPECT_EQ(text_of(*order), "master");
  begin();
  EXPECT_EQ(ask(), "master") << "also without a wait before";
  connection_->close();
  const std::string there = worker.address;
  list_ = there;
  begin();
  EXPECT_EQ(ask(), there + " is a worker's address: give --master the master's");
  serving_->run([&] { master.worker = true; });
  list_ = there + "," + master.address;
  begin();
  EXPECT_EQ(ask(), there + ", " + master.address + " are workers' addresses: give --master the master's");
}

TEST(RetryTest, MakesTheLastTryWhenTheTimeIsOver) {
  const Waiting nobody;
  const Error away(Code::unavailable, "away");
  Retry retry(500ms, nobody, {1h, 1h});
  EXPECT_TRUE(retry.again(away)) << "the pause ends with the time";
  EXPECT_GE(retry.spent(), 500ms);
  EXPECT_FALSE(retry.again(away));
  Retry none(0s, nobody, {1ms, 1ms});
  EXPECT_FALSE(none.again(away));
}

TEST(DoneOr, ARequestThatWasRepeatedIsDoneWhenNothingIsLeftToDo) {
  const auto answered = [](bool repeats, Code code) {
    return done_or(Code::not_found, [=](bool* repeated) -> Result<int> {
      *repeated = repeats;  // while it is made: whoever looks before knows nothing
      return fail(code, "no such file");
    });
  };
  EXPECT_TRUE(answered(true, Code::not_found).has_value());
  EXPECT_EQ(answered(false, Code::not_found).error().code(), Code::not_found);
  EXPECT_EQ(answered(true, Code::io).error().code(), Code::io);
  EXPECT_TRUE(done_or(Code::not_found, [](bool*) { return Result<int>(1); }).has_value());
}

}  // namespace
}  // namespace weft::storage
