#include "engine/master/core/node_health.hpp"

#include "engine/master/core/oversized_tasks.hpp"
#include "tests/engine/master/core/parts.hpp"

namespace weft::master {
namespace {

using schedulers::Resources;

class NodeHealthTest : public testing::Test {
 protected:
  NodeHealthTest() {
    parts_.node(1, 1);
    parts_.node(2, 4);
  }
  bool usable(std::uint32_t node) const { return parts_.context.view.node(NodeId(node))->usable(); }

  test::Parts parts_{CoreOptions{.max_failures_per_node = 2, .exclusion = std::chrono::seconds(60)}};
  NodeHealth health_{parts_.context};
};

TEST_F(NodeHealthTest, ConsecutiveFailuresExcludeANodeUntilItsTimer) {
  health_.note_failure(NodeId(1));
  health_.note_success(NodeId(1));
  health_.note_failure(NodeId(1));
  EXPECT_TRUE(usable(1)) << "one since the last success";
  health_.note_failure(NodeId(1));
  EXPECT_FALSE(usable(1));
  ASSERT_EQ(parts_.all<SetTimer>().size(), 1u);
  EXPECT_EQ(parts_.all<SetTimer>()[0].at, Time(std::chrono::seconds(60)));
  EXPECT_TRUE(parts_.context.triggers.pending());
  health_.readmit(NodeId(1));
  EXPECT_TRUE(usable(1));
  health_.note_failure(NodeId(1));
  EXPECT_TRUE(usable(1)) << "what was before the exclusion does not count";
}

TEST_F(NodeHealthTest, TheLastUsableNodeIsNeverExcluded) {
  health_.exclude(NodeId(1));
  health_.exclude(NodeId(2));
  EXPECT_TRUE(usable(2));
}

TEST_F(NodeHealthTest, TasksAvoidANodeOnlyWhileAnotherOneIsLargeEnough) {
  StageRecord& stage = parts_.stage(parts_.job(1), test::source(0, 1, 1), 2);
  EXPECT_TRUE(health_.another_node(*stage.info, NodeId(1)));
  EXPECT_FALSE(health_.another_node(*stage.info, NodeId(2))) << "node 1 is too small";
  stage.info->tasks[0].avoid = NodeId(2);
  parts_.ready(parts_.context.jobs.at(JobId(1)), stage);
  ASSERT_FALSE(stage.info->pending.avoiding().empty());
  health_.lift_avoidance();
  EXPECT_TRUE(stage.info->pending.avoiding().empty());
}

TEST_F(NodeHealthTest, OfANodeThatIsGoneItIsKnownWhy) {
  const shuffle::FetchFailure fetch{ShuffleId(0), 17, 0, NodeId(1)};
  EXPECT_EQ(health_.where_it_was(fetch, "refused"), "map 17's output could not be read from worker w1 (refused)");
  health_.note_loss(NodeId(1), "connection reset");
  parts_.at(2);
  EXPECT_NE(health_.where_it_was(fetch, "").find("was on worker w1, which was lost 2"), std::string::npos)
      << health_.where_it_was(fetch, "");
}

TEST_F(NodeHealthTest, AJobWithTasksLargerThanAnyNodeWaitsAndThenFails) {
  OversizedTasks oversized(parts_.context);
  JobRecord& job = parts_.job(1);
  parts_.stage(job, test::source(0, 1, 1), 3);
  EXPECT_FALSE(oversized.refusal(job)) << "no node yet";
  oversized.node_joined({.cpu = 1});
  ASSERT_TRUE(oversized.refusal(job));
  EXPECT_NE(oversized.refusal(job)->to_string().find("w2"), std::string::npos) << "the largest of the view";
  ASSERT_EQ(parts_.all<SetTimer>().size(), 1u);
  oversized.node_joined({.cpu = 4});
  oversized.due(JobId(1));
  EXPECT_FALSE(parts_.context.jobs.failing(JobId(1))) << "a larger one came in time";
  oversized.node_left({.cpu = 4});
  EXPECT_EQ(parts_.all<SetTimer>().size(), 2u);
  parts_.at(1000);
  oversized.due(JobId(1));
  EXPECT_TRUE(parts_.context.jobs.failing(JobId(1)));
}

}  // namespace
}  // namespace weft::master
