#include "engine/master/core/node_health.hpp"

#include <algorithm>

#include "engine/master/core/oversized_tasks.hpp"
#include "tests/engine/master/core/parts/parts.hpp"

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

/// A worker that is lost and started again, under its name or as its host calls it.
class CrashingWorkerTest : public testing::Test {
 protected:
  void join(std::uint32_t id, const std::string& name = "w", const std::string& host = "h") {
    schedulers::NodeInfo info;
    info.id = NodeId(id);
    info.name = name;
    info.capacity.cpu = info.nominal.cpu = 1;
    parts_.context.view.add_node(std::move(info), host, "r", {});
    health_.begin(NodeId(id));
  }
  std::string lose(std::uint32_t id, const std::string& reason = "SIGABRT") {
    const std::string said = health_.note_loss(NodeId(id), reason);
    parts_.context.view.remove_node(NodeId(id));
    return said;
  }
  bool usable(std::uint32_t id) const { return parts_.context.view.node(NodeId(id))->usable(); }
  /// Seconds until it takes tasks; 0: it does.
  std::int64_t probation(std::uint32_t id) const {
    const auto until = parts_.context.view.node(NodeId(id))->excluded_until;
    return until ? std::chrono::duration_cast<std::chrono::seconds>(*until - parts_.context.now()).count() : 0;
  }
  void crash_soon(std::uint32_t from, int times) {
    for (int i = 0; i < times; ++i) {
      join(from + static_cast<std::uint32_t>(i));
      lose(from + static_cast<std::uint32_t>(i));
    }
  }

  test::Parts parts_;
  NodeHealth health_{parts_.context};
};

TEST_F(CrashingWorkerTest, AThirdCrashWithinAMinuteOfItsStartMeansNoTasksUntilItLivesForLonger) {
  join(1);
  EXPECT_EQ(lose(1), "");
  join(2);
  EXPECT_TRUE(usable(2));
  EXPECT_EQ(lose(2, "SIGSEGV"), "");
  join(3);
  EXPECT_TRUE(usable(3));
  EXPECT_EQ(lose(3),
            "its worker crashed 3 times within a minute of its start (SIGABRT), and gets no tasks until it lives for longer");
  join(4);
  EXPECT_FALSE(usable(4)) << "even the only one";
  EXPECT_EQ(probation(4), 20);
  EXPECT_EQ(health_.why_excluded(NodeId(4)), "its worker crashed 3 times within a minute of its start (SIGABRT)");
  ASSERT_EQ(parts_.all<SetTimer>().size(), 1u);
  EXPECT_EQ(parts_.all<SetTimer>()[0].at, Time(std::chrono::seconds(20)));
  parts_.at(20);
  health_.readmit(NodeId(4));
  EXPECT_TRUE(usable(4));
  EXPECT_EQ(health_.why_excluded(NodeId(4)), "");
}

TEST_F(CrashingWorkerTest, EachFurtherProbationIsTwiceAsLongUpToAMinute) {
  crash_soon(1, 3);
  std::int64_t expected = 20;
  for (std::uint32_t id = 10; id < 20; ++id) {
    join(id);
    EXPECT_EQ(probation(id), std::min<std::int64_t>(expected, 60)) << id;
    expected *= 2;
    lose(id);
  }
}

TEST_F(CrashingWorkerTest, OneThatCrashesWithinAMinuteOfBeingOfferedTasksAgainIsOnProbationAgain) {
  crash_soon(1, 3);
  join(4);
  parts_.at(20);
  health_.readmit(NodeId(4));
  parts_.at(79);
  lose(4);
  join(5);
  EXPECT_EQ(probation(5), 40);
}

TEST_F(CrashingWorkerTest, OneThatLivedForAMinuteBeginsAnew) {
  crash_soon(1, 2);
  join(3);
  parts_.at(60);
  EXPECT_EQ(lose(3), "");
  crash_soon(4, 2);
  join(6);
  EXPECT_TRUE(usable(6)) << "two in a row";
}

TEST_F(CrashingWorkerTest, OneThatLeftByItselfDidNotCrash) {
  crash_soon(1, 2);
  join(3);
  lose(3, std::string(kWorkerLeft));
  join(4);
  EXPECT_TRUE(usable(4));
  lose(4);
  join(5);
  EXPECT_TRUE(usable(5));
}

TEST_F(CrashingWorkerTest, WorkersWithoutANameAreKnownByTheirHostAndOthersByTheirName) {
  for (std::uint32_t id = 1; id <= 3; ++id) {
    join(id, "h-" + std::to_string(1000 + id));
    lose(id);
  }
  join(4, "h-1004");
  EXPECT_FALSE(usable(4));
  join(5, "h-a");
  EXPECT_TRUE(usable(5)) << "a name of its own";
  join(6, "g-1004", "g");
  EXPECT_TRUE(usable(6)) << "another host";
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
