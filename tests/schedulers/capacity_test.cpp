#include "schedulers/policies/capacity.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

/// Two queues of 75 and 25 percent.
std::map<std::string, std::string> two(const std::string& more_of_a = "", const std::string& more_of_b = "") {
  return {{"q.toml",
           fmt::format("[[queue]]\nname='a'\ncapacity=75\n{}\n[[queue]]\nname='b'\ncapacity=25\n{}\n", more_of_a, more_of_b)}};
}
const std::string kFactor = "user_limit_factor=10";

void submit_to_queue(World& world, std::uint64_t id, const std::string& queue, std::size_t tasks, const std::string& user = "u",
                     int priority = 0) {
  world.stage(world.job(id, user, queue, priority), 0, anywhere(tasks));
}

TEST(Capacity, QueuesGetTheirPart) {
  World world("capacity(queues=q.toml)", two());
  world.node(1, "x", "r", 8);
  submit_to_queue(world, 1, "a", 100);
  submit_to_queue(world, 2, "b", 100);
  world.schedule();
  EXPECT_EQ(world.running(1), 6u);
  EXPECT_EQ(world.running(2), 2u);
}

TEST(Capacity, LentRoomComesBackOnlyWhenTheBorrowedTasksEnd) {  // BS-4
  World world("capacity(queues=q.toml)", two("", kFactor));
  world.node(1, "x", "r", 8);
  submit_to_queue(world, 1, "b", 100);
  world.schedule();
  ASSERT_EQ(world.running(1), 8u) << "b borrows what a does not use";
  submit_to_queue(world, 2, "a", 100);
  world.at(100000);
  world.schedule();
  EXPECT_EQ(world.running(2), 0u);
  EXPECT_TRUE(world.preempted.empty()) << "never kills";
  for (std::size_t i = 0; i < 6; ++i) {
    world.finish(world.launched[i].task);
    world.beat(1);
    EXPECT_EQ(world.launched.back().task.job, JobId(2)) << "each freed slot goes to the queue below its capacity";
    EXPECT_EQ(world.running(2), i + 1);
  }
  world.finish(world.launched[6].task);
  world.beat(1);
  EXPECT_EQ(world.running(2) + world.running(1), 8u);
  EXPECT_TRUE(world.preempted.empty());
}

TEST(Capacity, BorrowingEndsAtTheMaximumCapacity) {
  World world("capacity(queues=q.toml)", two("", kFactor + "\nmax_capacity=50"));
  world.node(1, "x", "r", 8);
  submit_to_queue(world, 1, "b", 100);
  world.schedule();
  EXPECT_EQ(world.running(1), 4u);
  EXPECT_EQ(world.holds.at(JobId(1)), "its queue is at its maximum capacity");
}

/// Jobs that have tasks running.
std::string served(const World& world, std::uint64_t jobs) {
  std::string text;
  for (std::uint64_t id = 1; id <= jobs; ++id)
    text += world.state.job(JobId(id)) != nullptr && world.running(id) > 0 ? fmt::format("{}", id) : "";
  return text;
}

TEST(CapacityInitialized, AQueueServesItsPartOfTheSystemsJobs) {  // 75 % of 4 and 25 % of 4
  World world("capacity(queues=q.toml, max_system_jobs=4)", two(kFactor, kFactor));
  world.node(1, "x", "r", 20);
  for (std::uint64_t id = 1; id <= 7; ++id) submit_to_queue(world, id, id <= 5 ? "a" : "b", 2);
  world.schedule();
  EXPECT_EQ(served(world, 7), "1236");
  EXPECT_EQ(world.holds.at(JobId(4)), "as many jobs of its queue, or of its user there, as may run at a time run already");
  world.finish({JobId(1), StageId(0), 0});
  world.schedule();
  EXPECT_EQ(served(world, 7), "1236") << "job 1 has a task left";
  world.finish({JobId(1), StageId(0), 1});
  world.schedule();
  EXPECT_EQ(served(world, 7), "2346") << "and now it has none, though it has not ended";
  world.end(2);
  world.schedule();
  EXPECT_EQ(served(world, 7), "3456");
}

TEST(CapacityInitialized, OfAUserAsManyAsItsPartOfTheQueue) {
  World world("capacity(queues=q.toml, max_system_jobs=8)", two("user_limit_percent=34\n" + kFactor, kFactor));
  world.node(1, "x", "r", 40);
  for (std::uint64_t id = 1; id <= 4; ++id) submit_to_queue(world, id, "a", 2, "alice");  // 34 % of 6: 3
  submit_to_queue(world, 5, "a", 2, "bob");
  world.schedule();
  EXPECT_EQ(served(world, 5), "1235");
  submit_to_queue(world, 6, "a", 2, "bob");
  world.end(1);
  world.schedule();
  EXPECT_EQ(served(world, 6), "23456");
}

TEST(CapacityInitialized, TheQueueMaySayHowMany) {
  World world("capacity(queues=q.toml)",
              two(kFactor + "\nmax_initialized_jobs=3\nmax_initialized_jobs_per_user=2\npriorities=true"));
  world.node(1, "x", "r", 20);
  for (std::uint64_t id = 1; id <= 6; ++id) submit_to_queue(world, id, "a", 1, id < 4 ? "alice" : "bob", id == 6 ? 1 : 0);
  world.schedule();
  EXPECT_EQ(served(world, 6), "124");
  world.finish(world.launched.at(0).task);
  world.schedule();
  EXPECT_EQ(served(world, 6), "246") << "bob's second, which is first by priority, goes before alice's";
  for (const char* wrong : {"max_initialized_jobs=0", "max_initialized_jobs=1.5", "max_initialized_jobs_per_user=-1"})
    EXPECT_FALSE(make_scheduler("capacity(queues=q.toml)", reader_of(two(wrong)))) << wrong;
  EXPECT_FALSE(make_scheduler("capacity(max_system_jobs=0)"));
}

TEST(Capacity, AFullParentHoldsTheJobsOfAllQueuesBelowIt) {
  World world("capacity(queues=q.toml)", {{"q.toml", R"(
[[queue]]
name = "top"
capacity = 50
max_capacity = 50
[[queue]]
name = "left"
parent = "top"
capacity = 75
user_limit_factor = 10
[[queue]]
name = "right"
parent = "top"
capacity = 25
[[queue]]
name = "deep"
parent = "right"
capacity = 100
[[queue]]
name = "default"
capacity = 50
)"}});
  world.node(1, "x", "r", 16);
  submit_to_queue(world, 1, "left", 100);
  world.schedule();
  ASSERT_EQ(world.running(1), 8u) << "all that its parent may have";
  submit_to_queue(world, 2, "deep", 100);
  submit_to_queue(world, 3, "", 2);
  world.schedule();
  EXPECT_EQ(world.running(1), 8u);
  EXPECT_EQ(world.running(2), 0u) << "below its capacity, but its parent has no more to give";
  EXPECT_EQ(world.running(3), 2u);
  EXPECT_EQ(world.holds.at(JobId(1)), "queue top is at its maximum capacity");
  EXPECT_EQ(world.holds.at(JobId(2)), "queue top is at its maximum capacity");
  EXPECT_FALSE(world.holds.contains(JobId(3)));
}

TEST(Capacity, OneUserHasNoMoreThanTheFactorTimesTheQueue) {
  World world("capacity(queues=q.toml)", two());
  world.node(1, "x", "r", 8);
  submit_to_queue(world, 1, "b", 100);
  world.schedule();
  EXPECT_EQ(world.running(1), 2u);
  submit_to_queue(world, 2, "b", 100, "another");
  world.schedule();
  EXPECT_EQ(world.running(2), 2u) << "another user borrows on its own account";
}

TEST(Capacity, ActiveUsersShareAQueueDownToTheUserLimit) {
  for (const auto& [percent, each] : {std::pair(25, 2u), std::pair(50, 4u)}) {
    World world("capacity(queues=q.toml)",
                {{"q.toml", fmt::format("[[queue]]\nname='a'\ncapacity=100\nuser_limit_percent={}", percent)}});
    world.node(1, "x", "r", 8);
    for (std::uint64_t id = 1; id <= 4; ++id) submit_to_queue(world, id, "a", 100, fmt::format("user{}", id));
    world.schedule();
    EXPECT_EQ(world.running(1), each);
    EXPECT_EQ(world.running(2), each);
    EXPECT_EQ(world.running(4), percent == 25 ? 2u : 0u);
  }
}

TEST(Capacity, WhoIsActiveSharesAQueueHoweverSmallTheUserLimit) {
  World world("capacity(queues=q.toml)", {{"q.toml", "[[queue]]\nname='a'\ncapacity=100\nuser_limit_percent=1"}});
  world.node(1, "x", "r", 8);
  submit_to_queue(world, 1, "a", 4, "alice");
  submit_to_queue(world, 2, "a", 100, "bob");
  world.schedule();
  EXPECT_EQ(world.running(1), 4u);
  EXPECT_EQ(world.running(2), 4u);
  for (std::uint32_t task = 0; task < 4; ++task) world.finish({JobId(1), StageId(0), task});
  world.schedule();
  EXPECT_EQ(world.running(2), 8u) << "alice has nothing left to run, though her job has not ended";
}

TEST(Capacity, OfEqualQueuesTheFirstByNameGoesFirst) {
  World world("capacity(queues=q.toml)", {{"q.toml", "[[queue]]\nname='b'\ncapacity=50\n[[queue]]\nname='a'\ncapacity=50"}});
  world.node(1, "x", "r", 1);
  submit_to_queue(world, 1, "b", 1);
  submit_to_queue(world, 2, "a", 1);
  world.schedule();
  EXPECT_EQ(world.order(), "2");
}

TEST(Capacity, JobsOfAQueueGoInOrderOfSubmissionOrPriority) {
  for (const auto& [more, order] : {std::pair("", "11"), std::pair("priorities=true", "22")}) {
    World world("capacity(queues=q.toml)", two(more));
    submit_to_queue(world, 1, "a", 2);
    world.at(1);
    submit_to_queue(world, 2, "a", 2, "u", 5);
    world.node(1, "x", "r", 2);
    world.schedule();
    EXPECT_EQ(world.order(), order);
  }
}

TEST(Capacity, QueuesNest) {
  World world("capacity(queues=q.toml)", {{"q.toml", R"(
[[queue]]
name = "top"
capacity = 50
[[queue]]
name = "left"
parent = "top"
capacity = 75
[[queue]]
name = "right"
parent = "top"
capacity = 25
[[queue]]
name = "default"
capacity = 50
)"}});
  world.node(1, "x", "r", 16);
  submit_to_queue(world, 1, "left", 100);
  submit_to_queue(world, 2, "right", 100);
  submit_to_queue(world, 3, "", 100);
  world.schedule();
  EXPECT_EQ(world.running(1), 6u);
  EXPECT_EQ(world.running(2), 2u);
  EXPECT_EQ(world.running(3), 8u);
  const auto groups = world.scheduler->groups(world.state);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[1].name, "left");
  EXPECT_EQ(groups[1].parent, "top");
  EXPECT_EQ(groups[1].guaranteed, 6);
}

TEST(Capacity, RefusesJobsOfUnknownQueues) {
  World world("capacity(queues=q.toml)", two());
  JobInfo job;
  job.id = JobId(7);
  job.pool = "c";
  EXPECT_EQ(world.scheduler->admit(world.state, job).error().to_string(), "job 7 asks for queue 'c' (queues that take jobs: a, b)");
  job.pool = "";
  EXPECT_EQ(world.scheduler->admit(world.state, job).error().to_string(),
            "job 7 asks for no queue, and there is no queue 'default' (queues that take jobs: a, b)");
  World one("capacity");
  EXPECT_TRUE(one.scheduler->admit(one.state, job));
}

TEST(Capacity, AChangeThatTakesTheQueueOfARunningJobIsRefused) {
  World world("capacity(queues=q.toml)", two());
  submit_to_queue(world, 1, "b", 1);
  auto next = make_scheduler("capacity(queues=q.toml)", reader_of({{"q.toml", "[[queue]]\nname='a'\ncapacity=100"}})).value();
  const auto refused = next->start(world.state, world.scheduler.get());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(), "job 1 asks for queue 'b' (queues that take jobs: a)");
}

}  // namespace
}  // namespace weft::schedulers
