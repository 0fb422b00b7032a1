// What commands ask of a master, where more than one request is needed.
#include "engine/client/admin.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/server.hpp"

namespace weft::client {
namespace {

constexpr Duration kDeadline = std::chrono::seconds(60);

TEST(Admin, ASubmissionThatIsRepeatedBringsTheProgramThatTheFirstOneDidNot) {
  const TempDir directory = TempDir::create().value();
  const std::string program = directory.path() / "program";
  ASSERT_TRUE(write_file(program, "#!/bin/sh\n"));
  const auto reactor = rpc::Reactor::start("terminal");
  master::ServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto server = master::Server::start(options).value();
  const auto submit = [&](const std::string& request_id, bool leaves) {
    Submit job;
    job.name = job.program = "program";
    job.binary = hash_file(program).value();
    job.options.user = "ann";
    job.options.request_id = request_id;
    job.options.on_disconnect = master::OnDisconnect::go_on;
    const auto terminal = rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kDeadline, {}, {}).value();
    const auto submitted = decode<Submitted>(rpc::call(*reactor, terminal, kSubmitJob, encode(job), kDeadline).value()).value();
    if (leaves) reactor->run([&] { terminal->close(); });
    Detach detach;
    detach.submit = std::move(job);
    return std::pair(submitted, std::move(detach));
  };
  const auto [first, again] = submit("nightly", true);
  ASSERT_FALSE(first.binary_known);
  const auto admin = Admin::connect(server->address());
  ASSERT_TRUE(admin) << admin.error().to_string();
  const auto known = (*admin)->detach(again, program);
  ASSERT_TRUE(known) << known.error().to_string();
  EXPECT_EQ(*known, first.job);
  EXPECT_TRUE(submit("another", false).first.binary_known);
  reactor->stop();
}

/// A client in front of whose master the connection ends when the answer to one request comes.
class AnswersLost : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_file(program, "#!/bin/sh\n"));
    master::ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.journal = directory.path() / "journal";
    server = master::Server::start(options).value();
    upstream = rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kDeadline, {}, {}).value();
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr& peer, rpc::Message message, rpc::Responder responder) {
      rpc::Payload payload{std::move(message.header), {}, {}};
      if (!message.bulk.view().empty()) payload.bulk.emplace_back(std::move(message.bulk));
      upstream->request(message.type, std::move(payload), kDeadline,
                        [this, peer, type = message.type,
                         to = std::make_shared<rpc::Responder>(std::move(responder))](Result<rpc::Message> answer) {
                          if (type == lost) {
                            lost = 0;
                            if (then) then();
                            return peer->close();
                          }
                          if (!answer) return to->fail(answer.error());
                          to->reply({std::move(answer->header), {}, {}});
                        });
    };
    reactor->run([&] {
      listener =
          reactor->listen(rpc::Endpoint::parse("127.0.0.1:0").value(), {}, [handler](const auto&) { return handler; }).value();
    });
  }
  ~AnswersLost() override {
    reactor->run([this] { listener.reset(); });
    reactor->stop();
  }

  Result<JobId> detach(Duration patience = kDeadline) {
    Detach detach;
    detach.submit.name = detach.submit.program = "program";
    detach.submit.binary = hash_file(program).value();
    detach.submit.options.user = "ann";
    AdminOptions options;
    options.patience = options.at_first = patience;
    const auto admin = Admin::connect(listener->endpoint().text, options);
    if (!admin) return fail(admin.error());
    return (*admin)->detach(detach, program);
  }
  std::vector<master::JobStatus> jobs() { return Admin::connect(server->address()).value()->jobs().value().jobs; }

  const TempDir directory = TempDir::create().value();
  const std::string program = directory.path() / "program";
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("relay");
  std::unique_ptr<master::Server> server;
  rpc::ConnectionPtr upstream;
  std::unique_ptr<rpc::Listener> listener;
  rpc::MessageType lost = 0;   // whose answer is, once
  std::function<void()> then;  // before the client hears of that; reactor thread
};

TEST_F(AnswersLost, ADetachedJobIsOneWhicheverOfItsAnswersIsLost) {
  std::uint64_t next = 1;
  for (const rpc::MessageType type : {kUploadBinary, kDetachJob, kStartDriver}) {
    lost = type;
    const auto job = detach();
    ASSERT_TRUE(job) << type << ": " << job.error().to_string();
    EXPECT_EQ(lost, 0) << "the answer to " << type << " was lost";
    EXPECT_EQ(job->value(), next++);
    EXPECT_EQ(jobs().size(), job->value()) << type;
  }
  EXPECT_EQ(detach()->value(), next) << "another one is another job";
}

TEST_F(AnswersLost, ADetachedJobThatEndsBeforeItsSubmissionIsRepeatedDoesNotRunAgain) {
  lost = kStartDriver;
  then = [this] { upstream->request(kKillJob, encode(KillRequest{JobId(1), "enough"}), kDeadline, [](const auto&) {}); };
  const auto job = detach();
  ASSERT_TRUE(job) << job.error().to_string();
  EXPECT_EQ(*job, JobId(1));
  EXPECT_EQ(jobs().size(), 1u);
}

TEST_F(AnswersLost, AClientThatDoesNotWaitSaysWhichJobItHasSubmitted) {
  lost = kStartDriver;
  const auto unknown = detach(Duration(0));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().to_string(), testing::HasSubstr("weft job status 1 shows it"));
}

}  // namespace
}  // namespace weft::client
