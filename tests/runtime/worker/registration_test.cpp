// Registrations with a master that is this test, on a clock that stands still: when a worker tries again, what it says when it
// registers again, and which ends of attempts it sends again.
#include "runtime/worker/registration.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/storage/tables/fake_reactor.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr Duration kPatience = 10min;

/// The worker's side of a connection.
struct FakeConnection final : rpc::Connection {
  void request(rpc::MessageType type, rpc::Payload payload, Duration, rpc::Reply on_reply,
               std::shared_ptr<rpc::BulkSink>) override {
    if (type == protocol::kPresence) {
      presence = std::move(on_reply);
      return;
    }
    rpc::Message message{protocol::kRegister, std::move(payload.header), {}, {}};
    registration = protocol::decode<protocol::Register>(message).value();
    reply = std::move(on_reply);
  }
  void notify(rpc::MessageType type, rpc::Payload payload) override {
    types.push_back(type);
    if (type != protocol::kTaskEvents) return;
    ++messages;
    header_bytes = std::max(header_bytes, payload.header.size());
    std::string bulk;
    for (const SharedBytes& piece : payload.bulk) bulk += as_chars(piece.bytes);
    const rpc::Message message{type, std::move(payload.header), Buffer::copy_of(as_bytes(bulk)), {}};
    auto report = protocol::decode<protocol::Events>(message).value();
    for (protocol::Event& event : report.events) events.push_back(std::move(event));
  }
  void close() override { closed = true; }
  const std::string& peer() const override { return name; }
  Result<rpc::Protocol> protocol() const override { return rpc::kProtocols.highest; }
  const std::string& peer_software() const override { return name; }

  std::string name = "a master";
  rpc::Handler handler;
  protocol::Register registration;
  rpc::Reply reply, presence;
  std::vector<rpc::MessageType> types;
  std::vector<protocol::Event> events;
  std::size_t messages = 0, header_bytes = 0;
  bool closed = false;
};

class RegistrationTest : public testing::Test {
 protected:
  RegistrationTest() {
    reactor_.dial = [this](rpc::Handler handler) -> Result<rpc::ConnectionPtr> {
      tries_.push_back(clock_.now());
      if (unreachable_) return fail(Code::unavailable, "nothing listens");
      auto connection = std::make_shared<FakeConnection>();
      connection->handler = std::move(handler);
      connections_.push_back(connection);
      return rpc::ConnectionPtr(connection);
    };
    begin(kPatience);
  }
  ~RegistrationTest() override {
    for (const auto& connection : connections_) connection->reply = nullptr;  // which holds the connection
  }
  void begin(Duration patience, bool persistent = true) {
    Registration::Callbacks callbacks;
    callbacks.on_registered = [this](const protocol::Registered& as) {
      ++registered_;
      resumed_ = as.resumed;
    };
    callbacks.on_commands = [this](const auto& commands) { commands_ += commands.size(); };
    callbacks.heartbeat = [] { return protocol::Heartbeat(); };
    callbacks.on_away = [this] { ++away_; };
    callbacks.held = [this] { return held_; };
    callbacks.on_lost = [this](const Error& why, bool final) {
      ++lost_;
      if (why_.empty()) why_ = why.to_string();
      final_ = final;
    };
    protocol::Register registration;
    registration.name = "w";
    link_.emplace(reactor_, rpc::Endpoint{"127.0.0.1:1"}, std::move(registration), persistent, patience, std::move(callbacks));
    link_->connect();
    turn();
  }

  void turn() { reactor_.pass(0s); }
  FakeConnection& connection() { return *connections_.back(); }
  std::size_t registrations() const { return connections_.size(); }
  /// The answer of a master that keeps its jobs.
  void answer(bool resumed = false, NodeId node = NodeId(5), bool keeps = true) {
    protocol::Registered as{node, 60s, "default", "w"};
    as.resumed = resumed;
    as.keeps_jobs = keeps;
    as.epoch = epoch_;
    connection().reply(rpc::Message{protocol::kRegister, protocol::encode(as).header, {}, {}});
    turn();
  }
  void refuse(Code code) {
    connection().reply(fail(code, "no"));
    turn();
    if (connection().closed) lose();
  }
  void lose() {
    const auto gone = connections_.back();
    gone->handler.on_close(gone, Error(Code::unavailable, "the peer is gone"));
    turn();
  }
  /// The connection is lost, and there is another one.
  void restart_master() {
    const std::size_t before = registrations();
    lose();
    ASSERT_TRUE(reactor_.until([&] { return registrations() > before; }));
  }
  void acknowledge(std::uint64_t events) {
    connection().handler.on_notify(connections_.back(),
                                   {protocol::kEventsKept, protocol::encode(protocol::EventsKept{events}).header, {}, {}});
    turn();
  }
  static AttemptId attempt(std::uint32_t task) { return {{JobId(7), StageId(0), task}, 0}; }
  static protocol::Event end_of(std::uint32_t task, const std::string& result) {
    return {.attempt = attempt(task), .result = Buffer::copy_of(as_bytes(result))};
  }
  void ends(std::uint32_t task) {
    std::vector<protocol::Event> events;
    events.push_back(end_of(task, "result " + std::to_string(task)));
    link_->report(std::move(events));
    turn();
  }
  /// Which ends the connection has had, each with its result.
  std::vector<std::uint32_t> reported() {
    std::vector<std::uint32_t> tasks;
    for (const protocol::Event& event : connection().events) {
      EXPECT_EQ(as_chars(event.result.view()), "result " + std::to_string(event.attempt.task.index));
      tasks.push_back(event.attempt.task.index);
    }
    return tasks;
  }
  std::vector<std::uint32_t> running() {
    std::vector<std::uint32_t> tasks;
    for (const AttemptId& one : connection().registration.held.value().running) tasks.push_back(one.task.index);
    return tasks;
  }
  using Tasks = std::vector<std::uint32_t>;

  ManualClock clock_;
  test::FakeReactor reactor_{clock_, [] { return false; }};
  std::vector<std::shared_ptr<FakeConnection>> connections_;
  std::vector<TimePoint> tries_;
  bool unreachable_ = false;
  std::uint64_t epoch_ = 0;  // of the master
  protocol::Held held_;
  int registered_ = 0, away_ = 0, lost_ = 0;
  std::size_t commands_ = 0;
  bool resumed_ = false, final_ = false;
  std::string why_;
  std::optional<Registration> link_;
};

TEST_F(RegistrationTest, GoesOnWhereItsMasterKeepsJobsAndSaysWhatItHas) {
  EXPECT_FALSE(connection().registration.held) << "it has had no master before";
  answer();
  held_.jobs = {JobId(7)};
  held_.running = {attempt(3)};
  held_.outputs = {{JobId(7), ShuffleId(1), 2, 4}};
  restart_master();
  EXPECT_EQ(away_, 1);
  const auto& held = connection().registration.held;
  ASSERT_TRUE(held);
  EXPECT_EQ(held->node, NodeId(5));
  EXPECT_EQ(held->jobs, held_.jobs);
  EXPECT_EQ(held->running, held_.running);
  ASSERT_EQ(held->outputs.size(), 1u);
  EXPECT_EQ(held->outputs[0].map, 2u);
  EXPECT_EQ(held->outputs[0].attempt, 4u);
  answer(true);
  EXPECT_TRUE(resumed_);
  EXPECT_EQ(registered_, 2);
  EXPECT_EQ(lost_, 0);
}

TEST_F(RegistrationTest, WhatAMasterOfALaterReleaseSendsIsPassedOver) {
  answer();
  connection().handler.on_notify(connections_.back(), {199, {}, {}, {}});
  protocol::Commands commands;
  commands.commands.emplace_back(protocol::ReleaseJob{NodeId(5), JobId(7)});
  commands.commands.emplace_back(protocol::ReleaseJob{NodeId(5), JobId(8)});
  rpc::Message message{protocol::kCommands, protocol::encode(std::move(commands)).header, {}, {}};
  // The kind of the second command, in the first word of the list's second element.
  constexpr std::size_t kSecond = 8 * (1 + 1 + 1 + 1 + 2);
  const std::uint16_t later = 9999;
  std::memcpy(message.header.data() + kSecond, &later, sizeof(later));
  connection().handler.on_notify(connections_.back(), std::move(message));
  turn();
  EXPECT_EQ(commands_, 1U);
  EXPECT_FALSE(connection().closed);
  connection().handler.on_notify(connections_.back(), {protocol::kCommands, Buffer::copy_of(as_bytes("nonsense")), {}, {}});
  EXPECT_TRUE(connection().closed) << "what is no message is another thing";
}

TEST_F(RegistrationTest, UnacknowledgedEndsAreSentAgainInOrder) {
  answer();
  for (std::uint32_t task = 0; task < 4; ++task) ends(task);
  EXPECT_EQ(reported(), (Tasks{0, 1, 2, 3}));
  acknowledge(1);
  acknowledge(1);
  acknowledge(2);  // of all, not two more
  ends(4);
  EXPECT_EQ(reported(), (Tasks{0, 1, 2, 3, 4}));
  restart_master();
  EXPECT_EQ(running(), (Tasks{2, 3, 4}));
  answer(true);
  EXPECT_EQ(reported(), (Tasks{2, 3, 4}));
  ends(5);
  EXPECT_EQ(reported(), (Tasks{2, 3, 4, 5})) << "nothing twice on one registration";
  acknowledge(3);  // it counts from 0 again
  restart_master();
  EXPECT_EQ(running(), Tasks{5});
  answer(true);
  EXPECT_EQ(reported(), Tasks{5});
  acknowledge(1);
  restart_master();
  EXPECT_EQ(running(), Tasks{});
  answer(true);
  EXPECT_EQ(reported(), Tasks{});
}

TEST_F(RegistrationTest, AnAcknowledgementEndsWithinAMessage) {
  answer();
  std::vector<protocol::Event> events;
  for (std::uint32_t task = 0; task < 3; ++task) events.push_back(end_of(task, "result " + std::to_string(task)));
  link_->report(std::move(events));
  turn();
  EXPECT_EQ(connection().messages, 1u);
  acknowledge(2);
  restart_master();
  answer(true);
  EXPECT_EQ(reported(), Tasks{2});
}

TEST_F(RegistrationTest, EndsFromWhileTheMasterIsAwayComeBeforeAnythingElse) {
  answer();
  unreachable_ = true;
  lose();
  ends(1);
  ends(2);
  unreachable_ = false;
  ASSERT_TRUE(reactor_.until([&] { return registrations() == 2; }));
  EXPECT_EQ(running(), (Tasks{1, 2}));
  ends(3);  // between the registration and the answer
  EXPECT_EQ(reported(), Tasks{});
  answer(true);
  EXPECT_EQ(reported(), (Tasks{1, 2, 3}));
  EXPECT_EQ(connection().types.front(), protocol::kTaskEvents);
}

TEST_F(RegistrationTest, ManyEndsThatHaveWaitedDoNotMakeOneMessage) {
  answer();
  const std::string words(3u << 20, 'x');
  lose();
  for (std::uint32_t task = 0; task < 10; ++task) {
    std::vector<protocol::Event> events;
    events.push_back(end_of(task, "result " + std::to_string(task)));
    events.back().message = words;
    link_->report(std::move(events));
  }
  ASSERT_TRUE(reactor_.until([&] { return registrations() == 2; }));
  answer(true);
  EXPECT_EQ(reported().size(), 10u);
  EXPECT_LT(connection().header_bytes, 16u << 20);
}

/// Whatever a job's program sends, its worker stays registered.
TEST_F(RegistrationTest, AnEndThatNoMessageHoldsIsReportedAsAFailure) {
  answer();
  std::vector<protocol::Event> events;
  events.push_back(end_of(0, "result"));
  events.back().message = std::string(61u << 20, 'x');
  events.push_back(end_of(1, "result 1"));
  events.push_back(end_of(2, ""));
  const std::size_t too_large = (std::size_t{1} << 30) + 1;
  events.back().result = Buffer(too_large);  // whose pages nobody touches
  link_->report(std::move(events));
  turn();
  ASSERT_EQ(connection().events.size(), 3u);
  EXPECT_EQ(connection().events[0].kind, TaskEnd::user_code);
  EXPECT_NE(connection().events[0].message.find("the report of its end takes"), std::string::npos);
  EXPECT_EQ(as_chars(connection().events[1].result.view()), "result 1");
  EXPECT_EQ(connection().events[2].kind, TaskEnd::user_code);
  EXPECT_EQ(connection().events[2].message, "its part of the action's result takes 1.00 GiB, of which 1.00 GiB may be");
}

TEST_F(RegistrationTest, WhatTheMasterDoesNotResumeEnds) {
  answer();
  ends(1);
  restart_master();
  EXPECT_EQ(lost_, 0) << "not before the answer";
  answer(false, NodeId(6));
  EXPECT_EQ(lost_, 1);
  EXPECT_FALSE(final_);
  EXPECT_FALSE(resumed_);
  EXPECT_EQ(reported(), Tasks{});
  ends(2);
  restart_master();
  EXPECT_EQ(connection().registration.held.value().node, NodeId(6)) << "what this one has been given is kept again";
  EXPECT_EQ(running(), Tasks{2});
}

TEST_F(RegistrationTest, AMasterThatResumesWhatIsNotThereIsCorrected) {
  answer();
  restart_master();
  answer(true, NodeId(6));
  EXPECT_EQ(lost_, 1);
  EXPECT_TRUE(connection().closed);
  EXPECT_FALSE(link_->registered());
  restart_master();
  EXPECT_FALSE(connection().registration.held);
  answer(true);  // although nothing was said of anything
  EXPECT_TRUE(connection().closed);
  EXPECT_EQ(registered_, 1);
}

TEST_F(RegistrationTest, AnAcknowledgementOfMoreThanWasSentEndsTheConnection) {
  answer();
  ends(0);
  acknowledge(2);
  EXPECT_TRUE(connection().closed);
  restart_master();
  EXPECT_EQ(running(), Tasks{0}) << "nothing of it counts";
}

TEST_F(RegistrationTest, AnotherMasterIsSentNothingAgain) {
  answer(false, NodeId(5), false);
  ends(0);
  acknowledge(9);
  EXPECT_FALSE(connection().closed);
  lose();
  EXPECT_EQ(lost_, 1);
  EXPECT_EQ(away_, 0);
  ends(1);
  ASSERT_TRUE(reactor_.until([&] { return registrations() == 2; }));
  EXPECT_FALSE(connection().registration.held);
  answer(false, NodeId(6), false);
  EXPECT_EQ(reported(), Tasks{});
  ends(2);
  EXPECT_EQ(reported(), Tasks{2});
}

TEST_F(RegistrationTest, AWorkerOfAPrivateClusterKeepsNothing) {
  begin(kPatience, false);
  answer();
  acknowledge(5);
  EXPECT_FALSE(connection().closed) << "it does not count what nobody keeps";
  lose();
  EXPECT_EQ(lost_, 1);
  EXPECT_TRUE(final_);
}

TEST_F(RegistrationTest, TriesOftenWhileTasksWaitForTheMaster) {
  answer();
  unreachable_ = true;
  tries_.clear();
  const TimePoint lost = clock_.now();
  lose();
  reactor_.pass(20s);
  ASSERT_GT(tries_.size(), 20u);
  EXPECT_EQ(tries_.front() - lost, 50ms);
  for (std::size_t i = 1; i < tries_.size(); ++i) EXPECT_LE(tries_[i] - tries_[i - 1], 1s);
  EXPECT_EQ(tries_.back() - tries_[tries_.size() - 2], 1s) << "no more often than is of use";
  EXPECT_EQ(lost_, 0);
}

TEST_F(RegistrationTest, AMasterThatIsNotReadyIsAskedAgain) {
  answer();
  held_.jobs = {JobId(7)};
  restart_master();
  for (std::size_t round = 0; round < 5; ++round) {
    const std::size_t before = registrations();
    refuse(Code::unavailable);
    ASSERT_TRUE(reactor_.until([&] { return registrations() > before; }, 1s));
    EXPECT_EQ(connection().registration.held.value().jobs, held_.jobs);
  }
  answer(true);
  EXPECT_EQ(lost_, 0);
}

TEST_F(RegistrationTest, ARefusalForGoodEndsItsJobs) {
  for (const Code code : {Code::already_exists, Code::version_mismatch}) {
    lost_ = 0;
    begin(kPatience);
    answer();
    restart_master();
    refuse(code);
    EXPECT_EQ(lost_, 1);
    EXPECT_TRUE(final_);
  }
}

TEST_F(RegistrationTest, PatienceEnds) {
  answer();
  ends(0);
  unreachable_ = true;
  lose();
  reactor_.pass(kPatience - 1s);
  EXPECT_EQ(lost_, 0);
  reactor_.pass(2s);
  EXPECT_GE(lost_, 1);
  EXPECT_FALSE(final_);
  EXPECT_NE(why_.find("10m"), std::string::npos) << why_;
  unreachable_ = false;
  ASSERT_TRUE(reactor_.until([&] { return registrations() == 2; }));
  EXPECT_FALSE(connection().registration.held);
  answer(false, NodeId(6));
  EXPECT_EQ(reported(), Tasks{});
}

TEST_F(RegistrationTest, PatienceIsForEachAbsence) {
  answer();
  for (int round = 0; round < 3; ++round) {
    unreachable_ = true;
    lose();
    reactor_.pass(kPatience * 2 / 3);
    unreachable_ = false;
    const std::size_t before = registrations();
    ASSERT_TRUE(reactor_.until([&] { return registrations() > before; }));
    answer(true);
    reactor_.pass(kPatience / 2);
  }
  EXPECT_EQ(lost_, 0);
}

TEST_F(RegistrationTest, PatienceThatEndsBeforeTheAnswerMakesItAnotherNode) {
  answer();
  restart_master();
  reactor_.pass(kPatience + 1s);  // this master takes its time
  EXPECT_EQ(lost_, 1);
  answer(true);
  EXPECT_TRUE(connection().closed) << "the master must not wait for what has ended";
  EXPECT_EQ(registered_, 1);
}

TEST_F(RegistrationTest, AMasterThatWasReplacedIsNotBelieved) {
  EXPECT_EQ(connection().registration.seen_epoch, 0u);
  epoch_ = 5;
  answer();
  held_.jobs = {JobId(7)};
  ends(1);
  restart_master();
  for (const std::uint64_t before : {3u, 4u}) {
    EXPECT_EQ(connection().registration.seen_epoch, 5u);
    epoch_ = before;
    testing::internal::CaptureStderr();
    const std::size_t tries = registrations();
    answer(true);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("(the master at 127.0.0.1:1 is of epoch " + std::to_string(before) +
                        ", but epoch 5 has begun: it does not lead any more); trying again in "),
              std::string::npos)
        << said;
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
    EXPECT_TRUE(connection().closed);
    EXPECT_FALSE(link_->registered());
    EXPECT_EQ(reported(), Tasks{}) << "it would not keep them";
    ASSERT_TRUE(reactor_.until([&] { return registrations() > tries; }));
  }
  EXPECT_EQ(registered_, 1);
  EXPECT_EQ(lost_, 0) << "its jobs go on";
  EXPECT_EQ(away_, 3);
  EXPECT_EQ(connection().registration.held.value().jobs, held_.jobs);
  epoch_ = 6;
  answer(true);
  EXPECT_EQ(registered_, 2);
  EXPECT_EQ(reported(), Tasks{1});
  restart_master();
  EXPECT_EQ(connection().registration.seen_epoch, 6u);
  answer(true);
  EXPECT_EQ(registered_, 3) << "the same master again";
}

TEST_F(RegistrationTest, AMasterThatIsAloneAgainIsBelieved) {
  epoch_ = 5;
  answer();
  restart_master();
  epoch_ = 0;
  answer();
  EXPECT_TRUE(link_->registered());
  EXPECT_FALSE(connection().presence) << "there is no other";
}

TEST_F(RegistrationTest, AMasterThatHangsIsLeftWhereAnotherMayLead) {
  epoch_ = 5;
  answer();
  held_.jobs = {JobId(7)};
  FakeConnection& first = connection();
  ASSERT_TRUE(first.presence);
  std::exchange(first.presence, nullptr)(rpc::Message{});
  ASSERT_TRUE(reactor_.until([&] { return first.presence != nullptr; })) << "it is asked again and again";
  const std::size_t tries = registrations();
  first.presence(fail(Code::deadline_exceeded, "no answer"));
  EXPECT_TRUE(first.closed);
  EXPECT_FALSE(link_->registered());
  EXPECT_EQ(lost_, 0) << "its jobs go on";
  EXPECT_TRUE(reactor_.until([&] { return registrations() > tries; }));
}

TEST_F(RegistrationTest, WhatWasReplacedMayNotEndItsJobsEither) {
  epoch_ = 2;
  answer();
  restart_master();
  epoch_ = 1;
  answer(false, NodeId(9));
  EXPECT_EQ(lost_, 0);
}

TEST_F(RegistrationTest, NoPatienceKeepsNothing) {
  begin(0s);
  answer();
  lose();
  EXPECT_EQ(away_, 0);
  EXPECT_EQ(lost_, 1);
}

}  // namespace
}  // namespace weft::runtime
