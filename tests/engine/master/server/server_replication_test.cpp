// The master server as one of several: a follower is a peer that only speaks the protocol, and who may lead is said by the test.
#include <algorithm>
#include <future>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/rpc/watched_call.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/protocol.hpp"
#include "engine/master/server/server.hpp"
#include "engine/master/storage/file_service.hpp"
#include "storage/files/protocol.hpp"
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
    options.storage = file_service({(directory.path() / "data").string(), {}});
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
  /// The next entries; those before are kept. Whether one of them has this text.
  bool pull(std::string_view text) {
    auto answer = rpc::call(*reactor, follower, kPull, to_payload(Pull{session, pulled}), kAnswerDeadline);
    const auto entries = from_message<Pulled>(answer.value()).value().entries;
    pulled += entries.size();
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const LogEntry& entry) {
      return as_chars(entry.bytes.bytes).find(text) != std::string_view::npos;
    });
    if (found == entries.end()) return false;
    user = found->user;
    return true;
  }
  void bring_in_sync() {
    auto answer = rpc::call(*reactor, follower, kFollow, to_payload(Follow{"b", "", "b:1"}), kAnswerDeadline);
    session = from_message<Following>(answer.value()).value().session;
    while (!leadership.announces()) pull("");
    leadership.answer({});
  }
  /// Sends a request, and returns when the follower has the change and has not said that it keeps it.
  std::future<Result<rpc::Message>> request(rpc::MessageType type, rpc::Payload payload, std::string_view text) {
    auto answered = std::make_shared<std::promise<Result<rpc::Message>>>();
    auto answer = answered->get_future();
    reactor->run([&] {
      driver->request(type, std::move(payload), kAnswerDeadline,
                      [answered](Result<rpc::Message> message) { answered->set_value(std::move(message)); });
    });
    while (!pull(text)) {
    }
    return answer;
  }

  /// The master ends before it has answered.
  void expect_another_try(std::future<Result<rpc::Message>> request) {
    server.reset();
    const auto answer = request.get();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code(), Code::unavailable) << answer.error().to_string();
  }

  TempDir directory = TempDir::create("weft-leading-").value();
  test::PretendedLeadership leadership;
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("peers");
  std::unique_ptr<Server> server;
  rpc::ConnectionPtr follower, driver;
  std::uint64_t session = 0, pulled = 0;
  std::string user;  // that the entry names that pull() has found
};

TEST_F(ServerReplication, AJobThatWaitsForAFollowerWhenTheMasterEndsIsToBeSubmittedAgain) {
  bring_in_sync();
  client::Submit job;
  job.name = "sought";
  job.program = "a.out";
  job.same_binary = true;
  expect_another_try(request(client::kSubmitJob, client::encode(job), "sought"));
}

TEST_F(ServerReplication, AProgramIsNamedWithItsUser) {
  bring_in_sync();
  const std::string_view program = "#!/bin/sh\n";
  client::Submit job;
  job.name = "sought";
  job.program = "a.out";
  job.binary = hash128(as_bytes(program));
  job.options.user = "ann";
  const auto kept = [this](std::future<Result<rpc::Message>> answer) {
    while (answer.wait_for(Duration(0)) != std::future_status::ready) pull("");
    return answer.get();
  };
  ASSERT_TRUE(kept(request(client::kSubmitJob, client::encode(job), "sought")));
  const client::Upload piece{job.binary, 0, program.size()};
  auto uploaded =
      request(client::kUploadBinary, rpc::with_bulk(client::encode(piece), SharedBytes(Buffer::copy_of(as_bytes(program)))),
              to_string(job.binary));
  EXPECT_EQ(user, "ann");
  EXPECT_TRUE(kept(std::move(uploaded)));
}

TEST_F(ServerReplication, AChangeOfFilesThatWaitsForAFollowerWhenTheMasterEndsIsToBeMadeAgain) {
  bring_in_sync();
  const storage::files::MakeDirectory made{"/made", "user"};
  expect_another_try(request(storage::files::kFileRequest, storage::files::encode(made), "made"));
}

/// What was asked before waits. What is asked now is answered: it would wait until an operator has mended the store.
TEST_F(ServerReplication, WhileTheRecordCannotBeWrittenPromisesAreRefusedAndQuestionsAnswered) {
  bring_in_sync();
  reactor->run([&] { follower->close(); });
  EXPECT_EQ(leadership.announcement(), std::vector<std::string>{});
  client::Submit job;
  job.name = "sought";
  job.program = "a.out";
  job.same_binary = true;
  std::promise<Result<rpc::Message>> answered;
  auto before = answered.get_future();
  reactor->run([&] {
    driver->request(client::kSubmitJob, client::encode(job), kAnswerDeadline,
                    [&](Result<rpc::Message> message) { answered.set_value(std::move(message)); });
  });
  const auto ask = [&](rpc::MessageType type, rpc::Payload payload) {
    return rpc::call(*reactor, driver, type, std::move(payload), kAnswerDeadline);
  };
  ASSERT_TRUE(ask(rpc::kPresence, {})) << "so the master has the job";
  leadership.refuse(Error(Code::unavailable, "the store has no space"));
  EXPECT_TRUE(ask(client::kListMasters, {}));
  EXPECT_TRUE(ask(client::kListJobs, {}));
  const storage::files::MakeDirectory made{"/made", "user"};
  for (const auto& refused :
       {ask(client::kSubmitJob, client::encode(job)), ask(storage::files::kFileRequest, storage::files::encode(made))}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::unavailable) << "another try is worth it";
    EXPECT_NE(refused.error().to_string().find("the record of masters cannot be written: the store has no space"),
              std::string::npos)
        << refused.error().to_string();
  }
  EXPECT_EQ(before.wait_for(Duration(0)), std::future_status::timeout) << "it is not promised";
  leadership.refuse({});
  leadership.answer({});
  EXPECT_TRUE(before.get());
  EXPECT_TRUE(ask(storage::files::kFileRequest, storage::files::encode(made)));
}

}  // namespace
}  // namespace weft::master
