// Detached jobs as clients and workers see them: a master behind its socket, and peers that are a few lines of this test.
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/binary_store.hpp"
#include "engine/master/server/server.hpp"
#include "runtime/protocol/worker.hpp"
#include "storage/acting_user.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

namespace protocol = runtime::protocol;
using testing::HasSubstr;

constexpr Duration kDriversDeadline = std::chrono::seconds(60);

class ServerDrivers : public testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.core.heartbeat_timeout = Time(0);
    options.directory = programs.path() / "programs";
    server = Server::start(options).value();
  }
  ~ServerDrivers() override {
    peers.clear();
    asking.reset();
    server.reset();
    reactor->stop();
  }

  rpc::ConnectionPtr connect(rpc::Handler handler = {}) {
    return peers.emplace_back(
        rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kDriversDeadline, std::move(handler)).value());
  }
  /// A worker that has every file but those of /missing, whose drivers print "hello", and whose commands are kept.
  rpc::ConnectionPtr join(const std::string& name) {
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr&, const rpc::Message& message, rpc::Responder responder) {
      if (message.type == protocol::kFindFiles) {
        protocol::FileAnswer answer;
        const auto query = protocol::decode<protocol::FileQuery>(message).value();
        EXPECT_NE(query.user, "");
        for (const std::string& path : query.paths)
          if (path.starts_with("/missing")) answer.missing.push_back(path);
        return responder.reply(protocol::encode(answer));
      }
      rpc::Payload payload;
      if (message.type == protocol::kReadLog) {
        const auto wanted = protocol::decode<protocol::LogRequest>(message).value();
        log_bytes = wanted.max_bytes;
        if (wanted.driver) payload.bulk.emplace_back(Buffer::copy_of(as_bytes(std::string_view("hello\n"))));
      }
      responder.reply(std::move(payload));
    };
    handler.on_notify = [this, name](const rpc::ConnectionPtr&, const rpc::Message& message) {
      const std::lock_guard lock(mutex);
      auto commands = protocol::decode<protocol::Commands>(message).value();
      for (protocol::Command& command : commands.commands)
        if (auto* start = std::get_if<protocol::StartDriver>(&command)) starts.emplace_back(name, std::move(*start));
      changed.notify_all();
    };
    const auto worker = connect(std::move(handler));
    protocol::Register info;
    info.name = info.host = name;
    info.data_address = "127.0.0.1:1";
    info.slots = 2;
    EXPECT_TRUE(call(worker, protocol::kRegister, protocol::encode(info)));
    return worker;
  }
  Result<rpc::Message> call(const rpc::ConnectionPtr& peer, rpc::MessageType type, rpc::Payload payload = {}) {
    return rpc::call(*reactor, peer, type, std::move(payload), kDriversDeadline);
  }
  static client::Submit submission(const std::string& request_id = "", const std::string& user = "ann") {
    client::Submit submit;
    submit.name = "count";
    submit.arguments = {"in.txt"};
    submit.directory = "/d";
    submit.binary = hash128(as_bytes(kProgram));
    submit.options.user = user;
    submit.options.request_id = request_id;
    return submit;
  }
  Result<client::Submitted> detach(const rpc::ConnectionPtr& client, client::Submit submit, std::vector<std::string> files = {}) {
    WEFT_ASSIGN(const auto answer,
                call(client, client::kDetachJob, client::encode(client::Detach{std::move(submit), std::move(files)})));
    return client::decode<client::Submitted>(answer);
  }
  /// `user`: for whom the connection asks from then on; empty: it does not say.
  void upload(const rpc::ConnectionPtr& client, const std::string& user = "ann") {
    if (!user.empty()) {
      ASSERT_TRUE(call(client, storage::kActFor, storage::encode(storage::ActFor{user})));
    }
    const client::Upload piece{hash128(as_bytes(kProgram)), 0, kProgram.size()};
    ASSERT_TRUE(call(client, client::kUploadBinary,
                     rpc::with_bulk(client::encode(piece), SharedBytes(Buffer::copy_of(as_bytes(kProgram))))));
  }
  Result<rpc::Message> start(const rpc::ConnectionPtr& client, const client::Submitted& job) {
    return call(client, client::kStartDriver, client::encode(client::Attach{job.job, job.key}));
  }
  /// The n-th that workers were sent.
  std::pair<std::string, protocol::StartDriver> started(std::size_t n) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kDriversDeadline, [&] { return starts.size() >= n; }));
    return starts.size() >= n ? starts[n - 1] : std::pair<std::string, protocol::StartDriver>();
  }
  JobStatus status(JobId job) {
    if (!asking) asking = connect();
    return client::decode<client::JobList>(call(asking, client::kJobStatus, client::encode(client::JobRequest{job})).value())
        .value()
        .jobs.at(0);
  }
  bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + kDriversDeadline;
    while (!holds() && std::chrono::steady_clock::now() < end) {
    }
    return holds();
  }

  /// As when somebody cleans up the master's disk.
  void remove_program() const {
    ASSERT_TRUE(std::filesystem::remove(programs.path() / "programs" / file_name(program_of(submission()))));
  }
  Result<rpc::Message> attach(const rpc::ConnectionPtr& driver, JobId job, std::uint64_t key) {
    return call(driver, client::kAttachJob, client::encode(client::Attach{job, key}));
  }
  std::string summary(JobId job) {
    if (!asking) asking = connect();
    return client::decode<JobExplanation>(call(asking, client::kExplainJob, client::encode(client::JobRequest{job})).value())
        .value()
        .summary;
  }

  static constexpr std::string_view kProgram = "#!/bin/sh\n";
  TempDir programs = TempDir::create().value();
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("test");
  std::unique_ptr<Server> server;
  std::vector<rpc::ConnectionPtr> peers;
  rpc::ConnectionPtr asking;                // of status()
  std::atomic<std::uint64_t> log_bytes{0};  // that the master asked a worker for, last
  std::mutex mutex;                         // guards what follows
  std::condition_variable changed;
  std::vector<std::pair<std::string, protocol::StartDriver>> starts;
};

TEST_F(ServerDrivers, ADetachedJobIsRunByADriverOnAWorker) {
  const auto worker = join("w1");
  auto client = connect();
  const auto job = detach(client, submission()).value();
  EXPECT_FALSE(job.binary_known);
  EXPECT_NE(job.key, 0u);
  EXPECT_FALSE(start(client, job)) << "its program was not uploaded";
  upload(client);
  EXPECT_FALSE(start(client, {job.job, true, 0, job.key + (1u << client::kDriverStartBits), false})) << "of another job";
  ASSERT_TRUE(start(client, job));
  const auto [node, driver] = started(1);
  EXPECT_EQ(node, "w1");
  EXPECT_EQ(driver.job, job.job);
  EXPECT_EQ(driver.arguments, std::vector<std::string>{"in.txt"});
  EXPECT_EQ(driver.user, "ann");
  reactor->run([&] { client->close(); });  // which the job does not need any more

  const auto process = connect();
  EXPECT_FALSE(call(process, client::kAttachJob, client::encode(client::Attach{job.job, driver.key + 1})));
  const auto attached = call(process, client::kAttachJob, client::encode(client::Attach{job.job, driver.key}));
  ASSERT_TRUE(attached) << attached.error().to_string();
  EXPECT_EQ(client::decode<client::Submitted>(*attached)->job, job.job);
  EXPECT_EQ(status(job.job).state, JobState::running);
  ASSERT_TRUE(call(process, client::kCloseJob, client::encode(client::JobRequest{job.job})));
  EXPECT_EQ(status(job.job).state, JobState::finished);

  const auto logs =
      client::decode<client::JobLogs>(call(process, client::kJobLogs, client::encode(client::LogsWanted{job.job, 100})).value());
  ASSERT_EQ(logs->logs.size(), 1u);
  EXPECT_TRUE(logs->logs[0].driver);
  EXPECT_EQ(logs->logs[0].node, "w1");
  EXPECT_EQ(as_chars(logs->logs[0].text.view()), "hello\n");
  EXPECT_EQ(log_bytes, 100u);
  ASSERT_TRUE(call(process, client::kJobLogs, client::encode(client::LogsWanted{job.job, UINT64_MAX})));
  EXPECT_EQ(log_bytes, 64u << 20) << "all of a cluster are no more than the master can hold";
}

/// It may be another program with the same hash.
TEST_F(ServerDrivers, WhatAnotherUserUploadedIsNotTheProgramOfAJob) {
  const auto worker = join("w1");
  const auto bob = connect(), client = connect();
  upload(bob, "bob");
  const auto job = detach(client, submission()).value();
  EXPECT_FALSE(job.binary_known);
  EXPECT_FALSE(start(client, job)) << "its program was not uploaded";
  const auto fetch = [&](std::optional<std::string> user) {
    return call(worker, protocol::kFetchBinary, protocol::encode(protocol::BinaryRequest{submission().binary, 0, std::move(user)}));
  };
  EXPECT_TRUE(fetch("bob"));
  EXPECT_TRUE(fetch(std::nullopt)) << "by a worker of an earlier release, to which it is the only one";
  EXPECT_EQ(fetch("ann").error().code(), Code::not_found);
  EXPECT_EQ(fetch("").error().code(), Code::not_found) << "not the same as to name no user";
  upload(bob, "bob");
  EXPECT_FALSE(start(client, job)) << "it is not bob's";
  upload(client, "");
  ASSERT_TRUE(start(client, job)) << "it was uploaded for the user of the job that the connection submitted";
  EXPECT_EQ(as_chars(fetch("ann").value().bulk.view()), kProgram);
  EXPECT_THAT(fetch(std::nullopt).error().to_string(), HasSubstr("upgrade the worker"));
  EXPECT_TRUE(detach(bob, submission("", "bob")).value().binary_known);
}

TEST_F(ServerDrivers, AUserWhoseProgramsCannotBeKeptSubmitsNone) {
  const auto refused = detach(connect(), submission("", std::string(201, 'a')));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("the name of the job's user is too long"));
  EXPECT_TRUE(detach(connect(), submission("", std::string(200, 'a'))));
}

TEST_F(ServerDrivers, AnotherDriverTakesThePlaceOfTheFirst) {
  const auto first_worker = join("w1");
  const auto client = connect();
  upload(client);
  const auto job = detach(client, submission()).value();
  ASSERT_TRUE(start(client, job));
  const auto first = started(1).second;
  const auto old = connect();
  ASSERT_TRUE(call(old, client::kAttachJob, client::encode(client::Attach{job.job, first.key})));
  join("w2");
  reactor->run([&] { first_worker->close(); });
  const auto [node, second] = started(2);
  EXPECT_EQ(node, "w2");
  EXPECT_FALSE(call(connect(), client::kAttachJob, client::encode(client::Attach{job.job, first.key})));
  ASSERT_TRUE(call(connect(), client::kAttachJob, client::encode(client::Attach{job.job, second.key})));
  EXPECT_FALSE(call(old, client::kListNodes)) << "its connection is closed";
}

TEST_F(ServerDrivers, TheEndOfItsDriverIsTheEndOfTheJob) {
  const auto worker = join("w1");
  const auto client = connect();
  upload(client);
  const auto job = detach(client, submission()).value();
  ASSERT_TRUE(start(client, job));
  const auto driver = started(1).second;
  reactor->run([&] {
    worker->notify(protocol::kDriverEnded,
                   protocol::encode(protocol::DriverEnded{job.job, driver.key, 3 << 8, "exit code 3: count: no such file"}));
  });
  EXPECT_TRUE(eventually([&] { return status(job.job).state == JobState::failed; }));
  EXPECT_EQ(status(job.job).error, "its driver failed: exit code 3: count: no such file");
}

TEST_F(ServerDrivers, AFileThatNoWorkerHasIsTheAnswer) {
  join("w1");
  const auto client = connect();
  upload(client);
  const auto job = detach(client, submission(), {"/missing/in.txt"}).value();
  const auto refused = start(client, job);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("no worker has /missing/in.txt"));
  EXPECT_EQ(status(job.job).state, JobState::failed);
  EXPECT_FALSE(detach(client, submission(), std::vector<std::string>(257, "/a"))) << "too many";
  EXPECT_FALSE(detach(client, submission(), {std::string(4097, 'a')})) << "too long";
}

TEST_F(ServerDrivers, ASubmissionWithARequestIdIsMadeOnce) {
  join("w1");
  const auto client = connect();
  upload(client);
  const auto job = detach(client, submission("nightly")).value();
  const auto same = detach(connect(), submission("nightly")).value();
  EXPECT_EQ(same.job, job.job);
  EXPECT_EQ(same.key, job.key) << "it can still be completed";
  ASSERT_TRUE(start(client, job));
  EXPECT_EQ(detach(client, submission("nightly")).value().key, 0u) << "nothing is left to do";
  EXPECT_NE(detach(client, submission("nightly", "bob")).value().job, job.job) << "another user's";
  EXPECT_NE(detach(client, submission("weekly")).value().job, job.job);
  EXPECT_NE(detach(client, submission()).value().job, detach(client, submission()).value().job);
  const auto refused = call(client, client::kSubmitJob, client::encode(submission("nightly")));
  ASSERT_FALSE(refused) << "it has a driver";
  EXPECT_THAT(refused.error().to_string(), HasSubstr("weft job attach 1"));
  ASSERT_TRUE(call(client, client::kKillJob, client::encode(client::KillRequest{job.job, "enough"})));
  const auto over = detach(client, submission("nightly")).value();
  EXPECT_EQ(over.job, job.job) << "it is in the history";
  EXPECT_EQ(over.key, 0u);
  EXPECT_THAT(call(client, client::kSubmitJob, client::encode(submission("nightly"))).error().to_string(),
              HasSubstr("is over (killed)"));
}

TEST_F(ServerDrivers, ADriverThatGotNoAnswerSubmitsTheSameJobAgain) {
  auto submit = submission("nightly");
  submit.options.submitter = 7;
  const auto submitted = [this](const rpc::ConnectionPtr& driver, const client::Submit& what) -> Result<client::Submitted> {
    WEFT_ASSIGN(const auto answer, call(driver, client::kSubmitJob, client::encode(what)));
    return client::decode<client::Submitted>(answer);
  };
  const auto job = submitted(connect(), submit).value();
  auto other = submit;
  other.options.submitter = 8;
  EXPECT_FALSE(submitted(connect(), other)) << "it has a driver";
  other.options.submitter = 0;
  EXPECT_FALSE(submitted(connect(), other)) << "of a release that draws no number";
  const auto again = submitted(connect(), submit).value();
  EXPECT_EQ(again.job, job.job);
  EXPECT_EQ(again.key, job.key);
  auto nameless = submission();
  nameless.options.submitter = 9;
  const auto without = submitted(connect(), nameless).value();
  EXPECT_EQ(submitted(connect(), nameless).value().job, without.job);
  nameless.options.submitter = 0;
  EXPECT_NE(submitted(connect(), nameless).value().job, without.job);
  nameless.options.submitter = 9;
  nameless.options.user = "eve";
  EXPECT_NE(submitted(connect(), nameless).value().job, without.job);
}

TEST_F(ServerDrivers, ASubmissionWithoutARequestIdWhoseAnswerWasLostIsMadeOnce) {
  join("w1");
  auto submit = submission();
  submit.options.submitter = 7;
  const auto job = detach(connect(), submit).value();
  const auto client = connect();
  const auto same = detach(client, submit).value();
  EXPECT_EQ(same.job, job.job);
  EXPECT_EQ(same.key, job.key) << "it can still be completed";
  auto other = submit;
  other.options.submitter = 8;
  EXPECT_NE(detach(client, other).value().job, job.job);
  other = submit;
  other.options.user = "eve";
  EXPECT_NE(detach(client, other).value().job, job.job) << "another user's";
  upload(client);
  ASSERT_TRUE(start(client, same));
  EXPECT_NE(started(1).second.key, job.key);
  EXPECT_TRUE(start(connect(), job)) << "it was started: nothing is left to do";
  EXPECT_EQ(detach(client, submit).value().key, 0u);
  EXPECT_EQ(starts.size(), 1u);
}

TEST_F(ServerDrivers, AJobEndsWithItsTerminalUnlessItIsToContinue) {
  for (const OnDisconnect then : {OnDisconnect::kill, OnDisconnect::go_on}) {
    const auto terminal = connect();
    upload(terminal);
    auto submit = submission();
    submit.options.on_disconnect = then;
    const auto job =
        client::decode<client::Submitted>(call(terminal, client::kSubmitJob, client::encode(submit)).value()).value().job;
    reactor->run([&] { terminal->close(); });
    if (then == OnDisconnect::kill) {
      EXPECT_TRUE(eventually([&] { return status(job).state == JobState::killed; }));
      continue;
    }
    const auto next = connect();  // whose answer comes after the master has seen the end of the other
    ASSERT_TRUE(call(next, client::kListNodes));
    EXPECT_EQ(status(job).state, JobState::running);
  }
}

TEST_F(ServerDrivers, ATerminalThatGotNoAnswerDoesNotRepeatAJobThatGoesOnWithoutIt) {
  const auto worker = join("w1");
  const auto terminal = connect();
  upload(terminal);
  auto submit = submission();
  submit.options.on_disconnect = OnDisconnect::go_on;
  submit.options.submitter = 9;
  ASSERT_TRUE(call(terminal, client::kSubmitJob, client::encode(submit)));
  reactor->run([&] { terminal->close(); });
  started(1);
  const auto again = call(connect(), client::kSubmitJob, client::encode(submit));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::already_exists);
  EXPECT_THAT(again.error().to_string(), HasSubstr("goes on with a driver in the cluster"));
}

TEST_F(ServerDrivers, AJobWithoutItsProgramCannotContinue) {
  const auto terminal = connect();
  auto submit = submission();
  submit.options.on_disconnect = OnDisconnect::go_on;
  const auto job =
      client::decode<client::Submitted>(call(terminal, client::kSubmitJob, client::encode(submit)).value()).value().job;
  reactor->run([&] { terminal->close(); });
  EXPECT_TRUE(eventually([&] { return status(job).state == JobState::killed; }));
}

TEST_F(ServerDrivers, AProgramThatTheMasterLostIsUploadedAgain) {
  const auto worker = join("w1");
  const auto client = connect();
  upload(client);
  remove_program();
  const auto job = detach(client, submission()).value();
  EXPECT_FALSE(job.binary_known);
  EXPECT_FALSE(start(client, job));
  upload(client);
  ASSERT_TRUE(start(client, job));
  remove_program();
  const auto driver = connect();
  const auto attached = attach(driver, job.job, started(1).second.key);
  ASSERT_TRUE(attached);
  EXPECT_FALSE(client::decode<client::Submitted>(*attached)->binary_known);
  upload(driver);
  EXPECT_TRUE(detach(client, submission()).value().binary_known);
}

/// Its workers have it.
TEST_F(ServerDrivers, AJobThatHasBegunGoesOnWhenTheMasterLosesItsProgram) {
  const auto worker = join("w1");
  const auto terminal = connect();
  auto submit = submission();
  submit.options.on_disconnect = OnDisconnect::go_on;
  const auto job =
      client::decode<client::Submitted>(call(terminal, client::kSubmitJob, client::encode(submit)).value()).value().job;
  const auto extend = [&](std::uint32_t action) {
    Buffer part = plan::encode(test::part(action, {test::result(test::source(action, 1, action))}));
    return call(terminal, client::kRunPart, rpc::with_bulk(client::encode(client::JobRequest{job}), SharedBytes(std::move(part))));
  };
  EXPECT_FALSE(extend(0)) << "it was never there";
  upload(terminal);
  ASSERT_TRUE(extend(0));
  remove_program();
  const auto more = extend(1);
  EXPECT_TRUE(more) << more.error().to_string();
  reactor->run([&] { terminal->close(); });
  EXPECT_EQ(started(1).second.job, job);
}

TEST_F(ServerDrivers, AnExplanationSaysWhyItsDriverWasNotStarted) {
  const auto worker = join("w1");
  const auto client = connect();
  upload(client);
  const auto job = detach(client, submission()).value();
  ASSERT_TRUE(start(client, job));
  const auto key = started(1).second.key;
  reactor->run([&] {
    worker->notify(protocol::kDriverEnded, protocol::encode(protocol::DriverEnded{job.job, key, -1, "there is no room"}));
  });
  const std::string why = "its driver has not submitted a stage yet; its driver could not be started on w1: there is no room";
  EXPECT_TRUE(eventually([&] { return summary(job.job) == why; })) << summary(job.job);
  ASSERT_TRUE(attach(connect(), job.job, started(2).second.key));
  EXPECT_EQ(summary(job.job), "its driver has not submitted a stage yet");
}

}  // namespace
}  // namespace weft::master
