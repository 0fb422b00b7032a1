// What the master adds to the namespace when clients ask: the nodes that a reply names, bounds of replies, and drained tables.
#include "engine/master/storage/file_operations.hpp"

#include "tests/storage/namespace/world.hpp"

namespace weft::master {
namespace {

using namespace storage::files;
using storage::ChunkEvent;
using storage::ChunkId;
using storage::NodeSite;

class FileOperations : public testing::Test {
 protected:
  FileOperations() {
    for (const char* name : {"w1", "w2", "w3"}) world.add(name, "A");
  }
  template <class Operation>
  Result<typename Operation::Reply> ask(Operation operation) {
    return storage::reply_to<Operation>(
        apply({.administrator = true}, FileRequest(std::move(operation)), {*world.ns, tables, secret}));
  }
  NodeId node(const std::string& name) const { return world.workers.at(name).node; }
  static std::vector<std::string> names_of(const std::vector<NodeSite>& sites) {
    std::vector<std::string> names;
    for (const NodeSite& site : sites) names.push_back(site.node.name);
    std::sort(names.begin(), names.end());
    return names;
  }

  storage::World world;
  const storage::WriteSecret secret{1, 2};
  std::vector<std::pair<std::string, bool>> drained;
  DrainedTables tables{[this](const std::string& worker, bool on) { drained.emplace_back(worker, on); },
                       [](const std::string& worker) { return std::size_t{worker == "w1" ? 7u : 5u}; }};
};

using Names = std::vector<std::string>;

/// Whatever part of it is asked for, all that is needed to read the file is answered.
TEST_F(FileOperations, EveryAnswerThatNamesChunksIsNoted) {
  const Audited part = audited(Locate{"/f", 1, 1}, *world.ns), all = audited(Check{"/", "/a", 1}, *world.ns);
  EXPECT_TRUE(part.noted && all.noted);
  EXPECT_EQ(part.action, "read file");
  EXPECT_EQ(part.object + " " + all.object, "/f /");
  EXPECT_FALSE(audited(Stat{"/f"}, *world.ns).noted);
}

TEST_F(FileOperations, WhatGoesWithALeaseIsNoted) {
  const auto lease = ask(LeaseDirectory{"/work", "ann"})->lease;
  const Audited gone = audited(Abandon{lease}, *world.ns);
  EXPECT_TRUE(gone.noted);
  EXPECT_EQ(gone.action, "remove");
  EXPECT_EQ(gone.object, "/work");
  ASSERT_TRUE(ask(Abandon{lease}));
  EXPECT_FALSE(audited(Abandon{lease}, *world.ns).noted) << "nothing goes";
}

TEST_F(FileOperations, AChunkIsGivenWithTheKeyToWriteIt) {
  const auto lease = ask(CreateFile{"/f", "ann", {}})->lease;
  const auto first = ask(AllocateChunk{lease, "", {}, 10}), second = ask(AllocateChunk{lease, "", {}, 10});
  EXPECT_EQ(first->key, key_to_write(secret, first->chunk));
  EXPECT_EQ(second->key, key_to_write(secret, second->chunk));
  EXPECT_NE(first->key, second->key);
  EXPECT_NE(first->key, key_to_write({1, 3}, first->chunk)) << "that of another master";
}

TEST_F(FileOperations, AFileIsWrittenChunkByChunkAndSeenWhenItIsComplete) {
  const auto lease = ask(CreateFile{"/f", "ann", {.replication = 2}});
  ASSERT_TRUE(lease) << lease.error().to_string();
  const auto chunk = ask(AllocateChunk{lease->lease, "", {node("w2")}, 10});
  ASSERT_TRUE(chunk) << chunk.error().to_string();
  EXPECT_EQ(names_of(chunk->targets), (Names{"w1", "w3"})) << "the one that just failed is left out";
  EXPECT_EQ(ask(Stat{"/f"}).error().code(), Code::not_found);
  ASSERT_TRUE(ask(SealChunk{lease->lease, {chunk->chunk, 10, 1}, {node("w1"), node("w3")}}));
  ASSERT_TRUE(ask(Renew{lease->lease}));
  ASSERT_TRUE(ask(CompleteFile{lease->lease}));
  EXPECT_EQ(ask(Stat{"/f"})->bytes, 10u);
  EXPECT_EQ(ask(AskUsage{"/"})->stored_bytes, 20u);
  EXPECT_FALSE(ask(Renew{lease->lease})) << "it ended with the file";
}

TEST_F(FileOperations, ARemovalOfWhatIsThereNoMoreLeavesWhatIsThereNow) {
  ASSERT_TRUE(world.write("/f", 1));
  const storage::EntryId first = ask(Stat{"/f"})->id;
  ASSERT_TRUE(ask(Remove{"/f", false, first}));
  ASSERT_TRUE(world.write("/f", 1));
  EXPECT_EQ(ask(Remove{"/f", false, first}).error().code(), Code::not_found);
  EXPECT_TRUE(ask(Stat{"/f"}));
  EXPECT_TRUE(ask(Remove{"/f", false})) << "an older client names no id";
}

TEST_F(FileOperations, AnErrorIsTheAnswerAndChangesNothing) {
  world.keep();
  EXPECT_EQ(ask(MakeDirectory{"/a/b", "ann", false}).error().code(), Code::not_found);
  EXPECT_EQ(ask(Remove{"/a", true}).error().code(), Code::not_found);
  EXPECT_EQ(ask(Rename{"/a", "/b", false}).error().code(), Code::not_found);
  EXPECT_EQ(ask(SealChunk{storage::LeaseId(9), {ChunkId(1), 1, 1}, {}}).error().code(), Code::not_found);
  EXPECT_EQ(ask(Check{"/a", "", 10}).error().code(), Code::not_found);
  EXPECT_FALSE(ask(Drain{"nobody", true}));
  EXPECT_TRUE(drained.empty()) << "a drain that was refused concerns no tables either";
  EXPECT_TRUE(world.ns->take_changes().empty());
}

TEST_F(FileOperations, ALocationNamesEachNodeOnceThoseOfDamagedReplicasToo) {
  ASSERT_TRUE(world.write("/f", 3, {.replication = 3}));
  const ChunkId damaged = world.ns->locate("/f", 0, 1)->chunks.at(0).info.id;
  ASSERT_TRUE(world.ns->chunks_changed(node("w2"), ChunkEvent::corrupt, {{damaged, 0, 0}}));
  auto first = ask(Locate{"/f", 0, 1});
  ASSERT_TRUE(first);
  ASSERT_EQ(first->file.chunks.size(), 1u);
  EXPECT_EQ(first->file.chunks[0].nodes.size(), 2u);
  EXPECT_EQ(names_of(first->nodes), (Names{"w1", "w2", "w3"}));
  EXPECT_EQ(names_of(ask(Locate{"/f", 0, 3000})->nodes), (Names{"w1", "w2", "w3"}));
  world.kill(world.workers.at("w3"));
  EXPECT_EQ(names_of(ask(Locate{"/f", 0, 3000})->nodes), (Names{"w1", "w2"}));
}

TEST_F(FileOperations, ACheckTellsOfAtMostSoManyFilesAndGoesOnBehindThem) {
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(world.write("/f" + std::to_string(i), 1));
  const auto paths = [&](const std::string& after, std::uint64_t most) {
    Names found;
    const auto checked = ask(Check{"/", after, most});
    for (const auto& file : checked->files) found.push_back(file.file.path);
    EXPECT_EQ(names_of(checked->nodes).size(), found.empty() ? 0u : 3u);
    return found;
  };
  EXPECT_EQ(paths("", 2), (Names{"/f0", "/f1"}));
  EXPECT_EQ(paths("/f1", 2), (Names{"/f2", "/f3"}));
  EXPECT_EQ(paths("/f3", 2), (Names{"/f4"}));
  EXPECT_EQ(paths("/f4", 2), Names());
  EXPECT_EQ(paths("", 0).size(), 1u) << "none would be no progress";
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(world.write("/g" + std::to_string(i), 0));
  EXPECT_EQ(ask(Check{"/", "", UINT64_MAX})->files.size(), 1000u);
}

TEST_F(FileOperations, ADrainConcernsTablesAndWhatIsLeftOfThemIsReported) {
  ASSERT_TRUE(ask(Drain{"w1", true}));
  EXPECT_EQ(drained, (std::vector<std::pair<std::string, bool>>{{"w1", true}}));
  auto report = ask(AskReport{});
  ASSERT_EQ(report->nodes.size(), 3u);
  for (const auto& of : report->nodes) {
    EXPECT_EQ(of.draining, of.node.name == "w1");
    EXPECT_EQ(of.to_move, of.node.name == "w1" ? 7u : 0u) << of.node.name;
  }
  ASSERT_TRUE(ask(Drain{"w1", false}));
  EXPECT_EQ(drained.back(), std::pair(std::string("w1"), false));
  report = ask(AskReport{});
  for (const auto& of : report->nodes) EXPECT_EQ(of.to_move, 0u);
}

TEST_F(FileOperations, DirectoriesQuotasAndReplicationAreThoseOfTheNamespace) {
  ASSERT_TRUE(ask(MakeDirectory{"/a/b", "ann", true}));
  const auto lease = ask(LeaseDirectory{"/a/work", "ann"});
  ASSERT_TRUE(lease);
  EXPECT_EQ(ask(List{"/a", ""})->entries.size(), 2u);
  EXPECT_EQ(ask(List{"/a", "b"})->entries.size(), 1u);
  ASSERT_TRUE(ask(Abandon{lease->lease}));
  EXPECT_EQ(ask(List{"/a", ""})->entries.size(), 1u);
  ASSERT_TRUE(ask(SetQuota{"ann", {.bytes = 100, .entries = 3}}));
  const auto users = ask(ListUsers{});
  ASSERT_EQ(users->users.size(), 1u);
  EXPECT_EQ(users->users[0].quota.entries, 3u);
  ASSERT_TRUE(world.write("/a/f", 1, {}, "", "bob"));
  ASSERT_TRUE(ask(SetReplication{"/a/f", 1}));
  EXPECT_EQ(ask(Stat{"/a/f"})->replication, 1u);
  ASSERT_TRUE(ask(Rename{"/a/f", "/f", false}));
  ASSERT_TRUE(ask(Remove{"/a", true}));
  EXPECT_EQ(ask(List{"/", ""})->entries.size(), 1u);
  EXPECT_FALSE(ask(Balance{-1}));
  EXPECT_TRUE(ask(LeaveSafeMode{}));
}

}  // namespace
}  // namespace weft::master
