#include "storage/namespace/path.hpp"
#include "tests/storage/namespace/namespace_fixture.hpp"

namespace weft::storage {
namespace {

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
  EXPECT_EQ(ns().locate("/data/f", 1500, 600).value().chunks.size(), 2u);
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

TEST_F(NamespaceTest, ALeasedDirectoryIsTakenOverByItsUserAndStays) {
  two_racks();
  const LeaseId first = ns().lease_directory("/.a.weft-1", "ann", 1, world.now).value();
  OK(world.write("/.a.weft-1/part", 2));
  EXPECT_EQ(ns().lease_directory("/.a.weft-1", "bob", 1, world.now, true).error().code(), Code::already_exists);
  EXPECT_TRUE(ns().renew(first, world.now));
  const auto second = ns().lease_directory("/.a.weft-1", "ann", 1, world.now, true);
  ASSERT_TRUE(second) << second.error().to_string();
  EXPECT_EQ(ns().renew(first, world.now).error().code(), Code::not_found);
  EXPECT_EQ(ns().abandon(first).error().code(), Code::not_found);
  world.restart();  // of the master
  for (auto& [name, worker] : world.workers) world.join(worker);
  for (int i = 0; i < 100; ++i) {
    world.step(1s);
    OK(ns().renew(*second, world.now));
  }
  world.restart();
  for (auto& [name, worker] : world.workers) world.join(worker);
  for (int i = 0; i < 59 * 60; ++i) world.step(1s);  // no worker was there for a driver
  EXPECT_TRUE(ns().stat("/.a.weft-1/part"));
  EXPECT_TRUE(ns().renew(*second, world.now));
  OK(ns().abandon(*second));
  EXPECT_EQ(ns().stat("/.a.weft-1").error().code(), Code::not_found);
  OK(ns().make_directory("/b", "ann", false, 1));
  EXPECT_EQ(ns().lease_directory("/b", "ann", 1, world.now, true).error().code(), Code::already_exists) << "nobody leased it";
  const auto fresh = ns().lease_directory("/c", "ann", 1, world.now, true);
  ASSERT_TRUE(fresh) << "a new one";
  for (int i = 0; i < 61 * 60; ++i) world.step(1s);
  EXPECT_EQ(ns().stat("/c").error().code(), Code::not_found) << "nobody has taken it over in an hour";
}

TEST_F(NamespaceTest, ALeasedDirectoryGoesWithItsLease) {
  two_racks();
  const auto lease = [&](const std::string& path) { return ns().lease_directory(path, "ann", 1, world.now).value(); };
  const LeaseId abandoned = lease("/.a.weft-1"), silent = lease("/.b.weft-1"), renamed = lease("/.c.weft-1"),
                renewed = lease("/.d.weft-1");
  EXPECT_EQ(ns().lease_directory("/.a.weft-1", "ann", 1, world.now).error().code(), Code::already_exists);
  EXPECT_EQ(ns().report().open_files, 0u);
  for (const char* path : {"/.a.weft-1/part", "/.b.weft-1/part", "/.c.weft-1/part"}) OK(world.write(path, 2));
  EXPECT_EQ(ns().allocate(abandoned, "", {}, world.now).error().code(), Code::invalid_argument);
  EXPECT_EQ(ns().complete(abandoned, 1, world.now).error().code(), Code::invalid_argument);
  OK(ns().abandon(abandoned));
  EXPECT_EQ(ns().stat("/.a.weft-1").error().code(), Code::not_found);
  OK(ns().rename("/.c.weft-1", "/c", false, world.now));
  world.restart();  // of the master
  for (auto& [name, worker] : world.workers) world.join(worker);
  for (int i = 0; i < 100; ++i) {
    world.step(1s);
    OK(ns().renew(renewed, world.now));
  }
  EXPECT_EQ(ns().stat("/.b.weft-1").error().code(), Code::not_found);
  EXPECT_FALSE(ns().renew(silent, world.now));
  EXPECT_FALSE(ns().renew(renamed, world.now));
  EXPECT_TRUE(ns().stat("/c/part"));
  EXPECT_TRUE(ns().stat("/.d.weft-1"));
  for (int i = 0; i < 100; ++i) world.step(1s);
  EXPECT_FALSE(ns().stat("/.d.weft-1"));
  EXPECT_EQ(ns().report().chunks, 2u) << "what was in them is reclaimed";
}

}  // namespace
}  // namespace weft::storage
