// Where a job's time went: by hand for one cause each, and of random histories that every second is counted once.
#include "engine/tools/history/critical_path.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/engine/tools/history/lines.hpp"

namespace weft::history {
namespace {

int ms(Time time) { return static_cast<int>(time / std::chrono::milliseconds(1)); }

CriticalPath path_of(const WrittenLog& written) { return critical_path(written.history, *written.history.job(1)); }

Time sum(const CriticalPath& path) {
  Time all = path.driver;
  for (const StageOnPath& stage : path.stages) all += stage.total();
  return all;
}

/// What the stage spent on it, in milliseconds; -1 when the stage is not on the path.
int spent(const CriticalPath& path, std::uint32_t stage, Spent on) {
  for (const StageOnPath& one : path.stages)
    if (one.stage == stage) return ms(one.spent[static_cast<std::size_t>(on)]);
  return -1;
}

/// Two workers, a job submitted at 100 whose two stages came at 150: two maps, and a reduce of them.
WrittenLog two_stages() {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.worker(0, 2, "w2");
  written.job(100, 1);
  written.stage(150, 1, 0, 2);
  written.stage(150, 1, 1, 1, {0});
  return written;
}

void finish_with(WrittenLog& written, int at, std::uint32_t stage, std::uint32_t task, std::uint32_t node, int run, int read,
                 int shuffle, int write) {
  auto line = written.attempt(at, "task_finished", 1, stage, task, 0, node);
  line.usage.run = std::chrono::milliseconds(run);
  line.usage.read = std::chrono::milliseconds(read);
  line.shuffle_read = std::chrono::milliseconds(shuffle);
  line.shuffle_write = std::chrono::milliseconds(write);
  written.history.apply(line);
}

TEST(CriticalPath, GoesThroughTheLastInputAndTellsWhatEachSpent) {
  WrittenLog written = two_stages();
  written.launch(160, 1, 0, 0, 0, 1);
  written.launch(160, 1, 0, 1, 0, 2);
  finish_with(written, 260, 0, 0, 1, 90, 10, 0, 5);
  finish_with(written, 460, 0, 1, 2, 290, 100, 0, 40);  // the slow map
  written.launch(500, 1, 1, 0, 0, 1);
  finish_with(written, 700, 1, 0, 1, 180, 0, 60, 20);
  written.end(720, 1);
  const CriticalPath path = path_of(written);
  EXPECT_EQ(ms(path.total), 620);
  EXPECT_EQ(ms(path.driver), 50 + 20);
  ASSERT_EQ(path.stages.size(), 2u);
  EXPECT_EQ(path.stages[0].stage, 0u);
  EXPECT_EQ(spent(path, 0, Spent::waiting), 10);
  EXPECT_EQ(spent(path, 0, Spent::starting), 10);
  EXPECT_EQ(spent(path, 0, Spent::reading), 100);
  EXPECT_EQ(spent(path, 0, Spent::code), 150);
  EXPECT_EQ(spent(path, 0, Spent::writing), 40);
  EXPECT_EQ(spent(path, 1, Spent::waiting), 40);
  EXPECT_EQ(spent(path, 1, Spent::starting), 20);
  EXPECT_EQ(spent(path, 1, Spent::shuffle), 60);
  EXPECT_EQ(spent(path, 1, Spent::code), 100);
  EXPECT_EQ(spent(path, 1, Spent::writing), 20);
  ASSERT_NE(path.limiting(), nullptr);
  EXPECT_EQ(path.limiting()->stage, 0u);
  EXPECT_EQ(written.history.job(1)->attempts[path.limiting()->longest].task, 1u);
  EXPECT_EQ(sum(path), path.total);
}

TEST(CriticalPath, OfAReduceThatBeganEarlyCountsWhatCameAfterItsInputs) {
  WrittenLog written = two_stages();
  written.launch(160, 1, 0, 0, 0, 1);
  written.launch(170, 1, 1, 0, 0, 2);
  finish_with(written, 460, 0, 0, 1, 300, 0, 0, 0);
  finish_with(written, 560, 1, 0, 2, 390, 0, 320, 10);
  written.end(560, 1);
  const CriticalPath path = path_of(written);
  EXPECT_EQ(spent(path, 0, Spent::code), 300);
  EXPECT_EQ(spent(path, 1, Spent::code), 60);
  EXPECT_EQ(spent(path, 1, Spent::writing), 10);
  EXPECT_EQ(spent(path, 1, Spent::shuffle), 30) << "what it waited for while the map ran is the map's";
  EXPECT_EQ(sum(path), path.total);
}

TEST(CriticalPath, GoesThroughTheTaskThatLeftTheSlot) {
  WrittenLog written = two_stages();
  written.launch(150, 1, 0, 0, 0, 1);
  finish_with(written, 350, 0, 0, 1, 200, 0, 0, 0);
  written.launch(360, 1, 0, 1, 0, 1);
  finish_with(written, 460, 0, 1, 1, 100, 0, 0, 0);
  written.end(460, 1);
  const CriticalPath path = path_of(written);
  EXPECT_EQ(spent(path, 0, Spent::code), 300);
  EXPECT_EQ(spent(path, 0, Spent::waiting), 10);
  EXPECT_EQ(path.stages[0].attempts, 2u);
}

TEST(CriticalPath, SlotsOfOtherJobsAreWaitedFor) {
  WrittenLog written = two_stages();
  written.launch(1150, 1, 0, 0, 0, 1);
  finish_with(written, 1250, 0, 0, 1, 100, 0, 0, 0);
  written.end(1250, 1);
  EXPECT_EQ(spent(path_of(written), 0, Spent::waiting), 1000);
  EXPECT_EQ(ms(path_of(written).driver), 50);
}

TEST(CriticalPath, FailedAttemptsAtTheSameTaskAreOnIt) {
  WrittenLog written = two_stages();
  written.launch(150, 1, 0, 0, 0, 1);
  written.fail(400, 1, 0, 0, 0, 1, "user_code", "no");
  written.launch(410, 1, 0, 0, 1, 2);
  auto line = written.attempt(500, "task_finished", 1, 0, 0, 1, 2);
  line.usage.run = std::chrono::milliseconds(90);
  written.history.apply(line);
  written.end(500, 1);
  const CriticalPath path = path_of(written);
  EXPECT_EQ(spent(path, 0, Spent::failed), 250);
  EXPECT_EQ(spent(path, 0, Spent::waiting), 10);
  EXPECT_EQ(spent(path, 0, Spent::code), 90);
}

TEST(CriticalPath, BetweenActionsItIsTheDriver) {
  WrittenLog written = two_stages();
  written.launch(150, 1, 0, 0, 0, 1);
  finish_with(written, 250, 0, 0, 1, 100, 0, 0, 0);
  written.stage(950, 1, 2, 1);  // the program thought for 700 ms
  written.launch(960, 1, 2, 0, 0, 1);
  finish_with(written, 1000, 2, 0, 1, 40, 0, 0, 0);
  written.end(1000, 1);
  const CriticalPath path = path_of(written);
  EXPECT_EQ(ms(path.driver), 50 + 700);
  EXPECT_EQ(spent(path, 2, Spent::waiting), 10);
  EXPECT_EQ(spent(path, 0, Spent::code), 100);
}

TEST(CriticalPath, OfAJobThatRunsEndsAtWhatOthersWaitFor) {
  WrittenLog written = two_stages();
  written.launch(160, 1, 0, 0, 0, 1);
  written.launch(170, 1, 1, 0, 0, 2);  // waits for the map
  written.history.pass_to(std::chrono::milliseconds(1160));
  CriticalPath path = path_of(written);
  EXPECT_EQ(spent(path, 0, Spent::unfinished), 1000);
  EXPECT_EQ(spent(path, 1, Spent::unfinished), -1);

  WrittenLog waiting = two_stages();
  waiting.history.pass_to(std::chrono::milliseconds(2150));
  path = path_of(waiting);
  EXPECT_EQ(spent(path, 0, Spent::waiting), 2000);
  EXPECT_EQ(ms(path.driver), 50);
}

TEST(CriticalPath, OfAFailedJobEndsAtItsLastFailure) {
  WrittenLog written = two_stages();
  written.launch(150, 1, 0, 0, 0, 1);
  written.launch(150, 1, 0, 1, 0, 2);
  written.fail(400, 1, 0, 0, 0, 1, "user_code", "no");
  written.end(410, 1, "job_failed");
  EXPECT_EQ(spent(path_of(written), 0, Spent::failed), 250);
}

TEST(CriticalPath, InWords) {
  WrittenLog written = two_stages();
  written.launch(150, 1, 0, 0, 0, 1);
  finish_with(written, 3150, 0, 0, 1, 3000, 500, 0, 0);
  written.end(4150, 1);
  EXPECT_EQ(path_text(written.history, *written.history.job(1)),
            "critical path: stage 0 limits the job with 74 % of its 4.0 s; the longest there was task 0.0 on w1 (3.0 s)\n\n"
            "STAGE  NAME    TIME   PART  SPENT ON\n"
            "0      stage0  3.0 s  74 %  user code 2.5 s, reading 500 ms\n"
            "-      driver  1.1 s  26 %  \n");
  EXPECT_EQ(
      path_json(written.history, *written.history.job(1)),
      R"({"seconds":4.05,"driver_seconds":1.05,"limiting_stage":0,"stages":[{"stage":0,"name":"stage0","seconds":3,"attempts":1,)"
      R"("spent_seconds":{"reading":0.5,"user_code":2.5},"longest_task":0,"longest_seconds":3,"longest_on":"w1"}]})"
      "\n");
  WrittenLog nothing;
  nothing.job(100, 1);
  EXPECT_EQ(path_text(nothing.history, *nothing.history.job(1)), "");
}

/// Whatever the log says, also where clocks were set back and tasks end twice: it ends, and every moment is counted once.
TEST(CriticalPath, CountsEveryMomentOnce) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&random](unsigned end) { return static_cast<std::uint32_t>(random() % end); };
    WrittenLog written = two_stages();
    written.stage(150, 1, 2, 3, {0, 1});
    int at = 150;
    for (int i = 0; i < 60; ++i) {
      at += static_cast<int>(below(30)) - (seed % 3 == 0 ? 8 : 0);
      const std::uint32_t stage = below(3), task = below(3), attempt = below(3), node = 1 + below(2);
      switch (below(5)) {
        case 0:
        case 1:
          written.launch(at, 1, stage, task, attempt, node);
          break;
        case 2:
          written.fail(at, 1, stage, task, attempt, node, "user_code", "no");
          break;
        case 3:
          written.kill(at, 1, stage, task, attempt, node);
          break;
        default:
          finish_with(written, at, stage, task, node, static_cast<int>(below(200)), static_cast<int>(below(50)), 7, 3);
      }
    }
    if (seed % 4 != 0) written.end(at + 5, 1, seed % 4 == 1 ? "job_failed" : "job_finished");
    const CriticalPath path = path_of(written);
    ASSERT_EQ(sum(path), path.total) << "seed " << seed;
    ASSERT_GE(path.driver, Time(0)) << "seed " << seed;
    for (const StageOnPath& stage : path.stages)
      for (const Time time : stage.spent) ASSERT_GE(time, Time(0)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace weft::history
