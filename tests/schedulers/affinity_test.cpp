// Adaptive's affinities (Polo's thesis, chapter 3): tasks near their data, and jobs on the nodes that run them faster.
#include "schedulers/parts/goal_needs.hpp"
#include "tests/schedulers/goals.hpp"

namespace weft::schedulers::adaptive_rules {
namespace {

using std::chrono::seconds;

// ---- Data affinity -------------------------------------------------------------------------------------------------------

/// Node 1 holds nothing that job 1 reads. Job 2 reads nothing, and comes after job 1, because it has a whole slot more than it
/// needs.
struct Far : Goals {
  explicit Far(const std::string& spec, int goal) : Goals(spec) {
    JobInfo& job = world.job(1);
    job.deadline = seconds(goal);
    world.stage(job, 0, {{"far"}, {"far"}, {"far"}, {"far"}}, {.cpu = 1}, 10);
    nodes(2);
    world.node(9, "far", "r", Resources{.cpu = 1});
    world.beat(9);  // one runs where its input is
    this->job(2, 10, 10, 0);
    EXPECT_TRUE(world.launch({JobId(2), StageId(0), 0}, NodeId(2), ""));
  }
};

TEST(DataAffinity, AJobThatHasEnoughPassesUpANodeThatIsFarFromItsInput) {
  Far far("adaptive(delays=1)", 1000);  // needs 0.04 and has 1
  far.world.beat(1);
  EXPECT_EQ(far.world.order(), "122");
}

TEST(DataAffinity, AJobThatNeedsSlotsTakesThem) {
  Far far("adaptive(delays=1)", 15);  // 30 s are left
  far.world.beat(1);
  EXPECT_EQ(far.world.order(), "121");
}

TEST(DataAffinity, WhereNodesDoNotReportTheyAreOfferedAgain) {
  Far far("adaptive(order=need, reserve=0, delays=1)", 1000);
  far.world.schedule();
  ASSERT_FALSE(far.world.wakes.empty());
  EXPECT_GT(far.world.wakes.back(), far.world.state.now());
}

TEST(DataAffinity, WithoutDelaysNobodyWaits) {
  Far far("adaptive(order=need, late=first, reserve=0)", 1000);
  far.world.beat(1);
  EXPECT_EQ(far.world.order(), "121");
}

TEST(DataAffinity, ATaskIsPassedOverAsOftenAsAllowed) {
  Goals goals("adaptive(delays=3)");
  JobInfo& job = goals.world.job(1);
  goals.world.stage(job, 0, {{"far"}, {"far"}}, {.cpu = 1}, 10);
  goals.nodes(1);
  goals.world.state.intern_host("far");
  for (int i = 0; i < 3; ++i) {
    goals.world.beat(1);
    EXPECT_EQ(goals.world.launched.size(), 0u) << i;
    EXPECT_EQ(goals.world.held, "waits for room on a node that holds its input");
  }
  goals.world.beat(1);
  EXPECT_EQ(goals.world.launched.size(), 1u);
  goals.world.at(10);
  goals.finish_all(1);
  goals.world.beat(1);
  EXPECT_EQ(goals.world.launched.size(), 1u) << "the next task has its own delays";
}

// ---- Hardware affinity ---------------------------------------------------------------------------------------------------

/// Regular nodes 1…R and accelerated ones 101…100 + A. Job 1 takes 50 s on these and 100 s on the others, and has been tried.
struct Classes : Goals {
  Classes(std::uint32_t regular, std::uint32_t fast, std::size_t tasks, int goal, double on_fast = 50,
          const std::string& spec = "adaptive(order=need, late=first, reserve=0)")
      : Goals(spec) {
    JobInfo& job = world.job(1);
    job.deadline = seconds(goal);
    world.stage(job, 0, anywhere(tasks));
    nodes(1);
    accelerated(1, 101);
    world.schedule();
    world.at(on_fast);
    world.finish(at(101));
    world.at(100);
    world.finish(at(1));
    if (regular > 1) nodes(regular - 1, 2);
    if (fast > 1) accelerated(fast - 1, 102);
    world.launched.clear();
  }
  TaskId at(std::uint32_t node) const {
    for (const auto& launch : world.launched)
      if (launch.node == NodeId(node)) return launch.task;
    return {};
  }
};

TEST(HardwareAffinity, OneTaskOfAJobIsTriedOnEachClassFirst) {
  Goals goals;
  goals.nodes(3);
  goals.accelerated(3, 101);
  goals.job(1, 60, 10, 100);  // needs slots and is known
  goals.job(2, 50, 0, 10000);
  goals.job(1 + 2, 1, 10, 100);
  goals.world.state.mutable_job(JobId(3)).deadline.reset();
  goals.world.schedule();
  EXPECT_EQ(goals.on(2, 1, 3), 1u);
  EXPECT_EQ(goals.on(2, 101, 103), 1u);
}

TEST(HardwareAffinity, AClassWhereNoTaskHasEndedIsAsMuchSlowerAsTheProfileSays) {
  World world;
  world.node(1, "h1", "r", Resources{.cpu = 1});
  world.node(101, "h101", "r", Resources{.cpu = 1}, {{"accelerator", "gpu"}});
  JobInfo& job = world.job(1);
  StageInfo& stage = world.stage(job, 0, anywhere(10));
  stage.profile.emplace();
  stage.profile->constant = seconds(100);
  stage.profile->kinds = {{"", 1.6}, {"accelerator=gpu", 0.4}};
  const auto times_as_fast = [&] {
    MeasuredTasks measured("accelerator");
    measured.start(world.state);
    return goal_needs(world.state, measured, job, SlotKind::any, {1, 1}, 0, {}).of_class.at(1).scale;
  };
  EXPECT_NEAR(times_as_fast(), 4, 1e-9);
  world.schedule();
  world.at(50);
  for (const auto& launch : std::vector(world.launched)) {
    if (launch.node == NodeId(101)) world.finish(launch.task);
  }
  EXPECT_NEAR(times_as_fast(), 4, 1e-9) << "after a task on the fast node alone, too";
}

TEST(HardwareAffinity, TheThesisExampleTenAcceleratedAndTenRegular) {
  Classes classes(20, 10, 62, 300);  // 60 tasks of 50 s in 200 s: 15 accelerated slots
  JobInfo& other = classes.world.job(2);
  classes.world.stage(other, 0, anywhere(60), {.cpu = 1}, 10);
  classes.world.schedule();
  EXPECT_EQ(classes.on(1, 101, 110), 10u);
  EXPECT_EQ(classes.on(1, 1, 20), 10u);
  EXPECT_EQ(classes.on(2, 1, 20), 10u) << "job 2 has no goal";
}

TEST(HardwareAffinity, AJobThatNeedsNoMoreThanThereAreKeepsToTheAcceleratedNodes) {
  Classes classes(20, 10, 42, 300);  // 40 tasks of 50 s in 200 s: 10 slots
  JobInfo& other = classes.world.job(2);
  classes.world.stage(other, 0, anywhere(60), {.cpu = 1}, 10);
  classes.world.schedule();
  EXPECT_EQ(classes.on(1, 101, 110), 10u);
  EXPECT_EQ(classes.on(2, 1, 20), 20u) << "job 2 has no goal, and gets the others";
}

TEST(HardwareAffinity, AJobTakesNoSlowNodeWhereATaskWouldEndAfterTheRestOfIt) {
  Classes classes(4, 4, 12, 2000, 4);  // 10 tasks of 4 s on four nodes, or 100 s elsewhere; nobody else wants these
  classes.world.state.mutable_job(JobId(1)).deadline = seconds(150);
  classes.world.schedule();
  EXPECT_EQ(classes.on(1, 101, 104), 4u);
  EXPECT_EQ(classes.on(1, 1, 4), 0u) << "100 s from now is after the goal";
}

TEST(HardwareAffinity, AJobThatIsNowhereFasterTakesAcceleratedNodesWhenItNeedsThemMore) {
  Classes classes(2, 2, 10, 5000);  // needs little
  JobInfo& other = classes.world.job(2);
  classes.world.stage(other, 0, anywhere(60), {.cpu = 1}, 10);
  other.deadline = seconds(200);
  // It is tried on each class first; then it needs five slots more than it has.
  classes.world.schedule();
  EXPECT_EQ(classes.on(2, 1, 102), 4u);
}

TEST(HardwareAffinity, WhoGainsMostHasTheAcceleratedNodesFirst) {
  Classes classes(40, 4, 42, 600);  // speed-up 2
  JobInfo& quick = classes.world.job(2);
  quick.deadline = seconds(600);
  StageInfo& stage = classes.world.stage(quick, 0, anywhere(100));
  stage.profile.emplace().constant = seconds(100);
  stage.profile->kinds["accelerator=gpu"] = 0.1;
  classes.world.schedule();
  EXPECT_EQ(classes.on(2, 101, 104), 2u) << "100 tasks of 10 s in 500 s";
  EXPECT_EQ(classes.on(1, 101, 104), 2u) << "of the four that it needs";
}

TEST(HardwareAffinity, WhenAllAcceleratedNodesAreLostTheOthersDoTheWork) {
  Classes classes(4, 2, 20, 300);
  classes.world.schedule();
  const std::size_t before = classes.on(1, 1, 4);
  classes.world.leave(101);
  classes.world.leave(102);
  classes.finish_all(1);
  classes.world.launched.clear();
  classes.world.schedule();
  EXPECT_GT(before, 0u);
  EXPECT_EQ(classes.on(1, 1, 4), 4u);
}

TEST(HardwareAffinity, AJobThatGetsNoSlotWhereItIsFasterTakesOthers) {
  Goals goals("adaptive(rest=even, reserve=0, margin=0)");
  goals.nodes(2);
  goals.accelerated(1, 101);
  goals.job(1, 100, 100, 0);
  goals.world.schedule();
  ASSERT_EQ(goals.on(1, 1, 101), 3u);
  JobInfo& quick = goals.job(2, 4, 50, 800);
  quick.stages.at(StageId(0)).profile.emplace().constant = seconds(50);
  quick.stages.at(StageId(0)).profile->kinds = {{"", 1.3}, {"accelerator=gpu", 0.8}};
  goals.world.schedule();
  const auto ends_on = [&](std::uint32_t node, int at) {
    goals.world.at(at);
    const auto launch = std::find_if(goals.world.launched.begin(), goals.world.launched.end(),
                                     [&](const World::Launch& one) { return one.node == NodeId(node); });
    goals.world.finish(launch->task);
    goals.world.schedule();
  };
  ends_on(1, 50);
  EXPECT_EQ(goals.on(2, 1, 101), 0u) << "it waits for the accelerated node, where the task of job 1 should end soon";
  ends_on(2, 200);
  EXPECT_EQ(goals.on(2, 2, 2), 1u) << "that task takes longer than one takes";
}

TEST(HardwareAffinity, WhoCanMeetItsGoalHasTheFastNodesBeforeWhoCannot) {
  Classes classes(4, 2, 200, 120, 20, "adaptive(rest=even, reserve=0, margin=0)");  // job 1: 5 times as fast there, and hopeless
  JobInfo& other = classes.world.job(2);
  other.deadline = seconds(200);
  StageInfo& stage = classes.world.stage(other, 0, anywhere(6));
  stage.profile.emplace().constant = seconds(30);
  stage.profile->kinds = {{"", 2}, {"accelerator=gpu", 1}};
  classes.world.schedule();
  EXPECT_EQ(classes.on(2, 101, 102), 2u) << "six tasks of 30 s in 100 s";
  EXPECT_EQ(classes.on(1, 1, 4), 4u);
}

TEST(HardwareAffinity, ATaskOnASlowNodeMustEndInTimeWithTheMargin) {
  for (const auto& [margin, slow] : {std::pair("0", 2u), {"0.2", 0u}}) {
    Classes classes(4, 1, 4, 206, 20, fmt::format("adaptive(rest=even, reserve=0, margin={})", margin));  // two left, in 106 s
    classes.world.schedule();
    EXPECT_EQ(classes.on(1, 1, 4), slow) << "100 s";
  }
}

TEST(HardwareAffinity, OfFewTasksTheProfilesRatioOfClassesCounts) {
  World world("adaptive(rest=even, reserve=0)");
  world.node(1, "h1", "r", Resources{.cpu = 1});
  world.node(101, "h101", "r", Resources{.cpu = 1}, {{"accelerator", "gpu"}});
  JobInfo& job = world.job(1);
  StageInfo& stage = world.stage(job, 0, anywhere(40));
  stage.profile.emplace().constant = seconds(10);
  stage.profile->kinds = {{"", 1.05}, {"accelerator=gpu", 0.95}};
  for (int round = 1; round <= 6; ++round) {
    world.launched.clear();
    world.schedule();
    ASSERT_EQ(world.launched.size(), 2u);
    for (const auto& [node, after] : {std::pair(101u, 10), {1u, 50}}) {
      world.at(50 * (round - 1) + after);
      for (const auto& launch : std::vector(world.launched))
        if (launch.node == NodeId(node)) world.finish(launch.task);
    }
    MeasuredTasks measured("accelerator");
    measured.start(world.state);
    const GoalNeeds needs = goal_needs(world.state, measured, job, SlotKind::any, {1, 1}, 0, {});
    EXPECT_NEAR(needs.speedup, round < 5 ? 1 : 5, 1e-9) << round;
  }
}

TEST(HardwareAffinity, AGoalIsGivenUpByWhatFastAndSlowNodesDoTogether) {
  Classes classes(8, 2, 62, 500, 50, "adaptive(rest=even, reserve=0, margin=0)");  // 60 tasks in 400 s, where 10 slots do 48
  JobInfo& other = classes.world.job(2);
  other.deadline = seconds(550);
  classes.world.stage(other, 0, anywhere(200), {.cpu = 1}, 10);  // needs 4.4 slots
  classes.world.schedule();
  EXPECT_GE(classes.world.running(2), 5u) << "job 1 cannot meet its goal";
}

TEST(HardwareAffinity, CanBeTurnedOff) {
  Goals goals("adaptive(attribute=none, order=need)");
  goals.nodes(1);
  goals.accelerated(1, 101);
  goals.job(1, 30, 0, 5000);
  goals.job(2, 30, 10, 100);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "11") << "nothing is known of job 1, wherever";
}

}  // namespace
}  // namespace weft::schedulers::adaptive_rules
