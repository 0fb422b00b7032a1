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

constexpr const char* kUsers = R"(
[[user]]
name = "alice"
weight = 3
[[user]]
name = "default"
weight = 0.5
)";

TEST(DrfHolders, UsersHaveTheWeightsOfTheirFile) {
  World world("drf(by=user, users=users.toml)", {{"users.toml", kUsers}});
  world.node(1, "a", "r", 8);
  for (std::uint64_t id : {1u, 2u, 3u, 4u}) {  // bob and carol are not in the file
    JobInfo& job = world.job(id, id < 3 ? "alice" : id == 3 ? "bob" : "carol");
    job.hints.weight = 10;  // of a job: says nothing about users
    world.stage(job, 0, anywhere(20));
  }
  world.schedule();
  EXPECT_EQ(world.running(1) + world.running(2), 6u);
  EXPECT_EQ(world.running(3), 1u);
  EXPECT_EQ(world.running(4), 1u);
}

TEST(DrfHolders, PoolsHaveTheWeightsOfTheFairSchedulersFile) {
  World world("drf(by=pool, pools=pools.toml)", {{"pools.toml", "[[pool]]\nname = 'x'\nweight = 3\nmin_share = 2\n"}});
  world.node(1, "a", "r", 8);
  world.stage(world.job(1, "", "x"), 0, anywhere(20));
  world.stage(world.job(2, "", "y"), 0, anywhere(20));
  world.schedule();
  EXPECT_EQ(world.running(1), 6u);
  EXPECT_EQ(world.running(2), 2u);
}

TEST(DrfHolders, WrongWeightsAreRefused) {
  const auto error_of = [](const std::string& spec, const std::string& text) {
    auto made = make_scheduler(spec, reader_of({{"w.toml", text}}));
    return made ? std::string() : made.error().to_string();
  };
  const std::string users = "drf(by=user, users=w.toml)", pools = "drf(by=pool, pools=w.toml)";
  EXPECT_NE(error_of(users, "[[user]]\nname = 'a'\nweight = 0").find("w.toml:3"), std::string::npos);
  EXPECT_NE(error_of(users, "[[user]]\nweight = 1").find("needs a name"), std::string::npos);
  EXPECT_NE(error_of(users, "[[user]]\nname = 'a'\n[[user]]\nname = 'a'").find("w.toml:4: user 'a' is given twice"),
            std::string::npos);
  EXPECT_NE(error_of(users, "[[pool]]\nname = 'a'").find("w.toml"), std::string::npos);
  EXPECT_NE(error_of(pools, "[[pool]]\nname = 'a'\n[[pool]]\nname = 'b'\nparent = 'a'").find("pool 'b' lies inside another"),
            std::string::npos);
  EXPECT_NE(error_of("drf(users=w.toml)", "").find("users"), std::string::npos) << "jobs have weights of their own";
}

TEST(DrfClosed, SharesThatAreTooSmallForAnyTaskStallNobody) {
  World world("drf(form=closed, strict=true)");
  world.node(1, "a", "r", 4);
  for (std::uint64_t id = 1; id <= 10; ++id) world.job(id, 0, Time(0), anywhere(2));
  world.schedule();
  for (std::uint64_t id = 1; id <= 10; ++id) EXPECT_EQ(world.running(id), id <= 4 ? 1u : 0u) << "a task each, the first jobs first";
  world.finish(TaskId{JobId(2), StageId(0), 0});
  world.schedule();
  EXPECT_EQ(world.running(2) + world.running(5), 1u) << "and another when one has ended, not when all have";
  std::size_t ended = 1;
  for (; ended < 20; ++ended) {
    const auto& running = world.state.node(NodeId(1))->running;
    ASSERT_FALSE(running.empty()) << ended;
    world.finish(running.begin()->task);
    world.schedule();
  }
}

TEST(DrfClosed, OfStrictSharesOnlyThoseThatStallAreExceeded) {
  World world("drf(form=closed, strict=true)");
  world.node(1, "a", "r", 4);
  world.job(1, 0, Time(0), anywhere(8));
  world.job(2, 0, Time(0), anywhere(8), {.cpu = 3});  // has a share of two cores
  world.schedule();
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.running(2), 0u);
  EXPECT_EQ(world.held, "the job keeps to its share");
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

TEST(DrfClosed, FinishedTasksCountNoMore) {
  // Job 1 as above until its tasks of cpu are done: <0, 1> each is left to both jobs, 6 of 12 for either.
  for (const auto& [mean, running] : {std::pair("remaining", 6u), std::pair("all", 9u)}) {
    World world(fmt::format("drf(form=closed, strict=true, mean={})", mean));
    world.node(1, "a", "r", 12, 12);
    JobInfo& first = world.job(1);
    world.stage(first, 0, anywhere(3), {.cpu = 1});
    world.stage(first, 1, anywhere(1), {.memory = 1});
    world.schedule();
    for (const auto& launch : std::vector(world.launched)) {
      if (launch.task.stage == StageId(0)) world.finish(launch.task);
    }
    world.job(2, 0, Time(0), anywhere(20), {.memory = 1});
    world.schedule();
    EXPECT_EQ(world.running(2), running) << mean;
  }
}

TEST(DrfClosed, EachTaskThatEndsChangesTheMean) {
  // Of job 1 two tasks of cpu are left and one of memory, <1, 1/2>: memory is asked 3/2 of, and job 2 gets 8 of 12.
  World world("drf(form=closed, strict=true)");
  world.node(1, "a", "r", 12, 12);
  JobInfo& first = world.job(1);
  world.stage(first, 0, anywhere(3), {.cpu = 1});
  world.stage(first, 1, anywhere(1), {.memory = 1});
  world.schedule();
  world.finish({JobId(1), StageId(0), 0});
  world.job(2, 0, Time(0), anywhere(20), {.memory = 1});
  world.schedule();
  EXPECT_EQ(world.running(2), 8u);
}

TEST(DrfClosed, RoundsAmountsAndNotPartsOfTheCapacity) {
  // 40 units: shares of 20 less what job 1 has, in hundredths of units. A task of 0.005 counts as 0.01, 2 of 20 as 20; of parts in
  // percent it would be .0125, so 0.01 or 0.004 units.
  World world("drf(form=closed, strict=true, mean=all, digits=2)");
  world.node(1, "a", "r", 40);
  JobInfo& first = world.job(1);
  world.stage(first, 0, anywhere(1), {.cpu = 0.005});
  world.schedule();
  ASSERT_EQ(world.running(1), 1u);
  world.stage(first, 1, anywhere(1), {.cpu = 19.995});
  world.job(2, 0, Time(0), anywhere(1), {.cpu = 1});
  world.schedule();
  EXPECT_EQ(world.running(1), 1u) << "19.99 is left of its share";
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

TEST(DrfClosed, AJobWhoseLastTaskWasLaunchedIsNotOfferedAgain) {
  World world("drf(form=closed, leftover=[furthest])");
  world.node(1, "a", "r", 3);
  world.stage(world.job(1), 3, anywhere(2));
  world.stage(world.job(2), 0, anywhere(1), {.cpu = 3});
  world.beat(1);
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.running(2), 0u);
}

}  // namespace
}  // namespace weft::schedulers::drf_rules
