// What is prefetched and does not fit: the nodes are told which whole rounds wait, and when these may come.
#include <algorithm>
#include <map>
#include <set>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

constexpr std::uint64_t kMapBytes = 10;  // of one map for one reduce

class Units : public testing::Test {
 protected:
  Units() : driver_(options()) {}

  static CoreOptions options() {
    CoreOptions options;
    options.preplace_at = 0.25;
    return options;
  }
  void join(std::uint32_t node, std::uint64_t prefetch_bytes, double slots = 2) {
    WorkerJoined event;
    event.node = NodeId(node);
    event.host = fmt::format("host-{}", node);
    event.rack = "rack";
    event.capacity.cpu = slots;
    event.prefetch_bytes = prefetch_bytes;
    ASSERT_TRUE(driver_.apply(std::move(event)));
  }
  /// A job of so many maps and reduces, of which the first quarter of the maps has ended, half of it on each of two nodes.
  void begin(std::uint64_t job, std::uint32_t maps, std::uint32_t reduces) {
    driver_.submit(job);
    ASSERT_TRUE(driver_.extend(job, part(0, {source(0, maps, reduces), result(reader(1, {0}, reduces, 0))})));
    for (std::uint32_t map = 0; map < maps / 4; ++map) finish_map(job, map, reduces);
  }
  void finish_map(std::uint64_t job, std::uint32_t map, std::uint32_t reduces, std::uint64_t bytes = kMapBytes) {
    driver_.finish_map(driver_.running_attempt(job, 0, map), std::vector<std::uint64_t>(reduces, bytes), 100);
  }
  void finish_reduce(std::uint64_t job, std::uint32_t task) { ASSERT_TRUE(driver_.finish(driver_.running_attempt(job, 1, task))); }
  /// Some event that changes nothing.
  void later(Time by = std::chrono::seconds(1)) {
    driver_.now += by;
    ASSERT_TRUE(driver_.apply(WorkerHeartbeat{NodeId(1)}));
  }
  /// What node and job were told last.
  std::vector<std::uint32_t> placed(std::uint32_t node, std::uint64_t job) const {
    std::vector<std::uint32_t> partitions;
    for (const auto* told : driver_.all<PrefetchShuffle>())
      if (told->node == NodeId(node) && told->job == JobId(job) && told->partitions) partitions = *told->partitions;
    return partitions;
  }
  std::vector<std::uint32_t> held_back(std::uint32_t node, std::uint64_t job = 1) const {
    std::vector<std::uint32_t> partitions;
    for (const auto* told : driver_.all<PrefetchShuffle>())
      if (told->node == NodeId(node) && told->job == JobId(job) && told->deferred) partitions = *told->deferred;
    return partitions;
  }
  std::vector<std::uint32_t> last(std::uint32_t node, std::size_t count, std::uint64_t job = 1) const {
    const auto all = placed(node, job);
    return {all.end() - static_cast<std::ptrdiff_t>(std::min(count, all.size())), all.end()};
  }
  std::size_t tellings() const {
    const auto all = driver_.all<PrefetchShuffle>();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto* told) { return told->deferred; }));
  }

  Driver driver_;
};

// Eight maps write 80 bytes for a reduce, half of them on its node: 40 are brought, 80 for the two of a round.
constexpr std::uint64_t kRoundBytes = 80;

TEST_F(Units, AFullNodeHoldsTheLastRoundsBackEverywhere) {
  join(1, 100 * kRoundBytes);
  join(2, 2 * kRoundBytes);
  begin(1, 8, 16);
  ASSERT_EQ(placed(1, 1).size(), 8u);
  EXPECT_EQ(held_back(1), last(1, 4)) << "two of four rounds";
  EXPECT_EQ(held_back(2), last(2, 4));
  EXPECT_EQ(driver_.core.job(JobId(1))->stages[0].rounds_deferred, 2u);
  EXPECT_EQ(driver_.core.job(JobId(1))->stages[0].bytes_deferred, 2 * 2 * kRoundBytes);
}

TEST_F(Units, RoundsAreAsLargeAsWhateverANodeHasLeastOfAllows) {
  for (std::uint32_t node : {1u, 2u}) {
    WorkerJoined event;
    event.node = NodeId(node);
    event.host = fmt::format("host-{}", node);
    event.rack = "rack";
    event.capacity.cpu = 8;
    event.capacity.memory = 2;  // two tasks
    event.prefetch_bytes = 2 * kRoundBytes;
    ASSERT_TRUE(driver_.apply(std::move(event)));
  }
  JobSubmitted job;
  job.job = JobId(1);
  job.options.demand.memory = 1;
  ASSERT_TRUE(driver_.apply(std::move(job)));
  ASSERT_TRUE(driver_.extend(1, part(0, {source(0, 8, 16), result(reader(1, {0}, 16, 0))})));
  for (std::uint32_t map = 0; map < 2; ++map) finish_map(1, map, 16);
  ASSERT_EQ(placed(1, 1).size(), 8u);
  EXPECT_EQ(held_back(1), last(1, 4)) << "two of four rounds";
}

TEST_F(Units, NothingIsHeldBackWhereAllFitsOrNoLimitIsKnown) {
  join(1, 4 * kRoundBytes);
  join(2, 0);
  begin(1, 8, 16);
  EXPECT_EQ(placed(1, 1).size(), 8u);
  EXPECT_EQ(tellings(), 0u);
}

TEST_F(Units, ARoundThatIsReadLetsTheNextOneIn) {
  join(1, 2 * kRoundBytes);
  join(2, 2 * kRoundBytes);
  begin(1, 8, 16);
  for (std::uint32_t map = 2; map < 8; ++map) finish_map(1, map, 16);
  later();
  const auto first = placed(1, 1), second = placed(2, 1);
  ASSERT_EQ(held_back(1), last(1, 4));
  const std::size_t before = tellings();
  for (const std::uint32_t task : {first[0], first[1], second[0]}) finish_reduce(1, task);
  later();
  EXPECT_EQ(tellings(), before) << "the round is not over";
  finish_reduce(1, second[1]);
  EXPECT_EQ(tellings(), before + 2) << "both nodes";
  EXPECT_EQ(held_back(1), last(1, 2));
  EXPECT_EQ(held_back(2), last(2, 2));
  EXPECT_EQ(driver_.core.job(JobId(1))->stages[0].rounds_evicted, 2u);
  EXPECT_EQ(driver_.core.job(JobId(1))->stages[0].rounds_returned, 1u);
}

TEST_F(Units, SizesAreForetoldAnewWhenTwiceAsManyMapsHaveEnded) {
  join(1, 8 * kRoundBytes);
  join(2, 8 * kRoundBytes);
  begin(1, 8, 16);
  later();
  EXPECT_EQ(tellings(), 0u) << "four rounds of a budget of eight";
  finish_map(1, 2, 16, 10 * kMapBytes);
  later();
  EXPECT_EQ(tellings(), 0u);
  finish_map(1, 3, 16, 10 * kMapBytes);
  later();
  EXPECT_EQ(held_back(1), last(1, 6)) << "each is five and a half times as large";
  EXPECT_EQ(held_back(2), last(2, 6));
  for (std::uint32_t map = 4; map < 8; ++map) finish_map(1, map, 16, 0);
  later();
  EXPECT_EQ(held_back(1), last(1, 4)) << "less came, as is known at the end";
}

TEST_F(Units, DecisionsAreSomeTimeApart) {
  join(1, 2 * kRoundBytes);
  join(2, 2 * kRoundBytes);
  begin(1, 8, 16);
  const std::size_t before = tellings();
  for (std::uint32_t map = 2; map < 8; ++map) finish_map(1, map, 16);
  const auto first = placed(1, 1), second = placed(2, 1);
  for (const std::uint32_t task : {first[0], first[1], second[0], second[1]}) finish_reduce(1, task);
  EXPECT_EQ(tellings(), before);
  later(std::chrono::milliseconds(90));
  EXPECT_EQ(tellings(), before);
  later(std::chrono::milliseconds(20));
  EXPECT_EQ(tellings(), before + 2);
}

TEST_F(Units, TheLatestJobWaitsUntilTheFirstIsOver) {
  join(1, kRoundBytes, 8);
  join(2, kRoundBytes, 8);
  begin(1, 8, 4);
  begin(2, 8, 4);
  later();
  EXPECT_EQ(held_back(1, 1), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(held_back(1, 2), placed(1, 2));
  EXPECT_EQ(held_back(2, 2), placed(2, 2));
  EXPECT_EQ(placed(2, 2).size(), 2u);
  ASSERT_TRUE(driver_.apply(JobKilled{JobId(1), "enough"}));
  later();
  EXPECT_EQ(held_back(1, 2), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(held_back(2, 2), (std::vector<std::uint32_t>{}));
}

TEST_F(Units, AShuffleWhoseMapsHaveEndedGoesBeforeAnEarlierJobs) {
  join(1, kRoundBytes, 8);
  join(2, kRoundBytes, 8);
  begin(1, 8, 4);
  begin(2, 8, 4);
  for (std::uint32_t map = 2; map < 8; ++map) finish_map(2, map, 4);
  later();
  EXPECT_EQ(held_back(1, 1), placed(1, 1));
  EXPECT_EQ(held_back(1, 2), (std::vector<std::uint32_t>{}));
}

TEST_F(Units, ANodeThatLeavesTakesItsPartAlong) {
  for (std::uint32_t node : {1u, 2u, 3u}) join(node, node == 3 ? 1 : 100 * kRoundBytes, 8);
  begin(1, 8, 12);
  later();
  EXPECT_EQ(held_back(1), placed(1, 1)) << "one unit, and node 3 has no room for it";
  driver_.now += std::chrono::seconds(1);
  const auto told_node = [&](std::uint32_t node) {
    const auto all = driver_.all<PrefetchShuffle>();
    return std::count_if(all.begin(), all.end(), [&](const auto* told) { return told->node == NodeId(node); });
  };
  const auto before = told_node(3);
  ASSERT_TRUE(driver_.lose(3));
  std::erase_if(driver_.running, [](const auto& entry) { return entry.second == NodeId(3); });
  later();
  EXPECT_EQ(held_back(1), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(held_back(2), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(told_node(3), before) << "it is gone";
  driver_.drain();
  EXPECT_NE(driver_.last<ActionFinished>(), nullptr);
}

}  // namespace
}  // namespace weft::master
