// Directories, files and owners, without chunks, leases or workers.
#include "storage/namespace/tree.hpp"

#include <gtest/gtest.h>

namespace weft::storage {
namespace {

class TreeTest : public testing::Test {
 protected:
  Entry& file(const std::string& path, const std::string& user, std::uint64_t length, std::uint32_t replication) {
    auto entry = std::make_unique<Entry>();
    entry->account = &tree.account(user);
    entry->length = length;
    entry->replication = replication;
    entry->account->bytes += entry->stored();  // as while it was written
    return tree.add_file(**tree.directory_for(path), path.substr(path.rfind('/') + 1), std::move(entry));
  }

  Ids ids;
  Tree tree{ids};
};

TEST_F(TreeTest, CountsWhatIsThereAndWhoseItIs) {
  ASSERT_TRUE(tree.make_directory("/a/b", "ann", true, 1));
  file("/a/b/f", "bob", 100, 3);
  EXPECT_EQ(tree.directories(), 3u);
  EXPECT_EQ(tree.files(), 1u);
  EXPECT_EQ(tree.account("ann").entries, 2u);
  EXPECT_EQ(tree.account("bob").bytes, 300u);
  const auto taken = tree.take(*tree.find("/a"));
  EXPECT_EQ(tree.find("/a"), nullptr);
  EXPECT_EQ(tree.directories(), 1u);
  EXPECT_EQ(tree.files(), 0u);
  EXPECT_EQ(tree.account("bob").bytes, 0u);
  EXPECT_NE(taken->children->find("b"), taken->children->end());
}

TEST_F(TreeTest, ARefusalChangesNothing) {
  ASSERT_TRUE(tree.make_directory("/a", "ann", false, 1));
  (void)tree.take_changed();
  (void)ids.take_changed();
  EXPECT_EQ(tree.make_directory("/a", "ann", false, 1).error().code(), Code::already_exists);
  EXPECT_EQ(tree.make_directory("/x/y", "ann", false, 1).error().code(), Code::not_found);
  EXPECT_EQ(tree.check_move("/a", "/a/b", false).error().code(), Code::invalid_argument);
  EXPECT_EQ(tree.check_move("/", "/b", false).error().code(), Code::invalid_argument);
  EXPECT_TRUE(tree.take_changed().empty());
  EXPECT_FALSE(ids.take_changed());
}

TEST_F(TreeTest, AMoveReplacesWhatItMayOnly) {
  ASSERT_TRUE(tree.make_directory("/d", "ann", false, 1));
  file("/f", "ann", 1, 1), file("/g", "ann", 2, 1);
  EXPECT_EQ(tree.check_move("/f", "/g", false).error().code(), Code::already_exists);
  EXPECT_EQ(tree.check_move("/f", "/d", true).error().code(), Code::already_exists) << "a directory";
  EXPECT_EQ(tree.check_move("/f", "/f", false)->entry, nullptr) << "nothing to do";
  const auto move = tree.check_move("/f", "/g", true);
  ASSERT_TRUE(move);
  ASSERT_EQ(move->replaced, tree.find("/g"));
  const auto replaced = tree.take(*move->replaced);
  tree.move(*move);
  EXPECT_EQ(tree.find("/g")->length, 1u);
  EXPECT_EQ(tree.find("/f"), nullptr);
}

TEST_F(TreeTest, QuotasAreOfWhoeverOwns) {
  ASSERT_TRUE(tree.set_quota("ann", {1000, 2}));
  Entry& kept = file("/f", "ann", 100, 2);
  EXPECT_TRUE(tree.may_replicate(kept, 10, "/f"));
  EXPECT_EQ(tree.may_replicate(kept, 11, "/f").error().code(), Code::resource_exhausted);
  EXPECT_EQ(tree.may_replicate(kept, 0, "/f").error().code(), Code::invalid_argument);
  tree.set_replication(kept, 10);
  EXPECT_EQ(tree.account("ann").bytes, 1000u);
  EXPECT_TRUE(tree.make_directory("/d", "ann", false, 1));
  EXPECT_EQ(tree.make_directory("/e", "ann", false, 1).error().code(), Code::resource_exhausted);
  EXPECT_EQ(tree.owner(std::string(5000, 'u'), "/x", 1).error().code(), Code::invalid_argument) << "too long a name";
}

TEST_F(TreeTest, IdsAreNeverGivenOutTwiceOverRestartsNeither) {
  const EntryId first = ids.entry();
  const ChunkId chunk = ids.chunk();
  EXPECT_GT(ids.entry(), first);
  EXPECT_EQ(ids.coming_chunk(), ChunkId(chunk.value() + 1));
  EXPECT_TRUE(ids.take_changed());
  for (int i = 0; i < 100; ++i) (void)ids.chunk();
  EXPECT_FALSE(ids.take_changed()) << "many at a time";
  const ChunkId last = ids.chunk();
  Ids again;
  again.restore(ids.record());
  EXPECT_GT(again.chunk(), last);
  again.used(NodeId(7));
  again.used(NodeId(3));
  EXPECT_EQ(again.record().next_node, 8u);
}

}  // namespace
}  // namespace weft::storage
