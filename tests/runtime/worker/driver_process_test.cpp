// Drivers of detached jobs as a worker has them: real processes, whose end is reported once, however it comes.
#include "runtime/worker/driver_process.hpp"

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/file.hpp"
#include "tests/support/hung_directory.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class DriverProcessTest : public testing::Test {
 protected:
  void TearDown() override {
    reactor_->run([&] { driver_.reset(); });
    reactor_->stop();
  }
  /// A driver that is a shell with that script.
  void start(const std::string& script, const std::string& directory = "/nowhere") {
    DriverStart start;
    start.command.job = JobId(7);
    start.command.key = 99;
    start.command.user = "alice";
    start.command.program = "driver";
    start.command.arguments = {"-c", script, "driver", "in.txt", "--cluster", "elsewhere:1"};
    start.command.directory = directory;
    start.path = path_;
    start.master = "master:7077";
    start.log_path = log();
    start.directory = directory_.path();
    start.stop_grace = 50ms;
    start.patience = patience_;
    reactor_->run([&] {
      auto started = DriverProcess::start(*reactor_, std::move(start), [this](protocol::DriverEnded ended) {
        const std::lock_guard lock(mutex_);
        EXPECT_FALSE(ended_) << "reported twice";
        ended_ = std::move(ended);
        changed_.notify_all();
      });
      ASSERT_TRUE(started) << started.error().to_string();
      driver_ = *std::move(started);
    });
  }
  protocol::DriverEnded ended() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 60s, [&] { return ended_.has_value(); }));
    return ended_.value_or(protocol::DriverEnded{});
  }
  std::string log() const { return directory_.path() / "log"; }
  std::string printed() const { return read_file(log(), 1u << 20).value_or(""); }
  bool eventually_printed(const std::string& text) const {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (printed().find(text) == std::string::npos && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return printed().find(text) != std::string::npos;
  }
  static bool eventually_gone(pid_t pid) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (::kill(pid, 0) == 0 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    return ::kill(pid, 0) != 0;
  }

  std::string path_ = "/bin/sh";
  Duration patience_ = 60s;
  TempDir directory_ = TempDir::create().value();
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("worker");
  std::unique_ptr<DriverProcess> driver_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<protocol::DriverEnded> ended_;
};

TEST_F(DriverProcessTest, KnowsItsJobItsKeyItsUserAndTheWorkersMaster) {
  start("echo job $WEFT_DRIVER_JOB key $WEFT_DRIVER_KEY user $WEFT_DRIVER_USER; echo arguments $*; pwd");
  EXPECT_EQ(ended().status, 0);
  EXPECT_EQ(ended().job, JobId(7));
  EXPECT_EQ(ended().key, 99u);
  EXPECT_THAT(printed(), HasSubstr("job 7 key 99 user alice\narguments in.txt --cluster master:7077\n"));
  EXPECT_THAT(printed(), HasSubstr(std::filesystem::canonical(directory_.path()).string() + "\n")) << "its own is not there";
}

TEST_F(DriverProcessTest, RunsWhereItWasSubmittedWhereThatIsThere) {
  start("pwd", "/");
  EXPECT_EQ(ended().status, 0);
  EXPECT_EQ(printed(), "/\n");
}

TEST_F(DriverProcessTest, KnowsWhereItWasSubmittedAndWhatIsItsOwn) {
  start(
      "echo submitted in $WEFT_DRIVER_SUBMITTED_IN; test -d \"$WEFT_DRIVER_OWN_DIRECTORY\" && cd \"$WEFT_DRIVER_OWN_DIRECTORY\" && "
      "pwd");
  EXPECT_EQ(ended().status, 0);
  EXPECT_EQ(printed(), "submitted in /nowhere\n" + std::filesystem::canonical(directory_.path()).string() + "\n");
}

TEST_F(DriverProcessTest, TheLastLineThatItPrintedIsWhyItEnded) {
  start("echo a first line; echo no such file: in.txt >&2; exit 3");
  EXPECT_EQ(WEXITSTATUS(ended().status), 3);
  EXPECT_EQ(ended().message, "exit code 3: no such file: in.txt");
}

TEST_F(DriverProcessTest, ASignalIsReported) {
  start("kill -SEGV $$");
  EXPECT_TRUE(WIFSIGNALED(ended().status));
  EXPECT_EQ(ended().message, "signal 11 (SIGSEGV)");
}

TEST_F(DriverProcessTest, IsAskedToStopAndKilledWhenItDoesNot) {
  start("trap '' TERM; echo ready; while :; do sleep 1000; done");
  ASSERT_TRUE(eventually_printed("ready"));
  reactor_->run([&] {
    driver_->stop("its job is over");
    driver_->stop("again");
  });
  EXPECT_EQ(WTERMSIG(ended().status), SIGKILL);
  EXPECT_EQ(ended().message, "its job is over");
}

TEST_F(DriverProcessTest, OneThatStopsWhenItIsAskedEndsByItself) {
  start("trap 'exit 4' TERM; echo ready; while :; do sleep 0.01; done");
  ASSERT_TRUE(eventually_printed("ready"));
  reactor_->run([&] { driver_->stop("its job is over"); });
  EXPECT_TRUE(WIFEXITED(ended().status) || WTERMSIG(ended().status) == SIGKILL) << "where it was slow";
}

TEST_F(DriverProcessTest, WhatItStartedEndsWithIt) {
  start("sleep 1000 & echo child $!; exit 0");
  EXPECT_EQ(ended().status, 0);
  const std::string text = printed();
  ASSERT_THAT(text, HasSubstr("child "));
  EXPECT_TRUE(eventually_gone(std::stoi(text.substr(text.find(' ') + 1))));
}

TEST_F(DriverProcessTest, EndsWithTheObject) {
  start("echo ready; exec sleep 1000");
  ASSERT_TRUE(eventually_printed("ready"));
  pid_t pid = 0;
  reactor_->run([&] {
    pid = driver_->pid();
    driver_.reset();
  });
  EXPECT_NE(::kill(pid, 0), 0) << "it is reaped";
  const std::lock_guard lock(mutex_);
  EXPECT_FALSE(ended_);
}

TEST_F(DriverProcessTest, WhatCannotBeExecutedWasNotStarted) {
  path_ = directory_.path() / "none";
  start("");
  EXPECT_EQ(ended().status, kDriverNotStarted);
  EXPECT_THAT(ended().message, HasSubstr("cannot execute"));
}

TEST_F(DriverProcessTest, ADirectoryThatDoesNotAnswerHoldsUpNobodyAndItIsNotStarted) {
  const test::HungDirectory hung;
  if (!hung.made()) GTEST_SKIP() << "no file system can be mounted here (it needs root and /dev/fuse)";
  patience_ = 20ms;
  start("", hung.path());
  EXPECT_EQ(ended().status, kDriverNotStarted);
  EXPECT_EQ(ended().message,
            "it did not come as far as its program within 20ms: a file system does not answer, perhaps that of " + hung.path());
}

TEST(DriverArguments, AnotherClusterTakesThePlaceOfTheOneThatWasNamed) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(driver_arguments({"a", "--cluster", "x:1", "b"}, "m:2"), (Words{"a", "b", "--cluster", "m:2"}));
  EXPECT_EQ(driver_arguments({"--cluster=x:1", "--clusters=3"}, "m:2"), (Words{"--clusters=3", "--cluster", "m:2"}));
  EXPECT_EQ(driver_arguments({"--cluster"}, "m:2"), (Words{"--cluster", "m:2"}));
}

}  // namespace
}  // namespace weft::runtime
