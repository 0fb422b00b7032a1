#include "storage/namespace/path.hpp"
#include "tests/storage/namespace/namespace_fixture.hpp"

namespace weft::storage {
namespace {

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

TEST_F(NamespaceTest, WhatWasRemovedGoesInTimeHoweverOftenMastersAreRestarted) {
  two_racks();
  OK(world.write("/f", 50));
  OK(ns().remove("/f", false, world.now));
  for (int restart = 0; restart < 2; ++restart) {  // of masters that live for 25 s each, less than the minute that it is kept
    for (int i = 0; i < 25; ++i) world.step(1s);
    world.restart();
    for (auto& [name, worker] : world.workers) world.join(worker);
    EXPECT_EQ(ns().report().chunks, 50u) << "readers may be at it";
  }
  for (int i = 0; i < 9; ++i) world.step(1s);
  EXPECT_EQ(ns().report().chunks, 50u);
  world.step(1s);
  EXPECT_EQ(ns().report().chunks, 0u);
  EXPECT_TRUE(world.until(
      [&] { return std::ranges::all_of(world.workers, [](const auto& worker) { return worker.second.disk.empty(); }); }));
}

TEST_F(NamespaceTest, WhatNobodyCompletesGoesHoweverOftenMastersAreRestarted) {
  two_racks();
  const LeaseId silent = ns().create("/silent", "ann", {}, world.now).value();
  const LeaseId renewed = ns().create("/renewed", "ann", {}, world.now).value();
  const LeaseId work = ns().lease_directory("/.work", "ann", 1, world.now).value();
  const LeaseId job = ns().lease_directory("/.job", "ann", 1, world.now, true).value();
  for (const LeaseId lease : {silent, renewed}) OK(world.write_chunk(lease, "", 10));
  for (int master = 0; master < 2; ++master) {  // each lives for 30 s, of which 24 are known to the next
    for (int i = 0; i < 30; ++i) world.step(1s);
    OK(ns().renew(renewed, world.now));
    EXPECT_EQ(ns().report().open_files, 2u);
    world.now += 1h;  // without a master nobody can renew
    world.restart();
    for (auto& [name, worker] : world.workers) world.join(worker);
  }
  for (int i = 0; i < 23; ++i) world.step(1s);
  EXPECT_EQ(ns().report().open_files, 2u) << "more than a renewal takes, which may not have been recorded";
  world.step(1s);
  EXPECT_EQ(ns().report().open_files, 1u);
  EXPECT_EQ(ns().renew(silent, world.now).error().code(), Code::not_found);
  EXPECT_EQ(ns().renew(work, world.now).error().code(), Code::not_found);
  EXPECT_FALSE(ns().stat("/.work"));
  OK(ns().renew(renewed, world.now));
  OK(ns().complete(renewed, 1, world.now));
  for (int i = 0; i < 3600 - 3 * 24 - 1; ++i) world.step(1s);
  EXPECT_TRUE(ns().stat("/.job")) << "the directory of a job has an hour";
  world.step(1s);
  EXPECT_EQ(ns().renew(job, world.now).error().code(), Code::not_found);
  EXPECT_TRUE(std::ranges::none_of(world.records, [](const auto& record) {
    return record.first.starts_with(kFileLeaseTimes) || record.first[0] == 'c' || record.first[0] == 'o';
  })) << "nothing of them is left";
}

TEST_F(NamespaceTest, ThatAFileWasCompletedIsForgottenHoweverOftenMastersAreRestarted) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  OK(world.write_chunk(lease, "", 10));
  OK(ns().complete(lease, 1, world.now));
  for (int master = 0; master < 2; ++master) {
    for (int i = 0; i < 30; ++i) world.step(1s);
    world.now += 1h;
    world.restart();
    for (auto& [name, worker] : world.workers) world.join(worker);
    OK(ns().complete(lease, 1, world.now));
  }
  for (int i = 0; i < 24; ++i) world.step(1s);
  EXPECT_EQ(ns().complete(lease, 1, world.now).error().code(), Code::not_found);
}

TEST_F(NamespaceTest, WhatAnEarlierReleaseHasRecordedAsCompletedIsReadAndDamageOfTheTimeOfALeaseIsNamed) {
  two_racks();
  const LeaseId lease = ns().create("/f", "ann", {}, world.now).value();
  OK(world.write_chunk(lease, "", 10));
  OK(ns().complete(lease, 1, world.now));
  world.keep();
  const auto completed = std::ranges::find_if(world.records, [](const auto& record) { return record.first[0] == 'c'; });
  ASSERT_NE(completed, world.records.end());
  completed->second.clear();
  world.restart();
  OK(ns().complete(lease, 1, world.now));
  Namespace other;
  for (const auto& [key, value] :
       {std::pair(completed->first, std::string("abc")), std::pair(std::string(kFileLeaseTimes) + "12345678", std::string("abcde")),
        std::pair(std::string(kFileLeaseTimes) + "12345678", std::string())})
    EXPECT_EQ(other.restore(key, value).error().code(), Code::corrupt);
  EXPECT_TRUE(has(other.restore(std::string(kFileLeaseTimes) + "12345678", "").error().to_string(), "'!lf12345678' is damaged"));
}

TEST_F(NamespaceTest, AfterARestartRoomIsWaitedForUntilWorkersAreBack) {
  two_racks();
  OK(world.write("/f", 50));
  world.restart();
  PretendedWorker& first = world.workers.at("a1");
  first.capacity = 60;  // full
  world.join(first);
  world.step();
  ASSERT_TRUE(ns().report().safe_mode);
  const LeaseId lease = ns().create("/g", "ann", {}, world.now).value();
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now, 1000).error().code(), Code::unavailable);
  for (auto& [name, worker] : world.workers)
    if (worker.node == NodeId{}) world.join(worker);
  OK(ns().allocate(lease, "", {}, world.now, 1000));
  for (auto& [name, worker] : world.workers) worker.capacity = 60;
  ASSERT_TRUE(world.until([&] { return !ns().report().safe_mode; }));
  EXPECT_EQ(ns().allocate(lease, "", {}, world.now, 1000).error().code(), Code::resource_exhausted);
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
  const ChunkInfo f = ns().locate("/f", 0, 1).value().chunks[0].info, g = ns().locate("/g", 0, 1).value().chunks[0].info;
  worker.disk.erase(f.id);
  const bool had = std::exchange(worker.disk[g.id], g) == g;  // nobody was told
  OK(ns().set_replication("/g", 3));                          // so that it is welcome
  OK(ns().block_report(worker.node, {}, true, false));
  OK(ns().chunks_changed(worker.node, ChunkEvent::sealed, {g}));  // since the report began
  OK(ns().block_report(worker.node, {}, false, true));
  EXPECT_EQ(world.names_at("/f").size(), 1u);
  EXPECT_EQ(world.names_at("/g").size(), had ? 2u : 3u);
  EXPECT_TRUE(world.until([&] { return healthy() && world.names_at("/f").size() == 2 && world.names_at("/g").size() == 3; }));
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
    auto restored = loaded.restored(Time(0), 0);
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
    OK(ns().check("/", after, [&](const FileChunks& file) {
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
