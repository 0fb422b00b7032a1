// The parts of the server, each with a core behind a shell of its own, connections that only remember, and no socket.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rpc/responder.hpp"
#include "engine/master/server/job_bounds.hpp"
#include "engine/master/server/running_jobs.hpp"
#include "engine/master/server/workers.hpp"
#include "shuffle/transfer/job_keys.hpp"
#include "tests/engine/master/server/lone_core.hpp"

namespace weft::master {
namespace {

using test::LoneCore;
using testing::ElementsAre;

class RememberingConnection final : public rpc::Connection {
 public:
  void request(rpc::MessageType, rpc::Payload, Duration, rpc::Reply reply, std::shared_ptr<rpc::BulkSink>) override {
    asked.push_back(std::move(reply));
  }
  void notify(rpc::MessageType type, rpc::Payload payload) override {
    if (type != protocol::kCommands) return;
    rpc::Message message;
    message.header = std::move(payload.header);
    std::string bulk;
    for (const SharedBytes& piece : payload.bulk) bulk += as_chars(piece.bytes);
    message.bulk = Buffer::copy_of(as_bytes(bulk));
    frames.push_back(std::move(protocol::decode<protocol::Commands>(message).value().commands));
  }
  void close() override { closed = true; }
  const std::string& peer() const override { return name; }
  Result<rpc::Protocol> protocol() const override { return speaks; }
  const std::string& peer_software() const override { return name; }

  std::vector<std::vector<protocol::Command>> frames;
  std::vector<rpc::Reply> asked;
  std::string name = "10.0.0.1:99";
  rpc::Protocol speaks = rpc::kProtocols.highest;
  bool closed = false;
};

rpc::Responder nobody() { return rpc::Responder(std::make_shared<rpc::Responder::Impl>(std::weak_ptr<rpc::Channel>(), 1)); }

template <class M>
rpc::Message of(rpc::MessageType type, M content) {
  rpc::Message message;
  message.type = type;
  message.header = protocol::encode(std::move(content)).header;
  return message;
}

class ServerParts : public testing::Test {
 protected:
  ~ServerParts() override { reactor->stop(); }

  std::shared_ptr<RememberingConnection> join(const std::string& name, rpc::Protocol speaks = rpc::kProtocols.highest) {
    auto connection = std::make_shared<RememberingConnection>();
    connection->speaks = speaks;
    protocol::Register info;
    info.name = info.host = name;
    info.data_address = name + ":1";
    info.slots = 2;
    on_reactor([&] { workers.admission.on_register(connection, of(protocol::kRegister, info), nobody()); });
    return connection;
  }
  /// Then what it posted.
  template <class Work>
  void on_reactor(Work work) {
    reactor->run(work);
    reactor->run([] {});
  }
  void begin_job(JobId id) {
    client::Submit& submit = jobs[id].submit;
    submit.name = "wordcount";
    submit.options.shuffle_mode = shuffle::Mode::pull;
    jobs[id].block_key = 11;
    jobs[id].values[ActionId(3)] = SharedBytes(Buffer::copy_of(as_bytes(std::string_view("value"))));
  }

  LoneCore shell;
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("parts");
  ServerOptions options;
  RunningJobs jobs;
  PrefetchReports prefetched;
  std::unique_ptr<StorageService> storage;
  JobRecorder recorder{shell, *reactor, [](JobId) -> Result<JobStatus> { return JobStatus{}; }};
  Workers workers{{shell, recorder, jobs, prefetched, *reactor, *reactor, nullptr, storage, options}};
};

TEST_F(ServerParts, AWorkerHearsOfAJobBeforeItsTasksAndOnce) {
  const auto worker = join("w1");
  begin_job(JobId(7));
  on_reactor([&] {
    for (std::uint32_t task : {0u, 1u}) {
      LaunchTask launch{NodeId(1), {{JobId(7), StageId(0), task}, 0}, {}, {}, Time(9), "read", "", false};
      launch.spec.fingerprint = 42;
      workers.commands.carry_out(launch);
    }
  });
  ASSERT_EQ(worker->frames.size(), 1u) << "commands of one turn travel together";
  const auto& commands = worker->frames[0];
  ASSERT_EQ(commands.size(), 5u);
  EXPECT_EQ(std::get<protocol::JobSetup>(commands[0]).name, "wordcount");
  EXPECT_EQ(std::get<protocol::JobSetup>(commands[0]).shuffle_mode, shuffle::Mode::pull);
  EXPECT_EQ(std::get<protocol::JobKey>(commands[1]).key, 11u);
  EXPECT_EQ(as_chars(std::get<protocol::ActionValue>(commands[2]).bytes.bytes), "value");
  EXPECT_EQ(std::get<protocol::Launch>(commands[4]).attempt.task.index, 1u);
  EXPECT_EQ(std::get<protocol::Launch>(commands[4]).spec.fingerprint, 42u);
  EXPECT_EQ(std::get<protocol::Launch>(commands[4]).timeout, Time(9));
}

/// Those of `frames`, in order: the numbers of the actions whose values they are, 0 for other commands.
std::vector<std::vector<std::uint32_t>> numbers_in(const std::vector<std::vector<protocol::Command>>& frames) {
  std::vector<std::vector<std::uint32_t>> numbers;
  for (const auto& frame : frames) {
    numbers.emplace_back();
    for (const protocol::Command& command : frame) {
      const auto* const value = std::get_if<protocol::ActionValue>(&command);
      numbers.back().push_back(value != nullptr ? value->action.value() : 0);
    }
  }
  return numbers;
}

TEST(WorkerTable, SendsWhatIsLongInMessagesThatAWorkerTakesOneAtATime) {
  const auto reactor = rpc::Reactor::start("table");
  const auto worker = std::make_shared<RememberingConnection>();
  WorkerTable table(*reactor, {.header = 1000, .bulk = 1000});
  const auto send = [&](std::uint32_t action, std::size_t bytes) {
    table.send(NodeId(1), protocol::ActionValue{JobId(1), ActionId(action), SharedBytes(Buffer(bytes))});
  };
  const auto answer = [&] {
    const auto reply = std::move(worker->asked.at(0));
    worker->asked.clear();
    reply(rpc::Message{});
  };
  using Numbers = std::vector<std::vector<std::uint32_t>>;
  reactor->run([&] {
    table.add(NodeId(1), worker);
    send(1, 400);
    send(2, 600);
    send(3, 2000);  // one alone that is too long is for the connection to judge
    table.send(NodeId(1), protocol::KillTask{NodeId(1), {}, {}, std::string(600, 'x')});
    table.send(NodeId(1), protocol::KillTask{NodeId(1), {}, {}, std::string(600, 'x')});
  });
  reactor->run([&] {
    EXPECT_EQ(numbers_in(worker->frames), (Numbers{{1, 2}})) << "the others wait until the worker has these";
    send(4, 1);
  });
  reactor->run([&] {
    EXPECT_EQ(worker->frames.size(), 1u);
    answer();
    answer();
    answer();
    EXPECT_EQ(numbers_in(worker->frames), (Numbers{{1, 2}, {3}, {0}, {0, 4}}));
    EXPECT_TRUE(worker->asked.empty()) << "nothing is left";
    send(5, 1);
  });
  reactor->run([&] { EXPECT_EQ(worker->frames.size(), 5u); });
  reactor->stop();
}

TEST_F(ServerParts, WorkersHearHowFarOthersLagBehind) {
  const auto told = [](const RememberingConnection& worker) {
    std::vector<rpc::Protocol> protocols;
    for (const auto& frame : worker.frames)
      for (const protocol::Command& command : frame)
        if (const auto* lowest = std::get_if<protocol::LowestProtocol>(&command)) protocols.push_back(lowest->protocol);
    return protocols;
  };
  constexpr rpc::Protocol kBefore = shuffle::kKeysSince - 1;
  const auto first = join("w1"), before = join("w2", kBefore), other = join("w3", kBefore), last = join("w4");
  on_reactor([&] {
    EXPECT_EQ(told(*first), std::vector<rpc::Protocol>{kBefore}) << "once";
    EXPECT_EQ(told(*last), std::vector<rpc::Protocol>{kBefore}) << "it came later";
    EXPECT_EQ(told(*before), std::vector<rpc::Protocol>{}) << "it does not know the command";
  });
  on_reactor([&] { workers.losses.on_close(before, Error(Code::cancelled, "it ends")); });
  on_reactor([&] { EXPECT_EQ(told(*first).size(), 1u) << "another one is there"; });
  on_reactor([&] { workers.losses.on_close(other, Error(Code::cancelled, "it ends")); });
  on_reactor([&] {
    EXPECT_EQ(told(*first), (std::vector<rpc::Protocol>{kBefore, rpc::kProtocols.highest}));
    EXPECT_EQ(told(*last), (std::vector<rpc::Protocol>{kBefore, rpc::kProtocols.highest}));
  });
}

TEST_F(ServerParts, WhileWorkersMayComeBackNobodyHearsHowFarOthersLagBehind) {
  const auto told = [](const RememberingConnection& worker) {
    int commands = 0;
    for (const auto& frame : worker.frames)
      for (const protocol::Command& command : frame) commands += std::holds_alternative<protocol::LowestProtocol>(command) ? 1 : 0;
    return commands;
  };
  on_reactor([&] { workers.context.table.wait_for_others(true); });
  const auto first = join("w1"), before = join("w2", shuffle::kKeysSince - 1), last = join("w3");
  on_reactor([&] { EXPECT_EQ(told(*first) + told(*last), 0); });
  on_reactor([&] { workers.context.table.wait_for_others(false); });
  on_reactor([&] {
    EXPECT_EQ(told(*first), 1);
    EXPECT_EQ(told(*last), 1);
    EXPECT_TRUE(before->frames.empty());
  });
}

TEST_F(ServerParts, NothingIsSentOfAJobThatIsOverOrToAWorkerThatIsGone) {
  const auto worker = join("w1");
  on_reactor([&] {
    LaunchTask launch{NodeId(1), {{JobId(7), StageId(0), 0}, 0}, {}, {}, Time(0), "", "", false};
    workers.commands.carry_out(launch);
    ReleaseJob release{NodeId(1), JobId(7)};  // it was never told of it
    workers.commands.carry_out(release);
    KillTask kill{NodeId(2), {{JobId(7), StageId(0), 0}, 0}, KillCause::preempted, "why"};
    workers.commands.carry_out(kill);
  });
  EXPECT_TRUE(worker->frames.empty());
}

TEST_F(ServerParts, LocationsNameTheWorkersThatHoldTheOutputs) {
  const auto first = join("w1"), second = join("w2");
  begin_job(JobId(7));
  const auto outputs = std::make_shared<const std::vector<shuffle::MapOutput>>(
      std::vector<shuffle::MapOutput>{{0, 0, NodeId(2)}, {1, 0, NodeId(2)}, {2, 0, NodeId(9)}});
  on_reactor([&] {
    ShuffleLocations table{NodeId(1), JobId(7), ShuffleId(0), outputs};
    workers.commands.carry_out(table);
    ReplicateOutput copy{NodeId(1), JobId(7), ShuffleId(0), {1, 0, NodeId(2)}};
    workers.commands.carry_out(copy);
  });
  ASSERT_EQ(first->frames.size(), 1u);
  const auto& table = std::get<ShuffleLocations>(first->frames[0][3]);
  EXPECT_EQ(table.outputs->size(), 3u);
  ASSERT_EQ(table.holders.size(), 1u);
  EXPECT_EQ(table.holders[0].address, "w2:1");
  EXPECT_EQ(std::get<ReplicateOutput>(first->frames[0][4]).source.name, "w2");
  EXPECT_TRUE(second->frames.empty());
}

TEST_F(ServerParts, TheOthersHearOfALostWorkerAndWhereItServed) {
  const auto first = join("w1"), second = join("w2");
  on_reactor([&] {
    NodeLost lost{NodeId(1), "SIGBUS"};
    workers.losses.carry_out(lost);
  });
  EXPECT_TRUE(first->frames.empty());
  ASSERT_EQ(second->frames.size(), 1u);
  EXPECT_EQ(std::get<NodeLost>(second->frames[0][0]).address, "w1:1");
  reactor->run([&] {
    ASSERT_EQ(workers.losses.recent().size(), 1u);
    EXPECT_EQ(workers.losses.recent().front().reason, "SIGBUS");
  });
}

TEST_F(ServerParts, AReplicaIsOfTheWorkerThatReportsItWhateverItSays) {
  const auto worker = join("w1");
  on_reactor([&] {
    workers.reports.on_notify(worker,
                              of(protocol::kReplicaEnded, protocol::ReplicaEnded{{NodeId(77), JobId(7), ShuffleId(1), 2, 3}, ""}));
  });
  const auto& made = std::get<OutputReplicated>(shell.events.back());
  EXPECT_EQ(made.replica.node, NodeId(1));
  EXPECT_EQ(made.replica.map, 2u);
  EXPECT_FALSE(worker->closed);
}

TEST_F(ServerParts, WhoIsNotRegisteredIsDisconnectedAndNobodysLoss) {
  const auto stranger = std::make_shared<RememberingConnection>();
  on_reactor([&] {
    workers.reports.on_notify(stranger, of(protocol::kReplicaEnded, protocol::ReplicaEnded{}));
    EXPECT_FALSE(workers.losses.on_close(stranger, Error(Code::unavailable, "gone")));
  });
  EXPECT_TRUE(stranger->closed);
  EXPECT_TRUE(shell.events.empty());
  const auto worker = join("w1");
  on_reactor([&] { EXPECT_TRUE(workers.losses.on_close(worker, Error(Code::unavailable, "gone"))); });
  EXPECT_EQ(std::get<WorkerLost>(shell.events.back()).node, NodeId(1));
  EXPECT_TRUE(workers.context.table.all().empty());
}

TEST_F(ServerParts, PrefetchedBytesOfJobsThatNeverWereAreNotCounted) {
  const auto worker = join("w1");
  const JobId job = recorder.new_job();
  const auto report = [&](JobId id, std::uint64_t bytes) {
    protocol::PrefetchReport sent;
    sent.jobs.push_back({id, {.prefetched_bytes = bytes}});
    on_reactor([&] { workers.reports.on_notify(worker, of(protocol::kPrefetchReport, sent)); });
  };
  report(job, 10);
  report(job, 30);
  report(JobId(99), 5);
  EXPECT_EQ(prefetched.of(job).prefetched_bytes, 30u) << "the later report counts";
  EXPECT_EQ(prefetched.of(JobId(99)).prefetched_bytes, 0u);
  EXPECT_THAT(shell.noted, ElementsAre("1 1 10", "1 1 30")) << "for the event log";
}

TEST(JobBounds, OfAListThatIsTooLongThoseLoseTheirCountersThatHaveTheMost) {
  std::vector<JobStatus> jobs(3);
  jobs[0].counters = {{"records", 7}};
  jobs[1].counters = {{std::string(9000, 'x'), 7}};
  jobs[1].error.assign(9000, 'e');
  jobs[2].options = {{"pool", std::string(9000, 'p')}};
  std::vector<JobStatus> whole = jobs;
  shorten(whole, 40'000);
  EXPECT_EQ(whole[1].error.size(), 9000u);
  shorten(jobs, 12'000);
  EXPECT_EQ(jobs[0].counters.size(), 1u);
  EXPECT_TRUE(jobs[1].counters.empty());
  EXPECT_EQ(jobs[1].error, std::string(256, 'e') + "…");
  EXPECT_TRUE(jobs[2].options.empty());
}

TEST(JobBounds, ASubmissionHasSoMuchTextAndNoMore) {
  client::Submit submit;
  submit.name = "job";
  submit.arguments = {std::string(15u << 20, 'x')};
  EXPECT_TRUE(check_submission(submit));
  submit.arguments.emplace_back(1u << 20, 'x');
  const auto refused = check_submission(submit);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_NE(refused.error().message().find("16.0 MiB"), std::string::npos) << refused.error().message();
  submit.arguments.clear();
  submit.options.pool.assign(65u << 10, 'x');
  EXPECT_FALSE(check_submission(submit));
}

TEST(JobBounds, PartsAreBoundedAloneAndTogether) {
  RunningJob job;
  EXPECT_TRUE(check_part(256u << 20, job));
  const auto refused = check_part((256u << 20) + 1, job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  for (std::uint32_t action = 0; action < 3; ++action) job.parts.emplace(ActionId(action), Buffer(256u << 20));
  EXPECT_TRUE(check_part(256u << 20, job));
  job.parts.emplace(ActionId(3), Buffer(1));
  EXPECT_FALSE(check_part(256u << 20, job));
}

TEST(PrefetchReports, AddUpOverWorkersAndForgetTheOldest) {
  PrefetchReports reports;
  reports.add(JobId(1), NodeId(1), {.prefetched_bytes = 1});
  reports.add(JobId(2), NodeId(1), {.prefetched_bytes = 2});
  reports.add(JobId(2), NodeId(2), {.prefetched_bytes = 4});
  EXPECT_EQ(reports.of(JobId(2)).prefetched_bytes, 6u);
  reports.keep(1);
  EXPECT_EQ(reports.of(JobId(1)).prefetched_bytes, 0u);
  EXPECT_EQ(reports.of(JobId(2)).prefetched_bytes, 6u);
}

}  // namespace
}  // namespace weft::master
