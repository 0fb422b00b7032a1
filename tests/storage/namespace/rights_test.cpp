// Owners and modes of files and directories.
#include "storage/namespace/mode.hpp"
#include "tests/storage/namespace/namespace_fixture.hpp"

namespace weft::storage {
namespace {

class NamespaceRights : public NamespaceTest {
 protected:
  void SetUp() override {
    two_racks();
    OK(ns().make_directory("/ann", "ann", false, 0));
    OK(world.write("/ann/f", 1, {}, "", "ann"));
  }
  static constexpr Actor kAnn{"ann", false}, kBob{"bob", false}, kRoot{"root", true};
  std::uint32_t mode(const std::string& path) { return ns().stat(path).value().mode; }
  /// The refusal must name the code that callers look at.
  std::string denied(const Result<void>& may) {
    EXPECT_TRUE(may || may.error().code() == Code::permission_denied);
    return refusal(may);
  }
};

TEST_F(NamespaceRights, AllReadAndTheOwnerWritesUnlessSomebodySaysOtherwise) {
  EXPECT_EQ(mode("/"), 01777U);
  EXPECT_EQ(mode("/ann"), 0755U);
  EXPECT_EQ(mode("/ann/f"), 0644U);
  EXPECT_EQ(denied(ns().may_read(kBob, "/ann/f")), "accepted");
  EXPECT_EQ(denied(ns().may_read(kBob, "/ann")), "accepted");
  EXPECT_EQ(denied(ns().may_replace(kBob, "/ann/f")),
            "bob may not replace /ann/f: /ann/f belongs to ann and has mode 644 (weft fs chmod)");
  EXPECT_TRUE(has(denied(ns().may_make(kBob, "/ann/g")), "bob may not make /ann/g: /ann belongs to ann and has mode 755"));
  EXPECT_TRUE(has(denied(ns().may_make(kBob, "/ann/d/e/g")), "bob may not make /ann/d/e/g: /ann belongs to ann"));
  EXPECT_TRUE(has(denied(ns().may_remove(kBob, "/ann/f")), "bob may not remove /ann/f"));
  EXPECT_TRUE(has(denied(ns().may_write(kBob, "/ann")), "bob may not change /ann/f"));
  EXPECT_TRUE(has(denied(ns().may_own(kBob, "/ann/f", false)), "bob may not change the mode of /ann/f"));
  for (const Actor& who : {kAnn, kRoot}) {
    EXPECT_EQ(denied(ns().may_replace(who, "/ann/f")), "accepted");
    EXPECT_EQ(denied(ns().may_make(who, "/ann/g")), "accepted");
    EXPECT_EQ(denied(ns().may_remove(who, "/ann")), "accepted");
    EXPECT_EQ(denied(ns().may_own(who, "/ann", true)), "accepted");
  }
}

TEST_F(NamespaceRights, InTheRootOnlyOwnersTakeNamesAway) {
  EXPECT_EQ(denied(ns().may_make(kBob, "/bob")), "accepted");
  EXPECT_TRUE(has(denied(ns().may_remove(kBob, "/ann")), "bob may not remove /ann"));
  EXPECT_TRUE(has(denied(ns().may_rename(kBob, "/ann", "/mine")), "bob may not rename /ann"));
  OK(world.write("/bob", 1, {}, "", "bob"));
  EXPECT_TRUE(has(denied(ns().may_rename(kBob, "/bob", "/ann/f")), "bob may not replace /ann/f"));
  EXPECT_TRUE(has(denied(ns().may_rename(kBob, "/bob", "/ann/b")), "bob may not make /ann/b"));
  EXPECT_EQ(denied(ns().may_rename(kBob, "/bob", "/other")), "accepted");
  OK(ns().make_directory("/all", "ann", false, 0));
  OK(ns().set_mode("/all", 0777, false));
  OK(world.write("/all/f", 1, {}, "", "ann"));
  EXPECT_EQ(denied(ns().may_remove(kBob, "/all/f")), "accepted") << "it is not sticky";
}

TEST_F(NamespaceRights, WhatIsPrivateIsNotEvenSeen) {
  OK(ns().set_mode("/ann", 0700, false));
  EXPECT_TRUE(has(denied(ns().may_reach(kBob, "/ann/f")), "bob may not reach /ann/f: /ann belongs to ann and has mode 700"));
  EXPECT_TRUE(has(denied(ns().may_reach(kBob, "/ann/none")), "bob may not reach /ann/none")) << "nor whether it exists";
  EXPECT_TRUE(has(denied(ns().may_read(kBob, "/ann")), "bob may not read /ann"));
  EXPECT_EQ(denied(ns().may_read(kAnn, "/ann/f")), "accepted");
  OK(ns().set_mode("/ann", 0711, false));
  EXPECT_EQ(denied(ns().may_read(kBob, "/ann/f")), "accepted") << "he who knows the name";
  EXPECT_TRUE(has(denied(ns().may_read(kBob, "/ann")), "bob may not read /ann"));
  OK(ns().set_mode("/ann/f", 0600, false));
  EXPECT_TRUE(has(denied(ns().may_read(kBob, "/ann/f")), "has mode 600"));
  EXPECT_FALSE(ns().reads(kBob, "/ann/f"));
  OK(ns().set_mode("/ann/f", 0077, false));
  EXPECT_TRUE(has(denied(ns().may_read(kAnn, "/ann/f")), "ann may not read /ann/f")) << "the owner's digit is the owner's";
}

TEST_F(NamespaceRights, ATreeIsRemovedOnlyWhereAllOfItMayBe) {
  OK(ns().make_directory("/all", "bob", false, 0));
  OK(ns().set_mode("/all", 0777, false));
  OK(ns().make_directory("/all/hers", "ann", false, 0));
  OK(world.write("/all/hers/f", 1, {}, "", "ann"));
  EXPECT_TRUE(has(denied(ns().may_remove(kBob, "/all")), "bob may not remove /all/hers/f"));
}

TEST_F(NamespaceRights, LeasesAreOfWhoBeganThem) {
  const LeaseId lease = ns().create("/ann/g", "ann", {}, world.now).value();
  EXPECT_EQ(denied(ns().may_use(kBob, lease)), "bob may not write /ann/g: ann writes it");
  EXPECT_EQ(denied(ns().may_use(kAnn, lease)), "accepted");
  EXPECT_EQ(denied(ns().may_use(kRoot, lease)), "accepted");
  EXPECT_EQ(denied(ns().may_use(kBob, LeaseId(999))), "accepted") << "that it is over, the operation says";
}

/// By a lease on a directory that he has removed, somebody could have that of another user removed which got its name.
TEST_F(NamespaceRights, ALeaseOnADirectoryIsNoneOnWhatHasItsNameLater) {
  const auto leased = [&] { return ns().lease_directory("/results", "bob", 0, world.now).value(); };
  const auto anns = [&] {
    OK(ns().make_directory("/results", "ann", false, 0));
    OK(world.write("/results/f", 1, {}, "", "ann"));
  };
  const LeaseId removed = leased();
  EXPECT_EQ(ns().directory_of(removed), "/results");
  OK(ns().remove("/results", true, world.now));
  anns();
  EXPECT_EQ(ns().directory_of(removed), "");
  EXPECT_EQ(denied(ns().may_use(kBob, removed)), "accepted");
  OK(ns().abandon(removed));
  EXPECT_TRUE(ns().stat("/results/f"));
  OK(ns().remove("/results", true, world.now));

  const LeaseId renamed = leased(), taken = ns().lease_directory("/work", "bob", 0, world.now, true).value();
  OK(ns().rename("/results", "/elsewhere", false, world.now));
  anns();
  OK(ns().set_owner("/work", "ann", true));
  EXPECT_FALSE(ns().lease_directory("/work", "bob", 0, world.now, true))
      << "what was given to another user is taken over by nobody";
  world.restart();
  EXPECT_EQ(ns().directory_of(renamed) + ns().directory_of(taken), "");
  OK(ns().abandon(taken));
  for (int i = 0; i < 100; ++i) world.step(1s);
  EXPECT_FALSE(ns().renew(renamed, world.now));
  EXPECT_TRUE(ns().stat("/results/f")) << "nor does it go when the lease runs out";
  EXPECT_TRUE(ns().stat("/elsewhere") && ns().stat("/work"));
  world.step();
  for (const auto& [key, value] : world.records) EXPECT_FALSE(key.starts_with(kLeasedDirectories)) << "of leases that are over";
}

/// Masters of earlier releases kept no record of which directory it is.
TEST_F(NamespaceRights, ALeaseOfAnEarlierReleaseIsOnTheDirectoryOfItsNameAndUser) {
  const LeaseId mine = ns().lease_directory("/mine", "bob", 0, world.now).value();
  const LeaseId hers = ns().lease_directory("/hers", "bob", 0, world.now).value();
  OK(ns().remove("/hers", true, world.now));
  OK(ns().make_directory("/hers", "ann", false, 0));
  world.keep();
  std::erase_if(world.records, [](const auto& record) { return record.first.starts_with(kLeasedDirectories); });
  world.restart();
  EXPECT_EQ(ns().directory_of(mine), "/mine");
  EXPECT_EQ(ns().directory_of(hers), "");
  world.restart();
  EXPECT_EQ(ns().directory_of(mine), "/mine");
  OK(ns().abandon(mine));
  OK(ns().abandon(hers));
  EXPECT_TRUE(ns().stat("/hers"));
  EXPECT_FALSE(ns().stat("/mine"));
}

/// Whoever begins a file and closes it later could replace one that another user has made meanwhile.
TEST_F(NamespaceRights, AFileIsCompletedWhereItMayBeMadeByThen) {
  const auto begun = [&](const std::string& path) { return ns().create(path, "bob", {.overwrite = true}, world.now).value(); };
  const LeaseId replaces = begun("/data"), mine = begun("/mine");
  OK(ns().make_directory("/p", "bob", false, 0));
  const LeaseId planted = begun("/p/part-0");
  EXPECT_EQ(denied(ns().may_complete(kBob, replaces)), "accepted");
  EXPECT_EQ(denied(ns().may_complete(kBob, planted)), "accepted");
  OK(world.write("/data", 1, {}, "", "ann"));
  OK(ns().set_mode("/data", 0600, false));
  OK(ns().remove("/p", true, world.now));
  OK(ns().make_directory("/p", "ann", false, 0));
  EXPECT_TRUE(has(denied(ns().may_complete(kBob, replaces)), "bob may not replace /data: /data belongs to ann and has mode 600"));
  EXPECT_TRUE(has(denied(ns().may_complete(kBob, planted)), "bob may not make /p/part-0: /p belongs to ann"));
  OK(ns().set_mode("/p", 0700, false));
  EXPECT_TRUE(has(denied(ns().may_complete(kBob, planted)), "bob may not reach /p/part-0"));
  EXPECT_EQ(denied(ns().may_complete(kRoot, planted)), "accepted");
  EXPECT_EQ(denied(ns().may_complete(kAnn, mine)), "ann may not write /mine: bob writes it");
  EXPECT_EQ(denied(ns().may_complete(kBob, LeaseId(999))), "accepted") << "that it is over, the operation says";
}

TEST_F(NamespaceRights, WhatDoesNotExistIsRefusedToNobody) {
  EXPECT_EQ(denied(ns().may_read(kBob, "/none/f")), "accepted");
  EXPECT_EQ(denied(ns().may_remove(kBob, "/none")), "accepted");
  EXPECT_EQ(denied(ns().may_rename(kBob, "/none", "/other")), "accepted");
  EXPECT_EQ(denied(ns().may_read(kBob, "/ann/f/below")), "accepted");
  EXPECT_FALSE(ns().may_read(kBob, "relative")) << "it is no path";
}

TEST_F(NamespaceRights, ModesAndOwnersOutliveARestartAndGoWithTheEntry) {
  OK(ns().set_mode("/ann/f", 0600, false));
  OK(ns().set_mode("/", 0755, false));
  OK(ns().set_owner("/ann", "eve", true));
  OK(ns().rename("/ann/f", "/ann/moved", false, world.now));
  const std::string before = describe(ns());
  world.restart();
  EXPECT_EQ(mode("/ann/moved"), 0600U);
  EXPECT_EQ(mode("/ann"), 0755U);
  EXPECT_EQ(mode("/"), 0755U);
  EXPECT_EQ(ns().stat("/ann/moved").value().user, "eve");
  for (auto& [name, worker] : world.workers)
    if (worker.node == NodeId{}) world.join(worker);
  OK(ns().set_mode("/ann/moved", 0644, false));
  OK(ns().set_mode("/", 01777, false));
  OK(ns().remove("/ann", true, world.now));
  EXPECT_TRUE(world.until([&] { return ns().report().trashed == 0; }));
  world.step();
  for (const auto& [key, value] : world.records) EXPECT_NE(key.front(), 'm') << "nothing has a mode of its own any more";
}

TEST_F(NamespaceRights, TheModeOfAnEntryGoesWithIt) {
  OK(ns().set_mode("/ann", 0700, true));
  OK(ns().remove("/ann", true, world.now));
  EXPECT_TRUE(world.until([&] { return ns().report().trashed == 0; }));
  world.step();
  for (const auto& [key, value] : world.records) EXPECT_NE(key.front(), 'm');
}

TEST_F(NamespaceRights, AFileThatIsReplacedKeepsItsMode) {
  OK(ns().set_mode("/ann/f", 0600, false));
  OK(ns().make_directory("/x", "ann", false, 0));
  const LeaseId lease = ns().create("/ann/f", "ann", {.overwrite = true}, world.now).value();
  OK(ns().complete(lease, 0, world.now));
  EXPECT_EQ(mode("/ann/f"), 0600U);
}

TEST_F(NamespaceRights, BytesCountForTheNewOwner) {
  const auto bytes_of = [&](const std::string& user) {
    for (const UserStatus& one : ns().users())
      if (one.user == user) return std::pair(one.bytes, one.entries);
    return std::pair(std::uint64_t{0}, std::uint64_t{0});
  };
  const auto before = bytes_of("ann");
  EXPECT_EQ(before.second, 2U);
  OK(ns().set_owner("/ann", "eve", true));
  EXPECT_EQ(bytes_of("eve"), before);
  EXPECT_EQ(bytes_of("ann").second, 0U);
  EXPECT_FALSE(ns().set_owner("/", "eve", true));
  EXPECT_FALSE(ns().set_owner("/ann", "", false));
  OK(ns().set_quota("ann", {.bytes = 0, .entries = 1}));
  EXPECT_EQ(ns().set_owner("/ann", "ann", true).error().code(), Code::resource_exhausted);
}

TEST(Modes, AreReadAndShownAsPeopleWriteThem) {
  EXPECT_EQ(parse_mode("644").value(), 0644U);
  EXPECT_EQ(parse_mode("0600").value(), 0600U);
  EXPECT_EQ(parse_mode("1777").value(), 01777U);
  for (const char* const wrong : {"", "7", "64", "888", "rw-", "2755", "12345", "-644", "6 4"}) {
    const auto parsed = parse_mode(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_TRUE(has(parsed.error().to_string(), "is no mode")) << parsed.error().to_string();
  }
  EXPECT_EQ(mode_text(0644), "rw-r--r--");
  EXPECT_EQ(mode_text(0), "---------");
  EXPECT_EQ(mode_text(01777), "rwxrwxrwt");
  EXPECT_EQ(mode_text(01754), "rwxr-xr-T");
}

}  // namespace
}  // namespace weft::storage
