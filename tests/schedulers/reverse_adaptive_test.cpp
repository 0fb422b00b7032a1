// What must run now because nothing later has room for it, and what a node loses that is given less.
#include "schedulers/policies/reverse_adaptive.hpp"

#include "schedulers/prediction/reverse_fit.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::reverse_adaptive_rules {
namespace {

constexpr Time hours(double count) { return Time(static_cast<std::int64_t>(count * 3600e9)); }
Time seconds_of(double count) { return Time(static_cast<std::int64_t>(count * 1e9)); }

/// Nodes of one core each, by the hour from which there are so many.
std::vector<CapacityStep> availability(const std::vector<std::pair<double, double>>& steps) {
  std::vector<CapacityStep> out;
  for (const auto& [from, nodes] : steps) out.push_back({hours(from), {.cpu = nodes}});
  return out;
}
ReverseJob job(double goal, double tasks, double length = 1) { return {hours(goal), tasks, hours(length), {.cpu = 1}}; }

/// What must run before the first hour is over, rounded.
std::vector<double> fit(const std::vector<ReverseJob>& jobs, const std::vector<std::pair<double, double>>& nodes) {
  std::vector<Time> goals{hours(1)};
  for (const ReverseJob& one : jobs) goals.push_back(one.goal);
  const auto steps = availability(nodes);
  CapacityAhead ahead(Time(0), steps, goals);
  std::vector<double> left = reverse_fit(jobs, ahead, hours(1));
  for (double& tasks : left) tasks = std::round(tasks * 1000) / 1000;
  return left;
}

TEST(ReverseFit, GoesBackFromTheLastGoal) {
  // Of forty hours each: the third fits between its goal and the second; of the second twenty do, and the others before the first
  // goal; there ten of the first's have no room but now.
  const std::vector<std::pair<double, double>> nodes{{0, 10}, {6, 5}, {10, 8}};
  EXPECT_EQ(fit({job(6, 40), job(10, 40), job(16, 40)}, nodes), (std::vector<double>{10, 0, 0}));
  EXPECT_EQ(fit({job(6, 60), job(10, 40), job(16, 40)}, nodes), (std::vector<double>{30, 0, 0}));
  EXPECT_EQ(fit({job(6, 20), job(10, 90), job(16, 40)}, nodes), (std::vector<double>{20, 20, 0}))
      << "later goals first, also in the last window";
}

TEST(ReverseFit, NothingHasToRunNowWhereThereIsTime) {
  EXPECT_EQ(fit({job(6, 40), job(12, 40)}, {{0, 10}}), (std::vector<double>{0, 0}));
}

TEST(ReverseFit, KnowsWhenNodesWillBeGone) {
  EXPECT_EQ(fit({job(12, 40)}, {{0, 10}}), (std::vector<double>{0}));
  EXPECT_EQ(fit({job(12, 40)}, {{0, 10}, {3, 1}}), (std::vector<double>{40 - 20 - 9}));
  EXPECT_EQ(fit({job(12, 40)}, {{0, 10}, {3, 0}}), (std::vector<double>{20}));
}

TEST(ReverseFit, CountsWholeRoundsBeforeAGoal) {
  EXPECT_EQ(fit({job(6, 12, 4)}, {{0, 10}}), (std::vector<double>{2})) << "five hours hold one round of four";
  EXPECT_EQ(fit({job(9, 21, 4)}, {{0, 10}}), (std::vector<double>{1}));
}

TEST(ReverseFit, AGoalThatIsOverNeedsEverythingNow) {
  EXPECT_EQ(fit({job(0.5, 7), job(-3, 5)}, {{0, 10}}), (std::vector<double>{7, 5}));
}

TEST(CapacityAhead, MeansAreOfTheTimeAndWhatIsOccupiedIsGone) {
  const auto steps = availability({{0, 10}, {2, 4}});
  CapacityAhead ahead(Time(0), steps, {hours(1)});
  EXPECT_NEAR(ahead.mean_slots(Time(0), hours(4), {.cpu = 2}), 3.5, 1e-9);
  ahead.occupy(Time(0), hours(0.5), {.cpu = 4});
  EXPECT_NEAR(ahead.mean_slots(Time(0), hours(1), {.cpu = 1}), 8, 1e-9);
  EXPECT_NEAR(ahead.fit(hours(1), hours(3), {.cpu = 1}, hours(1), 100), 14, 1e-9);
  EXPECT_TRUE(ahead.full(hours(1), hours(2), {.cpu = 1}));
}

// ---- the scheduler
// ---------------------------------------------------------------------------------------------------------------

JobInfo& maps(World& world, std::uint64_t id, std::size_t tasks, double seconds, std::optional<double> goal = {}) {
  JobInfo& job = world.job(id);
  if (goal) job.deadline = world.state.now() + seconds_of(*goal);
  world.stage(job, 0, anywhere(tasks), {.cpu = 1}, seconds);
  return job;
}

void forecast(World& world, std::uint32_t node, const std::vector<std::pair<double, double>>& steps) {
  auto& told = world.state.mutable_node(NodeId(node)).forecast;
  told.clear();
  for (const auto& [from, cores] : steps) told.push_back({seconds_of(from), {.cpu = cores}});
}

World one_node(const std::string& spec, const std::vector<std::pair<double, double>>& steps) {
  World world(spec);
  world.node(1, "h1", "r", 10);
  forecast(world, 1, steps);
  return world;
}

TEST(ReverseAdaptive, RunsNowWhatWillHaveNoRoomLater) {
  for (const auto& [after, least, most] : {std::tuple(0.0, 9u, 9u), std::tuple(10.0, 2u, 6u)}) {
    World world = one_node("reverse_adaptive(mode=paper)", {{0, 10}, {1200, after}});
    maps(world, 1, 20, 600, 7200);
    maps(world, 2, 100, 600);
    world.schedule();
    EXPECT_GE(world.running(1), least) << "twenty tasks fit into two rounds before the node is gone";
    EXPECT_LE(world.running(1), most);
    EXPECT_EQ(world.running(1) + world.running(2), 10u);
  }
}

TEST(ReverseAdaptive, TheEarlierGoalComesFirstWhenNotAllCanRun) {
  World world = one_node("reverse_adaptive(without_forecast=backwards)", {});
  maps(world, 1, 40, 600, 4 * 600 + 35);  // all of the node until its goal
  maps(world, 2, 40, 600, 8 * 600 + 100);
  world.schedule();
  EXPECT_GE(world.running(1), 9u) << world.holds[JobId(1)] << world.holds[JobId(2)];
}

TEST(ReverseAdaptive, AGoalThatIsLostComesLastUnlessItIsToComeFirst) {
  for (const char* late : {"last", "first"}) {
    World world = one_node(fmt::format("reverse_adaptive(without_forecast=backwards, late={})", late), {});
    maps(world, 1, 40, 600, 300);
    maps(world, 2, 20, 600, 2 * 600 + 100);
    world.schedule();
    EXPECT_EQ(world.running(2) >= 9, std::string(late) == "last") << late;
    EXPECT_EQ(world.launched.size(), 10u);
  }
}

TEST(ReverseAdaptive, WhereNotAllGoalsCanBeMetTheOneWithMostWorkIsGivenUp) {
  World world = one_node("reverse_adaptive(without_forecast=backwards)", {});
  maps(world, 1, 60, 600, 9 * 600);  // each could be met alone: with the others 12 rounds are needed in 10
  maps(world, 2, 30, 600, 6 * 600);
  maps(world, 3, 30, 600, 10 * 600);
  world.schedule();
  EXPECT_NE(world.holds[JobId(1)].find("cannot be met"), std::string::npos) << world.holds[JobId(1)];
  EXPECT_EQ(world.holds[JobId(2)].find("cannot be met"), std::string::npos) << world.holds[JobId(2)];
  EXPECT_EQ(world.holds[JobId(3)].find("cannot be met"), std::string::npos) << world.holds[JobId(3)];
}

TEST(ReverseAdaptive, AForecastThatJumpsOrEndsLosesNoGoal) {
  // At first half of the node is to go; then nothing is expected any more; then that it comes back twice.
  World world = one_node("reverse_adaptive(cycle=10s)", {{0, 10}, {2000, 5}});
  maps(world, 1, 40, 100, 900);
  for (int step = 0; step < 400 && !world.state.runnable_jobs().empty(); ++step) {
    world.at(10 * step);
    if (step == 10) forecast(world, 1, {});
    if (step == 20) forecast(world, 1, {{300, 0}, {310, 10}, {5000, 1}});
    const auto running = world.state.node(NodeId(1))->running;
    for (const AttemptId& attempt : running) {
      if (world.state.now() - *world.state.launched(attempt) >= seconds_of(100)) world.finish(attempt.task);
    }
    world.schedule({Trigger::Kind::timer, NodeId()});
  }
  EXPECT_TRUE(world.state.runnable_jobs().empty());
  EXPECT_LE(world.state.now(), seconds_of(900));
}

TEST(ReverseAdaptive, GivesANodeNoTaskThatItWillNotKeep) {
  World world = one_node("reverse_adaptive", {{0, 10}, {500, 3}});
  maps(world, 1, 20, 600, 7200);
  world.schedule();
  EXPECT_EQ(world.running(1), 3u);
  World kept = one_node("reverse_adaptive(preempt=false)", {{0, 10}, {500, 3}});
  maps(kept, 1, 20, 600, 7200);
  kept.schedule();
  EXPECT_EQ(kept.running(1), 10u) << "what runs there goes on";
}

TEST(ReverseAdaptive, AForecastThatIsWrongNowCountsOnlyFromItsNextChange) {
  World world = one_node("reverse_adaptive", {{0, 10}, {100, 0}, {5000, 10}});
  maps(world, 1, 20, 600, 7200);
  world.at(200);
  world.schedule();
  EXPECT_EQ(world.running(1), 10u) << "the node was to be gone, and is there";
}

TEST(ReverseAdaptive, NothingIsLostWhereForecastsLie) {
  // Said: all day ten cores, or none from the first minute on, or what has ended long ago. True: ten, four, none, ten.
  const std::vector<std::vector<std::pair<double, double>>> forecasts{
      {{0, 10}, {1e6, 9}}, {{0, 10}, {60, 0}}, {{-900, 3}, {-800, 0}}};
  for (const auto& said : forecasts) {
    World world = one_node("reverse_adaptive(cycle=10s)", said);
    maps(world, 1, 25, 100, 700);
    maps(world, 2, 25, 100, 5000);
    maps(world, 3, 10, 100);
    for (int step = 0; step < 400 && !world.state.runnable_jobs().empty(); ++step) {
      world.at(10 * step);
      if (step == 5) world.give(1, {.cpu = 4});
      if (step == 20) world.give(1, {.cpu = 0});
      if (step == 30) world.give(1, {.cpu = 10});
      const auto running = world.state.node(NodeId(1))->running;
      for (const AttemptId& attempt : running) {
        if (world.state.now() - *world.state.launched(attempt) >= seconds_of(100)) world.finish(attempt.task);
      }
      world.schedule({step % 2 == 0 ? Trigger::Kind::timer : Trigger::Kind::work, NodeId()});
      ASSERT_LE(world.state.node(NodeId(1))->used.cpu, world.state.node(NodeId(1))->capacity.cpu);
    }
    EXPECT_TRUE(world.state.runnable_jobs().empty());
  }
}

TEST(ReverseAdaptive, ANodeThatIsGivenLessLosesItsNewestTasks) {
  World world = one_node("reverse_adaptive", {});
  maps(world, 1, 6, 600, 7200);
  world.schedule();
  world.at(5);
  maps(world, 2, 4, 600, 7200);
  world.schedule();
  ASSERT_EQ(world.running(1) + world.running(2), 10u);
  world.give(1, {.cpu = 5});
  world.schedule();
  EXPECT_EQ(world.preempted.size(), 5u);
  EXPECT_EQ(world.running(2), 0u) << "they were the newest";
  EXPECT_EQ(world.running(1), 5u);
  EXPECT_EQ(world.state.job(JobId(2))->pending, 4u) << "and wait again";
  world.give(1, {.cpu = 10});
  world.at(10);
  world.schedule();
  EXPECT_EQ(world.running(1) + world.running(2), 10u);
}

TEST(ReverseAdaptive, WithoutAForecastItIsAnotherScheduler) {
  for (const std::string other : {"adaptive", "ras", "ras(mode=paper)", "tetris"}) {
    std::string orders[2];
    for (const bool reverse : {false, true}) {
      const bool by_default = other == "adaptive";
      World world = one_node(!reverse     ? other
                             : by_default ? "reverse_adaptive"
                                          : fmt::format("reverse_adaptive(without_forecast={})", other),
                             {});
      maps(world, 1, 40, 600, 4 * 600 + 60);
      maps(world, 2, 40, 600, 8 * 600 + 100);
      maps(world, 3, 7, 60);
      world.schedule();
      ASSERT_EQ(world.running(1) + world.running(2) + world.running(3), 10u) << other;
      for (int i = 0; i < 30; ++i) {
        world.at(60 * (i + 1));
        world.finish(world.state.node(NodeId(1))->running.begin()->task);
        world.beat(1);
      }
      orders[reverse ? 1 : 0] = world.order();
    }
    EXPECT_EQ(orders[0], orders[1]) << other;
  }
}

TEST(ReverseAdaptive, WithoutPreemptionTheyEnd) {
  World world = one_node("reverse_adaptive(preempt=false)", {});
  maps(world, 1, 10, 600, 7200);
  world.schedule();
  world.give(1, {.cpu = 5});
  world.schedule();
  EXPECT_TRUE(world.preempted.empty());
}

TEST(ReverseAdaptive, OtherJobsLiveOnWhatGoalsLeave) {
  World world = one_node("reverse_adaptive", {});
  maps(world, 1, 2, 60, 36000);
  maps(world, 2, 100, 60);
  world.schedule();
  EXPECT_EQ(world.running(1) + world.running(2), 10u);
  EXPECT_GE(world.running(2), 8u);
}

TEST(ReverseAdaptive, WithoutAForecastItIsNoSchedulerOfSeveralPasses) {
  for (const std::string other : {"carbyne", "drf(form=closed)"}) {
    const auto made = make_scheduler(fmt::format("reverse_adaptive(without_forecast={})", other), {});
    ASSERT_FALSE(made) << other;
    EXPECT_NE(made.error().to_string().find("which shares nodes out in several passes"), std::string::npos)
        << made.error().to_string();
  }
}

}  // namespace
}  // namespace weft::schedulers::reverse_adaptive_rules
