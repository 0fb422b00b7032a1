// The Adaptive scheduler of Polo's thesis, chapter 3: who needs most, whom nothing is known of, who is late; data and hardware
// affinity.
#include <algorithm>
#include <map>
#include <string>

#include "schedulers/parts/goal_needs.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::adaptive_rules {
namespace {

using std::chrono::seconds;

struct Goals {
  World world;
  /// Without a reserve, needs are those of equation (1).
  explicit Goals(const std::string& spec = "adaptive(order=need, late=first, reserve=0)") : world(spec) {}

  void nodes(std::uint32_t count, std::uint32_t first = 1) {
    for (std::uint32_t i = first; i < first + count; ++i) world.node(i, "h" + std::to_string(i), "r", Resources{.cpu = 1});
  }
  void accelerated(std::uint32_t count, std::uint32_t first) {
    for (std::uint32_t i = first; i < first + count; ++i)
      world.node(i, "h" + std::to_string(i), "r", Resources{.cpu = 1}, {{"accelerator", "gpu"}});
  }
  /// `length`: of a task, as the program says; 0: it says nothing. `goal`: seconds from the start of time; 0: none.
  JobInfo& job(std::uint64_t id, std::size_t tasks, double length, int goal) {
    JobInfo& job = world.job(id);
    if (goal > 0) job.deadline = seconds(goal);
    world.stage(job, 0, anywhere(tasks), {.cpu = 1}, length);
    return job;
  }
  /// Launches so far of the job, on nodes from `first` to `last`.
  std::size_t on(std::uint64_t job, std::uint32_t first, std::uint32_t last) const {
    return static_cast<std::size_t>(std::count_if(world.launched.begin(), world.launched.end(), [&](const World::Launch& launch) {
      return launch.task.job.value() == job && launch.node.value() >= first && launch.node.value() <= last;
    }));
  }
  /// Ends all that run of the job, of those launched so far.
  void finish_all(std::uint64_t job) {
    const auto launched = world.launched;
    for (const auto& launch : launched)
      if (launch.task.job.value() == job && world.state.task(launch.task)->state == TaskState::running) world.finish(launch.task);
  }
};

TEST(Need, TheJobThatNeedsMostMoreSlotsGoesNext) {
  Goals goals;
  goals.job(1, 10, 10, 100);  // needs 1
  goals.job(2, 10, 10, 50);   // needs 2
  goals.job(3, 30, 10, 75);   // needs 4
  goals.nodes(7);
  goals.world.schedule();
  // 4; 3; then 2 and 2, 1 and 2, …: as many as each needs.
  EXPECT_EQ(goals.world.running(1), 1u);
  EXPECT_EQ(goals.world.running(2), 2u);
  EXPECT_EQ(goals.world.running(3), 4u);
  EXPECT_EQ(goals.world.order().substr(0, 2), "33");
}

TEST(Need, WhatIsLeftOverIsSharedSoThatAllHaveAsMuchMore) {
  Goals goals;
  goals.job(1, 10, 10, 100);  // needs 1
  goals.job(2, 30, 10, 75);   // needs 4
  goals.nodes(11);
  goals.world.schedule();
  EXPECT_EQ(goals.world.running(1), 4u) << "three more than it needs";
  EXPECT_EQ(goals.world.running(2), 7u) << "likewise";
}

TEST(Need, OfThoseWhoHaveMoreThanTheyNeedWhoHasLeastTooMuchGoesNext) {
  Goals goals;
  goals.job(1, 10, 10, 100);
  goals.nodes(5);
  goals.world.schedule();
  goals.job(2, 20, 10, 100);  // needs 2
  goals.nodes(3, 6);
  goals.world.schedule();
  EXPECT_EQ(goals.world.running(1), 5u) << "four more than it needs";
  EXPECT_EQ(goals.world.running(2), 3u);
}

TEST(Need, JobsWithoutAGoalShareWhatOthersLeave) {
  Goals goals;
  goals.job(1, 30, 10, 0);
  goals.job(2, 30, 10, 0);
  goals.job(3, 30, 10, 75);  // needs 4
  goals.nodes(10);
  goals.world.schedule();
  EXPECT_EQ(goals.world.running(3), 6u);
  EXPECT_EQ(goals.world.running(1), 2u);
  EXPECT_EQ(goals.world.running(2), 2u);
}

TEST(Need, OfThoseWithoutAGoalWeightsCount) {
  Goals goals;
  goals.job(1, 30, 10, 0).hints.weight = 2;
  goals.job(2, 30, 10, 0);
  goals.nodes(9);
  goals.world.schedule();
  EXPECT_EQ(goals.world.running(1), 6u);
  EXPECT_EQ(goals.world.running(2), 3u);
}

TEST(Need, GrowsWhileAJobWaits) {
  Goals goals;
  goals.job(1, 10, 10, 200);  // needs 0.5 now, and 2 at 150
  goals.job(2, 9, 10, 100);
  goals.nodes(1);
  goals.world.schedule();
  goals.world.at(10);
  goals.finish_all(2);
  goals.world.at(150);
  goals.world.state.mutable_job(JobId(2)).deadline = seconds(300);  // 90 s in 150 s
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "21");
}

TEST(Need, MapsHaveAsMuchLessTimeAsReducesTake) {
  Goals goals;
  JobInfo& job = goals.job(1, 12, 10, 60);  // needs 2 for its maps alone, and 4 with 30 s of reduces
  goals.world.stage(job, 1, anywhere(2), {.cpu = 1}, 30, {0});
  goals.job(2, 15, 10, 50);  // needs 3
  goals.nodes(1);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "1");
}

TEST(Need, HalfATaskIsKeptBeforeTheGoalForTheLastOnes) {
  Goals goals("adaptive(order=need, reserve=0.5)");
  goals.job(1, 10, 10, 30);  // 100 s in 25: needs 4
  goals.job(2, 72, 2, 43);   // 144 s in 42: 3.4
  goals.nodes(1);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "1");
  Goals exact;
  exact.job(1, 10, 10, 30);  // 3.33
  exact.job(2, 72, 2, 43);   // 3.35
  exact.nodes(1);
  exact.world.schedule();
  EXPECT_EQ(exact.world.order(), "2");
}

TEST(Unknown, JobsOfWhichNoTaskHasEndedGoFirstTheOldestBeforeTheOthers) {
  Goals goals;
  goals.job(3, 30, 10, 40);
  goals.world.at(1);
  goals.job(2, 3, 0, 5000);
  goals.world.at(2);
  goals.job(1, 3, 0, 5000);
  goals.nodes(7);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "2221113");
}

TEST(Unknown, JobsWithAKnownHistoryAreNot) {
  Goals goals;
  JobInfo& job = goals.job(1, 3, 0, 5000);
  job.stages.at(StageId(0)).profile.emplace().constant = seconds(1);
  goals.job(2, 30, 10, 40);
  goals.nodes(1);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "2");
}

TEST(Unknown, AreMeasuredByTheFirstTaskThatEnds) {
  Goals goals;
  goals.nodes(1);
  goals.job(1, 30, 0, 5000);
  goals.world.schedule();
  goals.job(2, 30, 10, 200);
  goals.world.at(10);
  goals.finish_all(1);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "12") << "job 1 needs 290 s in 4,990";
}

TEST(Profiles, ThatAreWrongByThreeTimesAreForgottenWithTheFirstTask) {
  for (const double told : {30.0, 10.0, 10.0 / 3}) {
    Goals goals;
    goals.nodes(1);
    goals.job(1, 21, told, 110);
    goals.world.schedule();
    goals.world.at(10);
    goals.finish_all(1);        // 200 s are left in 100 s: needs 2
    goals.job(2, 25, 10, 110);  // 2.5
    goals.job(3, 15, 10, 110);  // 1.5
    goals.nodes(2, 2);
    goals.world.schedule();
    EXPECT_EQ(goals.world.order(), "1212") << told;
  }
}

TEST(Late, JobsGoFirstThoseMostLateForTheTimeTheyHadBeforeTheOthers) {
  Goals goals;
  goals.job(1, 10, 10, 100);
  goals.job(2, 10, 10, 10);
  goals.job(3, 10, 10, 500);
  goals.world.at(200);
  goals.nodes(1);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "2") << "at best at 300 when 10 was asked for; the other late one at 300 when 100 was";
}

TEST(Late, AsManySlotsGoToEachThatAllEndAsLateForTheirTime) {
  Goals goals;
  goals.job(1, 40, 10, 100);
  goals.job(2, 40, 10, 100);
  goals.world.at(101);
  goals.nodes(10);
  goals.world.schedule();
  EXPECT_EQ(goals.world.running(1), 5u);
  EXPECT_EQ(goals.world.running(2), 5u);
}

TEST(Late, JobsGoAfterThoseThatCanStillMeetTheirsIfAsked) {
  Goals goals("adaptive(order=need, reserve=0)");
  goals.job(1, 10, 10, 100);
  goals.job(2, 10, 10, 250);
  goals.job(3, 10, 10, 0);
  goals.world.at(200);
  goals.nodes(4);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order().substr(0, 2), "22") << "needs two";
}

TEST(Late, JobsWhoseGoalLiesInThePastAreRunAtBestEffort) {
  Goals goals;
  goals.world.at(1000);
  goals.job(1, 3, 0, 10);
  goals.nodes(3);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "111");
}

// ---- Nearest goals first ------------------------------------------------------------------------------------------------

TEST(NearestGoal, GoesFirstAmongThoseThatNeedSlots) {
  Goals goals("adaptive(reserve=0, margin=0)");
  goals.job(1, 30, 10, 75);  // needs 4
  goals.job(2, 10, 10, 50);  // needs 2
  goals.nodes(6);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "221111");
}

TEST(NearestGoal, JobsWithMuchWorkGiveUpSoThatMostGoalsAreMet) {
  Goals goals("adaptive(reserve=0, margin=0)");
  goals.job(1, 60, 10, 40);  // 600 s in 40 s on ten slots: not beside the others
  goals.job(2, 15, 10, 45);
  goals.job(3, 12, 10, 50);
  goals.job(4, 10, 10, 0);
  goals.nodes(10);
  goals.world.schedule();
  EXPECT_EQ(goals.world.running(2), 4u) << "3.3";
  EXPECT_EQ(goals.world.running(3), 3u) << "2.4";
  EXPECT_EQ(goals.world.running(1), 3u) << "the rest goes to it all the same, before who has no goal";
}

TEST(NearestGoal, TheJobWithMostWorkGivesUpNotTheOneWhoseGoalIsNearest) {
  Goals goals("adaptive(reserve=0, margin=0)");
  goals.job(1, 30, 10, 40);  // 300 s and 150 before them: more than ten slots do in 40 s
  goals.job(2, 15, 10, 30);  // needs 5
  goals.job(3, 10, 10, 45);  // 2.2
  goals.nodes(10);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "2222233311");
}

TEST(NearestGoal, AJobIsKeptWhenThereIsRoomForAll) {
  Goals goals("adaptive(reserve=0, margin=0)");
  goals.job(1, 16, 10, 40);  // 160 + 60 s until 40, 400 until 50
  goals.job(2, 5, 10, 35);
  goals.job(3, 18, 10, 50);
  goals.nodes(8);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "22111133") << "1.4, 4 and 3.6";
}

TEST(NearestGoal, AJobOfWhichNothingIsKnownHasAnEvenPartAtFirst) {
  Goals goals("adaptive(reserve=0, margin=0)");
  goals.job(1, 30, 10, 1000);
  goals.job(2, 30, 0, 1000);
  goals.job(3, 30, 10, 1000);
  goals.nodes(9);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order().substr(0, 3), "222");
  EXPECT_EQ(goals.world.running(2), 3u);
}

TEST(NearestGoal, HasAMarginBeforeJobsThatCannotMeetTheirs) {
  for (const auto& [margin, order] : {std::pair("0", "22221"), {"0.3", "22222"}}) {
    Goals goals(fmt::format("adaptive(reserve=0, margin={})", margin));
    goals.job(1, 60, 10, 40);  // 600 s in 40 s on five slots
    goals.job(2, 19, 10, 50);  // needs 3.8
    goals.nodes(5);
    goals.world.schedule();
    EXPECT_EQ(goals.world.order(), order) << margin;
  }
}

TEST(NearestGoal, KeepsTheTimeOfATaskThatRunsForEachLaterPhase) {
  std::map<std::string, std::size_t> first;
  for (const std::string reserve : {"0", "1"}) {
    Goals goals(fmt::format("adaptive(reserve={}, margin=0)", reserve));
    goals.job(1, 40, 20, 0);
    goals.nodes(8);
    goals.world.schedule();
    goals.world.at(20);
    goals.world.finish(goals.world.launched.front().task);
    goals.world.schedule();  // others are seen to run
    JobInfo& chain = goals.job(2, 10, 10, 100);
    goals.world.stage(chain, 1, anywhere(1), {.cpu = 1}, 10, {0});
    goals.world.at(40);
    goals.finish_all(1);
    goals.world.launched.clear();
    goals.world.schedule();
    first[reserve] = goals.world.order().find('1');
  }
  EXPECT_LE(first["0"], 3u) << "90 s of work in 60 s and then 10 s";
  EXPECT_GE(first["1"], 5u) << "in 60 - 10 - 20 s";
}

TEST(NearestGoal, AJobThatNeedsSlotsDoesNotWaitForTheNodeThatItsInputIsBroughtTo) {
  for (const auto& [goal, order] : {std::pair(0, "32"), {100, "31"}}) {
    Goals goals("adaptive");
    goals.nodes(2);
    goals.job(3, 1, 10, 5);
    goals.world.beat(1);
    JobInfo& job = goals.job(1, 20, 10, goal);
    for (std::uint32_t task = 0; task < 20; ++task) goals.world.state.preplace(job.stages.at(StageId(0)), task, NodeId(1));
    goals.job(2, 20, 10, 0);
    goals.world.beat(2);
    EXPECT_EQ(goals.world.order(), order) << goal;
  }
}

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
  Goals goals("adaptive(reserve=0, margin=0)");
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
  Classes classes(4, 2, 200, 120, 20, "adaptive(reserve=0, margin=0)");  // job 1: 5 times as fast there, and hopeless
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
    Classes classes(4, 1, 4, 206, 20, fmt::format("adaptive(reserve=0, margin={})", margin));  // two left, in 106 s
    classes.world.schedule();
    EXPECT_EQ(classes.on(1, 1, 4), slow) << "100 s";
  }
}

TEST(HardwareAffinity, OfFewTasksTheProfilesRatioOfClassesCounts) {
  World world("adaptive(reserve=0)");
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
  Classes classes(8, 2, 62, 500, 50, "adaptive(reserve=0, margin=0)");  // 60 tasks in 400 s, where 10 slots do 48
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

TEST(Options, OfAdaptiveAreChecked) {
  for (const std::string spec : {"adaptive(late=never)", "adaptive(order=fifo)", "adaptive(reserve=-1)", "adaptive(margin=-1)",
                                 "adaptive(speedup=0.5)", "adaptive(delays=-1)", "adaptive(delay=1)"})
    EXPECT_FALSE(make_scheduler(spec)) << spec;
  EXPECT_TRUE(make_scheduler("adaptive(delays=3, attribute=kind, speedup=1.5, late=last, stages=cpm)"));
}

}  // namespace
}  // namespace weft::schedulers::adaptive_rules
