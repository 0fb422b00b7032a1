// The pools of the fair scheduler on their own: who is next, who waits, and what each is due.
#include "schedulers/parts/pool_tree.hpp"

#include <gtest/gtest.h>

#include "schedulers/view/state.hpp"
#include "tests/schedulers/tree_launcher.hpp"

namespace weft::schedulers {
namespace {

using Ids = std::vector<std::uint64_t>;

PoolSettings pool(std::string name, std::optional<std::size_t> parent = {}, double weight = 1, double minimum = 0) {
  PoolSettings settings;
  settings.name = std::move(name);
  settings.parent = parent;
  settings.weight = weight;
  settings.min_share.cpu = minimum;
  return settings;
}
PoolSettings limited(std::string name, std::uint64_t jobs) {
  PoolSettings settings = pool(std::move(name));
  settings.max_running_jobs = jobs;
  return settings;
}
PoolSettings first_come(std::string name) {
  PoolSettings settings = pool(std::move(name));
  settings.fifo = true;
  return settings;
}

class PoolTreeTest : public testing::Test {
 protected:
  PoolTreeTest() { tree_node(state, 100); }
  void pools(std::vector<PoolSettings> settings, PoolSettings otherwise = {}) { tree.emplace(settings, std::move(otherwise)); }
  JobInfo& job(std::uint64_t id, const std::string& pool, std::uint32_t pending, std::uint32_t running = 0, double weight = 1) {
    JobInfo& made = tree_job(state, id, pool, pending + running, "ann", weight);
    tree->arrive(state, made);
    run(made, running);
    return made;
  }
  void run(JobInfo& info, std::uint32_t tasks) {
    tree_run(state, info, tasks);
    tree->change(state, info);
  }
  Ids order(SlotKind kind = SlotKind::any) {
    TreeLauncher launcher;
    EXPECT_FALSE(tree->offer(state, kind, launcher));
    held = launcher.held;
    return launcher.offered;
  }

  ClusterState state;
  std::optional<PoolTree> tree;
  std::map<std::uint64_t, std::string> held;
};

TEST_F(PoolTreeTest, JobsGoByWhatTheyHavePerWeightAndThenBySubmission) {
  pools({});
  job(1, "p", 5, 4);
  job(2, "p", 5, 6, 2);  // three per weight
  job(3, "p", 5, 4);
  job(4, "p", 0, 1);  // nothing pending
  EXPECT_EQ(order(), (Ids{2, 1, 3}));
}

TEST_F(PoolTreeTest, OnePoolTakesAndTheOthersAreNotAsked) {
  pools({});
  job(1, "a", 1, 3);
  job(2, "b", 1, 2);
  job(3, "c", 1, 1);
  TreeLauncher launcher(JobId(2));
  EXPECT_TRUE(tree->offer(state, SlotKind::any, launcher));
  EXPECT_EQ(launcher.offered, (Ids{3, 2}));
}

TEST_F(PoolTreeTest, NeedyPoolsGoFirstByHowFarTheyAreBelowTheirMinimum) {
  pools({pool("a", {}, 1, 10), pool("b", {}, 1, 4), pool("c")});
  job(1, "a", 9, 6);  // 0.6 of its minimum
  job(2, "b", 9, 2);  // 0.5
  job(3, "c", 9, 0);  // has nothing, but no minimum
  EXPECT_EQ(order(), (Ids{2, 1, 3}));
  EXPECT_EQ(tree->pool(1).guaranteed(SlotKind::any), 10);
  EXPECT_EQ(tree->pool(3).guaranteed(SlotKind::any), 0);
}

TEST_F(PoolTreeTest, AMinimumIsNoMoreThanTheDemand) {
  pools({pool("a", {}, 1, 10), pool("b")});
  job(1, "a", 1, 2);
  job(2, "b", 1, 2);
  EXPECT_EQ(tree->pool(1).guaranteed(SlotKind::any), 3);
  EXPECT_EQ(order(), (Ids{1, 2})) << "it wants one more, below its minimum";
}

TEST_F(PoolTreeTest, WhatRunsBelowCountsInAllPoolsAboveAndGoesWithTheJob) {
  pools({pool("all"), pool("a", 0), pool("b", 0)});
  JobInfo& first = job(1, "a", 1, 2);
  job(2, "b", 3, 1);
  const auto any = static_cast<std::size_t>(SlotKind::any);
  EXPECT_EQ(tree->pool(1).amounts[any].used, 3);
  EXPECT_EQ(tree->pool(1).amounts[any].demand, 7);
  EXPECT_EQ(tree->pool_of(JobId(1)), 2u);
  tree->end(state, first);
  EXPECT_EQ(tree->pool(1).amounts[any].used, 1);
  EXPECT_EQ(tree->pool(1).amounts[any].demand, 4);
  EXPECT_EQ(tree->pool(2).amounts[any].used, 0);
  EXPECT_TRUE(tree->pool(2).jobs.empty());
  EXPECT_EQ(order(), (Ids{2}));
  tree->end(state, first);  // once more changes nothing
  EXPECT_EQ(tree->pool(1).amounts[any].used, 1);
}

TEST_F(PoolTreeTest, AFifoPoolGoesBySubmissionWhateverItsJobsHave) {
  pools({first_come("f"), pool("x", 0), pool("y", 0)});
  job(1, "x", 5, 9);
  job(2, "y", 5, 1);
  EXPECT_EQ(order(), (Ids{1, 2})) << "its pools, too: in the order of the file";
}

TEST_F(PoolTreeTest, PoolsThatNoFileNamesComeWithTheirJobs) {
  pools({pool("default", {}, 3)});
  job(1, "", 1);  // of user ann
  JobInfo nobody;
  nobody.id = JobId(2);
  tree->arrive(state, state.add_job(std::move(nobody)));
  EXPECT_EQ(tree->pool(tree->pool_of(JobId(1))).settings.name, "ann");
  EXPECT_EQ(tree->pool(tree->pool_of(JobId(1))).settings.weight, 3) << "as the file says of others";
  EXPECT_FALSE(tree->pool(tree->pool_of(JobId(1))).configured);
  EXPECT_EQ(tree->pool_of(JobId(2)), 1u);
  EXPECT_EQ(tree->size(), 3u);
}

TEST_F(PoolTreeTest, ALimitOfRunningJobsHoldsTheLaterOnesUntilOneEnds) {
  pools({limited("a", 1)});
  JobInfo& first = job(1, "a", 2);
  JobInfo& second = job(2, "a", 2);
  EXPECT_EQ(order(), (Ids{1}));
  EXPECT_EQ(held.count(2), 1u);
  EXPECT_NE(held[2].find("as many jobs"), std::string::npos);
  EXPECT_EQ(order(), (Ids{1}));
  EXPECT_TRUE(held.empty()) << "said once";
  run(first, 1);
  tree->end(state, first);
  EXPECT_EQ(order(), (Ids{2}));
  run(second, 2);
  EXPECT_EQ(order(), Ids());
}

TEST_F(PoolTreeTest, AJobThatOnlyWaitsForItsDriverDoesNotCountForALimit) {
  pools({limited("a", 1)});
  JobInfo idle;
  idle.id = JobId(1);
  idle.pool = "a";
  tree->arrive(state, state.add_job(std::move(idle)));
  job(2, "a", 1);
  EXPECT_EQ(order(), (Ids{2}));
}

TEST_F(PoolTreeTest, SharesAreMinimumsThenWeightsAndWhatOneDoesNotWantIsTheOthers) {
  pools({pool("a", {}, 2, 10), pool("b"), pool("c")});
  job(1, "a", 100);
  job(2, "b", 100);
  job(3, "b", 100, 0, 3);
  job(4, "c", 5);
  const auto shares = tree->shares(state, SlotKind::any, 65);
  EXPECT_DOUBLE_EQ(shares.pools[0], 65);
  EXPECT_DOUBLE_EQ(shares.pools[1], 40);
  EXPECT_DOUBLE_EQ(shares.pools[2], 20);
  EXPECT_DOUBLE_EQ(shares.pools[3], 5) << "it wants no more";
  EXPECT_DOUBLE_EQ(shares.jobs.at(JobId(2)), 5);
  EXPECT_DOUBLE_EQ(shares.jobs.at(JobId(3)), 15);
}

}  // namespace
}  // namespace weft::schedulers
