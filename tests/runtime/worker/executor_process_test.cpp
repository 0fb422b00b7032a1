// Executors as a worker has them: a real process, and every attempt it was given ends in one event, whatever happens to it.
#include "runtime/worker/executor_process.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/file.hpp"
#include "base/sanitized.hpp"
#include "runtime/worker/spawn.hpp"
#include "tests/support/hung_directory.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

enum Stage : std::uint32_t {
  kFinishes = 0,
  kThrows = 1,
  kAborts = 2,
  kStops = 3,
  kHangs = 4,
  kExits = 5,
  kReadsWithoutDescriptors = 6
};

AttemptId attempt(Stage stage, std::uint32_t index = 0) { return {{JobId(7), StageId(stage), index}, 0}; }

class ExecutorProcessTest : public testing::Test {
 protected:
  void TearDown() override {
    reactor_->run([&] { executor_.reset(); });
    reactor_->stop();
  }
  /// With `at_once`, an attempt is launched before anything can happen to the process.
  void start(const std::string& path = EXECUTOR_CHILD, std::vector<std::string> arguments = {"child"},
             std::optional<AttemptId> at_once = {}) {
    ExecutorStart start;
    start.path = path;
    start.arguments = std::move(arguments);
    start.directory = works_in_;
    start.log_path = directory_.path() / "log";
    start.stop_grace = 200ms;
    start.patience = patience_;
    start.setup.job = JobId(7);
    start.setup.slots = 4;
    start.setup.memory_bytes = 64u << 20;
    start.setup.spill_directory = start.setup.segment_directory = directory_.path();
    ExecutorProcess::Callbacks callbacks;
    callbacks.on_events = [this](std::vector<protocol::Event> events) {
      const std::lock_guard lock(mutex_);
      for (protocol::Event& event : events) EXPECT_TRUE(events_.emplace(event.attempt, std::move(event)).second) << "ended twice";
      changed_.notify_all();
    };
    callbacks.on_request = [](const rpc::Message&, rpc::Responder responder) {
      rpc::Payload payload;
      payload.fds.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      responder.reply(std::move(payload));
    };
    callbacks.on_stop = [](const AttemptId&) {};
    callbacks.waited = [this](const AttemptId&) { return Duration(waited_.load()); };
    callbacks.on_gone = [this] {
      const std::lock_guard lock(mutex_);
      gone_ = true;
      changed_.notify_all();
    };
    reactor_->run([&] {
      auto started = ExecutorProcess::start(*reactor_, std::move(start), std::move(callbacks));
      ASSERT_TRUE(started) << started.error().to_string();
      executor_ = *std::move(started);
      if (at_once) executor_->launch(launches(*at_once, Duration(0), 42));
    });
  }
  static protocol::Launches launches(const AttemptId& id, Duration timeout, std::uint64_t fingerprint) {
    protocol::Launch launch;
    launch.attempt = id;
    launch.spec.fingerprint = fingerprint;
    launch.stage_name = "the stage";
    launch.timeout = timeout;
    protocol::Launches launches;
    launches.launches.push_back(std::move(launch));
    return launches;
  }
  void launch(const AttemptId& id, Duration timeout = Duration(0), std::uint64_t fingerprint = 42) {
    reactor_->run([&] { executor_->launch(launches(id, timeout, fingerprint)); });
  }
  protocol::Event ended(const AttemptId& id) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 60s, [&] { return events_.contains(id); })) << to_string(id);
    return std::move(events_[id]);
  }
  void expect_gone() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 60s, [&] { return gone_; }));
  }

  TempDir directory_ = TempDir::create().value();
  std::string works_in_ = directory_.path();
  Duration patience_ = 60s;
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("worker");
  std::unique_ptr<ExecutorProcess> executor_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<AttemptId, protocol::Event> events_;
  bool gone_ = false;
  std::atomic<Duration::rep> waited_{0};  // for maps, by each attempt
};

TEST_F(ExecutorProcessTest, ReportsWhatBecameOfEachAttempt) {
  start();
  launch(attempt(kFinishes));
  launch(attempt(kThrows));
  launch(attempt(kFinishes, 1), Duration(0), 43);
  const auto finished = ended(attempt(kFinishes));
  EXPECT_EQ(finished.kind, TaskEnd::finished);
  EXPECT_EQ(as_chars(finished.result.view()), "done");
  const auto threw = ended(attempt(kThrows));
  EXPECT_EQ(threw.kind, TaskEnd::user_code);
  EXPECT_NE(threw.message.find("as it was told to"), std::string::npos);
  EXPECT_EQ(ended(attempt(kFinishes, 1)).kind, TaskEnd::plan_mismatch);
  reactor_->run([&] { EXPECT_EQ(executor_->running(), 0u); });
}

TEST_F(ExecutorProcessTest, ACrashNamesItsCulpritAndTheLastLineOfItsOutput) {
  start();
  launch(attempt(kStops));
  launch(attempt(kAborts));
  const auto crashed = ended(attempt(kAborts));
  EXPECT_EQ(crashed.kind, TaskEnd::crashed);
  EXPECT_NE(crashed.message.find("SIGABRT"), std::string::npos) << crashed.message;
  EXPECT_NE(crashed.message.find("the stage"), std::string::npos) << crashed.message;
  EXPECT_NE(crashed.message.find("the last line before the end"), std::string::npos) << crashed.message;
  EXPECT_EQ(ended(attempt(kStops)).kind, TaskEnd::killed) << "for another's sake";
  expect_gone();
}

TEST_F(ExecutorProcessTest, OneThatUserCodeEndsSaysSo) {
  start();
  launch(attempt(kExits));
  const auto event = ended(attempt(kExits));
  EXPECT_EQ(event.kind, TaskEnd::crashed);
  EXPECT_NE(event.message.find("exit()"), std::string::npos) << event.message;
  EXPECT_EQ(event.message.find("died of exit code"), std::string::npos) << event.message;
  expect_gone();
}

TEST_F(ExecutorProcessTest, OneWhoseConnectionBreaksSaysWhy) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer needs descriptors of its own";
  start();
  launch(attempt(kReadsWithoutDescriptors));
  const auto event = ended(attempt(kReadsWithoutDescriptors));
  EXPECT_EQ(event.kind, TaskEnd::crashed);
  EXPECT_NE(event.message.find("gave up"), std::string::npos) << event.message;
  EXPECT_NE(event.message.find("too many open files"), std::string::npos) << event.message;
  expect_gone();
}

TEST_F(ExecutorProcessTest, AnAttemptThatIsKilledStopsAndTheOthersGoOn) {
  start();
  launch(attempt(kStops));
  launch(attempt(kStops, 1));
  reactor_->run([&] { executor_->kill(attempt(kStops), "preempted"); });
  EXPECT_EQ(ended(attempt(kStops)).kind, TaskEnd::killed);
  launch(attempt(kFinishes));
  EXPECT_EQ(ended(attempt(kFinishes)).kind, TaskEnd::finished);
  reactor_->run([&] { EXPECT_EQ(executor_->running(), 1u); });
}

TEST_F(ExecutorProcessTest, OneThatDoesNotStopTakesItsProcessWithIt) {
  start();
  launch(attempt(kHangs));
  launch(attempt(kStops));
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!std::filesystem::exists(directory_.path() / "hanging") && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  reactor_->run([&] { executor_->kill(attempt(kHangs), "preempted"); });
  const auto killed = ended(attempt(kHangs));
  EXPECT_EQ(killed.kind, TaskEnd::killed);
  EXPECT_EQ(killed.message, "preempted");
  EXPECT_EQ(ended(attempt(kStops)).kind, TaskEnd::killed);
  expect_gone();
}

TEST_F(ExecutorProcessTest, ATimeoutIsAnEndOfItsOwn) {
  start();
  launch(attempt(kStops), 50ms);
  launch(attempt(kHangs), 50ms);
  const auto stopped = ended(attempt(kStops));
  EXPECT_EQ(stopped.kind, TaskEnd::timed_out);
  EXPECT_NE(stopped.message.find("50ms"), std::string::npos) << stopped.message;
  EXPECT_EQ(ended(attempt(kHangs)).kind, TaskEnd::timed_out);
}

TEST_F(ExecutorProcessTest, AProgramThatDoesNotAnswerCouldNotStart) {
  start("/bin/sh", {"sh", "-c", "until [ -e go ]; do :; done; echo no library; exit 3"});
  launch(attempt(kFinishes));
  ASSERT_TRUE(write_file(directory_.path() / "go", ""));
  const auto event = ended(attempt(kFinishes));
  EXPECT_EQ(event.kind, TaskEnd::environment);
  EXPECT_NE(event.message.find("no library"), std::string::npos) << event.message;
  EXPECT_NE(event.message.find("exit code 3"), std::string::npos) << event.message;
  expect_gone();
}

TEST_F(ExecutorProcessTest, ABinaryThatIsNotThereIsSaid) {
  start("/no/such/program", {"child"}, attempt(kFinishes));
  const auto event = ended(attempt(kFinishes));
  EXPECT_EQ(event.kind, TaskEnd::environment);
  EXPECT_NE(event.message.find("cannot execute /no/such/program"), std::string::npos) << event.message;
  expect_gone();
}

TEST_F(ExecutorProcessTest, ADirectoryThatDoesNotAnswerHoldsUpNobodyAndIsSaid) {
  const test::HungDirectory hung;
  if (!hung.made()) GTEST_SKIP() << "no file system can be mounted here (it needs root and /dev/fuse)";
  works_in_ = hung.path();
  patience_ = 20ms;
  start(EXECUTOR_CHILD, {"child"}, attempt(kFinishes));
  const auto event = ended(attempt(kFinishes));
  EXPECT_EQ(event.kind, TaskEnd::environment);
  EXPECT_NE(event.message.find("a file system does not answer, perhaps that of " + hung.path()), std::string::npos)
      << event.message;
  expect_gone();
}

TEST_F(ExecutorProcessTest, AnAttemptThatIsTooLateForAnExecutorThatHasNotStartedIsNoneThatRanTooLong) {
  const test::HungDirectory hung;
  if (!hung.made()) GTEST_SKIP() << "no file system can be mounted here (it needs root and /dev/fuse)";
  works_in_ = hung.path();
  start();
  launch(attempt(kFinishes), 20ms);
  const auto event = ended(attempt(kFinishes));
  EXPECT_EQ(event.kind, TaskEnd::environment);
  EXPECT_NE(event.message.find("a file system does not answer, perhaps that of " + hung.path()), std::string::npos)
      << event.message;
}

TEST_F(ExecutorProcessTest, EndsWithItsSocket) {
  start();
  launch(attempt(kFinishes));
  ended(attempt(kFinishes));
  reactor_->run([&] { executor_->end(); });
  expect_gone();
}

TEST(LastLine, IsFitForAMessage) {
  const TempDir directory = TempDir::create().value();
  const std::string path = directory.path() / "log";
  EXPECT_EQ(last_line(path, 0), "");
  ASSERT_TRUE(write_file(path, "first\nsecond\n\nx (pid 3): died of SIGABRT\n"));
  EXPECT_EQ(last_line(path, 0), "second");
  EXPECT_EQ(last_line(path, 6), "second");
  EXPECT_EQ(last_line(path, 1000), "");
}

TEST(WaitForChild, GivesUpOnOneThatDoesNotEnd) {
  const pid_t child = fork();
  if (child == 0)
    while (true) pause();
  EXPECT_EQ(wait_for_child(child, 1ms), std::nullopt);
  kill(child, SIGKILL);
  const auto status = wait_for_child(child, 60s);
  ASSERT_TRUE(status);
  EXPECT_EQ(describe_exit(*status), "signal 9 (SIGKILL)");
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), -1) << "it is reaped";
}

TEST(PositionPageTest, AnExecutorCannotTakeItAway) {
  Fd page;
  ASSERT_TRUE(protocol::PositionPage::create(4, page));
  EXPECT_NE(ftruncate(page.get(), 0), 0);
  EXPECT_TRUE(protocol::PositionPage::attach(page));
}

TEST(DescribeExit, NamesSignalsAndCodes) {
  EXPECT_EQ(describe_exit(W_EXITCODE(3, 0)), "exit code 3");
  EXPECT_EQ(describe_exit(W_EXITCODE(0, SIGKILL)), "signal 9 (SIGKILL)");
}

TEST_F(ExecutorProcessTest, WhatAnAttemptWaitsForMapsDoesNotCountAsItsTime) {
  start();
  waited_ = Duration(200ms).count();
  const auto began = std::chrono::steady_clock::now();
  launch(attempt(kStops), 50ms);
  EXPECT_EQ(ended(attempt(kStops)).kind, TaskEnd::timed_out);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 250ms);
}

/// As a worker of a later release would start it.
TEST(ExecutorOfAnEarlierRelease, PassesOverWhatItDoesNotKnow) {
  const TempDir directory = TempDir::create("weft-executor-").value();
  const auto reactor = rpc::Reactor::start("worker");
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  Fd ours(ends[0]), theirs(ends[1]), page;
  ASSERT_TRUE(protocol::PositionPage::create(1, page));
  SpawnOptions options;
  options.path = EXECUTOR_CHILD;
  options.arguments = {"child"};
  options.environment = {"WEFT_ROLE=executor", "WEFT_EXECUTOR_FD=3"};
  options.directories = {directory.path()};
  options.inherited = theirs.get();
  const pid_t child = spawn(options).value();
  theirs.reset();

  std::promise<Result<protocol::Events>> ended;
  rpc::ConnectionPtr connection;
  rpc::Handler handler;
  handler.on_notify = [&](const rpc::ConnectionPtr&, const rpc::Message& message) {
    if (message.type == protocol::kEvents) ended.set_value(protocol::decode<protocol::Events>(message));
  };
  protocol::ExecutorSetup setup{JobId(7), NodeId(1), 1, 64u << 20, directory.path(), directory.path()};
  reactor->run([&] {
    reactor->adopt(std::move(ours), 30s, handler, protocol::peer_limits(), [&](Result<rpc::ConnectionPtr> connected) {
      ASSERT_TRUE(connected) << connected.error().to_string();
      connection = *connected;
      rpc::Payload first = protocol::encode(setup);
      first.fds.push_back(std::move(page));
      connection->notify(protocol::kSetup, std::move(first));
      connection->notify(98, {});
      protocol::Launches launches;
      launches.launches.push_back({attempt(kFinishes), {}, {}, "stage", 0});
      launches.launches.back().spec.fingerprint = 42;
      connection->notify(protocol::kLaunch, protocol::encode(std::move(launches)));
    });
  });
  auto end = ended.get_future();
  ASSERT_EQ(end.wait_for(60s), std::future_status::ready);
  const Result<protocol::Events> events = end.get();
  ASSERT_TRUE(events) << events.error().to_string();
  ASSERT_EQ(events->events.size(), 1U);
  EXPECT_EQ(events->events[0].kind, TaskEnd::finished) << events->events[0].message;
  reactor->run([&] { connection->close(); });
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << describe_exit(status);
  reactor->stop();
}

}  // namespace
}  // namespace weft::runtime
