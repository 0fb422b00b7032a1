// Every job is counted in the pool or queue that its scheduler put it into, and in no other.
#include "engine/master/server/group_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/schedulers/world.hpp"

namespace weft::master {
namespace {

using schedulers::World;
using testing::ElementsAre;

constexpr const char* kQueues = R"([[queue]]
name = "etl"
capacity = 60
[[queue]]
name = "default"
capacity = 40
)";

/// Jobs that name the pool `etl` or none, with one task that runs and others that wait.
class GroupList : public testing::Test {
 protected:
  std::vector<std::string> rows(const std::string& scheduler, const std::string& pool = "etl") {
    World world(scheduler, {{"q", kQueues}});
    world.node(1, "h1", "r", 3);
    std::uint32_t tasks = 2;
    for (const auto& [user, named] : {std::pair("ann", pool), std::pair("ann", std::string()), std::pair("", std::string())})
      world.stage(world.job(tasks, user, named), 0, schedulers::anywhere(tasks), {.cpu = 1}), ++tasks;
    world.schedule();
    std::vector<std::string> rows;
    for (const client::GroupInfo& group : group_list(world.scheduler->groups(world.state), world.state))
      rows.push_back(fmt::format("{}{} {} {} of {}", group.status.name, group.unknown ? "?" : "", group.status.jobs, group.running,
                                 group.running + group.pending));
    return rows;
  }
};

TEST_F(GroupList, AJobWithoutAPoolIsInThatOfItsUserUnderFair) {
  EXPECT_THAT(rows("fair"), ElementsAre("etl 1 1 of 2", "ann 1 1 of 3", "default 1 1 of 4"));
}

TEST_F(GroupList, AndInTheDefaultQueueUnderCapacity) {
  EXPECT_THAT(rows("capacity(queues=q)"), ElementsAre("etl 1 2 of 2", "default 2 1 of 7"));
  EXPECT_THAT(rows("capacity"), ElementsAre("default 3 3 of 9")) << "its only queue takes all jobs";
}

TEST_F(GroupList, PoolsThatTheSchedulerDoesNotKnowAreThoseThatJobsName) {
  EXPECT_THAT(rows("fifo"), ElementsAre("? 2 1 of 7", "etl? 1 2 of 2"));
  EXPECT_THAT(rows("fifo", "default"), ElementsAre("? 2 1 of 7", "default? 1 2 of 2"));
}

}  // namespace
}  // namespace weft::master
