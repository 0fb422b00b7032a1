#include "engine/master/log/event_recorder.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
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

TEST_F(RecorderTest, WhatIsHandedOverIsWrittenByAnotherThread) {
  happens(ended(), launch());
  EXPECT_TRUE(recorder_.waits());
  ASSERT_TRUE(recorder_.hand_over());
  EXPECT_FALSE(recorder_.waits());
  EXPECT_FALSE(has("task_finished"));
  std::thread([this] { EXPECT_TRUE(recorder_.write(Time(2)).has_value()); }).join();
  EXPECT_TRUE(has("task_finished"));
  EXPECT_TRUE(has("task_launched"));
}

TEST_F(RecorderTest, LinesKeepTheirOrderWhoeverWritesThem) {
  constexpr std::uint32_t kLines = 5000;
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) EXPECT_TRUE(recorder_.write(Time(2)).has_value());
  });
  for (std::uint32_t i = 0; i < kLines; ++i) {
    TaskFinished finished;
    finished.attempt.task.index = i;
    happens(std::move(finished), launch());
    if (i % 70 == 69) recorder_.hand_over();
    if (i % 500 == 499) {
      EXPECT_TRUE(recorder_.flush(Time(2)).has_value());
    }
  }
  over = true;
  other.join();
  const std::string text = test::read_file(files_ / "events");
  std::size_t at = 0;
  for (std::uint32_t i = 0; i < kLines && at != std::string::npos; ++i) {
    at = text.find(fmt::format(R"("event":"task_finished","job":0,"stage":0,"task":{},)", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(RecorderTest, AnEventThatLeadsToManyLinesIsWrittenWhole) {
  std::vector<Command> commands;
  for (int i = 0; i < 5000; ++i) commands.emplace_back(LaunchTask{});
  happens(ended(), std::move(commands));
  EXPECT_TRUE(recorder_.urgent()) << "so many";
  ASSERT_TRUE(recorder_.flush(Time(2)).has_value());
  EXPECT_FALSE(recorder_.urgent());
  const std::string text = test::read_file(files_ / "events");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5002);
}

TEST_F(RecorderTest, NoMoreIsHandedOverThanHasRoom) {
  int batches = 0;
  for (; batches < 1000; ++batches) {
    TaskFinished large;
    large.output.resize(100'000);
    happens(std::move(large));
    EXPECT_TRUE(recorder_.waits());
    if (!recorder_.hand_over()) break;
  }
  EXPECT_LT(batches, 100);
  EXPECT_TRUE(recorder_.waits()) << "what was refused is kept";
  ASSERT_TRUE(recorder_.flush(Time(2)).has_value());
  EXPECT_FALSE(recorder_.waits());
  const std::string text = test::read_file(files_ / "events");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + batches + 1) << "with that the log began";
  EXPECT_TRUE(recorder_.hand_over()) << "there is room again";
}

TEST_F(RecorderTest, WhatTheCoreRefusedHasNoLine) {
  recorder_.before(Time(1), JobClosed{JobId(7)});
  ASSERT_TRUE(recorder_.flush(Time(2)).has_value()) << "of others";
  EXPECT_FALSE(has("job_closed"));
  recorder_.before(Time(3), JobClosed{JobId(7)});
  happens(ended());
  ASSERT_TRUE(recorder_.flush(Time(4)).has_value());
  EXPECT_FALSE(has("job_closed"));
  EXPECT_TRUE(has("task_finished"));
  recorder_.before(Time(5), JobClosed{JobId(7)});
  ASSERT_TRUE(recorder_.note_prefetched(Time(6), Time(1), JobId(8), NodeId(1), {}).has_value());
  recorder_.before(Time(7), JobClosed{JobId(7)});
  ASSERT_TRUE(recorder_.restored(Time(8), Time(0), WorkerJoined{}).has_value());
  EXPECT_FALSE(has("job_closed"));
  EXPECT_TRUE(has("blocks_prefetched"));
  EXPECT_TRUE(has("worker_joined"));
}

TEST_F(RecorderTest, EachPieceRepeatsThePresentConfiguration) {
  const LogRotation always{.bytes = 1, .period = Duration(0), .keep = 0, .keep_bytes = 0, .compress = false};
  EventRecorder recorder(std::move(EventLog::open(files_ / "rotated", Time(0), "fair", always)).value());
  const auto piece_after = [&](int second, const Event& event) {
    recorder.before(Time(second), event);
    recorder.after(Time(second), {});
    EXPECT_TRUE(recorder.flush(Time(second)).has_value());
    return test::read_file(files_ / "rotated");
  };
  for (const char* spec : {"fair(pools=p)", "drf(pools=p)"})
    piece_after(1, SchedulerConfigured{spec, {{"p", "[pool]"}}, Speculation{.on = true}});
  const std::string piece = piece_after(2, JobClosed{JobId(7)});
  const std::string repeated =
      R"x({"time_ns":2,"event":"scheduler_configured","spec":"drf(pools=p)","files":["p"],"texts":{"p":"[pool]"},)x";
  EXPECT_NE(piece.find(repeated), std::string::npos) << piece;
  EXPECT_EQ(piece.find("fair"), std::string::npos) << piece;
  EXPECT_NE(piece.find("\"speculation\":\"on"), std::string::npos) << piece;
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

TEST_F(RecorderTest, ManyLinesShouldNotWait) {
  int events = 0;
  for (; !recorder_.many() && events < 10'000; ++events) happens(ended());
  EXPECT_GT(events, 10);
  EXPECT_LT(events, 1000);
  EXPECT_FALSE(recorder_.urgent());
}

}  // namespace
}  // namespace weft::master
