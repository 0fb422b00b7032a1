// The master server as one of several: a follower is a peer that only speaks the protocol, and who may lead is said by the test.
#include <future>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/protocol.hpp"
#include "engine/master/server/server.hpp"
#include "tests/engine/master/replication/pretended_leadership.hpp"

namespace weft::master {
namespace {

constexpr Duration kAnswerDeadline = std::chrono::seconds(60);

class ServerReplication : public testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.journal = (directory.path() / "journal").string();
    options.directory = (directory.path() / "programs").string();
    options.leadership = &leadership;
    auto started = Server::start(options);
    ASSERT_TRUE(started) << started.error().to_string();
    server = std::move(*started);
    follower = connect();
    driver = connect();
  }
  void TearDown() override { reactor->stop(); }
  rpc::ConnectionPtr connect() {
    return rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kAnswerDeadline).value();
  }
  /// The next entries; those before are kept.
  std::size_t pull() {
    auto answer = rpc::call(*reactor, follower, kPull, to_payload(Pull{session, pulled}), kAnswerDeadline);
    const auto entries = from_message<Pulled>(answer.value()).value().entries.size();
    pulled += entries;
    return entries;
  }
  void bring_in_sync() {
    auto answer = rpc::call(*reactor, follower, kFollow, to_payload(Follow{"b", ""}), kAnswerDeadline);
    session = from_message<Following>(answer.value()).value().session;
    while (!leadership.announces()) pull();
    leadership.answer({});
  }
  std::future<Result<rpc::Message>> submit() {
    client::Submit job;
    job.name = "job";
    job.program = "a.out";
    job.same_binary = true;
    auto answered = std::make_shared<std::promise<Result<rpc::Message>>>();
    auto answer = answered->get_future();
    reactor->run([&] {
      driver->request(client::kSubmitJob, client::encode(job), kAnswerDeadline,
                      [answered](Result<rpc::Message> message) { answered->set_value(std::move(message)); });
    });
    return answer;
  }

  TempDir directory = TempDir::create("weft-leading-").value();
  test::PretendedLeadership leadership;
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("peers");
  std::unique_ptr<Server> server;
  rpc::ConnectionPtr follower, driver;
  std::uint64_t session = 0, pulled = 0;
};

TEST_F(ServerReplication, WhatWaitsForAFollowerWhenTheMasterEndsIsToBeTriedAgain) {
  bring_in_sync();
  auto submitted = submit();
  while (pull() == 0) {
  }
  server.reset();
  const auto answer = submitted.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), Code::unavailable) << answer.error().to_string();
}

}  // namespace
}  // namespace weft::master
