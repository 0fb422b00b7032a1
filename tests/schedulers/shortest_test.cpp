// Shortest job first and its like: what remains, how it is measured, and the order of stages within a job.
#include "schedulers/policies/shortest.hpp"

#include "schedulers/parts/stage_orders.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::shortest_rules {
namespace {

constexpr double kGiB = 1u << 30;

/// The job whose task is launched first on a cluster of that capacity where one task runs at a time.
struct Jobs {
  World world;
  explicit Jobs(const std::string& spec) : world(spec) {}
  void add(std::uint64_t id, std::size_t tasks, const Resources& demand, double seconds) {
    world.stage(world.job(id), 0, anywhere(tasks), demand, seconds);
  }
  std::uint64_t first() {
    world.schedule();
    return world.launched.at(0).task.job.value();
  }
};

TEST(RemainingWork, IsTheNormOfTheDemandTimesTasksTimesDuration) {
  World world;
  world.node(1, "a", "r", 10, 10);
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(2), {.cpu = 3, .memory = 4}, 7);  // |<.3, .4>| = .5
  world.stage(job, 1, anywhere(3), {.cpu = 1}, 10, {0});         // .1
  EXPECT_DOUBLE_EQ(remaining_work(world.state, job), 0.5 * 2 * 7 + 0.1 * 3 * 10);
}

TEST(RemainingWork, OneTaskOfAHalfIsLessThanThreeOfAQuarter) {
  Jobs jobs("srtf");
  jobs.add(1, 3, {.cpu = 1}, 1);  // 3 * 1/4, and without the root 3 * 1/16
  jobs.add(2, 1, {.cpu = 2}, 1);  // 1/2, and without it 1/4
  jobs.world.node(1, "a", "r", 4);
  EXPECT_EQ(jobs.first(), 2u);
}

TEST(RemainingWork, DemandsArePartsOfTheCluster) {
  Jobs jobs("srtf");
  jobs.add(1, 1, {.cpu = 4, .memory = kGiB}, 1);       // a half of the processors
  jobs.add(2, 1, {.cpu = 1, .memory = 16 * kGiB}, 1);  // a quarter of the memory
  jobs.world.node(1, "a", "r", 8, 64 * kGiB);
  EXPECT_EQ(jobs.first(), 2u);
}

TEST(RemainingWork, IsWithoutFinishedTasks) {
  World world("srtf");
  world.node(1, "a", "r", 1);
  world.stage(world.job(1), 0, anywhere(4), {.cpu = 1}, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    world.schedule();
    world.finish(world.launched.at(i).task);
  }
  world.stage(world.job(2), 0, anywhere(2), {.cpu = 1}, 1);
  world.schedule();
  EXPECT_EQ(world.order(), "1111") << "one is left of job 1, two of job 2";
}

TEST(RemainingWork, LongTasksAreMore) {
  Jobs jobs("srtf");
  jobs.add(1, 1, {.cpu = 1}, 10);
  jobs.add(2, 2, {.cpu = 1}, 1);
  jobs.world.node(1, "a", "r", 1);
  EXPECT_EQ(jobs.first(), 2u);
}

TEST(Durations, AreEstimatedBeforeTheyAreObserved) {
  World world("srtf");
  world.node(1, "a", "r", 1);
  StageInfo& stage = world.stage(world.job(1), 0, anywhere(1), {.cpu = 1}, 10);
  stage.observed_total = std::chrono::seconds(1);
  stage.observed_count = 1;
  EXPECT_EQ(task_seconds(stage), 10);
  stage.estimated_duration.reset();
  EXPECT_EQ(task_seconds(stage), 1);
  stage.observed_count = 4;
  EXPECT_EQ(task_seconds(stage), 0.25) << "the mean";
  stage.observed_count = 0;
  EXPECT_EQ(task_seconds(stage), 1) << "all stages alike";
}

TEST(ShortestPath, OfWhatRemainsOrOfAll) {
  for (const auto& [size, next] : {std::pair("remaining_path", "11"), std::pair("path", "12")}) {
    World world(fmt::format("sjf(size={})", size));
    world.node(1, "a", "r", 1);
    JobInfo& first = world.job(1);
    world.stage(first, 0, anywhere(1), {.cpu = 1}, 10);
    world.stage(first, 1, anywhere(1), {.cpu = 1}, 1, {0});
    world.schedule();
    world.finish(world.launched.at(0).task);
    world.stage(world.job(2), 0, anywhere(1), {.cpu = 1}, 5);
    world.schedule();
    EXPECT_EQ(world.order(), next) << size;
  }
}

TEST(CriticalPaths, GoOnWithTheLongestOfTheChildren) {
  World world("cpm");
  world.node(1, "a", "r", 1);
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(1), {.cpu = 1}, 1);
  world.stage(job, 1, anywhere(1), {.cpu = 1}, 6);
  world.stage(job, 2, anywhere(1), {.cpu = 1}, 4, {0});
  world.stage(job, 3, anywhere(1), {.cpu = 1}, 4, {0});
  EXPECT_EQ(critical_paths(job, false).at(StageId(0)), 5);
  world.schedule();
  EXPECT_EQ(world.launched.at(0).task.stage, StageId(1));
}

TEST(CriticalPaths, GrowWithStagesThatComeLater) {
  World world("cpm");
  world.node(1, "a", "r", 1);
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(2), {.cpu = 1}, 1);
  world.stage(job, 1, anywhere(2), {.cpu = 1}, 6);
  world.schedule();
  ASSERT_EQ(world.launched.at(0).task.stage, StageId(1));
  world.stage(job, 2, anywhere(1), {.cpu = 1}, 9, {0});
  world.finish(world.launched.at(0).task);
  world.schedule();
  EXPECT_EQ(world.launched.at(1).task.stage, StageId(0));
}

TEST(BreadthFirst, ARootThatComesLateGoesBeforeWhatFollowsAnother) {
  World world("bfs");
  world.node(1, "a", "r", 1);
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(1));
  world.stage(job, 1, anywhere(2), {.cpu = 1}, 0, {0});
  world.schedule();
  world.at(1);
  world.finish(world.launched.at(0).task);
  world.at(2);
  world.stage(job, 2, anywhere(1));
  world.schedule();
  EXPECT_EQ(world.launched.at(1).task.stage, StageId(2));
}

}  // namespace
}  // namespace weft::schedulers::shortest_rules
