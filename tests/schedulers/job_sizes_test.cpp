// The work of jobs: which source of task lengths counts, and what is learned from other jobs.
#include "schedulers/parts/job_sizes.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::job_sizes_rules {
namespace {

void measured(StageInfo& stage, double seconds) {
  stage.observed_total = Time(static_cast<std::int64_t>(seconds * 1e9));
  stage.observed_count = 1;
}

TEST(JobSizes, AreTasksTimesLengthTimesTheDominantShare) {
  World world;
  world.node(1, "a", "r", 4, 10);
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(8), {.cpu = 1, .memory = 5}, 3);  // half of the memory
  world.stage(job, 1, anywhere(2), {.cpu = 1}, 10, {0});
  EXPECT_DOUBLE_EQ(JobSizes().of(world.state, job).all, 8 * 3 * 0.5 + 2 * 10 * 0.25);
}

TEST(JobSizes, AMeasuredLengthCountsBeforeAnEstimate) {
  World world;
  world.node(1, "a", "r", 1);
  JobInfo& job = world.job(1);
  StageInfo& stage = world.stage(job, 0, anywhere(5), {.cpu = 1}, 3);
  measured(stage, 7);
  EXPECT_DOUBLE_EQ(JobSizes().of(world.state, job).all, 5 * 7);
}

TEST(JobSizes, UnknownTasksAreAsLongAsThoseOfOtherJobsLately) {
  World world;
  world.node(1, "a", "r", 2);
  JobSizes sizes;
  const JobInfo& unknown = world.job(1);
  world.stage(world.state.mutable_job(JobId(1)), 0, anywhere(3));
  EXPECT_DOUBLE_EQ(sizes.of(world.state, unknown).all, 3 * 0.5) << "a second before anything is known";
  StageInfo& other = world.stage(world.job(2), 0, anywhere(1));
  other.tasks[0].launched = Time(0);
  other.tasks[0].ended = std::chrono::seconds(8);
  measured(other, 8);
  sizes.on_event(world.state, {.kind = Notice::Kind::task_finished, .job = JobId(2), .stage = StageId(0), .task = 0});
  EXPECT_DOUBLE_EQ(sizes.of(world.state, unknown).all, 3 * 8 * 0.5);
}

TEST(JobSizes, UnknownReducesAreJudgedByTheMapsOfTheirJob) {
  World world;
  world.node(1, "a", "r", 1);
  JobInfo& job = world.job(1);
  StageInfo& maps = world.stage(job, 0, anywhere(4));
  maps.writes_shuffle = true;
  world.stage(job, 1, anywhere(2), {.cpu = 1}, 0, {0});
  measured(maps, 6);
  EXPECT_DOUBLE_EQ(JobSizes().of(world.state, job).all, 4 * 6 + 2 * 6);
}

TEST(JobSizes, WhatIsLeftIsNotLaunchedYet) {
  World world("fifo");
  world.node(1, "a", "r", 2);
  JobInfo& job = world.job(1);
  world.stage(job, 0, anywhere(5), {.cpu = 1}, 4);
  world.schedule();
  world.finish(world.launched.at(0).task);
  const JobSize size = JobSizes().of(world.state, job);
  EXPECT_DOUBLE_EQ(size.all, 5 * 4 * 0.5);
  EXPECT_DOUBLE_EQ(size.left, 3 * 4 * 0.5) << "one has ended, one runs";
}

}  // namespace
}  // namespace weft::schedulers::job_sizes_rules
