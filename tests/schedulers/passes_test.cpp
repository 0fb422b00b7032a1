// How a composition gives room away: by jobs or by nodes, in passes, with a placement for any stage, with control cycles, and
// packing inside others.
#include "schedulers/parts/composed.hpp"
#include "schedulers/parts/packing.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/policies/fifo.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::passes_rules {
namespace {

Composition first_come() {
  Composition parts;
  parts.jobs = fifo_order();
  return parts;
}
World world_of(Composition parts) { return World(std::make_unique<Composed>("test", std::move(parts))); }

/// "job.task@node" of each launch.
std::string launches(const World& world) {
  std::string text;
  for (const auto& l : world.launched)
    text += fmt::format("{}{}.{}@{}", text.empty() ? "" : " ", l.task.job.value(), l.task.index, l.node.value());
  return text;
}

/// Jobs that have no more than so many tasks running.
class AtMost final : public Limit {
 public:
  explicit AtMost(std::uint64_t tasks) : tasks_(tasks) {}
  void plan(const ClusterView&) override { ++plans; }
  bool may_launch(const ClusterView&, const JobInfo& job, const StageInfo&) override { return job.running < tasks_; }
  int plans = 0;

 private:
  std::uint64_t tasks_;
};

/// The job with the largest id first.
class LastFirst final : public OrderingPolicy {
 public:
  bool offer(const ClusterView& view, SlotKind, Launcher& launcher) override {
    std::set<JobId> jobs;
    for (const JobOrder& order : view.runnable_jobs()) jobs.insert(order.id);
    return std::any_of(jobs.rbegin(), jobs.rend(), [&](JobId id) { return launcher.launch(*view.job(id)); });
  }
};

/// Task i goes to node i + 1 and to no other.
class OneEach final : public Placement {
 public:
  OneEach(StageId of, bool preplaces) : of_(of), preplaces_(preplaces) {}
  bool places(const ClusterView&, const JobInfo&, const StageInfo& stage) const override { return stage.id == of_; }
  std::optional<std::uint32_t> choose(const ClusterView&, const JobInfo&, const StageInfo& stage, const NodeInfo& node) override {
    const std::uint32_t task = node.id.value() - 1;
    return stage.pending.contains(task) ? std::optional(task) : std::nullopt;
  }
  void waiting(const ClusterView& view, const JobInfo&, const StageInfo&, Decisions& decisions) override {
    decisions.wake_at(view.now() + std::chrono::seconds(7));
  }
  bool preplace(const ClusterView&, const Preplaceable& what, Decisions& decisions) override {
    if (preplaces_) (void)decisions.preplace({what.job, what.reader, 0}, NodeId(2), "");
    return preplaces_;
  }

 private:
  StageId of_;
  bool preplaces_;
};

TEST(Asked, ByJobsEachGetsTheBestNodeAndByNodesEachNodeTheNextJob) {
  for (const Asks asks : {Asks::jobs, Asks::nodes}) {
    Composition parts = first_come();
    parts.asks = asks;
    World world = world_of(std::move(parts));
    for (std::uint32_t id : {1u, 2u}) world.node(id, fmt::format("h{}", id), "r", 1);
    world.job(1, 0, Time(0), {{"h2"}});
    world.job(2, 0, Time(1), {{"h1"}});
    world.schedule();
    EXPECT_EQ(launches(world), asks == Asks::jobs ? "1.0@2 2.0@1" : "1.0@1 2.0@2");
  }
}

TEST(Asked, ByNodesThoseThatHoldTheInputGoFirst) {
  for (const bool near_first : {false, true}) {
    Composition parts = first_come();
    parts.asks = Asks::nodes;
    parts.near_first = near_first;
    World world = world_of(std::move(parts));
    for (std::uint32_t id : {1u, 2u, 3u}) world.node(id, fmt::format("h{}", id), "r", 1);
    world.job(1, 0, Time(0), {{"h2"}});
    world.job(2, 0, Time(1), {{"h1"}});
    world.job(3, 0, Time(2), anywhere(1));
    world.schedule();
    EXPECT_EQ(launches(world), near_first ? "2.0@1 1.0@2 3.0@3" : "1.0@1 2.0@2 3.0@3");
  }
}

/// All nodes have room: each takes one, the freest first. As published they take what they can, one after the other.
TEST(Asked, ByNodesInTurnsTheTasksOfAJobAreSpread) {
  for (const bool in_turns : {false, true}) {
    Composition parts = first_come();
    parts.asks = Asks::nodes;
    parts.in_turns = in_turns;
    World world = world_of(std::move(parts));
    for (std::uint32_t id : {1u, 2u, 3u}) world.node(id, fmt::format("h{}", id), "r", 2);
    world.job(1, 0, Time(0), anywhere(3));
    world.schedule();
    EXPECT_EQ(launches(world), in_turns ? "1.0@1 1.1@2 1.2@3" : "1.0@1 1.1@1 1.2@2");
  }
}

TEST(Asked, ByNodesOnlyTheOneThatReports) {
  Composition parts = first_come();
  parts.asks = Asks::nodes;
  World world = world_of(std::move(parts));
  for (std::uint32_t id : {1u, 2u, 3u}) world.node(id, fmt::format("h{}", id), "r", 2);
  world.job(1, 0, Time(0), anywhere(3));
  world.beat(2);
  EXPECT_EQ(launches(world), "1.0@2 1.1@2");
  world.schedule();
  EXPECT_EQ(launches(world), "1.0@2 1.1@2 1.2@1");
}

TEST(Asked, ByNodesItIsSaidOnceWhyAJobWaits) {
  Composition parts = first_come();
  parts.asks = Asks::nodes;
  World world = world_of(std::move(parts));
  for (std::uint32_t id : {1u, 2u, 3u}) world.node(id, fmt::format("h{}", id), "r", 2);
  world.job(1, 0, Time(0), anywhere(1), {.cpu = 3});
  world.schedule();
  EXPECT_EQ(world.holds[JobId(1)], "no free node has room for its tasks");
}

/// Offers the second stage of every job before the first, to nodes of rack r1 alone.
class SecondStages final : public OrderingPolicy {
 public:
  Asks asks() const override { return Asks::nodes; }
  bool offer(const ClusterView& view, SlotKind, Launcher& launcher) override {
    if (launcher.node() == nullptr || view.rack(launcher.node()->rack)->name != "r1") return false;
    for (const std::uint32_t stage : {1u, 0u}) {
      for (const JobOrder& order : view.runnable_jobs()) {
        const JobInfo& job = *view.job(order.id);
        if (job.stage(StageId(stage)) != nullptr && launcher.launch(job, *job.stage(StageId(stage)), Locality::rack)) return true;
      }
    }
    return false;
  }
};

TEST(Asked, AnOrderMayLookAtTheNodeAndOfferStagesOneByOne) {
  Composition parts;
  parts.jobs = std::make_unique<SecondStages>();
  World world = world_of(std::move(parts));
  world.node(1, "h1", "r1", 3);
  world.node(2, "h2", "r2", 3);
  JobInfo& job = world.job(1);
  world.stage(job, 0, {{"h1"}, {"h2"}});
  world.stage(job, 1, anywhere(1));
  world.schedule();
  ASSERT_EQ(world.launched.size(), 1u) << "without a preference there is nothing within the rack, and h2 is beyond it";
  EXPECT_EQ(world.launched[0].task, (TaskId{JobId(1), StageId(0), 0}));
  EXPECT_EQ(world.launched[0].node, NodeId(1));
}

TEST(Passes, FollowEachOtherAndTheLastOnesRestStaysIdle) {
  Composition parts = first_come();
  parts.passes.emplace_back().limit = std::make_unique<AtMost>(1);
  Pass& second = parts.passes.emplace_back();
  second.jobs = std::make_unique<LastFirst>();
  second.limit = std::make_unique<AtMost>(3);
  World world = world_of(std::move(parts));
  world.node(1, "h", "r", 10);
  for (std::uint64_t id : {1u, 2u}) world.job(id, 0, Time(id), anywhere(9));
  world.schedule();
  EXPECT_EQ(world.order(), "122211");
  EXPECT_FALSE(world.scheduler->work_conserving());
  EXPECT_EQ(world.holds[JobId(1)], "the job keeps to its share");
}

TEST(Passes, MayHaveAnOrderOfStagesOfTheirOwn) {
  Composition parts = first_come();
  parts.passes.emplace_back().limit = std::make_unique<AtMost>(1);
  auto options = Options::parse("stages=packing", {});
  parts.passes.emplace_back().stages = take_stage_order(*options, "fifo").value();
  World world = world_of(std::move(parts));
  world.node(1, "h", "r", 4, 4);
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(2), {.cpu = 1, .memory = 1});
  world.stage(job, 1, anywhere(1), {.cpu = 2, .memory = 2});
  world.schedule();
  ASSERT_EQ(world.launched.size(), 3u);
  EXPECT_EQ(world.launched[0].task.stage, StageId(0)) << "in order of definition";
  EXPECT_EQ(world.launched[1].task.stage, StageId(1)) << "what is aligned best";
}

TEST(Passes, PackingUsesWhatTheOnesBeforeItLeft) {
  // Shares are half of the node each: one task of the first job, two of the second. What is left suits the third job alone.
  World world("drf(form=closed, leftover=[srtf, packing])");
  world.node(1, "h", "r", 10, 10);
  world.stage(world.job(1), 0, anywhere(2), {.cpu = 4, .memory = 1}, 5);
  world.stage(world.job(2), 0, anywhere(4), {.cpu = 1, .memory = 4}, 5);
  world.schedule();
  EXPECT_TRUE(world.scheduler->work_conserving());
  EXPECT_LE(world.state.node(NodeId(1))->used.cpu, 10);
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.running(2), 2u);
  EXPECT_FALSE(make_scheduler("drf(form=closed, leftover=[srtf, packed])"));
  EXPECT_TRUE(make_scheduler("drf(form=closed, leftover=packing)"));
}

TEST(Passes, AStrictLimitHoldsForSpeculativeAttemptsToo) {
  Composition parts = first_come();
  auto limit = std::make_unique<AtMost>(0);
  AtMost& told = *limit;
  parts.passes.emplace_back().limit = std::move(limit);
  World world = world_of(std::move(parts));
  world.scheduler->speculate(world.state, {}, world);
  EXPECT_EQ(told.plans, 1);
}

TEST(Placements, AnswerForMapsToo) {
  Composition parts = first_come();
  parts.placement = std::make_unique<OneEach>(StageId(0), false);
  World world = world_of(std::move(parts));
  for (std::uint32_t id : {1u, 2u, 3u}) world.node(id, fmt::format("h{}", id), "r", 4);
  JobInfo& job = world.job(1);
  world.stage(job, 0, {{"h3"}, {"h3"}, {"h1"}, {"h1"}});
  world.stage(job, 1, anywhere(1));
  world.schedule();
  EXPECT_EQ(launches(world), "1.0@1 1.1@2 1.2@3 1.0@1") << "and the other stage goes where there is room";
  EXPECT_EQ(world.holds[JobId(1)], "waits for a node nearer to what it reads");
  ASSERT_FALSE(world.wakes.empty());
  EXPECT_EQ(world.wakes[0], std::chrono::seconds(7));
}

TEST(Placements, PreplaceThemselvesOrLeaveItToTheGeneralRule) {
  for (const auto& [itself, general] : {std::pair(true, true), std::pair(false, true), std::pair(false, false)}) {
    Composition parts = first_come();
    parts.placement = std::make_unique<OneEach>(StageId(0), itself);
    parts.preplaces = general;
    World world = world_of(std::move(parts));
    for (std::uint32_t id : {1u, 2u}) world.node(id, fmt::format("h{}", id), "r", 1);
    JobInfo& job = world.job(1);
    StageInfo& maps = world.stage(job, 0, anywhere(1));
    StageInfo& reader = world.stage(job, 1, anywhere(4), {.cpu = 1}, 0, {0});
    maps.output = ShuffleSizes(1, 4);
    maps.output.add(0, NodeId(1), {1, 1, 1, 1});
    world.scheduler->preplace(world.state, {JobId(1), StageId(1), {{StageId(0), 0}}, {}}, world);
    std::size_t placed = 0;
    for (const auto& [node, tasks] : reader.preplaced) placed += tasks.size();
    EXPECT_EQ(placed, itself ? 1u : general ? 4u : 0u);
  }
}

/// Every ten seconds what it allows grows by one.
class Growing final : public Limit {
 public:
  Time period() const override { return std::chrono::seconds(10); }
  bool tick(const ClusterView& view, Decisions&) override {
    ticks.push_back(view.now());
    return true;
  }
  void plan(const ClusterView&) override {}
  bool may_launch(const ClusterView&, const JobInfo& job, const StageInfo&) override { return job.running < ticks.size(); }
  std::vector<Time> ticks;
};

TEST(Cycles, TickOncePerPeriodWhileThereAreJobs) {
  using std::chrono::seconds;
  Composition parts = first_come();
  auto limit = std::make_unique<Growing>();
  Growing& growing = *limit;
  parts.passes.emplace_back().limit = std::move(limit);
  World world = world_of(std::move(parts));
  world.node(1, "h1", "r", 1);
  world.node(2, "h2", "r", 4);
  world.schedule();
  EXPECT_TRUE(growing.ticks.empty() && world.wakes.empty()) << "nobody is there";
  world.job(1, 0, Time(0), anywhere(9));
  for (const double now : {3, 4, 12, 13, 40, 49, 50}) {
    world.at(now);
    world.beat(1);
  }
  EXPECT_EQ(growing.ticks, (std::vector<Time>{seconds(3), seconds(13), seconds(40), seconds(50)}));
  EXPECT_EQ(world.wakes.back(), seconds(60));
  EXPECT_EQ(world.running(1), 4u) << "at a tick all nodes are looked at, not the one that reports";
}

TEST(PackingInside, DelayWaitsForNodesThatHoldTheInput) {
  World world("delay(inner=tetris(srtf=false, penalty=1), skips=2)");
  world.node(1, "h1", "r", 1);
  world.node(2, "h2", "r", 1);
  world.job(1, 0, Time(0), {{"h2"}, {"h2"}});
  world.beat(1);
  world.beat(1);
  EXPECT_EQ(launches(world), "");
  EXPECT_EQ(world.holds[JobId(1)], "waits for room on a node that holds its input");
  world.beat(2);
  EXPECT_EQ(launches(world), "1.0@2");
  world.beat(1);
  world.beat(1);
  EXPECT_EQ(launches(world), "1.0@2") << "a local task sets it back";
  world.beat(1);
  EXPECT_EQ(launches(world), "1.0@2 1.1@1") << "two opportunities were passed up";
}

TEST(PackingInside, AnOpportunityThatIsTooManyIsTakenAtOnce) {
  World world("delay(inner=tetris, skips=0)");
  world.node(1, "h1", "r", 1);
  world.job(1, 0, Time(0), {{"h2"}});
  world.beat(1);
  EXPECT_EQ(launches(world), "1.0@1");
}

TEST(PackingInside, CogrsDecidesWhereReducesGo) {
  World world("cogrs(inner=tetris, wait=4s)");
  for (std::uint32_t id : {1u, 2u}) world.node(id, fmt::format("h{}", id), "r", 2);
  JobInfo& job = world.job(1);
  StageInfo& maps = world.stage(job, 0, {{"h2"}});
  world.beat(2);
  maps.output = ShuffleSizes(1, 1);
  maps.output.add(0, NodeId(2), {1 << 20});
  world.finish(world.launched.at(0).task);
  world.stage(job, 1, anywhere(1), {.cpu = 1}, 0, {0});
  world.beat(1);
  EXPECT_EQ(world.launched.size(), 1u) << "node 2 has room, and is nearer";
  ASSERT_FALSE(world.wakes.empty());
  EXPECT_EQ(world.wakes.back(), std::chrono::seconds(4));
  world.beat(2);
  EXPECT_EQ(launches(world), "1.0@2 1.0@2");
}

TEST(PackingInside, OrdersOfStagesAreNotForIt) {
  for (const char* spec : {"cpm(inner=tetris)", "bfs(inner=delay(inner=tetris))"}) {
    const auto made = make_scheduler(spec);
    ASSERT_FALSE(made) << spec;
    EXPECT_NE(made.error().to_string().find("scheduler option inner has no use for an order of stages"), std::string::npos);
  }
}

TEST(Packing, TriesOtherTasksOfAStageWhenTheSourcesOfTheNearestHaveNoRoom) {
  constexpr double kMega = 1e6;
  World world("tetris(mode=paper, srtf=false, barrier=2)");
  for (std::uint32_t id : {1u, 2u, 3u})
    world.node(id, fmt::format("h{}", id), "r", Resources{.cpu = 4, .network_in = 200 * kMega, .network_out = 100 * kMega});
  world.job(1, 0, Time(0), {{"h1"}, {"h1"}, {"h1"}, {"h2"}, {"h2"}}, {.cpu = 1, .network_in = 60 * kMega});
  world.beat(3);
  EXPECT_EQ(launches(world), "1.0@3 1.3@3") << "60 of 100 go out of h1, then 60 of h2";
  world.beat(3);
  EXPECT_EQ(launches(world), "1.0@3 1.3@3 1.1@1 1.2@1 1.4@2") << "no others have room, but for where they lie themselves";
}

}  // namespace
}  // namespace weft::schedulers::passes_rules
