// The view's writing side: every index is in step with what was told, whatever comes and goes.
#include "schedulers/view/state.hpp"

#include <gtest/gtest.h>

namespace weft::schedulers {
namespace {

class StateTest : public testing::Test {
 protected:
  NodeInfo& node(std::uint32_t id, const std::string& host, const std::string& rack, double cores, const UplinkRate& uplink = {}) {
    NodeInfo info;
    info.id = NodeId(id);
    info.capacity.cpu = cores;
    return state.add_node(std::move(info), host, rack, uplink);
  }
  JobInfo& job(std::uint64_t id, int priority = 0, const std::string& user = "ann", const std::string& pool = "p") {
    JobInfo info;
    info.id = JobId(id);
    info.priority = priority;
    info.user = user;
    info.pool = pool;
    return state.add_job(std::move(info));
  }
  StageInfo& stage(JobInfo& of, std::uint32_t id, std::uint32_t tasks, std::vector<std::uint32_t> parents = {}) {
    StageInfo info;
    info.id = StageId(id);
    info.demand.cpu = 0.1;
    for (std::uint32_t parent : parents) info.parents.emplace_back(parent);
    return state.add_stage(of, std::move(info), tasks, std::vector<std::vector<HostId>>(tasks));
  }
  AttemptId run(JobInfo& of, StageInfo& in, std::uint32_t task, std::uint32_t on) {
    state.set_task(of, in, task, TaskState::running);
    in.tasks[task].node = NodeId(on);
    const AttemptId attempt{{of.id, in.id, task}, in.tasks[task].attempts++};
    state.occupy(NodeId(on), attempt, of, in.demand);
    return attempt;
  }
  std::vector<std::uint64_t> runnable() const {
    std::vector<std::uint64_t> ids;
    for (const JobOrder& next : state.runnable_jobs()) ids.push_back(next.id.value());
    return ids;
  }

  ClusterState state;
};

using Ids = std::vector<std::uint64_t>;

TEST_F(StateTest, NodesOfARackShareItAndWhatTheyHaveGoesWithThem) {
  node(1, "h1", "r1", 4, {.up = 10});
  node(2, "h1", "r1", 8, {.down = 20});
  node(3, "h2", "r2", 2);
  ASSERT_EQ(state.racks().size(), 2u);
  const RackInfo& rack = *state.rack(state.node(NodeId(1))->rack);
  EXPECT_EQ(rack.nodes.size(), 2u);
  EXPECT_EQ(rack.capacity.cpu, 12);
  EXPECT_EQ(rack.uplink.up, 10) << "a rate that is not known changes nothing";
  EXPECT_EQ(rack.uplink.down, 20);
  EXPECT_EQ(state.capacity().cpu, 14);
  EXPECT_EQ(state.distance(NodeId(1), NodeId(2)), 0) << "one machine";
  EXPECT_EQ(state.distance(NodeId(1), NodeId(3)), 4);
  EXPECT_EQ(state.hosts().at(*state.host_named("h1")).size(), 2u);
  state.remove_node(NodeId(1));
  state.remove_node(NodeId(2));
  EXPECT_FALSE(state.hosts().contains(*state.host_named("h1")));
  EXPECT_EQ(rack.capacity, Resources());
  EXPECT_EQ(state.capacity().cpu, 2);
  EXPECT_EQ(state.free_nodes(), std::set<NodeId>{NodeId(3)});
  EXPECT_EQ(state.distance(NodeId(1), NodeId(3)), 4) << "of one that is gone";
}

TEST_F(StateTest, AnExcludedNodeIsNoCapacityUntilItIsBackWhateverItBecameMeanwhile) {
  node(1, "h1", "r", 4);
  node(2, "h2", "r", 4);
  state.exclude(NodeId(1), Time(5));
  state.exclude(NodeId(1), Time(9));  // for longer
  EXPECT_EQ(state.capacity().cpu, 4);
  EXPECT_EQ(state.free_nodes(), std::set<NodeId>{NodeId(2)});
  state.set_capacity(NodeId(1), {.cpu = 6});
  EXPECT_EQ(state.capacity().cpu, 4);
  state.exclude(NodeId(1), std::nullopt);
  state.exclude(NodeId(1), std::nullopt);
  EXPECT_EQ(state.capacity().cpu, 10);
  EXPECT_EQ(state.free_nodes().size(), 2u);
  state.exclude(NodeId(1), Time(5));
  state.remove_node(NodeId(1));
  EXPECT_EQ(state.capacity().cpu, 4) << "it was none";
}

TEST_F(StateTest, ANodeIsFreeWhileItHasCoresToSpare) {
  node(1, "h1", "r", 0.3);
  JobInfo& of = job(1);
  StageInfo& in = stage(of, 0, 4);
  state.set_ready(of, in, true);
  std::vector<AttemptId> attempts;
  for (std::uint32_t task = 0; task < 3; ++task) {
    EXPECT_EQ(state.free_nodes().size(), 1u) << task;
    attempts.push_back(run(of, in, task, 1));
  }
  EXPECT_TRUE(state.free_nodes().empty()) << "three tenths, whatever their sum is in fractions of two";
  EXPECT_TRUE(state.racks().begin()->second.free_nodes.empty());
  state.set_capacity(NodeId(1), {.cpu = 0.4});
  EXPECT_EQ(state.free_nodes().size(), 1u);
  for (const AttemptId& attempt : attempts) state.vacate(NodeId(1), attempt, of, in.demand);
  EXPECT_EQ(state.node(NodeId(1))->used, Resources()) << "no drift";
  state.vacate(NodeId(1), attempts[0], of, in.demand);
  EXPECT_EQ(state.users().at("ann").running, 0u) << "once is enough";
}

TEST_F(StateTest, CrossRackRatesAreSummedAndTheLargestIsRemembered) {
  node(1, "h1", "r", 1);
  node(2, "h2", "r", 1);
  const RackInfo& rack = state.racks().begin()->second;
  state.set_cross_rack(NodeId(1), {.up = 5, .down = 1});
  state.set_cross_rack(NodeId(2), {.up = 3, .down = 1});
  EXPECT_EQ(rack.cross_rack.up, 8);
  state.set_cross_rack(NodeId(1), {.up = 1, .down = 4});
  EXPECT_EQ(rack.cross_rack.up, 4);
  EXPECT_EQ(rack.cross_rack.down, 5);
  EXPECT_EQ(rack.most_cross_rack.up, 8);
  EXPECT_EQ(rack.most_cross_rack.down, 5);
  state.remove_node(NodeId(1));
  EXPECT_EQ(rack.cross_rack.up, 3);
}

TEST_F(StateTest, TasksArePendingOnlyWhileTheirStageIsReady) {
  JobInfo& of = job(1);
  StageInfo& in = stage(of, 0, 3);
  EXPECT_EQ(of.pending, 0u);
  EXPECT_TRUE(runnable().empty());
  state.set_ready(of, in, true);
  EXPECT_EQ(of.pending, 3u);
  EXPECT_EQ(of.runnable, std::set<StageId>{StageId(0)});
  EXPECT_NEAR(of.wanted.cpu, 0.3, 1e-12);
  EXPECT_EQ(state.pools().at("p").pending, 3u);
  state.set_task(of, in, 0, TaskState::running);
  state.set_ready(of, in, false);
  EXPECT_EQ(of.pending, 0u);
  EXPECT_EQ(in.tasks[1].state, TaskState::blocked);
  EXPECT_EQ(of.wanted, Resources()) << "no drift";
  EXPECT_TRUE(of.runnable.empty());
  state.set_task(of, in, 0, TaskState::pending);
  EXPECT_EQ(in.tasks[0].state, TaskState::blocked) << "its stage is not ready";
  EXPECT_EQ(of.running, 0u);
  state.set_ready(of, in, true);
  EXPECT_EQ(of.pending, 3u);
}

TEST_F(StateTest, JobsAreRunnableInTheirOrderWhileTheyHavePendingTasks) {
  for (const auto& [id, priority] : {std::pair{1u, 0}, {2u, 5}, {3u, 0}}) {
    JobInfo& of = job(id, priority);
    state.set_ready(of, stage(of, 0, 1), true);
  }
  EXPECT_EQ(runnable(), (Ids{2, 1, 3}));
  JobInfo& first = state.mutable_job(JobId(2));
  StageInfo& in = first.stages.at(StageId(0));
  state.set_task(first, in, 0, TaskState::running);
  EXPECT_EQ(runnable(), (Ids{1, 3}));
  state.set_task(first, in, 0, TaskState::pending);
  EXPECT_EQ(runnable(), (Ids{2, 1, 3}));
  state.set_task(first, in, 0, TaskState::running);
  state.set_task(first, in, 0, TaskState::finished);
  EXPECT_EQ(first.finished, 1u);
  EXPECT_TRUE(in.complete());
  state.set_task(first, in, 0, TaskState::pending);  // its output was lost
  EXPECT_EQ(first.finished, 0u);
  EXPECT_EQ(in.finished, 0u);
}

TEST_F(StateTest, GroupsGoWithTheirLastJob) {
  node(1, "h", "r", 8);
  JobInfo& one = job(1, 0, "ann", "p");
  job(2, 0, "bob", "p");
  StageInfo& in = stage(one, 0, 2);
  state.set_ready(one, in, true);
  const AttemptId attempt = run(one, in, 0, 1);
  EXPECT_EQ(state.users().at("ann").running, 1u);
  EXPECT_EQ(state.pools().at("p").jobs.size(), 2u);
  EXPECT_EQ(state.pools().at("p").pending, 1u);
  EXPECT_NEAR(one.used.cpu, 0.1, 1e-12);
  state.vacate(NodeId(1), attempt, one, in.demand);
  EXPECT_EQ(state.users().at("ann").used, Resources());
  state.remove_job(JobId(1));
  EXPECT_FALSE(state.users().contains("ann"));
  EXPECT_EQ(state.pools().at("p").pending, 0u);
  EXPECT_TRUE(runnable().empty());
  state.remove_job(JobId(2));
  EXPECT_TRUE(state.pools().empty());
}

TEST_F(StateTest, StagesKnowTheirChildrenAndHowFarTheyAreFromTheRoots) {
  JobInfo& of = job(1);
  stage(of, 0, 1);
  stage(of, 1, 1, {0});
  stage(of, 2, 1, {0, 1});
  EXPECT_EQ(of.stages.at(StageId(0)).children, (std::vector<StageId>{StageId(1), StageId(2)}));
  EXPECT_EQ(of.stages.at(StageId(1)).depth, 1u);
  EXPECT_EQ(of.stages.at(StageId(2)).depth, 2u);
  state.set_task_count(of.stages.at(StageId(2)), 5);
  EXPECT_EQ(of.stages.at(StageId(2)).tasks.size(), 5u);
}

TEST_F(StateTest, ATaskIsPromisedToOneNodeUntilItRuns) {
  JobInfo& of = job(1);
  StageInfo& in = stage(of, 0, 2);
  state.set_ready(of, in, true);
  state.preplace(in, 0, NodeId(1));
  state.preplace(in, 1, NodeId(1));
  state.preplace(in, 0, NodeId(2));
  EXPECT_EQ(in.preplaced.at(NodeId(1)), std::set<std::uint32_t>{1});
  EXPECT_EQ(in.preplaced.at(NodeId(2)), std::set<std::uint32_t>{0});
  state.set_task(of, in, 0, TaskState::running);
  EXPECT_FALSE(in.preplaced.contains(NodeId(2)));
  EXPECT_FALSE(in.tasks[0].preplaced);
  state.preplace(in, 1, std::nullopt);
  EXPECT_TRUE(in.preplaced.empty());
}

TEST_F(StateTest, ASpeculativeAttemptMayBecomeTheTasks) {
  node(1, "h1", "r", 8);
  node(2, "h2", "r", 8);
  JobInfo& of = job(1);
  StageInfo& in = stage(of, 0, 2);
  state.set_ready(of, in, true);
  run(of, in, 0, 1);
  const TaskId task{JobId(1), StageId(0), 0};
  state.set_straggler(task, true);
  state.set_now(Time(9));
  const SpeculativeAttempt second = state.add_speculative(task, in, NodeId(2));
  EXPECT_TRUE(state.stragglers().empty()) << "it has its second one";
  EXPECT_EQ(second.attempt, 1u);
  EXPECT_EQ(in.tasks[0].attempt(), 0u) << "the first still counts";
  state.add_speculative(task, in, NodeId(2)) = second;
  state.promote_speculative(in, 0);
  EXPECT_EQ(in.tasks[0].node, NodeId(2));
  EXPECT_EQ(in.tasks[0].launched, Time(9));
  EXPECT_EQ(in.tasks[0].attempt(), 1u);
  EXPECT_TRUE(in.speculative.empty());
  state.set_straggler(task, true);
  state.set_task(of, in, 0, TaskState::finished);
  EXPECT_TRUE(state.stragglers().empty()) << "it runs no more";
}

TEST_F(StateTest, StragglersOfAJobGoWithItAndThoseOfOthersStay) {
  for (std::uint64_t id = 1; id <= 3; ++id) {
    JobInfo& of = job(id);
    StageInfo& in = stage(of, 7, 1);
    state.set_ready(of, in, true);
    state.set_straggler({of.id, StageId(7), 0}, true);
  }
  state.remove_job(JobId(2));
  EXPECT_EQ(state.stragglers(), (std::set<TaskId>{{JobId(1), StageId(7), 0}, {JobId(3), StageId(7), 0}}));
}

TEST_F(StateTest, JobsThatChangedAreNamedOnceInOrder) {
  JobInfo &second = job(2), &first = job(1);
  StageInfo &b = stage(second, 0, 2), &a = stage(first, 0, 1);
  EXPECT_TRUE(state.take_changed_jobs().empty());
  state.set_ready(second, b, true);
  state.set_ready(first, a, true);
  state.set_task(second, b, 0, TaskState::running);
  EXPECT_EQ(state.take_changed_jobs(), (std::vector<JobId>{JobId(1), JobId(2)}));
  EXPECT_TRUE(state.take_changed_jobs().empty());
}

TEST_F(StateTest, AttemptsHoldDevicesOneByOneWhereTheirStageHasAFunctionForThem) {
  NodeInfo& lends = node(1, "h1", "r1", 4);
  lends.capacity.accelerator = lends.nominal.accelerator = 1;
  lends.attributes = {{"accelerator", "gpu"}, {"disk", "ssd"}};
  NodeInfo& plain = node(2, "h2", "r1", 4);
  plain.attributes = {{"accelerator", "simd"}};
  JobInfo& of = job(1);
  StageInfo& in = stage(of, 0, 8);
  EXPECT_FALSE(in.takes_device(0, lends)) << "it has no function for devices";
  in.variants = {"accelerator", "disk=ssd"};
  EXPECT_FALSE(in.takes_device(0, plain)) << "the attribute is a fact about the whole node";
  EXPECT_EQ(in.variants_on(plain, false), std::vector<std::string>{"accelerator"});
  EXPECT_EQ(in.variants_on(lends, true), in.variants);
  EXPECT_EQ(in.variants_on(lends, false), std::vector<std::string>{"disk=ssd"});

  ASSERT_TRUE(in.takes_device(0, lends));
  state.set_task(of, in, 0, TaskState::running);
  const AttemptId first{{of.id, in.id, 0}, in.tasks[0].attempts++};
  state.occupy(NodeId(1), first, of, in.demand, true);
  EXPECT_EQ(lends.used.accelerator, 1);
  EXPECT_EQ(of.used.accelerator, 1);
  EXPECT_FALSE(in.takes_device(1, lends)) << "another task has the only one";
  const AttemptId second = run(of, in, 1, 1);
  state.vacate(NodeId(1), second, of, in.demand);
  EXPECT_EQ(lends.used.accelerator, 1);
  state.vacate(NodeId(1), first, of, in.demand);
  EXPECT_EQ(lends.used.accelerator, 0);
  EXPECT_TRUE(lends.with_device.empty());
  const AttemptId found = run(of, in, 2, 1);  // as after a restart of the master
  for (int i = 0; i < 2; ++i) {
    state.hold_device(NodeId(1), found, of, in.demand);
    EXPECT_EQ(lends.used.accelerator, 1);
    EXPECT_EQ(lends.with_device.size(), 1u);
  }
  EXPECT_FALSE(in.takes_device(3, lends));
  state.vacate(NodeId(1), found, of, in.demand);
  EXPECT_EQ(of.used.accelerator, 0);
  EXPECT_EQ(state.used().accelerator, 0);

  in.without_device = {3};
  EXPECT_FALSE(in.takes_device(3, lends)) << "its executor died with one";
  EXPECT_TRUE(in.takes_device(2, lends));
  in.without_device = {3, 4, 5};
  EXPECT_FALSE(in.takes_device(2, lends)) << "too many have";
  in.without_device = {};
  lends.capacity.accelerator = 0;
  EXPECT_FALSE(in.takes_device(2, lends)) << "it has failed";
  EXPECT_TRUE(in.variants_on(lends, false) == std::vector<std::string>{"disk=ssd"}) << "and the host's function runs";
  Resources wants;
  wants.accelerator = 1;
  EXPECT_FALSE(fits(wants, {}, plain.capacity)) << "a task that demands a device goes to no node without one";
}

}  // namespace
}  // namespace weft::schedulers
