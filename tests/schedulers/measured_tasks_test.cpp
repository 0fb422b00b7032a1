// What is measured of tasks by class of nodes, also where tasks and nodes are lost.
#include "schedulers/parts/measured_tasks.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::measured_tasks_rules {
namespace {

using std::chrono::seconds;

/// Passes notices on to what is tested, and launches in order.
class Passing final : public Scheduler {
 public:
  explicit Passing(MeasuredTasks& measured) : measured_(measured) {}
  std::string_view name() const override { return "passing"; }
  void on_event(const ClusterView& view, const Notice& notice) override { measured_.on_event(view, notice); }
  void schedule(const ClusterView&, const Trigger&, Decisions&) override {}

 private:
  MeasuredTasks& measured_;
};

struct Cluster {
  MeasuredTasks measured{"accelerator"};
  World world{std::make_unique<Passing>(measured)};
  StageInfo* stage;

  Cluster() {
    world.node(1, "a", "r", Resources{.cpu = 2});
    world.node(2, "b", "r", Resources{.cpu = 4}, {{"accelerator", "gpu"}});
    stage = &world.stage(world.job(1), 0, anywhere(6));
  }
  void launch(std::uint32_t task, std::uint32_t node) { ASSERT_TRUE(world.launch({JobId(1), StageId(0), task}, NodeId(node), "")); }
  void finish(std::uint32_t task) { world.finish({JobId(1), StageId(0), task}); }
  std::vector<MeasuredTasks::OfClass> seen() { return measured.of(world.state, JobId(1), *stage); }
};

TEST(NodeClasses, AreTheValuesOfAnAttribute) {
  Cluster cluster;
  EXPECT_EQ(cluster.measured.classes(), 2u);
  EXPECT_EQ(cluster.measured.name(0), "");
  EXPECT_EQ(cluster.measured.name(1), "accelerator=gpu");
  EXPECT_EQ(cluster.measured.class_of(*cluster.world.state.node(NodeId(1))), 0u);
  EXPECT_EQ(cluster.measured.class_of(*cluster.world.state.node(NodeId(2))), 1u);
  EXPECT_EQ(cluster.measured.slots(cluster.world.state, 0, SlotKind::any), 2);
  EXPECT_EQ(cluster.measured.slots(cluster.world.state, 1, SlotKind::any), 4);
}

TEST(NodeClasses, LoseTheSlotsOfNodesThatLeave) {
  Cluster cluster;
  EXPECT_EQ(cluster.measured.slots(cluster.world.state, 1, SlotKind::any), 4);
  cluster.world.leave(2);
  EXPECT_EQ(cluster.measured.slots(cluster.world.state, 1, SlotKind::any), 0);
}

TEST(NodeClasses, WithoutAnAttributeAreOne) {
  MeasuredTasks measured("");
  World world(std::make_unique<Passing>(measured));
  world.node(1, "a", "r", Resources{.cpu = 2}, {{"accelerator", "gpu"}});
  EXPECT_EQ(measured.classes(), 1u);
  EXPECT_EQ(measured.class_of(*world.state.node(NodeId(1))), 0u);
}

TEST(MeasuredTasks, AreCountedWhereTheyRan) {
  Cluster cluster;
  cluster.launch(0, 1);
  cluster.launch(1, 2);
  cluster.world.at(2);
  cluster.finish(1);
  cluster.launch(2, 2);
  cluster.world.at(10);
  cluster.finish(0);
  const auto seen = cluster.seen();
  EXPECT_EQ(seen[0].mean(), 10);
  EXPECT_EQ(seen[1].mean(), 2);
  EXPECT_EQ(seen[0].running, 0u);
  EXPECT_EQ(seen[1].running, 1u);
  EXPECT_EQ(seen[1].oldest, seconds(2));
}

TEST(MeasuredTasks, ThatAreLostWithTheirNodeDoNotRun) {
  Cluster cluster;
  cluster.launch(0, 1);
  cluster.launch(1, 2);
  cluster.world.leave(2);
  EXPECT_EQ(cluster.seen()[0].running, 1u);
  EXPECT_EQ(cluster.seen()[1].running, 0u);
  cluster.launch(1, 1);
  EXPECT_EQ(cluster.seen()[0].running, 2u);
}

TEST(MeasuredTasks, ArePreemptedAndForgottenWithTheirJob) {
  Cluster cluster;
  cluster.launch(0, 1);
  ASSERT_TRUE(cluster.world.preempt({{JobId(1), StageId(0), 0}, 0}, ""));
  EXPECT_EQ(cluster.seen()[0].running, 0u);
  EXPECT_EQ(cluster.seen()[0].ended, 0u) << "what was killed says nothing of lengths";
}

TEST(MeasuredTasks, AreLearnedFromAViewThatShowsSome) {
  Cluster cluster;
  cluster.launch(0, 1);
  cluster.launch(1, 2);
  cluster.world.at(4);
  cluster.finish(0);
  MeasuredTasks later("accelerator");
  later.start(cluster.world.state);
  const auto seen = later.of(cluster.world.state, JobId(1), *cluster.stage);
  EXPECT_EQ(seen[0].mean(), 4);
  EXPECT_EQ(seen[1].running, 1u);
}

TEST(NodeClasses, OfNodesThatLendDevicesAreThoseOfTheTasks) {
  Cluster cluster;
  NodeInfo lends;
  lends.id = NodeId(3);
  lends.capacity = lends.nominal = {.cpu = 4, .accelerator = 1};
  lends.attributes = {{"accelerator", "gpu"}};
  World& world = cluster.world;
  world.state.add_node(std::move(lends), "c", "r", {});
  cluster.measured.on_event(world.state, {.kind = Notice::Kind::node_joined, .node = NodeId(3)});
  const NodeInfo& node = *world.state.node(NodeId(3));
  EXPECT_EQ(cluster.measured.slots(world.state, 0, SlotKind::any), 2 + 3) << "three of its slots have no device";
  EXPECT_EQ(cluster.measured.slots(world.state, 1, SlotKind::any), 4 + 1);
  EXPECT_EQ(cluster.measured.class_for_launch(node), 1u);
  JobInfo& job = world.state.mutable_job(JobId(1));
  const AttemptId other{{JobId(1), StageId(0), 5}, 0};
  world.state.occupy(NodeId(3), other, job, {.cpu = 1}, true);
  EXPECT_EQ(cluster.measured.class_for_launch(node), 0u) << "the device is held";
  cluster.launch(0, 3);
  EXPECT_EQ(cluster.seen()[0].running, 1u) << "without a device";
  EXPECT_EQ(cluster.seen()[1].running, 0u);
  cluster.finish(0);
  EXPECT_EQ(cluster.seen()[0].ended, 1u);
  EXPECT_EQ(cluster.seen()[1].ended, 0u);
  world.state.vacate(NodeId(3), other, job, {.cpu = 1});
  EXPECT_EQ(cluster.measured.class_for_launch(node), 1u);
}

}  // namespace
}  // namespace weft::schedulers::measured_tasks_rules
