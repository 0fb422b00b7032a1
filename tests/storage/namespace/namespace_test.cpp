#include "storage/namespace/namespace.hpp"

#include "storage/namespace/path.hpp"
#include "tests/storage/namespace/world.hpp"

namespace weft::storage {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class NamespaceTest : public testing::Test {
 protected:
  /// Three workers in each of two racks.
  void two_racks() {
    for (const char* name : {"a1", "a2", "a3"}) world.add(name, "A");
    for (const char* name : {"b1", "b2", "b3"}) world.add(name, "B");
  }
  Namespace& ns() { return *world.ns; }
  std::string refusal(const Result<void>& result) { return result ? "accepted" : result.error().to_string(); }
  std::size_t racks_of(const std::string& path) {
    std::set<std::string> racks;
    for (const std::string& name : world.names_at(path)) racks.insert(world.workers.at(name).rack);
    return racks.size();
  }
  bool healthy() {
    const StorageReport report = ns().report();
    return report.under_replicated == 0 && report.over_replicated == 0 && report.missing_chunks == 0 &&
           report.corrupt_replicas == 0 && report.copies == 0;
  }

  World world;
};

TEST(Path, IsAbsoluteAndNormalOrRefusedByName) {
  EXPECT_EQ(parse_path("/").value(), "/");
  EXPECT_EQ(parse_path("/a/b c").value(), "/a/b c");
  EXPECT_EQ(parse_path("weft://a/b").value(), "/a/b");
  EXPECT_EQ(parse_path("weft:///a").value(), "/a");
  EXPECT_EQ(parse_path("weft://").value(), "/");
  const std::string name(255, 'n');
  EXPECT_TRUE(parse_path("/" + name));
  std::string longest;
  while (longest.size() < 4096) longest += "/abcdefg";
  EXPECT_TRUE(parse_path(longest));
  for (const std::string& bad : {std::string(), std::string("a"), std::string("a/b"), std::string("//"), std::string("/a//b"),
                                 std::string("/a/"), std::string("/."), std::string("/a/.."), std::string("/../a"),
                                 std::string("/a/./b"), std::string("/a\0b", 4), "/" + name + "n", longest + "/x"}) {
    const auto parsed = parse_path(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code(), Code::invalid_argument);
    EXPECT_TRUE(has(parsed.error().message(), bad.substr(0, 2).c_str())) << parsed.error().message();
  }
}

TEST_F(NamespaceTest, KeepsDirectoriesAndFiles) {
  two_racks();
  OK(ns().make_directory("/data", "ann", false, 1));
  OK(ns().make_directory("/data/x/y", "ann", true, 1));
  OK(ns().make_directory("/data/x/y", "ann", true, 1));
  EXPECT_EQ(ns().make_directory("/data", "ann", false, 1).error().code(), Code::already_exists);
  EXPECT_EQ(ns().make_directory("/none/x", "ann", false, 1).error().code(), Code::not_found);
  OK(world.write("/data/f", 3));
  EXPECT_EQ(ns().make_directory("/data/f/g", "ann", true, 1).error().code(), Code::invalid_argument);
  const FileStatus status = ns().stat("/data/f").value();
  EXPECT_EQ(status.bytes, 3000u);
  EXPECT_EQ(status.chunks, 3u);
  EXPECT_EQ(status.replication, 3u);
  EXPECT_EQ(status.user, "ann");
  const auto listed = ns().list("/data", "", 10).value();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].path, "/data/f");
  EXPECT_TRUE(listed[1].directory);
  EXPECT_EQ(ns().list("/data", "f", 10).value().size(), 1u);
  EXPECT_EQ(ns().list("/data/f", "", 10).value().size(), 1u);
  const Usage usage = ns().usage("/").value();
  EXPECT_EQ(usage.files, 1u);
  EXPECT_EQ(usage.stored_bytes, 9000u);
  EXPECT_EQ(ns().locate("/data/f", 1500, 600).value().size(), 2u);
  EXPECT_EQ(ns().stat("/data/f/x").error().code(), Code::not_found);
}

TEST_F(NamespaceTest, AFileAppearsWhenItIsCompleteAndNotBefore) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  OK(world.write_chunk(lease, "", 10));
  EXPECT_FALSE(ns().stat("/f"));
  EXPECT_TRUE(ns().list("/", "", 10).value().empty());
  OK(ns().complete(lease, 1, world.now));
  OK(ns().complete(lease, 1, world.now));  // asked again, after a lost answer
  EXPECT_EQ(ns().stat("/f").value().bytes, 10u);
  EXPECT_EQ(ns().create("/f", "ann", {}, world.now).error().code(), Code::already_exists);
}

TEST_F(NamespaceTest, OfTwoWritersOfOnePathTheSecondIsRefusedAtItsEnd) {
  two_racks();
  const LeaseId first = ns().create("/f", "ann", {}, world.now).value();
  const LeaseId second = ns().create("/f", "bob", {}, world.now).value();
  OK(ns().complete(first, 1, world.now));
  EXPECT_EQ(ns().complete(second, 1, world.now).error().code(), Code::already_exists);
  OK(ns().abandon(second));
  EXPECT_EQ(ns().stat("/f").value().user, "ann");
}

TEST_F(NamespaceTest, OverwritingKeepsTheOldFileUntilTheNewOneIsComplete) {
  two_racks();
  OK(world.write("/f", 1));
  const LeaseId lease = ns().create("/f", "bob", {.overwrite = true}, world.now).value();
  OK(world.write_chunk(lease, "", 77));
  EXPECT_EQ(ns().stat("/f").value().bytes, 1000u);
  OK(ns().complete(lease, 1, world.now));
  EXPECT_EQ(ns().stat("/f").value().bytes, 77u);
}

TEST_F(NamespaceTest, ASilentWritersFileGoesWithItsChunks) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  OK(world.write_chunk(lease, "", 10));
  for (int i = 0; i < 200; ++i) {
    world.step();
    if (i < 100) OK(ns().renew(lease, world.now));
  }
  EXPECT_EQ(ns().report().open_files, 1u);
  for (int i = 0; i < 300; ++i) world.step();
  EXPECT_EQ(ns().report().open_files, 0u);
  EXPECT_EQ(ns().renew(lease, world.now).error().code(), Code::not_found);
  for (const auto& [name, worker] : world.workers) EXPECT_TRUE(worker.disk.empty()) << name;
  EXPECT_TRUE(ns().users().empty());
}

TEST_F(NamespaceTest, RenamesFilesAndDirectoriesAtomically) {
  two_racks();
  OK(ns().make_directory("/a/b", "ann", true, 1));
  OK(world.write("/a/b/f", 1));
  OK(ns().rename("/a/b", "/c", false, world.now));
  EXPECT_TRUE(ns().stat("/c/f"));
  EXPECT_FALSE(ns().stat("/a/b"));
  OK(world.write("/g", 2));
  EXPECT_EQ(ns().rename("/g", "/c/f", false, world.now).error().code(), Code::already_exists);
  OK(ns().rename("/g", "/c/f", true, world.now));
  EXPECT_EQ(ns().stat("/c/f").value().bytes, 2000u);
  EXPECT_EQ(ns().rename("/c", "/c/d", false, world.now).error().code(), Code::invalid_argument);
  EXPECT_EQ(ns().rename("/c/f", "/c", true, world.now).error().code(), Code::already_exists);
  EXPECT_EQ(ns().rename("/", "/x", false, world.now).error().code(), Code::invalid_argument);
  EXPECT_EQ(ns().rename("/none", "/x", false, world.now).error().code(), Code::not_found);
  OK(ns().rename("/c", "/c", false, world.now));
}

TEST_F(NamespaceTest, NoRenameMakesAPathTooLong) {
  std::string deep = "/a";
  while (deep.size() + 2 <= kLongestPath) deep += "/d";
  OK(ns().make_directory(deep, "ann", true, 1));
  OK(ns().make_directory("/b", "ann", false, 1));
  const auto refused = ns().rename("/a", "/b/a", false, world.now);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::invalid_argument);
  EXPECT_TRUE(has(refused.error().message(), "/b/a")) << refused.error().message();
  EXPECT_TRUE(ns().stat(deep));
  OK(ns().rename("/a/d", "/b/c", false, world.now));  // as long as before
  EXPECT_TRUE(ns().stat("/b/c" + deep.substr(4)));
  OK(ns().rename("/b/c", "/c", false, world.now));
  OK(ns().rename("/c", "/b/c", false, world.now));
  EXPECT_FALSE(ns().rename("/b/c", "/b/cd", false, world.now));
}

TEST_F(NamespaceTest, ADeletedFileIsGoneAtOnceAndItsChunksLater) {
  two_racks();
  OK(ns().make_directory("/d", "ann", false, 1));
  OK(world.write("/d/f", 2));
  EXPECT_EQ(ns().remove("/d", false, world.now).error().code(), Code::invalid_argument);
  EXPECT_EQ(ns().remove("/", true, world.now).error().code(), Code::invalid_argument);
  OK(ns().remove("/d", true, world.now));
  EXPECT_FALSE(ns().stat("/d/f"));
  EXPECT_TRUE(ns().users().empty());
  for (int i = 0; i < 50; ++i) world.step();  // 10 s
  std::size_t replicas = 0;
  for (const auto& [name, worker] : world.workers) replicas += worker.disk.size();
  EXPECT_EQ(replicas, 6u);
  for (int i = 0; i < 300; ++i) world.step();
  for (const auto& [name, worker] : world.workers) EXPECT_TRUE(worker.disk.empty()) << name;
  EXPECT_EQ(ns().report().trashed, 0u);
  EXPECT_EQ(ns().report().chunks, 0u);
  EXPECT_EQ(world.records.size(), 1u);  // the ids
}

TEST_F(NamespaceTest, QuotasBoundBytesAndFiles) {
  two_racks();
  OK(ns().set_quota("ann", {10'000, 3}));
  OK(world.write("/f1", 3));  // 9000
  const auto more = world.write("/f2", 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), Code::resource_exhausted);
  EXPECT_TRUE(has(more.error().message(), "/f2")) << more.error().message();
  OK(world.write("/f3", 1, {.replication = 1}));
  EXPECT_EQ(ns().set_replication("/f3", 3).error().code(), Code::resource_exhausted);
  OK(world.write("/f4", 5, {}, "", "bob"));
  OK(ns().make_directory("/d", "ann", false, 1));
  EXPECT_EQ(ns().make_directory("/e", "ann", false, 1).error().code(), Code::resource_exhausted);
  EXPECT_EQ(ns().create("/f5", "ann", {}, world.now).error().code(), Code::resource_exhausted);
  OK(ns().remove("/f1", false, world.now));
  OK(ns().set_replication("/f3", 3));
  OK(ns().set_quota("ann", {}));
  OK(world.write("/f6", 9));
}

TEST_F(NamespaceTest, ReplicasGoToTheWriterThenAnotherRackTwice) {
  two_racks();
  for (int i = 0; i < 20; ++i) {
    const std::string path = "/f" + std::to_string(i);
    OK(world.write(path, 1, {}, i % 2 == 0 ? "b2" : "host-b2"));
    const auto names = world.names_at(path);
    ASSERT_EQ(names.size(), 3u);
    EXPECT_EQ(std::count(names.begin(), names.end(), "b2"), 1);
    EXPECT_EQ(std::count_if(names.begin(), names.end(), [](const auto& name) { return name[0] == 'a'; }), 2);
  }
  OK(world.write("/five", 1, {.replication = 5}, "elsewhere"));
  EXPECT_EQ(world.names_at("/five").size(), 5u);
}

TEST_F(NamespaceTest, WritesSpreadOverTheNodes) {
  two_racks();
  OK(world.write("/f", 600, {.replication = 1}));
  for (const auto& [name, worker] : world.workers) EXPECT_NEAR(static_cast<double>(worker.disk.size()), 100, 40) << name;
}

TEST_F(NamespaceTest, FewerNodesThanReplicasAreFewerReplicasUntilMoreCome) {
  world.add("a1", "A");
  OK(world.write("/f", 2));
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  world.step();
  EXPECT_EQ(ns().report().under_replicated, 2u);
  world.add("b1", "B");
  world.add("b2", "B");
  EXPECT_TRUE(world.until([&] { return healthy(); }));
  EXPECT_EQ(world.names_at("/f", 1).size(), 3u);
}

TEST_F(NamespaceTest, WithoutANodeThatHasRoomAWriteIsRefused) {
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now).error().code(), Code::unavailable);
  world.add("small", "A", 32u << 20);
  const auto full = ns().allocate(lease, "", {}, world.now);
  ASSERT_FALSE(full);
  EXPECT_TRUE(has(full.error().message(), "none of 1 workers has room for 64.0 MiB")) << full.error().message();
  world.add("large", "A");
  const auto room = ns().allocate(lease, "", {}, world.now);
  ASSERT_TRUE(room);
  EXPECT_EQ(room->targets.size(), 1u);
  EXPECT_FALSE(ns().allocate(lease, "", {room->targets[0]}, world.now));
}

TEST_F(NamespaceTest, WhatALostNodeHadIsCopiedRiskiestFirst) {
  world = World({.copies_per_node = 100});
  two_racks();
  for (int i = 0; i < 10; ++i) OK(world.write("/three" + std::to_string(i), 1, {}, "a1"));
  for (int i = 0; i < 10; ++i) OK(world.write("/two" + std::to_string(i), 1, {.replication = 2}, "a1"));
  world.kill(world.workers.at("a1"));
  world.commands.clear();
  EXPECT_TRUE(world.until([&] { return world.commands.size() == 20; }));
  EXPECT_TRUE(healthy());
  std::vector<std::uint64_t> order;
  for (const std::string& line : world.commands)
    if (line.starts_with("copy ")) order.push_back(std::stoull(line.substr(5)));
  ASSERT_EQ(order.size(), 20u);
  const auto last_two = std::find_if(order.begin(), order.end(), [](auto id) { return id <= 10; }) - order.begin();
  EXPECT_EQ(last_two, 10) << "those with one replica left come first";
  for (int i = 0; i < 10; ++i) EXPECT_EQ(racks_of("/three" + std::to_string(i)), 2u);
}

TEST_F(NamespaceTest, ANodeThatComesBackSoonCostsNoCopies) {
  two_racks();
  OK(world.write("/f", 20));
  world.commands.clear();
  PretendedWorker& worker = world.workers.at("a1");
  world.kill(worker);
  for (int i = 0; i < 5; ++i) world.step();  // 1 s
  world.join(worker);
  for (int i = 0; i < 50; ++i) world.step();
  EXPECT_TRUE(world.commands.empty()) << world.commands.front();
  EXPECT_TRUE(healthy());
}

TEST_F(NamespaceTest, ASilentNodeIsLostAndComesBackAsSurplus) {
  two_racks();
  OK(world.write("/f", 20));
  PretendedWorker& worker = world.workers.at("b1");
  const NodeId old = std::exchange(worker.node, NodeId{});  // says nothing any more
  EXPECT_TRUE(world.until([&] { return ns().report().nodes.size() == 5; }, 200));
  EXPECT_EQ(ns().heartbeat(old, {}, world.now).error().code(), Code::not_found);
  EXPECT_TRUE(world.until([&] { return healthy() && ns().report().nodes.size() == 5; }));
  world.join(worker);
  for (int i = 0; i < 20; ++i) world.step();
  std::size_t replicas = 0;
  for (const auto& [name, each] : world.workers) replicas += each.disk.size();
  EXPECT_EQ(replicas, 60u);
  for (std::size_t chunk = 0; chunk < 20; ++chunk) EXPECT_EQ(world.names_at("/f", chunk).size(), 3u);
}

TEST_F(NamespaceTest, CopiesAreBounded) {
  NamespaceOptions options;
  options.copies_per_node = 2;
  World small(options);
  for (const char* name : {"a", "b", "c", "d"}) small.add(name, "A");
  OK(small.write("/f", 40, {.replication = 2}));
  small.kill(small.workers.at("a"));
  for (int i = 0; i < 20; ++i) {
    small.now += 200ms;
    small.ns->tick(small.now);
  }
  const auto commands = small.ns->take_commands();
  std::map<NodeId, int> out, in;
  for (const StorageCommand& command : commands) {
    const auto& copy = std::get<CopyChunk>(command);
    EXPECT_LE(++out[copy.from], 2);
    EXPECT_LE(++in[copy.to], 2);
  }
  EXPECT_EQ(commands.size(), small.ns->report().copies);
  EXPECT_GE(commands.size(), 3u);
  // Those that fail are tried again, after a pause; those nobody hears of, after a longer one.
  const auto& first = std::get<CopyChunk>(commands.front());
  OK(small.ns->copy_failed(first.from, first.chunk.id, first.to, small.now));
  EXPECT_EQ(small.ns->copy_failed(first.from, first.chunk.id, first.to, small.now).error().code(), Code::not_found);
}

/// With no third node to go to while the copy is under way.
TEST_F(NamespaceTest, ACopyThatFailsToTheLastNodeIsTriedAgainSoon) {
  world.add("a", "A");
  OK(world.write("/f", 1));
  world.add("b", "A");
  const auto copies = [&] {
    std::size_t found = 0;
    for (int i = 0; i < 8; ++i) {  // 1.6 s: more than the pause after a failure
      world.now += 200ms;
      ns().tick(world.now);
      for (const StorageCommand& command : ns().take_commands()) {
        const auto& copy = std::get<CopyChunk>(command);
        EXPECT_TRUE(ns().copy_failed(copy.from, copy.chunk.id, copy.to, world.now + 200ms));
        ++found;
      }
    }
    return found;
  };
  world.now += 200ms;
  ns().tick(world.now);
  const auto commands = ns().take_commands();
  ASSERT_EQ(commands.size(), 1u);
  for (int i = 0; i < 3; ++i) ns().tick(world.now += 200ms);
  const auto& copy = std::get<CopyChunk>(commands[0]);
  OK(ns().copy_failed(copy.from, copy.chunk.id, copy.to, world.now));
  EXPECT_EQ(ns().report().under_replicated, 1u);
  EXPECT_GE(copies(), 1u);
}

TEST_F(NamespaceTest, RoomThatAWriterGivesBackIsUsed) {
  const std::uint64_t mib = 1u << 20;
  world.add("a", "A");
  OK(world.write("/f", 1, {.replication = 2}, "", "ann", 30 * mib));
  world.add("b", "A", 100 * mib);
  const LeaseId lease = ns().create("/g", "ann", {.replication = 2}, world.now).value();
  ASSERT_EQ(ns().allocate(lease, "", {}, world.now).value().targets.size(), 2u);
  world.now += 200ms;
  ns().tick(world.now);
  EXPECT_TRUE(ns().take_commands().empty());
  OK(ns().abandon(lease));  // before anybody has said anything of room
  EXPECT_TRUE(world.until([&] { return healthy(); }, 50));
  EXPECT_EQ(world.names_at("/f").size(), 2u);
}

TEST_F(NamespaceTest, CorruptReplicasAreErasedAndReplaced) {
  two_racks();
  OK(world.write("/f", 1));
  const std::string victim = world.names_at("/f")[0];
  const ChunkId id = ns().locate("/f", 0, 1).value()[0].info.id;
  OK(ns().chunks_corrupt(world.workers.at(victim).node, {id}));
  EXPECT_EQ(world.names_at("/f").size(), 2u);
  bool shown = false;
  OK(ns().check("/", "", [&](const FileCheck& file) {
    shown = !file.chunks.empty() && !file.chunks[0].nodes.empty() && file.chunks[0].nodes.size() == 2;
    return true;
  }));
  EXPECT_TRUE(shown);
  EXPECT_EQ(ns().report().corrupt_replicas, 1u);
  EXPECT_TRUE(world.until([&] { return healthy(); }));
  EXPECT_EQ(world.names_at("/f").size(), 3u);
}

TEST_F(NamespaceTest, TheLastReplicaIsNeverErasedEvenWhenItIsCorrupt) {
  world.add("a1", "A");
  OK(world.write("/f", 1, {.replication = 1}));
  const ChunkId id = ns().locate("/f", 0, 1).value()[0].info.id;
  OK(ns().chunks_corrupt(world.workers.at("a1").node, {id}));
  for (int i = 0; i < 50; ++i) world.step();
  EXPECT_TRUE(world.commands.empty());
  EXPECT_EQ(ns().report().missing_chunks, 1u);
}

TEST_F(NamespaceTest, LateNewsMakesNoReplicaOfWhatIsBeingErased) {
  two_racks();
  OK(world.write("/f", 1, {.replication = 2}));
  const ChunkInfo info = ns().locate("/f", 0, 1).value()[0].info;
  OK(ns().set_replication("/f", 1));
  world.slow = true;
  world.step();
  ASSERT_EQ(world.names_at("/f").size(), 1u);
  auto surplus =
      std::find_if(world.workers.begin(), world.workers.end(), [](const auto& item) { return !item.second.to_erase.empty(); });
  ASSERT_NE(surplus, world.workers.end());
  OK(ns().chunks_sealed(surplus->second.node, {info}));  // said before it was told to erase it
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  OK(ns().block_report(surplus->second.node, {info}, true, true));
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  OK(ns().chunks_corrupt(surplus->second.node, {info.id}));
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  for (int i = 0; i < 20; ++i) world.step();
  ASSERT_EQ(world.commands.size(), 1u) << "nothing was surplus any more";
  world.erase(surplus->second);
  world.tell(surplus->second);
  OK(ns().set_replication("/f", 4));  // where it was, too
  world.slow = false;
  EXPECT_TRUE(world.until([&] { return healthy() && world.names_at("/f").size() == 4; }));
}

TEST_F(NamespaceTest, NothingIsCopiedToWhereItIsNotErasedYet) {
  world.add("a", "A");
  world.add("b", "A");
  OK(world.write("/f", 1, {.replication = 2}));
  const ChunkId id = ns().locate("/f", 0, 1).value()[0].info.id;
  world.slow = true;
  world.workers.at("a").disk.erase(id);
  OK(ns().chunks_corrupt(world.workers.at("a").node, {id}));
  for (int i = 0; i < 50; ++i) world.step();
  EXPECT_EQ(world.commands, std::vector<std::string>{"erase 1 1"});  // it is busy with other things
  world.slow = false;
  world.erase(world.workers.at("a"));
  EXPECT_TRUE(world.until([&] { return healthy() && world.names_at("/f").size() == 2; }));
}

TEST_F(NamespaceTest, AWriterCannotNameWhoHasLostItsChunkSince) {
  two_racks();
  for (const ChunkEvent event : {ChunkEvent::lost, ChunkEvent::corrupt}) {
    const LeaseId lease = ns().create("/f", "ann", {.replication = 2, .overwrite = true}, world.now).value();
    const Allocation chunk = ns().allocate(lease, "", {}, world.now).value();
    const ChunkInfo info{chunk.chunk, 1000, 5};
    world.slow = true;
    for (const NodeId node : chunk.targets) {
      world.by_node(node)->disk[info.id] = info;
      world.happened(*world.by_node(node), ChunkEvent::sealed, info);
    }
    PretendedWorker& worker = *world.by_node(chunk.targets[0]);
    worker.disk.erase(info.id);
    world.happened(worker, event, info);
    world.tell(worker);
    world.slow = false;
    world.step();  // a damaged one is erased, and that is told
    EXPECT_FALSE(ns().seal(lease, info, {chunk.targets[0]}, world.now));
    OK(ns().seal(lease, info, chunk.targets, world.now));
    OK(ns().complete(lease, 1, world.now));
    EXPECT_EQ(world.names_at("/f").size(), 1u);
    EXPECT_TRUE(world.until([&] { return healthy() && world.names_at("/f").size() == 2; }));
  }
}

TEST_F(NamespaceTest, AReplicaOfOtherLengthOrDigestIsCorrupt) {
  two_racks();
  OK(world.write("/f", 1, {.replication = 2}));
  PretendedWorker& worker = world.workers.at(world.names_at("/f")[0]);
  world.kill(worker);
  worker.disk.begin()->second.digest ^= 1;
  world.join(worker);
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  EXPECT_TRUE(world.until([&] { return healthy() && world.names_at("/f").size() == 2; }));
}

TEST_F(NamespaceTest, ADrainedNodeIsEmptiedOfDutyAndStaysSo) {
  two_racks();
  OK(world.write("/f", 50));
  EXPECT_EQ(ns().drain("nobody", true).error().code(), Code::not_found);
  OK(ns().drain("a1", true));
  const auto left = [&] {
    for (const NodeStorage& node : ns().report().nodes)
      if (node.node.name == "a1") return node.draining ? node.to_move : UINT64_MAX;
    return std::uint64_t{UINT64_MAX};
  };
  EXPECT_GT(left(), 0u);
  EXPECT_TRUE(world.until([&] { return left() == 0; }));
  OK(world.write("/g", 50));
  for (std::size_t chunk = 0; chunk < 50; ++chunk) {
    const auto names = world.names_at("/g", chunk);
    EXPECT_EQ(std::count(names.begin(), names.end(), "a1"), 0);
  }
  world.restart();
  for (auto& [name, worker] : world.workers) world.join(worker);
  EXPECT_EQ(left(), 0u);
  world.kill(world.workers.at("a1"));
  for (int i = 0; i < 20; ++i) world.step();
  EXPECT_TRUE(healthy());
  world.join(world.workers.at("a1"));
  OK(ns().drain("a1", false));
  EXPECT_TRUE(world.until([&] { return healthy(); }));
  for (std::size_t chunk = 0; chunk < 50; ++chunk) EXPECT_EQ(world.names_at("/f", chunk).size(), 3u);
}

TEST_F(NamespaceTest, BalancingEvensOutAndKeepsRacks) {
  const std::uint64_t capacity = std::uint64_t{4} << 30, chunk = 16u << 20;
  world.add("a1", "A", capacity);
  world.add("b1", "B", capacity);
  OK(world.write("/f", 200, {.replication = 2}, "", "ann", chunk));
  world.add("a2", "A", capacity);
  world.add("b2", "B", capacity);
  EXPECT_FALSE(ns().balance(0));
  OK(ns().balance(0.05));
  EXPECT_TRUE(world.until([&] { return !ns().report().balancing; }, 2000));
  for (const auto& [name, worker] : world.workers)
    EXPECT_NEAR(static_cast<double>(worker.used()), 100.0 * static_cast<double>(chunk), 0.06 * static_cast<double>(capacity))
        << name;
  for (std::size_t at = 0; at < 200; ++at) {
    const auto names = world.names_at("/f", at);
    ASSERT_EQ(names.size(), 2u);
    EXPECT_NE(names[0][0], names[1][0]);
  }
}

TEST_F(NamespaceTest, AfterARestartNothingIsCopiedOrErasedUntilWorkersAreBack) {
  two_racks();
  OK(world.write("/f", 50));
  world.restart();
  world.commands.clear();
  EXPECT_TRUE(ns().report().safe_mode);
  PretendedWorker& first = world.workers.at("a1");
  first.disk[ChunkId(999'999)] = {ChunkId(999'999), 5, 5};  // stale: waits as well
  world.join(first);
  for (int i = 0; i < 100; ++i) world.step();
  EXPECT_TRUE(ns().report().safe_mode);
  EXPECT_TRUE(world.commands.empty());
  for (auto& [name, worker] : world.workers)
    if (worker.node == NodeId{}) world.join(worker);
  EXPECT_TRUE(world.until([&] { return !ns().report().safe_mode; }));
  for (int i = 0; i < 20; ++i) world.step();
  ASSERT_EQ(world.commands.size(), 1u);
  EXPECT_TRUE(has(world.commands[0], "erase"));
  EXPECT_TRUE(healthy());
}

TEST_F(NamespaceTest, AnOperatorMayEndSafeMode) {
  two_racks();
  OK(world.write("/f", 5));
  world.restart();
  world.join(world.workers.at("a1"));
  world.step();
  ASSERT_TRUE(ns().report().safe_mode);
  ns().leave_safe_mode();
  EXPECT_FALSE(ns().report().safe_mode);
  EXPECT_GT(ns().report().missing_chunks + ns().report().under_replicated, 0u);
}

TEST_F(NamespaceTest, AWriterGoesOnAfterARestart) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  OK(world.write_chunk(lease, "", 10));
  const Allocation allocation = ns().allocate(lease, "", {}, world.now).value();
  const ChunkInfo info{allocation.chunk, 20, 3};
  const auto old_targets = allocation.targets;
  for (const NodeId target : old_targets) world.by_node(target)->disk[info.id] = info;
  world.restart();
  for (auto& [name, worker] : world.workers) world.join(worker);
  world.step();
  OK(ns().seal(lease, info, old_targets, world.now));
  OK(ns().seal(lease, info, old_targets, world.now));
  OK(ns().complete(lease, 1, world.now));
  EXPECT_EQ(ns().stat("/f").value().bytes, 30u);
  EXPECT_EQ(world.names_at("/f", 1).size(), 3u);
  const LeaseId next = ns().create("/g", "ann", {}, world.now).value();
  EXPECT_GT(ns().allocate(next, "", {}, world.now).value().chunk, info.id);
}

TEST_F(NamespaceTest, AWriterLearnsThatItsFileWasCompletedFromTheNextMasterToo) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  OK(world.write_chunk(lease, "", 100));
  OK(ns().complete(lease, 1, world.now));
  for (int i = 0; i < 2; ++i) {
    world.restart();
    OK(ns().complete(lease, 2, world.now));
    EXPECT_EQ(ns().stat("/f").value().modified_ms, 1);
  }
  const auto records = world.records.size();
  EXPECT_TRUE(world.until([&] { return world.records.size() == records - 1; })) << "for as long as a lease, and no longer";
  world.restart();
  EXPECT_EQ(ns().complete(lease, 2, world.now).error().code(), Code::not_found);
}

TEST_F(NamespaceTest, NamesOfUsersAreBoundedAndKeptOnlyWithWhatTheyHave) {
  two_racks();
  const std::string text(kLongestName + 1, 'u');
  for (const auto& refused : {ns().create("/f", text, {}, world.now).map([](auto) {}), ns().make_directory("/d", text, true, 1)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::invalid_argument);
    EXPECT_TRUE(has(refused.error().message(), "user")) << refused.error().message();
  }
  OK(ns().set_quota("eve", {.bytes = 0, .entries = 1}));
  OK(ns().make_directory("/e", "eve", false, 1));
  EXPECT_FALSE(ns().make_directory("/e/e", "eve", false, 1));
  EXPECT_EQ(ns().users().size(), 1u);
}

TEST_F(NamespaceTest, AWorkerThatReturnsWithStaleChunksErasesThem) {
  two_racks();
  OK(world.write("/f", 30));
  PretendedWorker& worker = world.workers.at("a1");
  world.kill(worker);
  OK(ns().remove("/f", false, world.now));
  for (int i = 0; i < 400; ++i) world.step();
  ASSERT_FALSE(worker.disk.empty());
  world.join(worker);
  world.step();
  EXPECT_TRUE(worker.disk.empty());
}

TEST_F(NamespaceTest, ALaterReportCorrectsWhatWasMissed) {
  two_racks();
  OK(world.write("/f", 1, {.replication = 2}));
  OK(world.write("/g", 1, {.replication = 2}));
  PretendedWorker& worker = world.workers.at(world.names_at("/f")[0]);
  const ChunkInfo f = ns().locate("/f", 0, 1).value()[0].info, g = ns().locate("/g", 0, 1).value()[0].info;
  worker.disk.erase(f.id);
  const bool had = std::exchange(worker.disk[g.id], g) == g;  // nobody was told
  OK(ns().block_report(worker.node, {}, true, false));
  OK(ns().chunks_sealed(worker.node, {g}));  // since the report began
  OK(ns().block_report(worker.node, {}, false, true));
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  EXPECT_EQ(world.names_at("/g").size(), had ? 2u : 3u);
  EXPECT_TRUE(world.until([&] { return healthy() && world.names_at("/f").size() == 2 && world.names_at("/g").size() == 2; }));
}

TEST_F(NamespaceTest, AClockThatJumpsForwardLosesNobody) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  world.step();
  world.now += 24h;
  ns().tick(world.now);
  world.step();
  EXPECT_EQ(ns().report().nodes.size(), 6u);
  OK(ns().renew(lease, world.now));
  ns().tick(world.now - 12h);  // and back
  EXPECT_EQ(ns().report().nodes.size(), 6u);
}

TEST_F(NamespaceTest, DamagedRecordsAreNamed) {
  two_racks();
  OK(ns().make_directory("/d", "ann", false, 1));
  OK(world.write("/d/f", 2));
  world.keep();
  const auto complaint = [&](std::map<std::string, std::string> records) {
    Namespace loaded;
    for (const auto& [key, value] : records)
      if (auto restored = loaded.restore(key, value); !restored) return restored.error();
    auto restored = loaded.restored(Time(0));
    return restored ? Error(Code::internal, "accepted") : restored.error();
  };
  auto cut = world.records;
  for (auto& [key, value] : cut)
    if (key[0] == 'e') value.pop_back();
  EXPECT_EQ(complaint(cut).code(), Code::corrupt);
  auto orphan = world.records;
  orphan.erase(orphan.lower_bound("e"));  // the directory
  EXPECT_EQ(complaint(orphan).code(), Code::corrupt);
  EXPECT_TRUE(has(complaint(orphan).to_string(), "has no place")) << complaint(orphan).to_string();
  auto unknown = world.records;
  unknown["z"] = "?";
  EXPECT_TRUE(has(complaint(unknown).to_string(), "'z'"));
}

TEST_F(NamespaceTest, FsckGoesOnWhereItStopped) {
  two_racks();
  OK(ns().make_directory("/a/b", "ann", true, 1));
  for (const char* path : {"/a/b/1", "/a/b/2", "/a/b.x", "/a/c", "/z"}) OK(world.write(path, 1));
  std::vector<std::string> seen;
  std::string after;
  while (true) {
    const std::size_t before = seen.size();
    OK(ns().check("/", after, [&](const FileCheck& file) {
      seen.push_back(file.file.path);
      return seen.size() % 2 != 0;
    }));
    if (seen.size() == before) break;
    after = seen.back();
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"/a/b/1", "/a/b/2", "/a/b.x", "/a/c", "/z"}));
}

}  // namespace
}  // namespace weft::storage
