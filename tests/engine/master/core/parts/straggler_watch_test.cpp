#include "engine/master/core/straggler_watch.hpp"

#include "tests/engine/master/core/parts/parts.hpp"

namespace weft::master {
namespace {

class StragglerWatchTest : public testing::Test {
 protected:
  StragglerWatchTest() {
    for (std::uint32_t i = 1; i <= 3; ++i) parts_.node(i, 10);
    rules_.on = true;
    rules_.shortest = Time(0);
  }
  /// A stage of so many tasks that all run since now on node 1.
  void start(std::uint32_t tasks) {
    stage_ = &parts_.stage(parts_.job(1), test::source(0, tasks, 1));
    parts_.ready(job(), *stage_);
    for (std::uint32_t i = 0; i < tasks; ++i) running_.push_back(parts_.run(job(), *stage_, i, 1));
  }
  JobRecord& job() { return parts_.context.jobs.at(JobId(1)); }
  void finish(std::uint32_t task) {
    parts_.finish(running_[task], {1});
    schedulers::StageInfo& info = *stage_->info;
    info.observed_total += running_[task].info().ended - running_[task].info().launched;
    ++info.observed_count;
  }
  std::size_t stragglers() const { return parts_.context.view.stragglers().size(); }
  Time timer() const { return parts_.all<SetTimer>().back().at; }

  test::Parts parts_;
  Speculation rules_;
  StragglerWatch watch_{parts_.context.view, parts_.context.timers, rules_};
  StageRecord* stage_ = nullptr;
  std::vector<TaskRef> running_;
};

TEST_F(StragglerWatchTest, FindsWhoTakesLongerThanTheMedianOfThoseThatFinishedTimesTheRule) {
  watch_.set_rules(rules_);
  start(4);
  parts_.at(10);
  finish(0);
  watch_.watch(JobId(1), *stage_->info);
  EXPECT_TRUE(parts_.commands.empty()) << "a quarter of the tasks says nothing yet";
  finish(1);
  watch_.watch(JobId(1), *stage_->info);
  ASSERT_EQ(timer(), Time(std::chrono::seconds(11)));
  parts_.at(11);
  EXPECT_FALSE(watch_.fire(timer()));
  EXPECT_EQ(timer(), Time(std::chrono::seconds(15))) << "when the first could straggle";
  parts_.at(15);
  EXPECT_TRUE(watch_.fire(timer()));
  EXPECT_EQ(parts_.context.view.stragglers(), (std::set<TaskId>{running_[2].id(), running_[3].id()}));
}

TEST_F(StragglerWatchTest, GivesTheMostOverdueFirstAndNoMoreThanTheCapsAllow) {
  rules_.per_cluster = 1.0 / 30;
  watch_.set_rules(rules_);
  start(4);
  running_[3].info().launched = Time(-std::chrono::seconds(5));
  parts_.at(10);
  finish(0);
  finish(1);
  watch_.watch(JobId(1), *stage_->info);
  parts_.at(20);
  EXPECT_TRUE(watch_.fire(timer()));
  EXPECT_EQ(parts_.context.view.stragglers(), (std::set<TaskId>{running_[3].id()}));
}

TEST_F(StragglerWatchTest, ATimerThatAnEarlierOneReplacedAndSpeculationSwitchedOffFindNothing) {
  watch_.set_rules(rules_);
  start(2);
  parts_.at(1);
  finish(0);
  watch_.watch(JobId(1), *stage_->info);
  EXPECT_FALSE(watch_.fire(timer() + Time(1)));
  parts_.at(20);
  ASSERT_TRUE(watch_.fire(timer()));
  rules_.on = false;
  watch_.set_rules(rules_);
  EXPECT_EQ(stragglers(), 0u);
  EXPECT_FALSE(watch_.fire(timer()));
  const std::size_t commands = parts_.commands.size();
  watch_.watch(JobId(1), *stage_->info);
  EXPECT_EQ(parts_.commands.size(), commands);
}

TEST_F(StragglerWatchTest, ANodeWhereTasksTakeMuchLongerIsSlowUntilItIsForgotten) {
  watch_.set_rules(rules_);
  start(4);
  parts_.at(10);
  for (std::uint32_t i = 0; i < 3; ++i) finish(i);
  for (int i = 0; i < 10; ++i) watch_.note_pace(*stage_->info, NodeId(2), std::chrono::seconds(30));
  watch_.watch(JobId(1), *stage_->info);
  parts_.at(11);
  (void)watch_.fire(timer());
  EXPECT_TRUE(parts_.context.view.node(NodeId(2))->slow);
  EXPECT_FALSE(parts_.context.view.node(NodeId(1))->slow);
  watch_.forget(NodeId(2));
  parts_.at(15);
  (void)watch_.fire(timer());
  EXPECT_FALSE(parts_.context.view.node(NodeId(2))->slow);
}

TEST_F(StragglerWatchTest, WhatReadsTwiceAsMuchMayTakeTwiceAsLong) {
  watch_.set_rules(rules_);
  start(4);
  parts_.at(10);
  for (std::uint32_t i = 0; i < 2; ++i) {
    finish(i);
    stage_->info->input_bytes += 100;
  }
  running_[2].info().input_bytes = 200;
  watch_.watch(JobId(1), *stage_->info);
  parts_.at(15);
  ASSERT_TRUE(watch_.fire(timer()));
  EXPECT_EQ(parts_.context.view.stragglers(), (std::set<TaskId>{running_[3].id()})) << "the other one from 30 s on";
}

TEST_F(StragglerWatchTest, NothingStragglesWhileATaskOfTheStageWaits) {
  watch_.set_rules(rules_);
  start(4);
  parts_.at(10);
  finish(0);
  finish(1);
  watch_.watch(JobId(1), *stage_->info);
  parts_.at(20);
  parts_.context.view.vacate(NodeId(1), running_[3].attempt(), *job().info, stage_->info->demand);
  parts_.context.view.set_task(*job().info, *stage_->info, 3, schedulers::TaskState::pending);
  EXPECT_FALSE(watch_.fire(timer()));
  EXPECT_EQ(stragglers(), 0u);
}

TEST_F(StragglerWatchTest, ATaskHasThreeSpeculativeAttemptsAtMost) {
  watch_.set_rules(rules_);
  start(4);
  parts_.at(10);
  finish(0);
  finish(1);
  running_[2].info().later_attempts = 3;
  running_[3].info().later_attempts = 2;
  watch_.watch(JobId(1), *stage_->info);
  parts_.at(20);
  ASSERT_TRUE(watch_.fire(timer()));
  EXPECT_EQ(parts_.context.view.stragglers(), (std::set<TaskId>{running_[3].id()}));
}

}  // namespace
}  // namespace weft::master
