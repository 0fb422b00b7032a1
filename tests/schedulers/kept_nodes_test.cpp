// Which nodes are kept for tasks that fit nowhere, and until when.
#include "schedulers/parts/kept_nodes.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::kept_nodes_rules {
namespace {

/// Full nodes of eight cores, and jobs that should have ended by now, each with one task of eight cores.
struct Full {
  World world;
  KeptNodes kept;

  explicit Full(std::uint32_t nodes, std::uint64_t jobs = 1) {
    for (std::uint32_t id = 1; id <= nodes; ++id) world.node(id, fmt::format("h{}", id), "r", 8);
    world.stage(world.job(kSmall), 0, anywhere(8 * nodes + 8));
    for (std::uint32_t task = 0; task < 8 * nodes; ++task) launch_small(task, task / 8 + 1);
    for (std::uint64_t id = 1; id <= jobs; ++id) world.stage(world.job(id), 0, anywhere(1), {.cpu = 8});
  }
  void launch_small(std::uint32_t task, std::uint32_t node) {
    EXPECT_TRUE(world.launch({JobId(kSmall), StageId(0), task}, NodeId(node), "test"));
  }
  void empty(std::uint32_t node) {
    for (std::uint32_t task = 0; task < 8; ++task) world.finish({JobId(kSmall), StageId(0), 8 * (node - 1) + task});
  }
  void update_at(double seconds) {
    world.at(seconds);
    kept.update(
        world.state, [](const JobInfo&) { return true; }, world);
  }
  /// Those that small tasks cannot have.
  std::vector<std::uint32_t> nodes() const {
    std::vector<std::uint32_t> found;
    for (const auto& [id, node] : world.state.nodes())
      if (kept.keeps_from(id, JobId(kSmall))) found.push_back(id.value());
    return found;
  }

  static constexpr std::uint64_t kSmall = 100;
};
using Nodes = std::vector<std::uint32_t>;

TEST(KeptNodes, AreOneForAJobAndATenthOfAll) {
  Full few(3, 2);
  few.update_at(0);
  EXPECT_EQ(few.nodes(), Nodes{1}) << "one at least";
  EXPECT_FALSE(few.kept.keeps_from(NodeId(1), JobId(1))) << "it is for this one";
  Full many(30);
  many.update_at(0);
  EXPECT_EQ(many.nodes(), Nodes{1}) << "one for a job";
  Full of_many_jobs(30, 9);
  of_many_jobs.update_at(0);
  EXPECT_EQ(of_many_jobs.nodes(), (Nodes{1, 2, 3}));
}

TEST(KeptNodes, LackLeast) {
  Full full(3);
  full.world.finish({JobId(Full::kSmall), StageId(0), 8});  // on node 2
  full.update_at(0);
  EXPECT_EQ(full.nodes(), Nodes{2});
}

TEST(KeptNodes, AreNoneWhereATaskHasFailed) {
  Full full(2);
  full.world.state.set_avoid(full.world.state.mutable_job(JobId(1)).stages.at(StageId(0)), 0, NodeId(1));
  full.update_at(0);
  EXPECT_EQ(full.nodes(), Nodes{2});
}

TEST(KeptNodes, AreNoneWhileTheTaskFitsSomewhere) {
  Full full(2);
  full.empty(2);
  full.update_at(0);
  EXPECT_EQ(full.nodes(), Nodes{});
}

/// Something else than room keeps the task from running: a limit, or a place that it waits for.
TEST(KeptNodes, ThatHaveRoomAndAreNotTakenAreGivenUpForGood) {
  Full full(1);
  full.update_at(0);
  ASSERT_EQ(full.nodes(), Nodes{1});
  full.empty(1);
  full.update_at(10);
  EXPECT_EQ(full.nodes(), Nodes{1});
  EXPECT_EQ(full.world.wakes, std::vector<Time>{std::chrono::seconds(30)}) << "nothing else may call then";
  full.update_at(29);
  EXPECT_EQ(full.nodes(), Nodes{1});
  full.update_at(30);
  EXPECT_EQ(full.nodes(), Nodes{});
  for (std::uint32_t task = 8; task < 16; ++task) full.launch_small(task, 1);
  full.update_at(60);
  EXPECT_EQ(full.nodes(), Nodes{}) << "it was of no use";
}

TEST(KeptNodes, AreEverybodysAgainWhenTheyAreNeededNoMore) {
  Full full(1);
  full.update_at(0);
  ASSERT_EQ(full.nodes(), Nodes{1});
  full.world.give(1, {.cpu = 4});
  full.update_at(1);
  EXPECT_EQ(full.nodes(), Nodes{}) << "it is too small now";
  full.world.give(1, {.cpu = 8});
  full.update_at(6);
  ASSERT_EQ(full.nodes(), Nodes{1});
  full.world.end(1);
  full.update_at(7);
  EXPECT_EQ(full.nodes(), Nodes{});
}

}  // namespace
}  // namespace weft::schedulers::kept_nodes_rules
