// Dominant resource fairness with weights, for pools, and the closed form's means and limits.
#include "schedulers/policies/drf.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::drf_rules {
namespace {

JobInfo& weighted(World& world, std::uint64_t id, double weight) {
  JobInfo& job = world.job(id);
  job.hints.weight = weight;
  return job;
}

TEST(DrfWeights, DivideTheDominantShareOfAJob) {
  for (const char* spec : {"drf", "drf(form=closed, strict=true)", "drf(form=closed)"}) {
    SCOPED_TRACE(spec);
    World world(spec);
    world.node(1, "a", "r", 8);
    world.stage(weighted(world, 1, 3), 0, anywhere(20));
    world.stage(weighted(world, 2, 1), 0, anywhere(20));
    world.schedule();
    EXPECT_EQ(world.running(1), 6u);
    EXPECT_EQ(world.running(2), 2u);
  }
}

TEST(DrfHolders, PoolsShareByWhatTheirJobsHaveTogether) {
  World world("drf(by=pool)");
  world.node(1, "a", "r", 8);
  for (std::uint64_t id : {1u, 2u, 3u}) world.stage(world.job(id, "the same", id == 3 ? "y" : "x"), 0, anywhere(20));
  world.schedule();
  EXPECT_EQ(world.running(1) + world.running(2), 4u);
  EXPECT_EQ(world.running(3), 4u);
}

TEST(DrfClosed, TheDemandOfAJobIsThePlainMeanOfItsTasks) {
  // Job 1: three tasks of cpu, one of memory: <1, 1/3> of its dominant share. Job 2 needs memory only: <0, 1>. Memory is what most
  // is asked of, 4/3, so the share is 3/4 of it: 9 of 12. With a mean over stages it would be 6.
  World world("drf(form=closed, strict=true)");
  world.node(1, "a", "r", 12, 12);
  JobInfo& first = world.job(1);
  world.stage(first, 0, anywhere(3), {.cpu = 1});
  world.stage(first, 1, anywhere(1), {.memory = 1});
  world.job(2, 0, Time(0), anywhere(20), {.memory = 1});
  world.schedule();
  EXPECT_EQ(world.running(2), 9u);
}

TEST(DrfClosed, AJobThatHasFinishedItsStagesClaimsNothing) {
  World world("drf(form=closed, strict=true)");
  world.node(1, "a", "r", 8);
  world.job(1, 0, Time(0), anywhere(1));
  world.schedule();
  world.finish(world.launched[0].task);
  world.job(2, 0, Time(0), anywhere(20));
  world.schedule();
  EXPECT_EQ(world.running(2), 8u);
}

TEST(DrfClosed, SharesAreOfTheCapacityThereIs) {
  World world("drf(form=closed, strict=true)");
  world.node(1, "a", "r", 8);
  world.job(1, 0, Time(0), anywhere(20));
  world.job(2, 0, Time(0), anywhere(20));
  world.schedule();
  ASSERT_EQ(world.running(1), 4u);
  world.node(2, "b", "r", 8);
  world.schedule();
  EXPECT_EQ(world.running(1), 8u);
  EXPECT_EQ(world.running(2), 8u);
}

}  // namespace
}  // namespace weft::schedulers::drf_rules
