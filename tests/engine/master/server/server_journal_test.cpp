// The master server and its journal: workers and drivers are peers that only speak the protocol.
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <mutex>

#include <gtest/gtest.h>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "engine/master/journal/journal_check.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/binary_store.hpp"
#include "engine/master/server/server.hpp"
#include "runtime/protocol/worker.hpp"
#include "tests/engine/master/core/core_driver.hpp"
#include "tests/engine/master/server/job_statuses.hpp"
#include "tests/support/process.hpp"
#include "tests/support/small_disk.hpp"

namespace weft::master {
namespace {

namespace protocol = runtime::protocol;

using namespace test;
namespace fs = std::filesystem;

constexpr Duration kDeadline = std::chrono::seconds(60);

class ServerJournal : public testing::Test {
 protected:
  void start() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.journal = path;
    options.directory = path + ".programs";
    options.journal_checkpoint_bytes = checkpoint_bytes;
    options.core.finished_jobs_kept = jobs_kept;
    options.core.heartbeat_timeout = Time(0);
    auto started = Server::start(options);
    ASSERT_TRUE(started) << started.error().to_string();
    server = std::move(*started);
    peers.clear();
    peer = connect();
  }
  void restart() {
    server.reset();
    start();
  }
  rpc::ConnectionPtr connect(rpc::Handler handler = {}) {
    return peers.emplace_back(
        rpc::connect(*reactor, rpc::Endpoint::parse(server->address()).value(), kDeadline, std::move(handler)).value());
  }
  Result<rpc::Message> call(rpc::MessageType type, rpc::Payload payload) {
    return rpc::call(*reactor, peer, type, std::move(payload), kDeadline);
  }
  NodeId join(const std::string& name, const rpc::ConnectionPtr& worker) {
    protocol::Register info;
    info.name = info.host = name;
    info.data_address = "127.0.0.1:1";
    info.slots = 2;
    auto answer = rpc::call(*reactor, worker, protocol::kRegister, protocol::encode(info), kDeadline);
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? protocol::decode<protocol::Registered>(*answer)->node : NodeId(0);
  }
  JobId submit(const std::string& name) {
    client::Submit job;
    job.name = name;
    job.program = "a.out";
    job.same_binary = true;
    auto answer = call(client::kSubmitJob, client::encode(job));
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? client::decode<client::Submitted>(*answer)->job : JobId(0);
  }
  void close(JobId job) { EXPECT_TRUE(call(client::kCloseJob, client::encode(client::JobRequest{job}))); }
  void kill(JobId job) { EXPECT_TRUE(call(client::kKillJob, client::encode(client::KillRequest{job, "wrong input"}))); }
  void extend(JobId job, const plan::PlanPart& part) {
    auto done = call(client::kRunPart, rpc::with_bulk(client::encode(client::JobRequest{job}), SharedBytes(plan::encode(part))));
    EXPECT_TRUE(done) << done.error().to_string();
  }
  JobStatus status(JobId job) {
    auto answer = call(client::kJobStatus, client::encode(client::JobRequest{job}));
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? std::move(client::decode<client::JobList>(*answer)->jobs.at(0)) : JobStatus{};
  }
  client::JobList jobs() { return client::decode<client::JobList>(call(client::kListJobs, {}).value()).value(); }

  TempDir directory = TempDir::create("weft-journal-").value();
  std::string path = (directory.path() / "journal").string();
  std::uint64_t checkpoint_bytes = 16u << 20;
  std::size_t jobs_kept = 1000;
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("peers");
  std::unique_ptr<Server> server;
  std::vector<rpc::ConnectionPtr> peers;
  rpc::ConnectionPtr peer;  // the driver of all jobs
};

TEST_F(ServerJournal, HeartbeatsLeaveNothingInIt) {
  start();
  const auto worker = connect();
  EXPECT_EQ(join("w1", worker), NodeId(1));
  submit("job");  // what the worker's joining leaves there is written by then
  const auto size = fs::file_size(path);
  protocol::Heartbeat heartbeat;
  heartbeat.measured.worker.cpu = 1;
  reactor->run([&] {
    for (int i = 0; i < 5000; ++i) worker->notify(protocol::kHeartbeat, protocol::encode(heartbeat));
  });
  // An answer on that connection: the master has taken all of them.
  ASSERT_TRUE(rpc::call(*reactor, worker, client::kListNodes, {}, kDeadline));
  EXPECT_EQ(fs::file_size(path), size);
  server.reset();
  EXPECT_EQ(fs::file_size(path), size);
}

TEST_F(ServerJournal, ARestartedMasterSaysTheSameOfJobsThatEndedAndGoesOnWithThoseThatRan) {
  start();
  const auto worker = connect();
  join("w1", worker);
  const JobId finished = submit("finished"), killed = submit("killed"), ran = submit("ran");
  extend(finished, part(0, {result(source(0, 3, 0))}));
  close(finished);
  kill(killed);
  extend(ran, part(0, {source(0, 4, 2), result(reader(1, {0}, 2, 0))}));
  for (const std::uint32_t task : {0u, 1u}) {
    protocol::Event event;
    event.attempt = AttemptId{TaskId{ran, StageId(0), task}, 0};
    event.kind = runtime::TaskEnd::finished;
    event.output = {{10, 1}, {20, 2}};
    event.counters = {{"words", 7}};
    event.input_bytes = 100;
    reactor->run([&] {
      std::vector<protocol::Event> events;
      events.push_back(std::move(event));
      worker->notify(protocol::kTaskEvents, protocol::encode(protocol::Events{std::move(events)}));
    });
  }
  ASSERT_TRUE(rpc::call(*reactor, worker, client::kListNodes, {}, kDeadline));
  const std::string was_finished = text_of(status(finished)), was_killed = text_of(status(killed));
  const JobStatus before = status(ran);
  ASSERT_EQ(before.stages.at(0).finished, 2u);
  const client::JobList list = jobs();

  restart();
  EXPECT_EQ(text_of(status(finished)), was_finished);
  EXPECT_EQ(text_of(status(killed)), was_killed);
  const JobStatus after = status(ran);
  EXPECT_EQ(after.state, JobState::running);
  ASSERT_EQ(after.stages.size(), 2u);
  EXPECT_EQ(after.stages[0].finished, 2u);
  EXPECT_EQ(after.stages[0].running, 2u) << "as far as is known";
  EXPECT_EQ(after.counters.at("words"), 14);
  EXPECT_EQ(after.submitted, before.submitted);
  EXPECT_EQ(jobs().jobs.size(), 3u);
  EXPECT_GE(jobs().now, list.now);
  EXPECT_EQ(submit("next"), JobId(4));
  EXPECT_EQ(join("w1", connect()), NodeId(2));
  EXPECT_EQ(status(ran).stages.at(0).finished, 0u) << "another worker by the name: the outputs are gone with the first";
  EXPECT_EQ(status(ran).counters.at("words"), 14);

  restart();
  EXPECT_EQ(status(ran).state, JobState::running);
  EXPECT_EQ(submit("next"), JobId(5));
  EXPECT_EQ(join("w1", connect()), NodeId(3));
}

TEST_F(ServerJournal, WorkersHearTheSameKeyOfAJobFromARestartedMaster) {
  const auto keys_of_two_jobs = [this](const std::function<void()>& then) {
    std::mutex mutex;
    std::condition_variable more;
    std::map<JobId, std::uint64_t> keys;
    rpc::Handler handler;
    handler.on_notify = [&](const rpc::ConnectionPtr&, const rpc::Message& message) {
      if (message.type != protocol::kCommands) return;
      const auto commands = protocol::decode<protocol::Commands>(message).value();
      const std::lock_guard lock(mutex);
      for (const protocol::Command& command : commands.commands)
        if (const auto* key = std::get_if<protocol::JobKey>(&command)) keys[key->job] = key->key;
      more.notify_all();
    };
    const auto worker = connect(std::move(handler));
    join("w1", worker);
    then();
    std::unique_lock lock(mutex);
    EXPECT_TRUE(more.wait_for(lock, kDeadline, [&] { return keys.size() == 2; }));
    lock.unlock();
    server.reset();
    reactor->run([&] { worker->close(); });
    return keys;
  };
  start();
  const auto before = keys_of_two_jobs([this] {
    for (const char* const name : {"first", "second"}) extend(submit(name), part(0, {result(source(0, 1, 0))}));
  });
  start();
  const auto after = keys_of_two_jobs([] {});
  EXPECT_EQ(before, after);
  EXPECT_NE(before.at(JobId(1)), 0U);
  EXPECT_NE(before.at(JobId(1)), before.at(JobId(2)));
}

TEST_F(ServerJournal, AJobWhoseProgramWasBeingUploadedGoesOnWithTheNextMaster) {
  start();
  client::Submit job;
  job.name = job.program = "a.out";
  const std::string program = "program";
  job.binary = hash128(as_bytes(program));
  const auto answer = call(client::kSubmitJob, client::encode(job));
  ASSERT_TRUE(answer) << answer.error().to_string();
  const auto before = client::decode<client::Submitted>(*answer);
  ASSERT_TRUE(before->kept && !before->binary_known);
  restart();
  EXPECT_EQ(status(before->job).state, JobState::running);
  const auto attached = call(client::kAttachJob, client::encode(client::Attach{before->job, before->key}));
  ASSERT_TRUE(attached) << attached.error().to_string();
  EXPECT_FALSE(client::decode<client::Submitted>(*attached)->binary_known) << "its driver uploads it again";
  const client::Upload piece{job.binary, 0, program.size()};
  ASSERT_TRUE(call(client::kUploadBinary, rpc::with_bulk(client::encode(piece), SharedBytes(Buffer::copy_of(as_bytes(program))))));
  restart();
  EXPECT_TRUE(call(protocol::kFetchBinary, protocol::encode(protocol::BinaryRequest{job.binary, 0})));
}

TEST_F(ServerJournal, ARestartedMasterKeepsToWhatOperatorsSetOfWorkers) {
  const auto set = [this](const std::string& words, const std::string& reason) {
    const auto done = call(client::kSetNode, client::encode(client::NodeCapacity{"w1", words, reason}));
    EXPECT_TRUE(done) << done.error().to_string();
  };
  const auto w1 = [this] {
    const auto answer = call(client::kListNodes, {});
    EXPECT_TRUE(answer) << answer.error().to_string();
    return client::decode<client::NodeList>(*answer).value().nodes.at(0);
  };
  start();
  join("w1", connect());
  set("slots=1", "a new disk");
  restart();
  join("w1", connect());
  EXPECT_EQ(w1().capacity.cpu, 1);
  EXPECT_EQ(w1().standing.capacity_why, "set by an operator: a new disk");
  set("nominal", "");
  EXPECT_EQ(w1().capacity.cpu, 2);
  restart();
  join("w1", connect());
  EXPECT_EQ(w1().capacity.cpu, 2);
}

/// Millions of files take a while: the timers of workers and drivers must not run meanwhile.
TEST_F(ServerJournal, FilesAreOpenedBeforeTheCore) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.journal = path;
  options.directory = path + ".programs";
  options.event_log = path + ".events";
  bool core_began = true;
  options.storage = [&](const StorageShell&) -> Result<std::unique_ptr<StorageService>> {
    core_began = std::filesystem::exists(options.event_log);
    return fail(Code::io, "no such disk");
  };
  const auto started = Server::start(options);
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().to_string().find("no such disk"), std::string::npos) << started.error().to_string();
  EXPECT_FALSE(core_began);
}

TEST_F(ServerJournal, ASecondMasterIsRefusedAndTheFirstGoesOn) {
  start();
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.journal = path;
  const auto second = Server::start(options);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().to_string().find(path + " is in use by a master"), std::string::npos) << second.error().to_string();
  EXPECT_EQ(submit("job"), JobId(1));
}

TEST_F(ServerJournal, AJobThatIsTooLongToBeKeptIsRefused) {
  start();
  client::Submit long_one;
  long_one.name = "long";
  long_one.same_binary = true;
  long_one.arguments = {std::string(17u << 20, 'x')};
  const auto refused = call(client::kSubmitJob, client::encode(long_one));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument) << refused.error().to_string();
  EXPECT_LT(fs::file_size(path), 1u << 20);
  EXPECT_EQ(submit("next"), JobId(1)) << "no number was given";
  restart();
  EXPECT_EQ(jobs().jobs.size(), 1u);
}

TEST_F(ServerJournal, WhoeverIsToldOfAJobIsToldWhatIsOnTheDisk) {
  start();
  for (int i = 0; i < 30; ++i) {
    const JobId job = submit("job");
    EXPECT_EQ(check_journal(path)->running, std::set<JobId>{job});
    i % 2 == 0 ? close(job) : kill(job);
    EXPECT_TRUE(check_journal(path)->ended.contains(job));
  }
}

TEST_F(ServerJournal, StaysShortWhileThousandsOfJobsGoThrough) {
  checkpoint_bytes = 64 << 10;
  jobs_kept = 30;  // four times these is less than that
  start();
  const JobId alive = submit("alive");
  std::uint64_t longest = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    close(submit("job"));
    longest = std::max(longest, fs::file_size(path));
  }
  EXPECT_LT(longest, (64u << 10) + 8192);
  restart();
  EXPECT_EQ(status(alive).state, JobState::running);
  EXPECT_EQ(jobs().jobs.size(), 31u);
  EXPECT_EQ(submit("next"), JobId(2002));
}

/// A job is recorded before its driver uploads the program.
TEST_F(ServerJournal, AJobThatHasNotBegunWaitsForItsProgramToo) {
  start();
  const std::string program = "#!/bin/sh\n";
  client::Submit submit;
  submit.name = "count";
  submit.binary = hash128(as_bytes(program));
  const auto submitted = client::decode<client::Submitted>(call(client::kSubmitJob, client::encode(submit)).value()).value();
  restart();
  const auto attached = call(client::kAttachJob, client::encode(client::Attach{submitted.job, submitted.key}));
  ASSERT_TRUE(attached) << attached.error().to_string();
  EXPECT_FALSE(client::decode<client::Submitted>(*attached)->binary_known);
  const client::Upload piece{submit.binary, 0, program.size()};
  ASSERT_TRUE(call(client::kUploadBinary, rpc::with_bulk(client::encode(piece), SharedBytes(Buffer::copy_of(as_bytes(program))))));
  extend(submitted.job, part(0, {result(source(0, 1, 0))}));
  server.reset();
  fs::remove_all(path + ".programs");
  start();
  EXPECT_EQ(status(submitted.job).state, JobState::failed);
  EXPECT_NE(status(submitted.job).error.find("its program was not kept"), std::string::npos) << status(submitted.job).error;
}

/// Earlier releases kept a program under its hash alone, for all users.
TEST_F(ServerJournal, AProgramThatAnEarlierReleaseKeptBecomesThatOfTheJobsUser) {
  start();
  const std::string program = "#!/bin/sh\n";
  client::Submit submit;
  submit.name = "count";
  submit.binary = hash128(as_bytes(program));
  submit.options.user = "ann";
  const auto submitted = client::decode<client::Submitted>(call(client::kSubmitJob, client::encode(submit)).value()).value();
  const client::Upload piece{submit.binary, 0, program.size()};
  ASSERT_TRUE(call(client::kUploadBinary, rpc::with_bulk(client::encode(piece), SharedBytes(Buffer::copy_of(as_bytes(program))))));
  extend(submitted.job, part(0, {result(source(0, 1, 0))}));
  server.reset();
  const fs::path of_all = path + ".programs/" + to_string(submit.binary);
  fs::rename(path + ".programs/" + file_name(program_of(submit)), of_all);
  start();
  EXPECT_EQ(status(submitted.job).state, JobState::running);
  EXPECT_TRUE(call(protocol::kFetchBinary, protocol::encode(protocol::BinaryRequest{submit.binary, 0, "ann"})));
  EXPECT_FALSE(fs::exists(of_all)) << "no job of another user gets it later";
}

TEST_F(ServerJournal, AValueThatIsRecordedAgainCountsOnce) {
  start();
  const JobId job = submit("job");
  extend(job, part(0, {result(source(0, 1, 0))}));
  const auto record = [&](std::uint32_t action, std::size_t mebibytes) {
    const client::ValueRecord value{job, ActionId(action)};
    return call(client::kRecordValue,
                rpc::with_bulk(client::encode(value), SharedBytes(Buffer::copy_of(as_bytes(std::string(mebibytes << 20, 'v'))))));
  };
  for (int times = 0; times < 3; ++times) ASSERT_TRUE(record(0, 150)) << "the answer was lost, and the driver asks again";
  restart();
  ASSERT_TRUE(record(0, 150)) << "a restart between the two";
  EXPECT_EQ(record(1, 150).error().code(), Code::resource_exhausted);
  ASSERT_TRUE(record(1, 50)) << "what was refused does not count";
  ASSERT_TRUE(record(0, 149)) << "another value takes the place of the first";
  ASSERT_TRUE(record(0, 1));
  ASSERT_TRUE(record(2, 150));
}

/// Executors cannot begin a task before they have what its definition waits for.
TEST_F(ServerJournal, AWorkerThatIsBackHasTheValuesOfActionsBeforeItIsSentTasks) {
  start();
  protocol::Register info;
  info.name = info.host = "w1";
  info.data_address = "127.0.0.1:1";
  info.slots = 2;
  info.process = 7;
  ASSERT_TRUE(rpc::call(*reactor, connect(), protocol::kRegister, protocol::encode(info), kDeadline));
  const JobId job = submit("job");
  extend(job, part(0, {result(source(0, 1, 0))}));
  const client::ValueRecord value{job, ActionId(0)};
  ASSERT_TRUE(
      call(client::kRecordValue, rpc::with_bulk(client::encode(value), SharedBytes(Buffer::copy_of(as_bytes(std::string("v")))))));
  restart();
  std::mutex mutex;
  std::condition_variable changed;
  std::string order;  // of what comes
  rpc::Handler handler;
  handler.on_notify = [&](const rpc::ConnectionPtr&, const rpc::Message& message) {
    auto commands = protocol::decode<protocol::Commands>(message);
    if (!commands) return;
    const std::lock_guard lock(mutex);
    for (const protocol::Command& command : commands->commands) {
      if (std::holds_alternative<protocol::ActionValue>(command)) order += "value ";
      if (std::holds_alternative<protocol::Launch>(command)) order += "launch ";
    }
    changed.notify_all();
  };
  info.held.emplace();
  info.held->node = NodeId(1);
  info.held->jobs = {job};
  const auto back = rpc::call(*reactor, connect(std::move(handler)), protocol::kRegister, protocol::encode(info), kDeadline);
  ASSERT_TRUE(back) << back.error().to_string();
  EXPECT_TRUE(protocol::decode<protocol::Registered>(*back)->resumed);
  std::unique_lock lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, kDeadline, [&] { return order.find("launch") != std::string::npos; }));
  EXPECT_EQ(order, "value launch ");
  lock.unlock();
  reactor->run([this] {
    for (const rpc::ConnectionPtr& one : peers) one->close();
  });
}

/// Which is how drivers of jobs that go on are to take it.
TEST_F(ServerJournal, WhoeverWaitsForAnActionIsToldThatTheMasterIsGone) {
  start();
  const JobId job = submit("job");
  std::promise<Error> ended;
  reactor->run([&] {
    peer->request(client::kPoll, client::encode(client::Poll{job, ActionId(0), std::chrono::minutes(1)}), kDeadline,
                  [&](const Result<rpc::Message>& answer) {
                    ended.set_value(answer ? Error(Code::internal, "it was answered") : answer.error());
                  });
  });
  EXPECT_EQ(jobs().jobs.size(), 1u);  // on the same connection: the master has the question
  server.reset();
  EXPECT_EQ(ended.get_future().get().code(), Code::unavailable);
}

/// A master whose journal is on a small disk, which is full, and the driver of a job that runs.
class ServerJournalOnAFullDisk : public ServerJournal {
 protected:
  void SetUp() override {
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    path = disk.path() + "/journal";
    start();
    worker = connect();
    join("w1", worker);
    client::Submit what;
    what.name = what.program = "a.out";
    what.same_binary = true;
    job = client::decode<client::Submitted>(call(client::kSubmitJob, client::encode(what)).value()).value();
    extend(job.job, part(0, {result(source(0, 1, 0))}));
    disk.fill();
    const client::ValueRecord large{job.job, ActionId(9)};  // larger than what is reserved
    const auto another = connect();
    reactor->run([&] {
      another->request(client::kRecordValue,
                       rpc::with_bulk(client::encode(large), SharedBytes(Buffer::copy_of(as_bytes(std::string(1u << 20, 'v'))))),
                       kDeadline, [](const Result<rpc::Message>&) {});
    });
    // Is refused when the master knows that the disk is full, and changes nothing before.
    const client::NodeCapacity setting{"w1", "nominal", ""};
    ASSERT_TRUE(weft::test::eventually([&] {
      const auto refused =
          rpc::call(*reactor, connect(), client::kSetNode, client::encode(setting), std::chrono::milliseconds(200));
      return !refused && refused.error().code() == Code::resource_exhausted;
    }));
  }
  void TearDown() override {
    disk.clear();
    server.reset();
    reactor->stop();
  }
  Result<client::PollReply> poll(Duration wait = std::chrono::milliseconds(1)) {
    WEFT_ASSIGN(const auto answer, call(client::kPoll, client::encode(client::Poll{job.job, ActionId(0), wait})));
    return client::decode<client::PollReply>(answer);
  }
  /// The only task of the job's action has ended, and the master has heard of it.
  void finish_action() {
    protocol::Event event;
    event.attempt = AttemptId{TaskId{job.job, StageId(0), 0}, 0};
    event.kind = runtime::TaskEnd::finished;
    event.result = Buffer::copy_of(as_bytes(std::string("seven")));
    reactor->run([&] {
      std::vector<protocol::Event> events;
      events.push_back(std::move(event));
      worker->notify(protocol::kTaskEvents, protocol::encode(protocol::Events{std::move(events)}));
    });
    ASSERT_TRUE(rpc::call(*reactor, worker, client::kListNodes, {}, kDeadline));
  }

  weft::test::SmallDisk disk{(directory.path() / "disk").string(), 16};
  rpc::ConnectionPtr worker;
  client::Submitted job;
};

TEST_F(ServerJournalOnAFullDisk, ADriverHearsThatItsJobRunsAndGetsResultsWhenTheyAreWritten) {
  ASSERT_EQ(poll()->status.state, JobState::running);
  finish_action();
  ASSERT_EQ(status(job.job).stages.at(0).finished, 1u);
  for (const auto wait : {std::chrono::milliseconds(0), std::chrono::milliseconds(20)}) {
    const auto reply = poll(wait);
    ASSERT_TRUE(reply) << reply.error().to_string();
    EXPECT_FALSE(reply->finished) << "the end of its task is not on the disk";
    EXPECT_EQ(reply->status.state, JobState::running);
  }
  disk.clear();
  std::string result;
  EXPECT_TRUE(weft::test::eventually([&] {
    const auto reply = poll();
    if (reply && reply->finished) result = as_chars(reply->results.at(0).at(0).view());
    return !result.empty();
  }));
  EXPECT_EQ(result, "seven");
}

TEST_F(ServerJournalOnAFullDisk, ADriverAttachesAgainAtOnce) {
  const auto again = connect();
  const auto attached = rpc::call(*reactor, again, client::kAttachJob, client::encode(client::Attach{job.job, job.key}), kDeadline);
  ASSERT_TRUE(attached) << attached.error().to_string();
  EXPECT_EQ(client::decode<client::Submitted>(*attached)->key, job.key);
  peer = again;
  EXPECT_EQ(poll()->status.state, JobState::running);
}

TEST_F(ServerJournalOnAFullDisk, NobodyHearsOfAnEndBeforeItIsWritten) {
  std::promise<Result<rpc::Message>> ended;
  std::atomic<bool> told{false};
  reactor->run([&] {
    peer->request(client::kPoll, client::encode(client::Poll{job.job, ActionId(0), kDeadline}), kDeadline,
                  [&](Result<rpc::Message> answer) {
                    told = true;
                    ended.set_value(std::move(answer));
                  });
    peer->request(client::kKillJob, client::encode(client::KillRequest{job.job, "wrong input"}), kDeadline,
                  [](const Result<rpc::Message>&) {});
  });
  const auto attached = call(client::kAttachJob, client::encode(client::Attach{job.job, job.key}));
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code(), Code::unavailable) << "so that the driver tries again: " << attached.error().to_string();
  EXPECT_FALSE(told);
  disk.clear();
  const auto answer = ended.get_future().get();
  ASSERT_TRUE(answer) << answer.error().to_string();
  EXPECT_EQ(client::decode<client::PollReply>(*answer)->status.state, JobState::killed);
}

/// Whatever the master was busy with, its end is orderly: what it knew of running jobs is written.
TEST_F(ServerJournal, HoldsOneRecordForMuchProgressAtATime) {
  start();
  const auto worker = connect();
  join("w1", worker);
  const JobId job = submit("job");
  extend(job, part(0, {result(source(0, 2000, 0))}));
  reactor->run([&] {
    for (std::uint32_t task = 0; task < 2000; ++task) {
      std::vector<protocol::Event> events(1);
      events[0].attempt = AttemptId{TaskId{job, StageId(0), task}, 0};
      events[0].kind = runtime::TaskEnd::finished;
      worker->notify(protocol::kTaskEvents, protocol::encode(protocol::Events{std::move(events)}));
    }
  });
  ASSERT_TRUE(rpc::call(*reactor, worker, client::kListNodes, {}, kDeadline));
  EXPECT_EQ(status(job).stages.at(0).finished, 2000u);
  server.reset();
  EXPECT_LT(check_journal(path)->records, 4500u) << "two facts of each task";
  start();
  EXPECT_EQ(status(job).stages.at(0).finished, 2000u);
}

}  // namespace
}  // namespace weft::master
