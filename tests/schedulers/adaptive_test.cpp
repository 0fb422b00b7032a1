// The Adaptive scheduler of Polo's thesis, chapter 3: who needs most, whom nothing is known of, who is late. Where tasks go is in
// affinity_test.cpp.
#include <map>
#include <string>

#include "tests/schedulers/goals.hpp"

namespace weft::schedulers::adaptive_rules {
namespace {

using std::chrono::seconds;

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
  Goals goals("adaptive(rest=even, reserve=0, margin=0)");
  goals.job(1, 30, 10, 75);  // needs 4
  goals.job(2, 10, 10, 50);  // needs 2
  goals.nodes(6);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "221111");
}

TEST(NearestGoal, JobsWithMuchWorkGiveUpSoThatMostGoalsAreMet) {
  Goals goals("adaptive(rest=even, reserve=0, margin=0)");
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
  Goals goals("adaptive(rest=even, reserve=0, margin=0)");
  goals.job(1, 30, 10, 40);  // 300 s and 150 before them: more than ten slots do in 40 s
  goals.job(2, 15, 10, 30);  // needs 5
  goals.job(3, 10, 10, 45);  // 2.2
  goals.nodes(10);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "2222233311");
}

TEST(NearestGoal, AJobIsKeptWhenThereIsRoomForAll) {
  Goals goals("adaptive(rest=even, reserve=0, margin=0)");
  goals.job(1, 16, 10, 40);  // 160 + 60 s until 40, 400 until 50
  goals.job(2, 5, 10, 35);
  goals.job(3, 18, 10, 50);
  goals.nodes(8);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "22111133") << "1.4, 4 and 3.6";
}

TEST(NearestGoal, AJobOfWhichNothingIsKnownHasAnEvenPartAtFirst) {
  Goals goals("adaptive(rest=even, reserve=0, margin=0)");
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
    Goals goals(fmt::format("adaptive(rest=even, reserve=0, margin={})", margin));
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
    Goals goals(fmt::format("adaptive(rest=even, reserve={}, margin=0)", reserve));
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

TEST(FairEndsOfTheRest, SmallJobsGoFirstWhereNoGoalNeedsTheSlots) {
  for (const auto& [rest, order] : {std::pair("ends", "2211"), std::pair("even", "1212")}) {
    Goals goals(fmt::format("adaptive(rest={})", rest));
    goals.nodes(4);
    goals.job(1, 20, 10, 0);
    goals.job(2, 2, 10, 0);
    goals.world.schedule();
    EXPECT_EQ(goals.world.order(), order) << rest;
  }
}

TEST(FairEndsOfTheRest, OnlyAGoalAtRiskGoesBeforeThem) {
  for (const auto& [goal, order] : {std::pair(54, "1111"), {100, "2211"}}) {  // 50 s of all four slots
    Goals goals("adaptive");
    goals.nodes(4);
    goals.job(1, 20, 10, goal);
    goals.job(2, 2, 10, 0);
    goals.world.schedule();
    EXPECT_EQ(goals.world.order(), order) << goal;
  }
}

TEST(FairEndsOfTheRest, GoalsThatAreOnlyTogetherAtRiskGoByDeadline) {
  Goals goals("adaptive");
  goals.nodes(4);
  goals.job(1, 16, 10, 80);  // 40 s of all four slots
  goals.job(2, 4, 10, 79);   // 10 s
  goals.job(3, 12, 10, 80);  // 30 s
  goals.job(4, 1, 10, 0);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order().find('4'), std::string::npos) << goals.world.order() << ": 80 s in 80 s";
}

TEST(FairEndsOfTheRest, JobsWithGoalsThatAreFarGoOneAfterTheOther) {
  Goals goals("adaptive");
  goals.nodes(4);
  goals.job(1, 20, 10, 10'000);
  goals.job(2, 4, 10, 10'000);
  goals.world.schedule();
  EXPECT_EQ(goals.world.running(2), 4u);
}

TEST(FairEndsOfTheRest, GoalsDecideNothingWhileMostAreMissed) {
  Goals goals("adaptive(reserve=0, margin=0)");
  goals.nodes(4);
  for (std::uint64_t id = 10; id < 14; ++id) goals.job(id, 1, 10, 5);
  goals.world.schedule();
  goals.world.at(10);
  for (std::uint64_t id = 10; id < 14; ++id) goals.finish_all(id);
  for (std::uint64_t id = 10; id < 14; ++id) goals.world.end(id);
  goals.world.launched.clear();
  goals.job(1, 20, 10, 110);
  goals.job(2, 2, 10, 0);
  goals.world.schedule();
  EXPECT_EQ(goals.world.order(), "2211") << "by their ends if they shared fairly";
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

TEST(Options, OfAdaptiveAreChecked) {
  for (const std::string spec : {"adaptive(late=never)", "adaptive(order=fifo)", "adaptive(rest=even, reserve=-1)",
                                 "adaptive(margin=-1)", "adaptive(speedup=0.5)", "adaptive(delays=-1)", "adaptive(delay=1)"})
    EXPECT_FALSE(make_scheduler(spec)) << spec;
  EXPECT_TRUE(make_scheduler("adaptive(delays=3, attribute=kind, speedup=1.5, late=last, stages=cpm)"));
}

}  // namespace
}  // namespace weft::schedulers::adaptive_rules
