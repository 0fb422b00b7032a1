// What the status of a stage tells of its attempts, its times, and how its tasks differ.
#include "engine/master/core/stage_figures.hpp"

#include <algorithm>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;
using std::chrono::seconds;

class StageFigures : public testing::Test {
 protected:
  StageFigures() {
    d.join(1, 50);
    d.submit(1);
  }
  StageStatus stage(std::uint32_t id = 0) const { return d.core.job(JobId(1))->stages.at(id); }
  StageUsage usage(std::uint32_t id = 0) const { return stage(id).usage; }
  /// A map ends now, and has done so much.
  void finish(std::uint32_t task, std::uint64_t input, std::uint64_t written, const runtime::TaskUsage& used = {}) {
    TaskFinished event;
    event.attempt = d.running_attempt(1, 0, task);
    event.node = d.running.at(event.attempt);
    event.input_bytes = input;
    event.output = {{written, 1}, {0, 0}};
    event.usage = used;
    d.running.erase(event.attempt);
    ASSERT_TRUE(d.apply(std::move(event)));
  }
  void expect_attempts(const StageAttempts& expected, std::uint32_t id = 0) const {
    const StageAttempts counted = usage(id).attempts;
    EXPECT_EQ(std::tie(counted.first, counted.retried, counted.finished),
              std::tie(expected.first, expected.retried, expected.finished));
    EXPECT_EQ(std::tie(counted.failed, counted.killed, counted.lost), std::tie(expected.failed, expected.killed, expected.lost));
  }

  Driver d;
};

TEST_F(StageFigures, TellHowTasksDifferAsASortedListDoes) {
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 40, 2), result(reader(1, {0}, 2, 0))})));
  EXPECT_EQ(usage().figures.nanoseconds, Distribution()) << "none has finished";
  for (std::uint64_t task = 0; task < 40; ++task) {
    d.now = seconds(1 + task);
    runtime::TaskUsage used;
    used.shuffle_read_bytes = 3;
    used.output_bytes = task == 39 ? 500 : 0;
    used.spilled_bytes = task < 2 ? 0 : task + 1;
    finish(static_cast<std::uint32_t>(task), 40 - task, (task + 1) << 20, used);
  }
  const TaskFigures<Distribution> figures = usage().figures;
  const auto second = static_cast<std::uint64_t>(Time(seconds(1)).count());
  EXPECT_EQ(figures.nanoseconds.total, 820 * second);
  EXPECT_EQ(figures.nanoseconds.min, second);
  EXPECT_NEAR(static_cast<double>(figures.nanoseconds.median), 20e9, 20e9 / 64);
  EXPECT_NEAR(static_cast<double>(figures.nanoseconds.p95), 38e9, 38e9 / 64);
  EXPECT_EQ(figures.nanoseconds.max, 40 * second);
  EXPECT_EQ(figures.input_bytes, (Distribution{820, 1, 20, 38, 40}));
  EXPECT_EQ(figures.shuffle_read_bytes, (Distribution{120, 3, 3, 3, 3}));
  EXPECT_EQ(figures.shuffle_bytes.max, 40u << 20);
  EXPECT_EQ(figures.output_bytes, (Distribution{500, 0, 0, 0, 500}));
  EXPECT_EQ(figures.spilled_bytes, (Distribution{817, 0, 20, 38, 40}));
  EXPECT_EQ(usage().ended - usage().began, seconds(40));

  d.now = seconds(100);
  d.drain();
  EXPECT_EQ(usage(1).figures.output_bytes, (Distribution{4, 2, 2, 2, 2})) << "what goes to the driver: r0, r1";
  EXPECT_EQ(usage(1).began, seconds(40));
  EXPECT_EQ(usage(1).ended, seconds(100));
  ASSERT_TRUE(d.apply(JobClosed{JobId(1)}));
  EXPECT_EQ(usage().figures.input_bytes, figures.input_bytes) << "after the job has ended";
}

TEST_F(StageFigures, CountAttemptsByWhatBecameOfThem) {
  d.now = seconds(5);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 2), result(reader(1, {0}, 2, 0))})));
  expect_attempts({.first = 4});
  d.now = seconds(7);
  ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 0)));
  ASSERT_TRUE(d.fail_task(d.running_attempt(1, 0, 1), FailureKind::killed));
  expect_attempts({.first = 4, .retried = 2, .failed = 1, .killed = 1});
  TaskFinished broken;
  broken.attempt = d.running_attempt(1, 0, 2);
  broken.node = NodeId(1);
  d.running.erase(broken.attempt);
  ASSERT_TRUE(d.apply(std::move(broken)));
  d.pass_until(d.now + std::chrono::milliseconds(250));  // it pauses
  expect_attempts({.first = 4, .retried = 3, .failed = 2, .killed = 1});
  finish(3, 10, 7);
  expect_attempts({.first = 4, .retried = 3, .finished = 1, .failed = 2, .killed = 1});
  d.running.clear();
  ASSERT_TRUE(d.lose(1));
  expect_attempts({.first = 4, .retried = 3, .finished = 1, .failed = 2, .killed = 1, .lost = 3});
  EXPECT_EQ(stage().finished, 0u) << "its output is gone";
  d.join(2, 50);
  expect_attempts({.first = 4, .retried = 7, .finished = 1, .failed = 2, .killed = 1, .lost = 3});
  for (const std::uint32_t task : {0u, 1u, 2u, 3u}) finish(task, 10, 7);
  expect_attempts({.first = 4, .retried = 7, .finished = 5, .failed = 2, .killed = 1, .lost = 3});
  EXPECT_EQ(usage().figures.input_bytes.total, 40u) << "each task once";
  EXPECT_EQ(usage().began, seconds(5)) << "with the first of its attempts";
  expect_attempts({.first = 2}, 1);
  ASSERT_TRUE(d.apply(JobKilled{JobId(1), "enough"}));
  expect_attempts({.first = 2, .killed = 2}, 1);
  EXPECT_EQ(stage(1).running, 0u);
}

}  // namespace
}  // namespace weft::master
