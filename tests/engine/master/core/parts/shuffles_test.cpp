#include "engine/master/core/shuffles.hpp"

#include "engine/master/core/job_reports.hpp"
#include "tests/engine/master/core/parts/parts.hpp"

namespace weft::master {
namespace {

class ShufflesTest : public testing::Test {
 protected:
  ShufflesTest() {
    parts_.node(1, 2);
    parts_.node(2, 2);
    of_.replicas.node_joined(NodeId(1));
    of_.replicas.node_joined(NodeId(2));
    job_ = &parts_.job(1);
    maps_ = &parts_.stage(*job_, test::source(0, 2, 2));
    readers_ = &parts_.stage(*job_, test::result(test::reader(1, {0}, 2, 0)));
    readers_->action = ActionId(0);
  }
  void finish_maps() {
    for (std::uint32_t map = 0; map < 2; ++map) parts_.finish(parts_.run(*job_, *maps_, map, 1 + map), {10, 20});
    of_.shuffles.complete(*job_, *maps_);
  }

  test::Parts parts_;
  test::ShuffleParts of_{parts_.context};
  JobRecord* job_ = nullptr;
  StageRecord* maps_ = nullptr;
  StageRecord* readers_ = nullptr;
};

TEST_F(ShufflesTest, AStageIsActiveWhenItIsWantedAndReadyWhenItsInputsAreComplete) {
  of_.shuffles.refresh(*job_);
  EXPECT_TRUE(maps_->active && maps_->info->ready);
  EXPECT_TRUE(readers_->active && !readers_->info->ready);
  finish_maps();
  EXPECT_FALSE(maps_->active);
  EXPECT_TRUE(readers_->info->ready && readers_->info->inputs_complete);
}

TEST_F(ShufflesTest, ALostOutputMakesItsMapRunAgainAndItsReadersWait) {
  of_.shuffles.refresh(*job_);
  finish_maps();
  EXPECT_FALSE(of_.shuffles.lose_outputs_on(*job_, *maps_, NodeId(9), "?"));
  EXPECT_TRUE(of_.shuffles.lose_outputs_on(*job_, *maps_, NodeId(1), "worker w1 was lost"));
  of_.shuffles.refresh(*job_);
  EXPECT_EQ(maps_->info->pending.count(), 1u);
  EXPECT_FALSE(readers_->info->ready);
  EXPECT_EQ(maps_->info->held->text, "worker w1 was lost: 1 of its tasks run again");
}

TEST_F(ShufflesTest, AnOutputWithAReplicaIsReadThereAndNoMapRunsAgain) {
  job_->spec.options.shuffle_replicas = 2;
  of_.shuffles.refresh(*job_);
  finish_maps();
  of_.replicas.replicate(*job_, *maps_, 0);
  ASSERT_TRUE(of_.replicas.made({NodeId(2), JobId(1), ShuffleId(0), 0, 0}));
  of_.shuffles.send_locations(*job_, *maps_, NodeId(2));
  EXPECT_FALSE(of_.shuffles.lose_outputs_on(*job_, *maps_, NodeId(1), "worker w1 was lost"));
  EXPECT_EQ(maps_->info->tasks[0].node, NodeId(2));
  ASSERT_EQ(parts_.all<OutputMoved>().size(), 1u);
  ASSERT_EQ(parts_.all<ShuffleLocations>().size(), 2u) << "who reads it is sent the new places";
  EXPECT_TRUE(readers_->info->ready);
}

TEST_F(ShufflesTest, ATableIsSentOncePerVersionAndNode) {
  of_.shuffles.refresh(*job_);
  finish_maps();
  of_.shuffles.send_locations(*job_, *maps_, NodeId(1));
  of_.shuffles.send_locations(*job_, *maps_, NodeId(1));
  of_.shuffles.send_locations(*job_, *maps_, NodeId(2));
  const auto tables = parts_.all<ShuffleLocations>();
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].outputs, tables[1].outputs) << "shared";
  maps_->locations.change();
  of_.shuffles.send_locations(*job_, *maps_, NodeId(1));
  EXPECT_EQ(parts_.all<ShuffleLocations>().size(), 3u);
}

TEST_F(ShufflesTest, AReleasedShuffleIsDroppedWhenNobodyReadsItAndMadeAgainWhenSomebodyMust) {
  of_.shuffles.refresh(*job_);
  finish_maps();
  job_->release_pending.insert(StageId(0));
  maps_->released = true;
  of_.shuffles.refresh(*job_);
  EXPECT_FALSE(maps_->dropped) << "its reader is active";
  for (std::uint32_t i = 0; i < 2; ++i) parts_.finish(parts_.run(*job_, *readers_, i, 1));
  readers_->action.reset();
  of_.shuffles.complete(*job_, *readers_);
  EXPECT_TRUE(maps_->dropped);
  EXPECT_EQ(parts_.all<ReleaseShuffle>().size(), 2u) << "to the nodes of its outputs";
  StageRecord& again = parts_.stage(*job_, test::result(test::reader(2, {0}, 2, 0)));
  again.action = ActionId(1);
  of_.shuffles.refresh(*job_);
  EXPECT_FALSE(maps_->dropped);
  EXPECT_TRUE(maps_->active);
  EXPECT_EQ(maps_->info->pending.count(), 2u);
}

TEST_F(ShufflesTest, TasksThatWereGivenNodesAreNotMerged) {
  readers_->plan.branches[0].mergeable = true;
  readers_->placed_by.push_back(maps_->plan.id);
  of_.shuffles.refresh(*job_);
  parts_.context.view.exclude(NodeId(1), Time(1));
  parts_.context.view.set_capacity(NodeId(2), {.cpu = 1});
  finish_maps();
  EXPECT_EQ(readers_->info->tasks.size(), 2u);
}

TEST_F(ShufflesTest, SmallPartitionsAreMergedWhenAllInputsAreComplete) {
  readers_->plan.branches[0].mergeable = true;
  of_.shuffles.refresh(*job_);
  parts_.context.view.exclude(NodeId(1), Time(1));
  parts_.context.view.set_capacity(NodeId(2), {.cpu = 1});
  finish_maps();
  EXPECT_EQ(readers_->info->tasks.size(), 1u);
  EXPECT_EQ(readers_->info->bounds, (std::vector<std::uint32_t>{0, 2}));
}

TEST_F(ShufflesTest, ReportsSayWhyTasksWait) {
  of_.shuffles.refresh(*job_);
  const JobExplanation waiting = explain_job(parts_.context, *job_);
  ASSERT_EQ(waiting.waiting.size(), 2u);
  EXPECT_EQ(waiting.waiting[0].reason, "2 of 2 workers have cpu=1 free");
  EXPECT_EQ(waiting.waiting[1].why, WaitingTasks::Why::parents);
  parts_.context.record_reason(JobId(1), StageId(0), "its pool is full");
  EXPECT_EQ(explain_job(parts_.context, *job_).waiting[0].reason, "its pool is full (2 of 2 workers have cpu=1 free)");
  const JobStatus status = status_of(parts_.context.view, of_.rounds, *job_, true);
  EXPECT_EQ(status.stages[0].reason, "its pool is full");
  EXPECT_TRUE(status.stages[1].waiting);
}

}  // namespace
}  // namespace weft::master
