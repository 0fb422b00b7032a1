// Parts of the namespace that need no whole one: leases, nodes, placement, copies, damage, queue, safe mode.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "storage/namespace/copies.hpp"
#include "storage/namespace/damage.hpp"
#include "storage/namespace/leases.hpp"
#include "storage/namespace/placement.hpp"
#include "storage/namespace/repair_queue.hpp"
#include "storage/namespace/safe_mode.hpp"

namespace weft::storage {
namespace {

using std::chrono::seconds;

TEST(Leases, EndWhenNobodyRenewsThem) {
  Ids ids;
  Account account;
  Leases leases(ids, seconds(10));
  const LeaseId kept = leases.begin("/kept", account, {}, seconds(0)).id;
  const LeaseId silent = leases.begin("/silent", account, {}, seconds(0)).id;
  leases.renew(leases.at(kept), seconds(5));
  EXPECT_TRUE(leases.expired(seconds(9)).empty());
  EXPECT_EQ(leases.expired(seconds(10)), std::vector{silent});
  leases.end(silent);
  EXPECT_EQ(leases.find(silent).error().code(), Code::not_found);
  EXPECT_EQ(leases.take_changed(), (std::set{kept, silent}));
}

TEST(Leases, OfADirectoryAreNoFiles) {
  Ids ids;
  Account account;
  Leases leases(ids, seconds(10));
  const LeaseId directory = leases.begin("/d", account, {.replication = 0}, seconds(0)).id;
  EXPECT_TRUE(leases.find(directory));
  EXPECT_EQ(leases.find_file(directory).error().code(), Code::invalid_argument);
}

TEST(Leases, RememberForAWhileWhatWasCompleted) {
  Ids ids;
  Account account;
  Leases leases(ids, seconds(10));
  const LeaseId lease = leases.begin("/f", account, {}, seconds(0)).id;
  leases.complete(lease, seconds(1));
  EXPECT_TRUE(leases.was_completed(lease));
  const auto recorded = leases.completed().take_changed();
  ASSERT_EQ(recorded.size(), 1u);
  EXPECT_EQ(recorded[0].first, lease.value());
  EXPECT_TRUE(recorded[0].second);
  (void)leases.expired(seconds(11));
  EXPECT_FALSE(leases.was_completed(lease));
  EXPECT_EQ(leases.completed().take_changed(), (std::vector{std::pair(lease.value(), std::optional<std::string>())}))
      << "its record goes";
}

/// n nodes in each of two racks, one on each host.
class Nodes : public testing::Test {
 protected:
  Nodes() {
    for (std::uint32_t id = 1; id <= 4; ++id) add(id, id <= 2 ? "A" : "B");
  }
  void add(std::uint32_t id, const std::string& rack) {
    const std::string name = "n" + std::to_string(id);
    nodes.add(NodeId(id), {name, "host-" + name, rack, name}, {0, std::uint64_t{1} << 40}, Time{0}).reported = true;
  }
  std::vector<NodeId> choose(std::size_t count, const std::string& writer = "", const std::vector<NodeId>& excluded = {},
                             const std::vector<NodeId>& replicas = {}) {
    return choose_nodes(nodes, {.chunk = ChunkId(9),
                                .replicas = replicas,
                                .writer = writer,
                                .count = count,
                                .excluded = excluded,
                                .bytes = 100,
                                .seed = 1});
  }
  const std::string& rack(NodeId id) { return nodes.at(id).info.rack; }

  NodeTable nodes;
};

TEST_F(Nodes, WhatIsToBeTogetherHasAReplicaInOneRack) {
  for (std::uint32_t id = 5; id <= 8; ++id) add(id, id <= 6 ? "C" : "D");
  std::set<std::string> homes;
  for (const char* together : {"/a/", "/b/", "/c/", "/d/", "/e/", "/f/", "/g/", "/h/"}) {
    std::map<std::string, int> chunks_in;
    for (std::uint64_t chunk = 1; chunk <= 40; ++chunk) {
      const auto chosen = choose_nodes(nodes, {.chunk = ChunkId(chunk),
                                               .together = together,
                                               .writer = "n" + std::to_string(1 + chunk % 8),
                                               .count = 3,
                                               .bytes = 100,
                                               .seed = 1});
      ASSERT_EQ(chosen.size(), 3u);
      EXPECT_EQ(chosen[0], NodeId(static_cast<std::uint32_t>(1 + chunk % 8))) << "the writer's";
      std::set<std::string> racks;
      for (const NodeId node : chosen) racks.insert(rack(node));
      EXPECT_EQ(racks.size(), 2u);
      for (const std::string& one : racks) ++chunks_in[one];
    }
    for (const auto& [one, chunks] : chunks_in)
      if (chunks == 40) homes.insert(one);
    EXPECT_EQ(std::ranges::count_if(chunks_in, [](const auto& entry) { return entry.second == 40; }), 1) << together;
  }
  EXPECT_GE(homes.size(), 2u) << "not all directories have the same home";
}

TEST_F(Nodes, WithoutRoomAtHomeWhatIsToBeTogetherLiesElsewhere) {
  for (std::uint32_t id = 5; id <= 6; ++id) add(id, "C");
  for (const char* together : {"/a/", "/b/", "/c/", "/d/"}) {
    PlacementRequest request{.chunk = ChunkId(9), .together = together, .writer = "n1", .count = 2, .bytes = 100, .seed = 1};
    const std::string second = rack(choose_nodes(nodes, request).at(1));
    const std::vector<NodeId> full = second == "B" ? std::vector{NodeId(3), NodeId(4)} : std::vector{NodeId(5), NodeId(6)};
    request.excluded = full;
    EXPECT_EQ(rack(choose_nodes(nodes, request).at(1)), second == "B" ? "C" : "B") << together;
  }
}

TEST_F(Nodes, TheWriterComesFirstThenAnotherRackThenThatRackAgain) {
  for (const char* writer : {"n1", "host-n1"}) {
    const auto chosen = choose(3, writer);
    ASSERT_EQ(chosen.size(), 3u);
    EXPECT_EQ(chosen[0], NodeId(1));
    EXPECT_EQ(rack(chosen[1]), "B");
    EXPECT_EQ(rack(chosen[2]), "B");
    EXPECT_NE(chosen[1], chosen[2]);
  }
}

TEST_F(Nodes, WhoHasNoRoomIsExcludedOrDrainsIsNotChosen) {
  nodes.at(NodeId(1)).space.free = 50;
  ASSERT_TRUE(nodes.drain("n2", true));
  EXPECT_EQ(choose(4, "n1", {NodeId(3)}), std::vector{NodeId(4)});
  nodes.at(NodeId(4)).erase(ChunkId(9));
  EXPECT_TRUE(choose(4, "n1", {NodeId(3)}).empty()) << "it is still being erased there";
}

TEST_F(Nodes, AReplicaInOneRackOnlyAsksForAnotherRack) {
  EXPECT_TRUE(one_rack_only(nodes, {NodeId(1), NodeId(2)}));
  EXPECT_FALSE(one_rack_only(nodes, {NodeId(1), NodeId(3)}));
  EXPECT_EQ(rack(choose(1, "", {}, {NodeId(1), NodeId(2)}).at(0)), "B");
  nodes.remove(NodeId(3)), nodes.remove(NodeId(4));
  EXPECT_FALSE(one_rack_only(nodes, {NodeId(1), NodeId(2)})) << "there is no other";
}

TEST_F(Nodes, AreDrainedByNameAlsoWhenTheyComeBack) {
  EXPECT_TRUE(nodes.drain("n1", true));
  EXPECT_FALSE(nodes.drain("n1", true)) << "it was";
  EXPECT_TRUE(nodes.at(NodeId(1)).draining);
  nodes.remove(NodeId(1));
  add(9, "A");
  nodes.add(NodeId(10), {"n1", "h", "A", "a"}, {}, Time{0});
  EXPECT_TRUE(nodes.at(NodeId(10)).draining);
  EXPECT_EQ(nodes.take_changed_drains(), std::set<std::string>{"n1"});
}

TEST_F(Nodes, SendAndExpectWhatIsCopiedUntilThatEnds) {
  Copies copies(nodes);
  const ChunkInfo chunk{ChunkId(9), 100, 1};
  EXPECT_TRUE(copies.start(chunk, NodeId(1), NodeId(3), seconds(10), true));
  EXPECT_FALSE(copies.start(chunk, NodeId(2), NodeId(3), seconds(10), false)) << "one is on its way there";
  EXPECT_EQ(nodes.at(NodeId(1)).sending, 1u);
  EXPECT_EQ(nodes.at(NodeId(3)).expected, 100u);
  EXPECT_EQ(copies.moved_from(chunk.id), NodeId(1));
  EXPECT_EQ(copies.targets_of(chunk.id), std::vector{NodeId(3)});
  copies.expire(seconds(9));
  EXPECT_EQ(copies.bytes(), 100u);
  copies.expire(seconds(10));
  EXPECT_EQ(copies.bytes(), 0u);
  EXPECT_EQ(nodes.at(NodeId(1)).sending, 0u);
  EXPECT_EQ(nodes.at(NodeId(3)).expected, 0u);
  EXPECT_EQ(copies.moved_from(chunk.id), std::nullopt);
}

TEST_F(Nodes, AMoveIsOverWhenItsCopyWillNotArrive) {
  const ChunkInfo chunk{ChunkId(9), 100, 1};
  for (const NodeId lost : {NodeId(1), NodeId(3)}) {
    Copies copies(nodes);
    ASSERT_TRUE(copies.start(chunk, NodeId(1), NodeId(3), seconds(10), true));
    EXPECT_TRUE(copies.moving());
    copies.node_lost(lost);
    EXPECT_FALSE(copies.moving()) << lost.value();
  }
  Copies copies(nodes);
  ASSERT_TRUE(copies.start(chunk, NodeId(1), NodeId(3), seconds(20), true));
  ASSERT_TRUE(copies.start(chunk, NodeId(1), NodeId(2), seconds(10), false));
  copies.expire(seconds(10));
  EXPECT_EQ(copies.moved_from(chunk.id), NodeId(1)) << "the copy that ended moves nothing";
  copies.failed(chunk.id, NodeId(3));
  EXPECT_FALSE(copies.moving());
}

TEST_F(Nodes, MayGetACopyLongAfterItWasGivenUp) {
  Copies copies(nodes);
  const auto given_up = [&](std::uint64_t chunk) {
    EXPECT_TRUE(copies.start({ChunkId(chunk), 100, 1}, NodeId(1), NodeId(3), seconds(10), false));
    EXPECT_TRUE(copies.ordered(ChunkId(chunk), NodeId(3)));
    copies.expire(seconds(10));
    EXPECT_EQ(copies.find(ChunkId(chunk), NodeId(3)), nullptr);
    EXPECT_TRUE(copies.ordered(ChunkId(chunk), NodeId(3)));
    EXPECT_FALSE(copies.ordered(ChunkId(chunk), NodeId(2)));
  };
  given_up(1);
  copies.end(ChunkId(1), NodeId(3));
  EXPECT_FALSE(copies.ordered(ChunkId(1), NodeId(3))) << "it has arrived";
  given_up(2);
  copies.forget(ChunkId(2));
  EXPECT_FALSE(copies.ordered(ChunkId(2), NodeId(3))) << "it belongs to no file";
  given_up(3);
  copies.node_lost(NodeId(3));
  EXPECT_FALSE(copies.ordered(ChunkId(3), NodeId(3)));
  given_up(4);
  copies.expire(seconds(10) + std::chrono::hours(1));
  EXPECT_FALSE(copies.ordered(ChunkId(4), NodeId(3))) << "not for ever";
}

TEST_F(Nodes, ReadAFewChunksAtATimeInFull) {
  Copies copies(nodes);
  EXPECT_TRUE(copies.start_verification(ChunkId(1), NodeId(1), seconds(10)));
  EXPECT_FALSE(copies.start_verification(ChunkId(1), NodeId(1), seconds(10)));
  EXPECT_TRUE(copies.start_verification(ChunkId(2), NodeId(1), seconds(10)));
  EXPECT_FALSE(copies.start_verification(ChunkId(3), NodeId(1), seconds(10)));
  copies.forget(ChunkId(1));
  EXPECT_TRUE(copies.start_verification(ChunkId(3), NodeId(1), seconds(10)));
  copies.back_off(ChunkId(1), seconds(3));
  EXPECT_TRUE(copies.backed_off(ChunkId(1)));
  copies.expire(seconds(3));
  EXPECT_FALSE(copies.backed_off(ChunkId(1)));
}

TEST(DamagedReplicas, AreKnownUntilTheLastIsGone) {
  DamagedReplicas damaged;
  const ChunkId chunk(1);
  damaged.verified(chunk, NodeId(1));
  EXPECT_EQ(damaged.of(chunk), nullptr) << "of a chunk without damage nothing is remembered";
  damaged.found(chunk, NodeId(1), false), damaged.found(chunk, NodeId(2), true);
  damaged.verified(chunk, NodeId(3));
  EXPECT_EQ(damaged.replicas(), 2u);
  EXPECT_EQ(damaged.of(chunk)->foreign, std::set{NodeId(2)});
  EXPECT_EQ(damaged.node_gone(NodeId(3)), std::vector<ChunkId>());
  EXPECT_TRUE(damaged.of(chunk)->verified.empty());
  EXPECT_EQ(damaged.node_gone(NodeId(1)), std::vector{chunk});
  damaged.gone(chunk, NodeId(2));
  EXPECT_EQ(damaged.of(chunk), nullptr);
}

TEST(RepairQueue, HasAChunkInOneListAtMost) {
  RepairQueue queue;
  Chunk one, two;
  one.info.id = ChunkId(1), two.info.id = ChunkId(2);
  queue.only_one_rack(one), queue.lacks(two, 1);
  EXPECT_EQ(queue.lacking().begin()->second, two.info.id) << "the riskiest first";
  queue.block(two);
  EXPECT_TRUE(two.blocked);
  EXPECT_EQ(queue.lacking().size(), 1u);
  EXPECT_EQ(queue.blocked_in_turn(10, seconds(1)), std::vector{two.info.id});
  EXPECT_TRUE(queue.blocked_in_turn(10, seconds(2)).empty()) << "a moment ago";
  EXPECT_EQ(queue.blocked_in_turn(10, seconds(3)), std::vector{two.info.id});
  queue.remove(two), queue.remove(one);
  queue.is_missing(two), queue.has_too_many(one);
  EXPECT_EQ(queue.missing() + queue.surplus().size(), 2u);
  queue.remove(two), queue.remove(one);
  EXPECT_EQ(queue.missing() + queue.surplus().size() + queue.lacking().size() + queue.blocked().size(), 0u);
}

TEST(SafeMode, IsOverWhenEnoughHasBeenThereForAWhile) {
  SafeMode mode(0.9, seconds(2));
  EXPECT_FALSE(mode.over(100, 100, seconds(1))) << "it is not on";
  mode.begin();
  EXPECT_FALSE(mode.over(89, 100, seconds(1)));
  EXPECT_FALSE(mode.over(90, 100, seconds(2)));
  EXPECT_FALSE(mode.over(80, 100, seconds(3))) << "one was lost again";
  EXPECT_FALSE(mode.over(95, 100, seconds(4)));
  EXPECT_FALSE(mode.over(95, 100, seconds(5)));
  EXPECT_TRUE(mode.over(95, 100, seconds(6)));
  EXPECT_TRUE(mode.leave());
  EXPECT_FALSE(mode.leave());
}

}  // namespace
}  // namespace weft::storage
