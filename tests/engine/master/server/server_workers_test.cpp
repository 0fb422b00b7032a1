// The master's side of its workers: who may register, what is believed of a dying one, and who is of another release.
#include <algorithm>
#include <csignal>
#include <functional>
#include <future>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/rpc/frame.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/server.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::master {
namespace {

namespace protocol = runtime::protocol;
using testing::AllOf;
using testing::HasSubstr;

constexpr Duration kWorkersDeadline = std::chrono::seconds(60);
constexpr rpc::ProtocolRange kBefore{};  // of a release before there were protocols

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
    reactor->run([this] { unanswered.clear(); });
    peers.clear();
    server.reset();
    reactor->stop();
  }

  rpc::ConnectionPtr connect(rpc::ProtocolRange protocols = rpc::kProtocols) {
    rpc::Limits limits;
    limits.protocols = protocols;
    return peers.emplace_back(
        rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kWorkersDeadline, {}, limits).value());
  }
  /// Of a worker that answers when it is asked whether it is there, or says nothing.
  rpc::ConnectionPtr connect_worker(bool answers) {
    rpc::Handler handler;
    handler.on_request = [this, answers](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
      if (message.type == protocol::kPresence && answers) return responder.reply({});
      unanswered.push_back(std::move(responder));
    };
    return peers.emplace_back(
        rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kWorkersDeadline, std::move(handler)).value());
  }
  Result<protocol::Registered> join_as(const rpc::ConnectionPtr& worker, const std::string& name, bool named,
                                       std::uint64_t process) {
    protocol::Register info;
    info.name = info.host = name;
    info.data_address = "127.0.0.1:1";
    info.slots = 2;
    info.named = named;
    info.process = process;
    WEFT_ASSIGN(const rpc::Message answer, call(worker, protocol::kRegister, protocol::encode(info)));
    return protocol::decode<protocol::Registered>(answer);
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
    const auto client = connect(kBefore);
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
  std::vector<rpc::Responder> unanswered;  // the reactor's
};

/// Those that are there, by name.
std::vector<std::string> alive(const std::vector<client::NodeStatus>& list) {
  std::vector<std::string> names;
  for (const client::NodeStatus& node : list)
    if (!node.dead && !node.lost) names.push_back(node.name);
  std::sort(names.begin(), names.end());
  return names;
}

TEST_F(ServerWorkers, AWorkerOfBeforeThereWereProtocolsIsRefusedWithBothVersions) {
  const auto refused = join(connect(kBefore), "w1");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::version_mismatch);
  EXPECT_THAT(refused.error().to_string(), AllOf(HasSubstr("the peer is " + rpc::software_version() + " and speaks none"),
                                                 HasSubstr("this is " + rpc::software_version() + " and speaks protocol"),
                                                 HasSubstr("upgrade the peer"), testing::Not(HasSubstr("\n"))));
  EXPECT_TRUE(join(connect(), "w1"));
}

TEST_F(ServerWorkers, AWorkerOfALaterReleaseThatSpeaksAnEarlierProtocolIsTakenIn) {
  EXPECT_TRUE(join(connect({rpc::kProtocols.lowest, static_cast<rpc::Protocol>(rpc::kProtocols.highest + 3)}), "w1"));
}

TEST_F(ServerWorkers, WhatAMasterDoesNotKnowIsPassedOver) {
  const auto worker = connect();
  ASSERT_TRUE(join(worker, "w1"));
  notify(worker, 199, {});
  notify(worker, 519, {});
  const auto refused = call(worker, 198);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(),
              AllOf(HasSubstr("does not know message 198"), HasSubstr(rpc::software_version() + " and does"),
                    HasSubstr("which is " + rpc::software_version())));
  EXPECT_THAT(alive(nodes([](const auto&) { return true; })), testing::ElementsAre("w1"));
}

TEST_F(ServerWorkers, AClientOfAReleaseBeforeThereWereProtocolsIsServed) {
  EXPECT_TRUE(join(connect(), "w1"));
  const auto client = connect(kBefore);
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

TEST_F(ServerWorkers, ASecondWorkerOfANameIsRefusedWhileTheFirstIsAlive) {
  const auto first = connect_worker(true);
  ASSERT_TRUE(join_as(first, "w1", true, 1));
  for (int again = 0; again < 3; ++again) {
    const auto refused = join_as(connect_worker(true), "w1", true, 2);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::already_exists) << "by which a worker knows that another try changes nothing";
    EXPECT_THAT(refused.error().to_string(),
                AllOf(HasSubstr("the worker w1 is there already, on w1 at 127.0.0.1:"), HasSubstr("give this one another --name")));
  }
  EXPECT_EQ(alive(nodes([](const auto&) { return true; })), std::vector<std::string>{"w1"});
  reactor->run([&] { first->close(); });
  EXPECT_TRUE(join_as(connect_worker(true), "w1", true, 3)) << "the first has gone";
}

TEST_F(ServerWorkers, OneThatDoesNotAnswerMakesWayForAnotherOfItsName) {
  ASSERT_TRUE(join_as(connect_worker(false), "w1", true, 1));
  const auto second = join_as(connect_worker(true), "w1", true, 2);
  ASSERT_TRUE(second) << second.error().to_string();
  const auto list = nodes([](const auto& seen) { return alive(seen).size() == 1; });
  EXPECT_EQ(alive(list), std::vector<std::string>{"w1"});
  const auto lost = std::find_if(list.begin(), list.end(), [](const client::NodeStatus& node) { return node.dead; });
  ASSERT_NE(lost, list.end());
  EXPECT_THAT(lost->cause, HasSubstr("did not answer when another worker came under its name"));
}

TEST_F(ServerWorkers, TheSameProcessComesBackWhileItsOldConnectionIsStillThere) {
  const auto before = connect_worker(false);  // which nobody serves any more
  ASSERT_TRUE(join_as(before, "w1", true, 1));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(join_as(connect_worker(true), "w1", true, 1));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(3)) << "it was asked for on the old one";
  EXPECT_EQ(alive(nodes([](const auto& seen) { return alive(seen).size() == 1; })), std::vector<std::string>{"w1"});
}

TEST_F(ServerWorkers, NamesThatNobodyGaveBecomeNamesOfTheirOwn) {
  EXPECT_EQ(join_as(connect_worker(true), "host-1", false, 1)->name, "host-1");
  EXPECT_EQ(join_as(connect_worker(true), "host-1", false, 2)->name, "host-1-2");
  EXPECT_EQ(join_as(connect_worker(true), "host-1", false, 3)->name, "host-1-3");
  EXPECT_EQ(alive(nodes([](const auto&) { return true; })), (std::vector<std::string>{"host-1", "host-1-2", "host-1-3"}));
}

TEST_F(ServerWorkers, AMasterWithoutAJournalOrWithAnotherSaysThatItsJobIdsAreOthersThanBefore) {
  const auto restart = [this](const std::string& journal) {
    peers.clear();
    server.reset();
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.core.heartbeat_timeout = Time(0);
    options.journal = journal;
    if (!journal.empty()) options.directory = journal + ".programs";
    server = Server::start(options).value();
  };
  const std::uint64_t first = join(connect(), "w1").value().numbering;
  EXPECT_GT(first, protocol::kKeptNumbering);
  EXPECT_EQ(join(connect(), "w2")->numbering, first);
  restart("");
  const std::uint64_t second = join(connect(), "w1").value().numbering;
  EXPECT_GT(second, protocol::kKeptNumbering);
  EXPECT_NE(second, first);
  const TempDir directory = TempDir::create().value();
  restart(directory.path() / "journal");
  const std::uint64_t kept = join(connect(), "w1")->numbering;
  EXPECT_GT(kept, protocol::kKeptNumbering);
  restart(directory.path() / "journal");
  EXPECT_EQ(join(connect(), "w1")->numbering, kept) << "its jobs are those of before";
  restart(directory.path() / "another");
  const std::uint64_t another = join(connect(), "w1").value().numbering;
  EXPECT_GT(another, protocol::kKeptNumbering);
  EXPECT_NE(another, kept);
  server.reset();
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
  const auto stranger = rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kWorkersDeadline, handler).value();
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
