#include "tests/storage/namespace/namespace_fixture.hpp"

namespace weft::storage {
namespace {

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

/// Whoever can have a worker report a replica of the same digest would else put it in the place of one that was ordered.
TEST_F(NamespaceTest, AReplicaThatNobodyOrderedTakesNoOthersPlace) {
  two_racks();
  OK(world.write("/f", 1));
  const ChunkInfo info = ns().locate("/f", 0, 1).value().chunks.at(0).info;
  const auto written = world.names_at("/f");
  for (auto& [name, worker] : world.workers) {
    if (std::find(written.begin(), written.end(), name) != written.end()) continue;
    worker.disk[info.id] = info;
    world.happened(worker, ChunkEvent::sealed, info);
    EXPECT_EQ(world.names_at("/f"), written);
    EXPECT_TRUE(world.until([&] { return !worker.disk.contains(info.id); })) << "it is erased";
  }
  EXPECT_EQ(world.names_at("/f"), written);
  EXPECT_TRUE(healthy());
}

TEST_F(NamespaceTest, AReplicaThatNobodyOrderedIsWelcomeWhileSomeAreLacking) {
  two_racks();
  OK(world.write("/f", 1, {}, "a1"));
  const auto written = world.names_at("/f");
  world.kill(world.workers.at("a1"));
  PretendedWorker& other = world.workers.at(std::find(written.begin(), written.end(), "a2") == written.end() ? "a2" : "a3");
  const ChunkInfo info = ns().locate("/f", 0, 1).value().chunks.at(0).info;
  other.disk[info.id] = info;
  world.happened(other, ChunkEvent::sealed, info);
  EXPECT_EQ(world.names_at("/f").size(), 3u);
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
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now, kDefaultChunkBytes).error().code(), Code::unavailable);
  world.add("small", "A", 32u << 20);
  const auto full = ns().allocate(lease, "", {}, world.now, kDefaultChunkBytes);
  ASSERT_FALSE(full);
  EXPECT_TRUE(has(full.error().message(), "none of 1 workers has room for 64.0 MiB")) << full.error().message();
  world.add("large", "A");
  const auto room = ns().allocate(lease, "", {}, world.now, kDefaultChunkBytes);
  ASSERT_TRUE(room);
  EXPECT_EQ(room->targets.size(), 1u);
  EXPECT_FALSE(ns().allocate(lease, "", {room->targets[0]}, world.now, kDefaultChunkBytes));
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
  ASSERT_EQ(ns().allocate(lease, "", {}, world.now, kDefaultChunkBytes).value().targets.size(), 2u);
  world.now += 200ms;
  ns().tick(world.now);
  EXPECT_TRUE(ns().take_commands().empty());
  OK(ns().abandon(lease));  // before anybody has said anything of room
  EXPECT_TRUE(world.until([&] { return healthy(); }, 50));
  EXPECT_EQ(world.names_at("/f").size(), 2u);
}

TEST_F(NamespaceTest, RoomIsWaitedForWhileAWorkerThatWasLostMayComeBack) {
  world.add("full", "A", 60);
  world.add("b", "A", 1u << 20);
  const LeaseId lease = ns().create("/f", "ann", {.replication = 1}, world.now).value();
  OK(ns().allocate(lease, "", {}, world.now, 1000));
  ns().node_lost(world.workers.at("b").node, world.now);
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now, 1000).error().code(), Code::unavailable);
  for (int second = 0; second < 61; ++second) {
    world.now += 1s;
    OK(ns().renew(lease, world.now));
  }
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now, 1000).error().code(), Code::resource_exhausted) << "it was given up";
}

TEST_F(NamespaceTest, RoomIsAskedForWhatIsKnownOfAChunk) {
  world.add("a", "A", 2000);
  const LeaseId lease = ns().create("/f", "ann", {.replication = 1}, world.now).value();
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now, 373).value().targets.size(), 1u) << "of a chunk size of 64 MiB";
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now, 1500).error().code(), Code::resource_exhausted) << "some is left alone";
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now).error().code(), Code::resource_exhausted)
      << "not known, so little, but not so little";
  world.add("b", "A", 3u << 20);
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now).value().targets, std::vector{world.workers.at("b").node});
  EXPECT_FALSE(ns().allocate(lease, "", {}, world.now, 64u << 20));
  const LeaseId other = ns().create("/g", "ann", {.replication = 1}, world.now).value();
  EXPECT_TRUE(ns().allocate(other, "", {}, world.now, 500'000)) << "what was not taken is given back";
}

TEST_F(NamespaceTest, ADamagedReplicaIsKeptUntilAllOthersWereVerified) {
  two_racks();
  OK(world.write("/f", 1));
  PretendedWorker& victim = world.workers.at(world.names_at("/f")[0]);
  const ChunkInfo info = ns().locate("/f", 0, 1).value().chunks[0].info;
  victim.capacity = 0;  // no copy can be written beside it
  world.damage(victim, info);
  EXPECT_EQ(world.names_at("/f").size(), 2u);
  EXPECT_EQ(ns().locate("/f", 0, 1).value().chunks[0].corrupt, std::vector{victim.node});
  EXPECT_EQ(ns().report().corrupt_replicas, 1u);
  EXPECT_TRUE(world.until([&] { return healthy() && victim.aside.empty(); }));
  EXPECT_EQ(world.names_at("/f").size(), 3u);
  const auto at = [&](const std::string& what) {
    return std::find_if(world.commands.begin(), world.commands.end(), [&](const auto& text) { return text.starts_with(what); });
  };
  EXPECT_LT(at("copy"), at("verify")) << "what is copied is read in full thereby";
  EXPECT_LT(at("verify"), at("erase"));
}

TEST_F(NamespaceTest, NothingIsErasedWhileTheOthersAreOnlyBelievedToBeWhole) {
  for (const char* name : {"a", "b", "c"}) world.add(name, "A");
  OK(world.write("/f", 1));
  const ChunkInfo info = ns().locate("/f", 0, 1).value().chunks[0].info;
  world.mendable = true;  // in different pages
  for (const char* name : {"b", "c"}) world.workers.at(name).rotten.insert(info.id);
  world.damage(world.workers.at("a"), info);
  EXPECT_TRUE(world.until([&] { return healthy() && world.names_at("/f").size() == 3; })) << ns().report().missing_chunks;
  for (const std::string& command : world.commands) EXPECT_FALSE(command.starts_with("erase")) << command;
}

TEST_F(NamespaceTest, OneOfFourNodesKeepsTheDamagedReplicaWhenTheOthersTurnOutDamagedToo) {
  for (const char* name : {"a", "b", "c", "d"}) world.add(name, "A");
  OK(world.write("/f", 1));
  const ChunkInfo info = ns().locate("/f", 0, 1).value().chunks[0].info;
  const std::vector<std::string> names = world.names_at("/f");
  world.mendable = true;
  world.workers.at(names[0]).capacity = 0;
  for (std::size_t i : {1u, 2u}) world.workers.at(names[i]).rotten.insert(info.id);
  world.damage(world.workers.at(names[0]), info);
  EXPECT_TRUE(world.until([&] { return healthy() && world.workers.at(names[0]).aside.empty(); }));
  EXPECT_EQ(world.names_at("/f").size(), 3u);
  for (auto& [name, worker] : world.workers) EXPECT_TRUE(worker.aside.empty() && worker.rotten.empty()) << name;
}

TEST_F(NamespaceTest, WhatIsDamagedEverywhereIsKeptTriedAgainEverMoreSeldomAndTold) {
  for (const char* name : {"a", "b", "c"}) world.add(name, "A");
  OK(world.write("/f", 1));
  const ChunkInfo info = ns().locate("/f", 0, 1).value().chunks[0].info;
  for (const char* name : {"a", "b", "c"}) world.damage(world.workers.at(name), info);
  for (int i = 0; i < 500; ++i) world.step();  // 100 s
  EXPECT_LT(world.commands.size(), 10u);
  EXPECT_GT(world.commands.size(), 3u);
  for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(world.workers.at(name).aside.contains(info.id));
  EXPECT_EQ(ns().report().corrupt_replicas, 3u);
  EXPECT_EQ(ns().report().missing_chunks, 0u);
  EXPECT_EQ(ns().report().under_replicated, 1u);
  EXPECT_EQ(ns().locate("/f", 0, 1).value().chunks[0].corrupt.size(), 3u);
  world.kill(world.workers.at("c"));
  EXPECT_EQ(ns().locate("/f", 0, 1).value().chunks[0].corrupt.size(), 2u);
  world.join(world.workers.at("c"));
  EXPECT_EQ(ns().report().corrupt_replicas, 3u);
  OK(ns().remove("/f", false, world.now));
  EXPECT_TRUE(world.until([&] { return world.workers.at("a").aside.empty() && world.workers.at("c").aside.empty(); }, 1000));
  EXPECT_EQ(ns().report().corrupt_replicas, 0u);
}

TEST_F(NamespaceTest, DamagedReplicasOfAllChunksDoNotKeepSafeModeOn) {
  for (const char* name : {"a", "b", "c"}) world.add(name, "A");
  OK(world.write("/f", 1));
  const ChunkInfo info = ns().locate("/f", 0, 1).value().chunks[0].info;
  for (const char* name : {"a", "b", "c"}) world.damage(world.workers.at(name), info);
  world.restart();
  EXPECT_TRUE(ns().report().safe_mode);
  for (auto& [name, worker] : world.workers) world.join(worker);
  world.mendable = true;
  EXPECT_TRUE(world.until([&] { return !ns().report().safe_mode && healthy() && world.names_at("/f").size() == 3; }));
}

TEST_F(NamespaceTest, TheLastReplicaIsNeverErasedEvenWhenItIsCorrupt) {
  world.add("a1", "A");
  OK(world.write("/f", 1, {.replication = 1}));
  world.damage(world.workers.at("a1"), ns().locate("/f", 0, 1).value().chunks[0].info);
  for (int i = 0; i < 50; ++i) world.step();
  for (const std::string& command : world.commands) EXPECT_TRUE(command.starts_with("copy")) << command;
  EXPECT_EQ(world.workers.at("a1").aside.size(), 1u);
}

TEST_F(NamespaceTest, LateNewsMakesNoReplicaOfWhatIsBeingErased) {
  two_racks();
  OK(world.write("/f", 1, {.replication = 2}));
  const ChunkInfo info = ns().locate("/f", 0, 1).value().chunks[0].info;
  OK(ns().set_replication("/f", 1));
  world.slow = true;
  world.step();
  ASSERT_EQ(world.names_at("/f").size(), 1u);
  auto surplus =
      std::find_if(world.workers.begin(), world.workers.end(), [](const auto& item) { return !item.second.to_erase.empty(); });
  ASSERT_NE(surplus, world.workers.end());
  OK(ns().chunks_changed(surplus->second.node, ChunkEvent::sealed, {info}));  // said before it was told to erase it
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  OK(ns().block_report(surplus->second.node, {info}, true, true));
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  OK(ns().chunks_changed(surplus->second.node, ChunkEvent::corrupt, {info}));
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
  PretendedWorker& foreign = world.workers.at("a");
  world.kill(foreign);
  foreign.disk.begin()->second.digest ^= 1;  // something else: a copy cannot be written beside it
  world.join(foreign);
  world.slow = true;
  for (int i = 0; i < 50; ++i) {
    world.step();
    world.tell(world.workers.at("b"));
  }
  EXPECT_EQ(world.commands, (std::vector<std::string>{"verify 2 1", "erase 3 1"}));  // it is busy with other things
  world.slow = false;
  world.erase(foreign);
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

TEST_F(NamespaceTest, ANodeThatLeavesForAWhileIsMissedForNothingThatOthersHave) {
  two_racks();
  OK(world.write("/f", 20));
  OK(world.write("/single", 5, {.replication = 1}, "a1"));
  const NodeId a1 = world.workers.at("a1").node;
  EXPECT_EQ(ns().to_hand_over(a1), 0u) << "it stays";
  EXPECT_EQ(ns().node_leaves(NodeId(99), true).error().code(), Code::not_found);
  OK(ns().node_leaves(a1, true));
  EXPECT_EQ(ns().to_hand_over(a1), 5u);
  const std::size_t before = world.commands.size();
  EXPECT_TRUE(world.until([&] { return ns().to_hand_over(a1) == 0; }));
  const auto copies = std::count_if(world.commands.begin() + static_cast<std::ptrdiff_t>(before), world.commands.end(),
                                    [](const std::string& command) { return command.rfind("copy", 0) == 0; });
  EXPECT_EQ(copies, 5) << "what others have is not copied";
  EXPECT_TRUE(world.until([&] { return healthy(); }));
  OK(world.write("/later", 20));
  for (std::size_t chunk = 0; chunk < 20; ++chunk) {
    const auto names = world.names_at("/later", chunk);
    EXPECT_EQ(std::count(names.begin(), names.end(), "a1"), 0) << "nothing new goes there";
  }
  for (std::size_t chunk = 0; chunk < 5; ++chunk) {
    const auto names = world.names_at("/single", chunk);
    ASSERT_EQ(names.size(), 1u);
    EXPECT_NE(names[0], "a1") << "the surplus one is that of the node that leaves";
  }
  world.kill(world.workers.at("a1"));
  world.join(world.workers.at("a1"));
  EXPECT_EQ(ns().to_hand_over(world.workers.at("a1").node), 0u) << "a node that comes back stays";
  EXPECT_TRUE(world.until([&] { return healthy(); }));
}

TEST_F(NamespaceTest, NodesThatLeaveTogetherHandOverWhatOnlyTheyHave) {
  for (const char* name : {"a1", "a2"}) world.add(name, "A");
  OK(world.write("/f", 10, {.replication = 2}));
  world.add("a3", "A");
  const NodeId first = world.workers.at("a1").node, second = world.workers.at("a2").node;
  OK(ns().node_leaves(first, true));
  EXPECT_EQ(ns().to_hand_over(first), 0u) << "the other has all";
  OK(ns().node_leaves(second, true));
  EXPECT_EQ(ns().to_hand_over(second), 10u);
  EXPECT_TRUE(world.until([&] { return ns().to_hand_over(first) == 0 && ns().to_hand_over(second) == 0; }));
  EXPECT_TRUE(world.until([&] { return healthy(); }));
  world.kill(world.workers.at("a1"));
  world.kill(world.workers.at("a2"));
  for (std::size_t chunk = 0; chunk < 10; ++chunk)
    EXPECT_EQ(world.names_at("/f", chunk), std::vector<std::string>{"a3"}) << "the replica that stays is never the surplus one";
}

TEST_F(NamespaceTest, ANodeThatLeavesForGoodHandsOverAllAsFarAsThereIsRoom) {
  for (const char* name : {"a1", "a2", "a3"}) world.add(name, "A");
  OK(world.write("/f", 10, {.replication = 2}));
  OK(world.write("/everywhere", 10, {.replication = 3}));
  const NodeId a1 = world.workers.at("a1").node;
  const std::size_t has = world.workers.at("a1").disk.size();
  OK(ns().node_leaves(a1, false));
  EXPECT_EQ(ns().to_hand_over(a1), has);
  EXPECT_TRUE(world.until([&] { return ns().to_hand_over(a1) == 0; }))
      << "three replicas find no room on two nodes, and that is that";
  world.kill(world.workers.at("a1"));
  for (std::size_t chunk = 0; chunk < 10; ++chunk) {
    EXPECT_EQ(world.names_at("/f", chunk).size(), 2u);
    EXPECT_EQ(world.names_at("/everywhere", chunk).size(), 2u);
  }
}

TEST_F(NamespaceTest, ANodeThatHasNotReportedYetIsNotLetGo) {
  OK(ns().node_joined(NodeId(1), {"a1", "h", "A", "h:1"}, {0, std::uint64_t{1} << 40}, world.now));
  OK(ns().node_leaves(NodeId(1), true));
  EXPECT_EQ(ns().to_hand_over(NodeId(1)), 1u);
  OK(ns().block_report(NodeId(1), {}, true, true));
  EXPECT_EQ(ns().to_hand_over(NodeId(1)), 0u);
}

TEST_F(NamespaceTest, TheLastNodeWaitsForAnotherOnlyWhenItsChunksGoWithIt) {
  world.add("a1", "A");
  OK(world.write("/f", 3, {.replication = 1}));
  const NodeId a1 = world.workers.at("a1").node;
  OK(ns().node_leaves(a1, true));
  EXPECT_TRUE(world.until([&] { return ns().to_hand_over(a1) == 0; })) << "nobody could take them";
  OK(ns().node_leaves(a1, false));
  for (int i = 0; i < 20; ++i) world.step();
  EXPECT_EQ(ns().to_hand_over(a1), 3u);
  world.add("a2", "A");
  EXPECT_TRUE(world.until([&] { return ns().to_hand_over(a1) == 0; }));
}

TEST_F(NamespaceTest, ANodeWithTheOnlyDamagedReplicaIsNotLetGo) {
  for (const char* name : {"a1", "a2"}) world.add(name, "A");
  OK(world.write("/sole", 1, {.replication = 1}, "a1"));
  OK(world.write("/both", 1, {.replication = 2}));
  const auto info = [&](const char* path) { return ns().locate(path, 0, 1).value().chunks[0].info; };
  PretendedWorker& a1 = world.workers.at("a1");
  for (const char* path : {"/sole", "/both"}) world.damage(a1, info(path));
  const auto left = [&] { return ns().report().nodes.at(0).to_move; };
  EXPECT_EQ(left(), 0u) << "it stays";
  OK(ns().drain("a1", true));
  EXPECT_EQ(left(), 1u) << "the other node has a whole replica of the other chunk";
  OK(ns().node_leaves(a1.node, true));
  EXPECT_EQ(ns().to_hand_over(a1.node), 1u);
  EXPECT_TRUE(world.until([&] { return ns().to_hand_over(a1.node) == 0; })) << "no copy can be made, and it comes back";
  EXPECT_EQ(left(), 1u);
  OK(ns().node_leaves(a1.node, false));
  EXPECT_EQ(ns().to_hand_over(a1.node), 1u);
  world.mendable = true;
  EXPECT_TRUE(world.until([&] { return left() == 0 && ns().to_hand_over(a1.node) == 0; }, 1000));
  EXPECT_EQ(world.names_at("/sole"), std::vector<std::string>{"a2"});
}

TEST_F(NamespaceTest, SomethingElseUnderAChunksIdKeepsNoNode) {
  for (const char* name : {"a1", "a2"}) world.add(name, "A");
  OK(world.write("/f", 1, {.replication = 1}, "a1"));
  const NodeId a1 = world.workers.at("a1").node;
  ChunkInfo info = ns().locate("/f", 0, 1).value().chunks[0].info;
  OK(ns().chunks_changed(a1, ChunkEvent::lost, {info}));
  ++info.digest;
  OK(ns().block_report(a1, {info}, true, true));
  ASSERT_EQ(ns().report().corrupt_replicas, 1u);
  OK(ns().node_leaves(a1, false));
  EXPECT_EQ(ns().to_hand_over(a1), 0u);
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

}  // namespace
}  // namespace weft::storage
