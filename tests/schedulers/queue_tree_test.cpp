// The queues of the capacity scheduler on their own: who is next, what holds a job, and what is reported.
#include "schedulers/parts/queue_tree.hpp"

#include <gtest/gtest.h>

#include "schedulers/view/state.hpp"
#include "tests/schedulers/tree_launcher.hpp"

namespace weft::schedulers {
namespace {

using Ids = std::vector<std::uint64_t>;

QueueSettings queue(std::string name, double capacity = 100, std::optional<std::size_t> parent = {}, double most = 100) {
  QueueSettings settings;
  settings.name = std::move(name);
  settings.capacity = capacity;
  settings.parent = parent;
  settings.max_capacity = most;
  return settings;
}

class QueueTreeTest : public testing::Test {
 protected:
  QueueTreeTest() { tree_node(state, 100); }
  void queues(const std::vector<QueueSettings>& settings, bool one_for_all = false) { tree.emplace(settings, one_for_all, 10'000); }
  JobInfo& job(std::uint64_t id, const std::string& queue, std::uint32_t pending, std::uint32_t running = 0,
               const std::string& user = "ann") {
    JobInfo& made = tree_job(state, id, queue, pending + running, user);
    run(made, running);
    return made;
  }
  void run(JobInfo& info, std::uint32_t tasks) {
    tree_run(state, info, tasks);
    tree->change(info);
  }
  Ids order() {
    TreeLauncher launcher;
    EXPECT_FALSE(tree->offer(state, SlotKind::any, launcher));
    held = launcher.held;
    return launcher.offered;
  }
  GroupStatus status(const std::string& name) {
    for (const GroupStatus& group : tree->groups(state))
      if (group.name == name) return group;
    ADD_FAILURE() << "no queue " << name;
    return {};
  }

  ClusterState state;
  std::optional<QueueTree> tree;
  std::map<std::uint64_t, std::string> held;
};

TEST_F(QueueTreeTest, TheQueueWithTheLeastOfItsCapacityIsNextAndNoneTakesAllItsTurns) {
  queues({queue("a", 75), queue("b", 25)});
  job(1, "a", 9, 30);  // 40 %
  job(2, "b", 9, 8);   // 32 %
  EXPECT_EQ(order(), (Ids{2, 1}));
  TreeLauncher launcher(JobId(2));
  EXPECT_TRUE(tree->offer(state, SlotKind::any, launcher));
  EXPECT_EQ(launcher.offered, (Ids{2}));
}

TEST_F(QueueTreeTest, QueuesAsFullGoByNameAndOneWithoutCapacityLast) {
  queues({queue("b", 50), queue("c", 0), queue("a", 50)});
  job(1, "c", 1);
  job(2, "b", 1);
  job(3, "a", 1);
  EXPECT_EQ(order(), (Ids{3, 2, 1}));
}

TEST_F(QueueTreeTest, JobsGoBySubmissionOrByPriorityWhereTheQueueSaysSo) {
  QueueSettings by_priority = queue("b", 50);
  by_priority.priorities = true;
  queues({queue("a", 50), by_priority});
  for (const std::string name : {"a", "b"}) {
    const auto id = static_cast<std::uint64_t>(name[0]);
    job(id, name, 1);
    JobInfo urgent;
    urgent.id = JobId(id + 100);
    urgent.pool = name;
    urgent.user = "ann";
    urgent.priority = 5;
    urgent.submitted = Time(1000);
    JobInfo& made = state.add_job(std::move(urgent));
    StageInfo stage;
    stage.demand.cpu = 1;
    state.set_ready(made, state.add_stage(made, std::move(stage), 1, {{}}), true);
    tree->change(made);
  }
  EXPECT_EQ(order(), (Ids{'a', 'a' + 100, 'b' + 100, 'b'}));
}

TEST_F(QueueTreeTest, AQueueAtItsMaximumHoldsItsJobsAndAnInnerOneAllBelowIt) {
  queues({queue("all", 60, {}, 60), queue("x", 50, 0), queue("y", 50, 0, 50), queue("other", 40)});
  job(1, "y", 5, 29, "eva");  // a half of a half and more
  EXPECT_EQ(order(), (Ids{1})) << "thirty are its maximum";
  run(state.mutable_job(JobId(1)), 1);
  EXPECT_EQ(order(), Ids());
  EXPECT_EQ(held.at(1), "its queue is at its maximum capacity");
  job(2, "x", 5, 30, "bob");
  job(3, "other", 1);
  EXPECT_EQ(order(), (Ids{3}));
  EXPECT_EQ(held.at(1), "queue all is at its maximum capacity");
  EXPECT_EQ(held.at(2), "queue all is at its maximum capacity");
  EXPECT_FALSE(tree->within_limits(state, state.mutable_job(JobId(2)), SlotKind::any, 1));
  EXPECT_TRUE(tree->within_limits(state, state.mutable_job(JobId(3)), SlotKind::any, 1));
}

TEST_F(QueueTreeTest, AUserHasNoMoreThanTheQueueAllowsWhileOthersWait) {
  QueueSettings settings = queue("a");
  settings.user_limit_percent = 25;
  queues({settings});
  job(1, "a", 60, 50, "ann");
  EXPECT_EQ(order(), (Ids{1})) << "alone she may have all";
  JobInfo& second = job(2, "a", 5, 0, "bob");
  EXPECT_EQ(order(), (Ids{2})) << "of two users each may have a half";
  EXPECT_EQ(held.at(1), "its user has as much of the queue as one user may");
  tree->end(second);
  EXPECT_EQ(order(), (Ids{1}));
}

TEST_F(QueueTreeTest, AJobsQueueIsTheLeafItNamesOrTheOnlyOne) {
  queues({queue("all"), queue("default", 50, 0), queue("b", 50, 0)});
  JobInfo named;
  EXPECT_EQ(tree->leaf_of(named), 1u);
  named.pool = "b";
  EXPECT_EQ(tree->leaf_of(named), 2u);
  named.pool = "all";
  EXPECT_FALSE(tree->leaf_of(named)) << "no leaf";
  EXPECT_EQ(tree->leaf_names(), "b, default");
  queues({queue("only")}, true);
  EXPECT_EQ(tree->leaf_of(named), 0u);
}

TEST_F(QueueTreeTest, ReportsWhatEachQueueIsDueHasAndWants) {
  queues({queue("all", 60), queue("x", 50, 0, 80), queue("y", 40)});
  JobInfo& first = job(1, "x", 3, 5);
  EXPECT_DOUBLE_EQ(status("x").guaranteed, 30);
  EXPECT_DOUBLE_EQ(status("x").limit.value(), 48);
  EXPECT_DOUBLE_EQ(status("x").used, 5);
  EXPECT_DOUBLE_EQ(status("all").used, 5);
  EXPECT_DOUBLE_EQ(status("all").demand, 8);
  EXPECT_EQ(status("x").jobs, 1u);
  EXPECT_EQ(status("x").parent, "all");
  tree->end(first);
  EXPECT_DOUBLE_EQ(status("all").demand, 0);
  EXPECT_EQ(status("x").jobs, 0u);
}

}  // namespace
}  // namespace weft::schedulers
