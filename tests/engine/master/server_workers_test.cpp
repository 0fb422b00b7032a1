// The master's side of its workers: who may register, what is believed of a dying one, and that it speaks to one release only.
#include <csignal>
#include <functional>
#include <future>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/client/protocol.hpp"
#include "engine/master/server.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::master {
namespace {

namespace protocol = runtime::protocol;
using testing::AllOf;
using testing::HasSubstr;

constexpr Duration kWorkersDeadline = std::chrono::seconds(60);

class ServerWorkers : public testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.core.heartbeat_timeout = Time(0);
    auto started = Server::start(options);
    ASSERT_TRUE(started) << started.error().to_string();
    server = std::move(*started);
  }
  ~ServerWorkers() override {
    peers.clear();
    server.reset();
    reactor->stop();
  }

  rpc::ConnectionPtr connect(std::uint64_t layout = protocol::layout()) {
    rpc::Limits limits;
    limits.layout = layout;
    return peers.emplace_back(
        rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kWorkersDeadline, {}, limits).value());
  }
  Result<protocol::Registered> join(const rpc::ConnectionPtr& worker, const std::string& name, const std::string& capacity = "") {
    protocol::Register info;
    info.name = info.host = name;
    info.data_address = "127.0.0.1:1";
    info.slots = 2;
    info.capacity = capacity;
    WEFT_ASSIGN(const rpc::Message answer, call(worker, protocol::kRegister, protocol::encode(info)));
    return protocol::decode<protocol::Registered>(answer);
  }
  Result<rpc::Message> call(const rpc::ConnectionPtr& peer, rpc::MessageType type, rpc::Payload payload = {}) {
    return rpc::call(*reactor, peer, type, std::move(payload), kWorkersDeadline);
  }
  void notify(const rpc::ConnectionPtr& peer, rpc::MessageType type, rpc::Payload payload) {
    reactor->run([&] { peer->notify(type, std::move(payload)); });
  }
  /// As a client asks for them, until `done` says so.
  std::vector<client::NodeStatus> nodes(const std::function<bool(const std::vector<client::NodeStatus>&)>& done) {
    const auto client = connect(0);
    const auto end = std::chrono::steady_clock::now() + kWorkersDeadline;
    std::vector<client::NodeStatus> list;
    do {
      list = client::decode<client::NodeList>(call(client, client::kListNodes).value()).value().nodes;
    } while (!done(list) && std::chrono::steady_clock::now() < end);
    return list;
  }

  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("test");
  std::unique_ptr<Server> server;
  std::vector<rpc::ConnectionPtr> peers;
};

TEST_F(ServerWorkers, AWorkerOfAnotherReleaseIsRefusedWithBothVersions) {
  const auto refused = join(connect(protocol::layout() + 1), "w1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::version_mismatch);
  EXPECT_THAT(refused.error().to_string(), AllOf(HasSubstr(fmt::format("{:016x}", protocol::layout())),
                                                 HasSubstr(fmt::format("{:016x}", protocol::layout() + 1)),
                                                 HasSubstr("must be of one release"), testing::Not(HasSubstr("\n"))));
  EXPECT_TRUE(join(connect(), "w1"));
}

TEST_F(ServerWorkers, AClientOfAnotherReleaseIsServed) {
  EXPECT_TRUE(join(connect(), "w1"));
  const auto client = connect(0);
  EXPECT_EQ(client::decode<client::NodeList>(call(client, client::kListNodes).value())->nodes.size(), 1u);
  EXPECT_FALSE(call(client, protocol::kFetchBinary, protocol::encode(protocol::BinaryRequest{})));
}

TEST_F(ServerWorkers, AWorkerRegistersOnceOnAConnection) {
  const auto worker = connect();
  const auto first = join(worker, "w1");
  ASSERT_TRUE(first) << first.error().to_string();
  const auto second = join(worker, "w1");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().to_string(), HasSubstr("registered already"));
}

TEST_F(ServerWorkers, ARefusedWorkerMayTryAgain) {
  const auto worker = connect();
  const auto refused = join(worker, "w1", "cpu=3");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("--slots"));
  EXPECT_TRUE(join(worker, "w1", "memory=1GiB"));
}

TEST_F(ServerWorkers, ALostWorkersSignalIsTheReasonOfItsEnd) {
  const auto worker = connect();
  const auto registered = join(worker, "w1");
  ASSERT_TRUE(registered);
  const auto handler = connect();  // the signal handler's own connection
  notify(handler, protocol::kDying, protocol::encode(protocol::Dying{registered->node, SIGBUS}));
  ASSERT_TRUE(call(handler, client::kListNodes));  // the master has read it
  reactor->run([&] { worker->close(); });
  const auto list = nodes([](const auto& seen) { return seen.size() == 1 && seen[0].dead; });
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].cause, "SIGBUS");
}

TEST_F(ServerWorkers, AMessageOfAPeerThatIsNotRegisteredEndsItsConnection) {
  std::promise<void> closed;
  rpc::Handler handler;
  handler.on_close = [&](const rpc::ConnectionPtr&, const Error&) { closed.set_value(); };
  rpc::Limits limits;
  limits.layout = protocol::layout();
  const auto stranger =
      rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kWorkersDeadline, handler, limits).value();
  notify(stranger, protocol::kHeartbeat, protocol::encode(protocol::Heartbeat{}));
  EXPECT_EQ(closed.get_future().wait_for(kWorkersDeadline), std::future_status::ready);
}

TEST_F(ServerWorkers, AHeartbeatThatIsNoneEndsTheConnection) {
  const auto worker = connect();
  ASSERT_TRUE(join(worker, "w1"));
  protocol::Heartbeat heartbeat;
  heartbeat.clock = Duration(-1);
  notify(worker, protocol::kHeartbeat, protocol::encode(heartbeat));
  EXPECT_TRUE(nodes([](const auto& seen) { return seen.empty() || seen[0].dead; }).empty());
}

}  // namespace
}  // namespace weft::master
