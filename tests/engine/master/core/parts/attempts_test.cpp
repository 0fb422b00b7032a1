#include "engine/master/core/attempts.hpp"

#include "engine/master/core/checked_decisions.hpp"
#include "engine/master/core/failures.hpp"
#include "tests/engine/master/core/parts/parts.hpp"

namespace weft::master {
namespace {

using schedulers::TaskState;

class AttemptsTest : public testing::Test {
 protected:
  explicit AttemptsTest(const CoreOptions& options = {}) : parts_(options) {
    parts_.node(1, 2);
    parts_.node(2, 2);
    job_ = &parts_.job(1);
    maps_ = &parts_.stage(*job_, test::source(0, 2, 1));
    parts_.ready(*job_, *maps_);
  }
  AttemptId launch(std::uint32_t task, std::uint32_t node) {
    attempts_.launch({JobId(1), StageId(0), task}, NodeId(node), "test");
    return parts_.all<LaunchTask>().back().attempt;
  }
  /// A speculative attempt at task 0, which runs on node 1.
  AttemptId speculate() {
    parts_.context.view.set_straggler({JobId(1), StageId(0), 0}, true);
    return launch(0, 2);
  }
  const schedulers::TaskInfo& task(std::uint32_t index = 0) const { return maps_->info->tasks[index]; }

  test::Parts parts_;
  test::ShuffleParts of_{parts_.context};
  StragglerWatch stragglers_{parts_.context.view, parts_.context.timers, {}};
  Attempts attempts_{parts_.context, of_.shuffles, of_.slow_start, stragglers_};
  Failures failures_{parts_.context, of_.health, attempts_, of_.shuffles};
  CheckedDecisions decisions_{parts_.context, attempts_};
  JobRecord* job_ = nullptr;
  StageRecord* maps_ = nullptr;
};

TEST_F(AttemptsTest, AreFoundWhileTheyRunThereAndFencedAfterwards) {
  const AttemptId attempt = launch(0, 1);
  ASSERT_TRUE(attempts_.running(attempt, NodeId(1)));
  EXPECT_EQ(attempts_.running(attempt, NodeId(2)).error().code(), Code::cancelled);
  EXPECT_EQ(attempts_.running({attempt.task, 1}, NodeId(1)).error().code(), Code::not_found);
  const TaskRef ref = attempts_.at(attempt);
  attempts_.vacate(ref, &StageAttempts::failed);
  attempts_.give_up(ref);
  EXPECT_EQ(task().state, TaskState::pending);
  EXPECT_EQ(attempts_.running(attempt, NodeId(1)).error().code(), Code::cancelled);
  EXPECT_EQ(parts_.context.view.used(), schedulers::Resources());
}

TEST_F(AttemptsTest, OfTwoTheOneThatWinsIsTheTasks) {
  const AttemptId first = launch(0, 1), second = speculate();
  EXPECT_TRUE(parts_.all<LaunchTask>().back().speculative);
  attempts_.vacate(attempts_.at(second), &StageAttempts::finished);
  attempts_.win(attempts_.at(second));
  ASSERT_EQ(parts_.all<KillTask>().size(), 1u);
  EXPECT_EQ(parts_.all<KillTask>()[0].attempt, first);
  EXPECT_EQ(parts_.all<KillTask>()[0].cause, KillCause::lost_race);
  EXPECT_EQ(task().node, NodeId(2));
  EXPECT_EQ(maps_->speculative_won, 1u);
}

TEST_F(AttemptsTest, OfTwoTheOneThatIsGivenUpLeavesTheOtherRunning) {
  const AttemptId first = launch(0, 1), second = speculate();
  attempts_.vacate(attempts_.at(first), &StageAttempts::failed);
  attempts_.give_up(attempts_.at(first));
  EXPECT_EQ(task().state, TaskState::running);
  EXPECT_TRUE(attempts_.running(second, NodeId(2)));
}

TEST_F(AttemptsTest, FailuresCountUntilTheJobFailsAndLossesDoNot) {
  job_->spec.options.max_attempts = 2;
  for (int i = 0; i < 19; ++i) {
    const TaskRef ref = attempts_.at(launch(0, 1));
    attempts_.vacate(ref, &StageAttempts::lost);
    failures_.lose(ref, "gone");
  }
  EXPECT_FALSE(parts_.context.jobs.failing(JobId(1)));
  for (std::uint32_t node = 1; node <= 2; ++node) {
    const TaskRef ref = attempts_.at(launch(0, node));
    attempts_.vacate(ref, &StageAttempts::failed);
    failures_.failed(ref, FailureKind::user_code, "", {});
    EXPECT_EQ(parts_.context.jobs.failing(JobId(1)), node == 2);
  }
  EXPECT_EQ(parts_.context.jobs.take_failing()->second.code(), Code::user_code);
  const TaskRef last = attempts_.at(launch(0, 1));
  attempts_.vacate(last, &StageAttempts::lost);
  failures_.lose(last, "gone");
  EXPECT_EQ(parts_.context.jobs.take_failing()->second.code(), Code::unavailable) << "lost twenty times";
}

TEST_F(AttemptsTest, AFailedTaskAvoidsItsNodeAndAKilledOneDoesNot) {
  const TaskRef failed = attempts_.at(launch(0, 1)), killed = attempts_.at(launch(1, 1));
  attempts_.vacate(failed, &StageAttempts::failed);
  failures_.failed(failed, FailureKind::crashed, "signal 11", {});
  EXPECT_EQ(task(0).avoid, NodeId(1));
  attempts_.vacate(killed, &StageAttempts::killed);
  failures_.failed(killed, FailureKind::killed, "stopped", {});
  EXPECT_FALSE(task(1).avoid);
  EXPECT_EQ(task(1).failures, 0u);
}

TEST_F(AttemptsTest, AnOutputThatCannotBeReadIsMadeAgainAndFourOfThemExcludeTheNode) {
  StageRecord& maps = parts_.stage(*job_, test::source(2, 5, 1));
  maps.active = true;
  parts_.ready(*job_, maps);
  for (std::uint32_t map = 0; map < 5; ++map) parts_.finish(parts_.run(*job_, maps, map, 2), {10});
  for (std::uint32_t map = 0; map < 4; ++map) {
    EXPECT_TRUE(parts_.context.view.node(NodeId(2))->usable());
    const TaskRef reader = attempts_.at(launch(0, 1));
    attempts_.vacate(reader, &StageAttempts::failed);
    failures_.failed(reader, FailureKind::fetch_failed, "gone", shuffle::FetchFailure{ShuffleId(2), map, 0, NodeId(2)});
  }
  EXPECT_FALSE(parts_.context.view.node(NodeId(2))->usable());
  EXPECT_EQ(maps.info->finished, 0u) << "the fifth one is taken for lost too";
  EXPECT_EQ(task(0).losses, 4u);
}

TEST_F(AttemptsTest, DecisionsAreCheckedAndRefusedOnesLeaveAReason) {
  const TaskId first{JobId(1), StageId(0), 0};
  EXPECT_FALSE(decisions_.launch(first, NodeId(9), ""));
  EXPECT_NE(maps_->info->held->text.find("launch refused"), std::string::npos);
  EXPECT_FALSE(decisions_.preempt({first, 0}, ""));
  ASSERT_TRUE(decisions_.launch(first, NodeId(1), ""));
  EXPECT_FALSE(decisions_.preplace(first, NodeId(2), "")) << "it runs";
  ASSERT_TRUE(decisions_.preempt({first, 0}, "for others"));
  EXPECT_EQ(parts_.all<KillTask>().back().cause, KillCause::preempted);
  EXPECT_EQ(maps_->info->held->text, "preempted: for others");
  ASSERT_TRUE(decisions_.preplace(first, NodeId(2), ""));
  EXPECT_FALSE(decisions_.preplace(first, NodeId(2), "")) << "it is placed there already";
  EXPECT_EQ(parts_.context.scheduler.faults().refused, 4u);
}

TEST_F(AttemptsTest, TheSchedulerIsWokenOnceAndNeverWithoutTimePassing) {
  parts_.at(10);
  decisions_.wake_at(Time(0));
  decisions_.wake_at(std::chrono::seconds(20));
  ASSERT_EQ(parts_.all<SetTimer>().size(), 1u) << "it is called earlier anyway";
  EXPECT_EQ(parts_.all<SetTimer>()[0].at, Time(std::chrono::seconds(10)) + Time(1));
}

class SlowStartTest : public AttemptsTest {
 protected:
  SlowStartTest()
      : AttemptsTest([] {
          CoreOptions options;
          options.slow_start = 0.5;
          return options;
        }()) {}
};

TEST_F(SlowStartTest, ReadersMayStartWhenHalfOfTheMapsHaveEnded) { EXPECT_EQ(of_.slow_start.threshold(*job_, *maps_->info), 1u); }

TEST_F(SlowStartTest, TheNewestEarlyReaderIsStoppedWhenNothingElseRunsAndItsMapsFindNoRoom) {
  StageRecord& readers = parts_.stage(*job_, test::reader(1, {0}, 4, 1));
  parts_.context.view.set_ready(*job_->info, *readers.info, true);
  for (std::uint32_t i = 0; i < 4; ++i) {
    parts_.at(i);
    attempts_.launch({JobId(1), StageId(1), i}, NodeId(1 + i / 2), "");
  }
  const auto stopped = of_.slow_start.reader_to_stop();
  ASSERT_TRUE(stopped);
  EXPECT_EQ(stopped->id(), (TaskId{JobId(1), StageId(1), 3}));
  attempts_.vacate(*stopped, &StageAttempts::killed);
  attempts_.give_up(*stopped);
  launch(0, 2);
  EXPECT_FALSE(of_.slow_start.reader_to_stop()) << "a map runs";
}

TEST_F(SlowStartTest, AReaderOfCompleteInputsNeverMakesWay) {
  StageRecord& readers = parts_.stage(*job_, test::reader(1, {0}, 4, 1));
  parts_.ready(*job_, readers);
  for (std::uint32_t i = 0; i < 4; ++i) attempts_.launch({JobId(1), StageId(1), i}, NodeId(1 + i / 2), "");
  EXPECT_FALSE(of_.slow_start.reader_to_stop());
  of_.slow_start.set_inputs_complete(*job_, *readers.info, false);
  EXPECT_TRUE(of_.slow_start.reader_to_stop()) << "an output was lost";
}

TEST_F(SlowStartTest, AReaderWhoseMapsFindNoRoomForLongMakesWayWhateverElseRuns) {
  StageRecord& readers = parts_.stage(*job_, test::reader(1, {0}, 2, 1));
  parts_.context.view.set_ready(*job_->info, *readers.info, true);
  JobRecord& other = parts_.job(2);
  StageRecord& endless = parts_.stage(other, test::source(0, 2, 1));
  parts_.ready(other, endless);
  attempts_.launch({JobId(2), StageId(0), 0}, NodeId(1), "");
  attempts_.launch({JobId(1), StageId(1), 0}, NodeId(1), "");
  attempts_.launch({JobId(1), StageId(1), 1}, NodeId(2), "");
  ASSERT_EQ(parts_.all<SetTimer>().back().at, Time(std::chrono::minutes(1)));
  EXPECT_FALSE(of_.slow_start.reader_to_stop()) << "another job's task runs";
  EXPECT_FALSE(of_.slow_start.reader_of_starved_job()) << "not for long";
  EXPECT_TRUE(of_.slow_start.reader_of_starved_job());
  attempts_.launch({JobId(1), StageId(0), 0}, NodeId(2), "");
  EXPECT_FALSE(of_.slow_start.reader_of_starved_job()) << "a map of it runs";
  EXPECT_FALSE(of_.slow_start.reader_of_starved_job());
}

TEST_F(AttemptsTest, AJobMayChooseWhenItsReadersStart) {
  EXPECT_EQ(of_.slow_start.threshold(*job_, *maps_->info), 2u);
  job_->info->slow_start = 0.5;
  EXPECT_EQ(of_.slow_start.threshold(*job_, *maps_->info), 1u);
  EXPECT_TRUE(of_.slow_start.on(*job_));
  job_->info->slow_start = 1;
  EXPECT_FALSE(of_.slow_start.on(*job_));
}

TEST_F(SlowStartTest, WhatAReaderWaitedForItsInputsDoesNotCountAsWork) {
  StageRecord& readers = parts_.stage(*job_, test::reader(1, {0}, 1, 1));
  parts_.at(10);
  of_.slow_start.set_inputs_complete(*job_, *readers.info, true);
  using std::chrono::seconds;
  EXPECT_EQ(readers.info->worked(seconds(2), seconds(12)), Time(seconds(2)));
  EXPECT_EQ(readers.info->worked(seconds(11), seconds(12)), Time(seconds(1)));
  EXPECT_EQ(readers.info->worked(seconds(2), seconds(5)), Time(seconds(3))) << "it ended before they were complete again";
}

TEST_F(AttemptsTest, TheNodeThatLosesARaceIsAsSlowAsItsAttemptWas) {
  StragglerWatch watch{parts_.context.view, parts_.context.timers, {.on = true}};
  Attempts attempts{parts_.context, of_.shuffles, of_.slow_start, watch};
  maps_->info->observed_count = 3;
  maps_->info->observed_total = std::chrono::seconds(3);
  maps_->info->estimated_duration = std::chrono::seconds(1);
  attempts.launch({JobId(1), StageId(0), 0}, NodeId(1), "test");
  attempts.launch({JobId(1), StageId(0), 1}, NodeId(2), "test");
  const Time look = parts_.all<SetTimer>().back().at;
  parts_.context.view.set_straggler({JobId(1), StageId(0), 0}, true);
  parts_.at(60);
  maps_->info->tasks[1].launched = parts_.context.now();
  attempts.launch({JobId(1), StageId(0), 0}, NodeId(2), "test");
  const AttemptId second = parts_.all<LaunchTask>().back().attempt;
  attempts.vacate(attempts.at(second), &StageAttempts::finished);
  attempts.win(attempts.at(second));
  (void)watch.fire(look);
  EXPECT_TRUE(parts_.context.view.node(NodeId(1))->slow) << "sixty seconds where one is usual";
  EXPECT_FALSE(parts_.context.view.node(NodeId(2))->slow);
}

}  // namespace
}  // namespace weft::master
