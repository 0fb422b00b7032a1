// Rules of the namespace that other tests take for granted: exact bounds, what counts when, and what a restart must not forget.
#include "storage/namespace/copies.hpp"
#include "storage/namespace/placement.hpp"
#include "storage/namespace/repair_queue.hpp"
#include "tests/storage/namespace/namespace_fixture.hpp"

namespace weft::storage {
namespace {

using NamespaceRules = NamespaceTest;

TEST_F(NamespaceRules, MissingParentsCountForTheQuotaBeforeAnyIsMade) {
  OK(ns().set_quota("ann", {0, 3}));
  EXPECT_EQ(ns().make_directory("/a/b/c/d", "ann", true, 1).error().code(), Code::resource_exhausted);
  EXPECT_EQ(ns().stat("/a").error().code(), Code::not_found);
  OK(ns().make_directory("/a/b/c", "ann", true, 1));
}

TEST_F(NamespaceRules, FewerReplicasAreNeverRefused) {
  two_racks();
  OK(world.write("/f", 1));
  OK(ns().set_quota("ann", {1'000, 0}));
  OK(ns().set_replication("/f", 2));
  EXPECT_EQ(ns().set_replication("/f", 3).error().code(), Code::resource_exhausted);
}

TEST_F(NamespaceRules, ARangeHasTheChunksThatItOverlapsAndNoOthers) {
  two_racks();
  OK(world.write("/f", 3));  // of 1,000 bytes each
  const auto located = [&](std::uint64_t offset, std::uint64_t length) {
    std::vector<std::uint64_t> offsets;
    const FileChunks file = ns().locate("/f", offset, length).value();
    for (const ChunkPlace& place : file.chunks) offsets.push_back(place.offset);
    return offsets;
  };
  using Offsets = std::vector<std::uint64_t>;
  EXPECT_EQ(located(1'000, 1), Offsets{1'000});
  EXPECT_EQ(located(999, 1), Offsets{0});
  EXPECT_EQ(located(999, 2), (Offsets{0, 1'000}));
  EXPECT_EQ(located(1'500, UINT64_MAX), (Offsets{1'000, 2'000}));
  EXPECT_EQ(located(3'000, UINT64_MAX), Offsets());
}

TEST_F(NamespaceRules, ReplicasOfAChunkThatDoesNotComeAreErased) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  const Allocation made = ns().allocate(lease, "", {}, world.now).value();
  PretendedWorker& worker = *world.by_node(made.targets[0]);
  worker.disk[made.chunk] = {made.chunk, 10, 1};
  OK(ns().chunks_changed(worker.node, ChunkEvent::sealed, {{made.chunk, 10, 1}}));
  OK(ns().abandon(lease));
  EXPECT_TRUE(world.until([&] { return worker.disk.empty(); }, 20));
}

TEST_F(NamespaceRules, AskingForAChunkRenewsTheLease) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  for (int i = 0; i < 50; ++i) world.step(1s);
  const Allocation made = ns().allocate(lease, "", {}, world.now).value();
  for (int i = 0; i < 50; ++i) world.step(1s);
  OK(ns().seal(lease, {made.chunk, 10, 1}, made.targets, world.now));
  for (int i = 0; i < 62; ++i) world.step(1s);
  EXPECT_EQ(ns().complete(lease, 1, world.now).error().code(), Code::not_found);
}

/// The record of an entry, by what its key begins with and by its path's last name.
std::string key_of_entry(const World& world, const std::string& name) {
  for (const auto& [key, value] : world.records)
    if (key.front() == 'e' && value.find(name) != std::string::npos) return key;
  ADD_FAILURE() << "no record of " << name;
  return {};
}

TEST_F(NamespaceRules, RecordsThatContradictEachOtherAreDamage) {
  two_racks();
  OK(world.write("/first", 1));
  OK(world.write("/other", 1));
  Namespace twice;
  for (const std::string name : {"first", "other"}) {
    std::string value = world.records.at(key_of_entry(world, "first"));
    value.replace(value.find("first"), 5, name);
    const auto restored = twice.restore(key_of_entry(world, name), value);
    EXPECT_EQ(restored.has_value(), name == "first");
    if (!restored) {
      EXPECT_TRUE(has(restored.error().message(), "a chunk of another file")) << restored.error().message();
    }
  }

  World circle;
  OK(circle.ns->make_directory("/up/below", "ann", true, 1));
  circle.keep();
  const std::string up = key_of_entry(circle, "up"), below = key_of_entry(circle, "below");
  std::string& record = circle.records.at(up);
  ASSERT_EQ(record[0], 1) << "the id of the root, its parent";
  record[0] = below.back();
  Namespace damaged;
  for (const auto& [key, value] : circle.records) OK(damaged.restore(key, value));
  const auto restored = damaged.restored(Time{0}, 0);
  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code(), Code::corrupt);
  EXPECT_TRUE(has(restored.error().message(), "hold each other")) << restored.error().message();
}

TEST_F(NamespaceRules, WhatWasRemovedBeforeARestartIsNotRepairedAfterIt) {
  two_racks();
  OK(world.write("/f", 5));
  OK(world.write("/kept", 1));
  OK(ns().remove("/f", false, world.now));
  world.restart();
  for (auto& [name, worker] : world.workers) world.join(worker);
  ASSERT_TRUE(world.until([&] { return !ns().report().safe_mode; }));
  for (const char* name : {"a1", "a2", "a3", "b1", "b2"}) world.kill(world.workers.at(name));
  for (int i = 0; i < 20; ++i) world.step();
  const StorageReport report = ns().report();
  EXPECT_LE(report.missing_chunks + report.under_replicated, 1u) << "of the file that is there";
}

TEST_F(NamespaceRules, AWorkerOfTheSameNameTakesTheOthersPlace) {
  two_racks();
  OK(world.write("/f", 4, {.replication = 6}));
  const NodeId before = world.workers.at("a1").node;
  OK(ns().node_joined(NodeId(100), {"a1", "host-a1", "A", "x:1"}, {0, 1u << 30}, world.now));
  EXPECT_EQ(ns().node(before), nullptr);
  EXPECT_EQ(ns().report().nodes.size(), 6u);
  EXPECT_EQ(ns().heartbeat(before, {}, world.now).error().code(), Code::not_found) << "it has to join again";
  const FileChunks file = ns().locate("/f", 0, UINT64_MAX).value();
  for (const ChunkPlace& place : file.chunks) EXPECT_EQ(place.nodes.size(), 5u);
}

TEST_F(NamespaceRules, NoReplicaGoesWhileADamagedOneIsThere) {
  two_racks();
  OK(world.write("/f", 1));
  const ChunkPlace place = ns().locate("/f", 0, 1)->chunks.at(0);
  OK(ns().chunks_changed(place.nodes[0], ChunkEvent::corrupt, {place.info}));
  OK(ns().set_replication("/f", 1));
  EXPECT_EQ(ns().report().over_replicated, 0u) << "which of the two others are whole is not known";
  EXPECT_TRUE(world.until([&] { return ns().report().corrupt_replicas == 0 && world.names_at("/f").size() == 1; }));
}

TEST_F(NamespaceRules, CopiesAreBoundedByBytesByNodeAndByWhatIsUnderWay) {
  NamespaceOptions options;
  options.copy_bytes_in_flight = 3'000;
  World bounded(options);
  for (const char* name : {"a", "b", "c"}) bounded.add(name, name);
  for (int i = 0; i < 20; ++i) OK(bounded.write("/f" + std::to_string(i), 1, {.replication = 1}, "host-a"));
  OK(bounded.ns->set_replication("/", 2));
  bounded.ns->tick(bounded.now + 1s);
  EXPECT_EQ(bounded.ns->report().copies, 3u) << "of a thousand bytes each";

  World free;
  for (const char* name : {"a", "b", "c", "d", "e"}) free.add(name, name);
  for (int i = 0; i < 20; ++i) OK(free.write("/f" + std::to_string(i), 1, {.replication = 1}, "host-a"));
  OK(free.ns->set_replication("/", 2));
  for (int i = 1; i <= 3; ++i) {
    free.ns->tick(free.now + i * 1s);
    EXPECT_EQ(free.ns->report().copies, 4u) << "all from the same node";
  }

  World one;
  for (const char* name : {"a", "b", "c"}) one.add(name, name);
  OK(one.write("/f", 1, {.replication = 1}, "host-a"));
  OK(one.ns->set_replication("/f", 2));
  for (int i = 1; i <= 3; ++i) one.ns->tick(one.now + i * 1s);
  EXPECT_EQ(one.ns->report().copies, 1u) << "one lacks, and one is under way";
}

constexpr std::uint64_t kTen = 10u << 20;  // bytes of a chunk here

/// Balancing with so much room in each node; the copies it commanded, as text.
std::vector<std::string> balanced(World& world, double threshold) {
  world.commands.clear();
  EXPECT_TRUE(world.ns->balance(threshold));
  EXPECT_TRUE(world.until([&] { return !world.ns->report().balancing; }));
  std::vector<std::string> copies;
  for (const std::string& command : world.commands)
    if (command.starts_with("copy")) copies.push_back(command);
  return copies;
}

TEST_F(NamespaceRules, BalancingDoesNotTurnADifferenceRound) {
  for (const char* name : {"a", "b"}) world.add(name, "A", 12 * kTen);
  OK(world.write("/f", 1, {.replication = 1}, "host-a", "ann", 6 * kTen));
  EXPECT_EQ(balanced(world, 0.1).size(), 0u) << "the other one would be as full";
}

TEST_F(NamespaceRules, BalancingLeavesNodesWithinTheThresholdAlone) {
  for (const char* name : {"a", "b"}) world.add(name, "A", 100 * kTen);
  for (int i = 0; i < 30; ++i) OK(world.write("/a" + std::to_string(i), 1, {.replication = 1}, "host-a", "ann", kTen));
  for (int i = 0; i < 20; ++i) OK(world.write("/b" + std::to_string(i), 1, {.replication = 1}, "host-b", "ann", kTen));
  EXPECT_EQ(balanced(world, 0.1).size(), 0u) << "30 % and 20 %";
  EXPECT_GT(balanced(world, 0.01).size(), 2u);
}

TEST_F(NamespaceRules, BalancingKeepsTwoRacks) {
  world.add("a", "A", 20 * kTen);
  world.add("c", "B", 20 * kTen);
  for (int i = 0; i < 10; ++i) OK(world.write("/f" + std::to_string(i), 1, {.replication = 2}, "host-a", "ann", kTen));
  world.add("d", "B", 20 * kTen);
  const std::string from_a = " " + std::to_string(world.workers.at("a").node.value()) + ">";
  const auto copies = balanced(world, 0.05);
  EXPECT_FALSE(copies.empty());
  for (const std::string& copy : copies) EXPECT_FALSE(has(copy, from_a)) << copy << ": both would be in one rack";
}

TEST_F(NamespaceRules, BalancingMovesNothingToANodeThatDrains) {
  for (const char* name : {"a", "b"}) world.add(name, "A", 20 * kTen);
  for (int i = 0; i < 10; ++i) OK(world.write("/f" + std::to_string(i), 1, {.replication = 1}, "host-a", "ann", kTen));
  OK(ns().drain("b", true));
  EXPECT_EQ(balanced(world, 0.05).size(), 0u);
}

TEST_F(NamespaceRules, BalancingEndsWhenTheTargetOfAMoveIsLost) {
  world.add("a", "A", 20 * kTen);
  for (int i = 0; i < 10; ++i) OK(world.write("/f" + std::to_string(i), 1, {.replication = 1}, "host-a", "ann", kTen));
  PretendedWorker& target = world.add("b", "A", 20 * kTen);
  world.slow = true;
  OK(ns().balance(0.05));
  world.step();
  ASSERT_GT(ns().report().copies, 0u);
  world.kill(target);
  EXPECT_TRUE(world.until([&] { return !ns().report().balancing; }));
}

TEST_F(NamespaceRules, BalancingEndsWhenAnotherReplicaIsLostMeanwhile) {
  for (const char* name : {"a", "b"}) world.add(name, "A", 20 * kTen);
  for (int i = 0; i < 10; ++i) OK(world.write("/f" + std::to_string(i), 1, {.replication = 2}, "host-a", "ann", kTen));
  PretendedWorker& target = world.add("c", "A", 20 * kTen);
  world.slow = true;
  OK(ns().balance(0.05));
  world.step();
  ASSERT_GT(ns().report().copies, 0u);
  for (const char* name : {"a", "b"}) {
    const std::string from = " " + std::to_string(world.workers.at(name).node.value()) + ">";
    if (!has(world.commands.at(0), from)) world.kill(world.workers.at(name));
  }
  world.slow = false;
  world.tell(target);  // what arrives takes the place of what was lost
  EXPECT_TRUE(world.until([&] { return !ns().report().balancing; }));
  EXPECT_TRUE(world.until([&] { return healthy(); }));
}

class PlacementRules : public testing::Test {
 protected:
  void add(std::uint32_t id, const std::string& host, const std::string& rack, std::uint64_t used) {
    constexpr std::uint64_t kAll = std::uint64_t{100} << 30;
    nodes.add(NodeId(id), {"n" + std::to_string(id), host, rack, ""}, {used << 30, kAll - (used << 30)}, Time{0}).reported = true;
  }
  std::vector<NodeId> choose(std::uint64_t chunk, std::size_t count, std::vector<NodeId> replicas = {}) {
    return choose_nodes(nodes, {.chunk = ChunkId(chunk), .replicas = replicas, .count = count, .bytes = 100, .seed = 1});
  }
  NodeTable nodes;
};

TEST_F(PlacementRules, AnotherHostComesBeforeAnEmptierNodeOfTheSame) {
  add(1, "h1", "A", 0);
  add(3, "h2", "B", 0);
  add(4, "h2", "B", 0);   // another worker of that machine
  add(5, "h3", "B", 50);  // fuller
  EXPECT_EQ(choose(1, 1, {NodeId(1), NodeId(3)}), std::vector{NodeId(5)});
}

TEST_F(PlacementRules, TheEmptierNodeIsChosenAndOfThoseAsEmptyAnyOne) {
  for (std::uint32_t id = 1; id <= 4; ++id) add(id, "h" + std::to_string(id), "A", id == 4 ? 90 : id);
  std::set<NodeId> chosen;
  for (std::uint64_t chunk = 1; chunk <= 50; ++chunk) chosen.insert(choose(chunk, 1).at(0));
  EXPECT_EQ(chosen, (std::set{NodeId(1), NodeId(2), NodeId(3)}));
}

TEST_F(PlacementRules, ACopyToANodeThatIsLostEnds) {
  add(1, "h1", "A", 0);
  add(2, "h2", "A", 0);
  Copies copies(nodes);
  ASSERT_TRUE(copies.start({ChunkId(9), 100, 1}, NodeId(1), NodeId(2), 10s, false));
  copies.node_lost(NodeId(2));
  EXPECT_TRUE(copies.all().empty());
  EXPECT_EQ(nodes.at(NodeId(1)).sending, 0u);
  EXPECT_EQ(copies.bytes(), 0u);
}

TEST(RepairQueueRules, BlockedChunksAreLookedAtInTurn) {
  RepairQueue queue;
  std::vector<Chunk> chunks(5);
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    chunks[i].info.id = ChunkId(i + 1);
    queue.block(chunks[i]);
  }
  std::vector<std::uint64_t> looked_at;
  for (int look = 1; look <= 4; ++look)
    for (const ChunkId id : queue.blocked_in_turn(2, look * 10s)) looked_at.push_back(id.value());
  EXPECT_EQ(looked_at, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 1, 2}));
}

}  // namespace
}  // namespace weft::storage
