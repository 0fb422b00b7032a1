#include "engine/master/log/event_recorder.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/process.hpp"

namespace weft::master {
namespace {

using test::ScratchDirectory;

/// A log of its own, and what its file has.
class RecorderTest : public ::testing::Test {
 protected:
  RecorderTest() : recorder_(std::move(EventLog::open(files_ / "events", Time(0), "fair")).value()) {}

  void happens(const Event& event, std::vector<Command> commands = {}) {
    recorder_.before(Time(1), event);
    recorder_.after(Time(1), commands);
  }
  bool has(const std::string& event) const {
    return test::read_file(files_ / "events").find("\"event\":\"" + event + "\"") != std::string::npos;
  }
  static Event ended() {
    TaskFinished finished;
    finished.attempt.task.job = JobId(7);
    return finished;
  }
  static std::vector<Command> launch() {
    std::vector<Command> commands;
    commands.emplace_back(LaunchTask{});
    return commands;
  }

  ScratchDirectory files_;
  EventRecorder recorder_;
};

TEST_F(RecorderTest, LinesOfAttemptsCanWait) {
  happens(ended(), launch());
  EXPECT_FALSE(recorder_.urgent());
  EXPECT_FALSE(has("task_finished"));
  ASSERT_TRUE(recorder_.flush(Time(2)).has_value());
  EXPECT_TRUE(has("task_finished"));
  EXPECT_TRUE(has("task_launched"));
}

TEST_F(RecorderTest, OtherEventsAndCommandsCannot) {
  happens(JobClosed{JobId(7)});
  EXPECT_TRUE(recorder_.urgent());
  ASSERT_TRUE(recorder_.flush(Time(2)).has_value());
  EXPECT_FALSE(recorder_.urgent());
  std::vector<Command> over;
  over.emplace_back(JobFinished{JobId(7)});
  happens(ended(), std::move(over));
  EXPECT_TRUE(recorder_.urgent()) << "the job is over";
  ASSERT_TRUE(recorder_.flush(Time(3)).has_value());
  happens(TaskFailed{});
  EXPECT_TRUE(recorder_.urgent()) << "somebody will look for the cause";
}

TEST_F(RecorderTest, CommandsWithoutALineAreNotUrgent) {
  std::vector<Command> commands = launch();
  commands.emplace_back(SetTimer{});
  happens(ended(), std::move(commands));
  EXPECT_FALSE(recorder_.urgent());
}

TEST_F(RecorderTest, ManyLinesCannotWait) {
  int events = 0;
  for (; !recorder_.urgent() && events < 10'000; ++events) happens(ended());
  EXPECT_GT(events, 100);
  EXPECT_LT(events, 10'000);
}

}  // namespace
}  // namespace weft::master
