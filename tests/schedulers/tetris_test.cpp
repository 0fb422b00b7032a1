// Tetris, term by term of its score: align - epsilon * work, the penalty, the barrier and the fairness knob.
#include "schedulers/policies/tetris.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::tetris_rules {
namespace {

struct Packing {
  World world;
  explicit Packing(const std::string& options, double slots = 4, double memory = 0) : world(fmt::format("tetris({})", options)) {
    world.node(1, "a", "r1", slots, memory);
  }
  void add(std::uint64_t id, std::size_t tasks, const Resources& demand, double seconds = 1) {
    world.stage(world.job(id), 0, anywhere(tasks), demand, seconds);
  }
  void add(std::uint64_t id, std::vector<std::vector<std::string>> hosts) { world.job(id, 0, Time(0), std::move(hosts)); }
  std::uint64_t first() {
    world.schedule();
    return world.launched.at(0).task.job.value();
  }
};

TEST(TetrisPenalty, InputInTheRackIsRemoteToo) {
  Packing packing("srtf=false", 1);
  packing.world.node(2, "b", "r1", 0.1);
  packing.add(1, {{"b"}});
  packing.add(2, {{"a"}});
  EXPECT_EQ(packing.first(), 2u);
}

TEST(TetrisPenalty, IsForTasksThatHaveInput) {
  Packing packing("srtf=false", 1);
  packing.add(1, {{}, {"elsewhere"}});  // its first task reads nothing
  packing.add(2, {{"a"}});
  EXPECT_EQ(packing.first(), 1u);
}

TEST(TetrisWork, IsWithoutFinishedTasks) {
  Packing packing("barrier=2", 1);
  packing.add(1, 10, {.cpu = 1});
  for (std::size_t i = 0; i < 9; ++i) {
    packing.world.schedule();
    packing.world.finish(packing.world.launched.at(i).task);
  }
  packing.add(2, 5, {.cpu = 1});
  packing.world.schedule();
  EXPECT_EQ(packing.world.launched.at(9).task.job, JobId(1)) << "one is left, against five";
}

TEST(TetrisWork, CountsDurations) {
  Packing packing("");
  packing.add(1, 1, {.cpu = 4}, 100);
  packing.add(2, 2, {.cpu = 4}, 1);
  EXPECT_EQ(packing.first(), 2u);
}

TEST(TetrisWork, IsOverAllResources) {
  // Equally aligned with the empty node. Work: 2 * (.5 + .1) against .5 + .1.
  Packing packing("", 4, 4);
  packing.add(1, 2, {.cpu = 2, .memory = 0.4});
  packing.add(2, 1, {.cpu = 0.4, .memory = 2});
  EXPECT_EQ(packing.first(), 2u);
}

TEST(TetrisScore, AlignmentAndWorkWeighTheSameOnTheWhole) {
  // align .75 and .25; work 15 and 10; epsilon 1/25: .75 - .6 against .25 - .4.
  Packing packing("");
  packing.add(1, 2, {.cpu = 3}, 10);
  packing.add(2, 4, {.cpu = 1}, 10);
  EXPECT_EQ(packing.first(), 1u);
}

TEST(TetrisScore, AlignsWithWhatIsFree) {
  // Of cpu a tenth is left, of memory everything: .1 * .1 against .01 * .1 + .05 * 1. Of the whole node they would ask .1 and .06.
  Packing packing("srtf=false", 10, 10);
  packing.add(1, 9, {.cpu = 1});
  packing.world.schedule();
  ASSERT_EQ(packing.world.launched.size(), 9u);
  packing.add(2, 1, {.cpu = 1});
  packing.add(3, 1, {.cpu = 0.1, .memory = 0.5});
  packing.world.schedule();
  EXPECT_EQ(packing.world.launched.at(9).task.job, JobId(3));
}

TEST(TetrisFairness, LooksAtSharesOverWeights) {
  Packing packing("srtf=false, fairness=0.5", 8);
  for (const auto& [id, weight] : {std::pair(1u, 3.0), std::pair(2u, 1.0)}) {
    JobInfo& job = packing.world.job(id);
    job.hints.weight = weight;
    packing.world.stage(job, 0, anywhere(20));
  }
  packing.world.schedule();
  EXPECT_EQ(packing.world.running(1), 6u);
  EXPECT_EQ(packing.world.running(2), 2u);
}

TEST(TetrisFairness, ConsidersTheFirstPartOfTheJobsRoundedUp) {
  Packing packing("srtf=false, fairness=0.5");
  for (std::uint64_t id : {1u, 2u, 3u}) packing.add(id, 1, {.cpu = static_cast<double>(id)});
  EXPECT_EQ(packing.first(), 2u) << "the better aligned of the first two";
}

TEST(TetrisBarrier, ATenthFromItsEndAStageGoesFirstWhateverTheScore) {
  for (const auto& [finished, next] : {std::pair(8u, 2u), std::pair(9u, 1u)}) {
    Packing packing("srtf=false", 1);
    packing.add(1, 10, {.cpu = 0.6});
    for (std::size_t i = 0; i < finished; ++i) {
      packing.world.schedule();
      packing.world.finish(packing.world.launched.at(i).task);
    }
    packing.add(2, 1, {.cpu = 1});  // better aligned
    packing.world.schedule();
    EXPECT_EQ(packing.world.launched.at(finished).task.job, JobId(next)) << finished << " of 10 are done";
  }
}

}  // namespace
}  // namespace weft::schedulers::tetris_rules
