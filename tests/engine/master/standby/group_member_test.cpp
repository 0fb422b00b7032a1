#include "engine/master/standby/group_member.hpp"

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "engine/master/journal/journal_file.hpp"
#include "storage/namespace/namespace_store.hpp"
#include "tests/engine/master/standby/pretended_election.hpp"
#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::master {
namespace {

using test::ElectionStore;
using test::PretendedElection;
using testing::ElementsAre;
using testing::HasSubstr;

class AMember : public testing::Test {
 protected:
  Result<std::unique_ptr<GroupMember>> open(bool standby = false) {
    GroupOptions options;
    options.data_directory = directory;
    options.paths = {directory + "/journal", directory + "/namespace", directory + "/programs", directory + "/profiles"};
    options.address = "h:1";
    options.standby = standby;
    options.can_serve = [this] { return address_taken ? Result<void>(fail(Code::io, "the address is taken")) : Result<void>(); };
    return GroupMember::open(options, [this](const std::string& member) -> Result<std::unique_ptr<Election>> {
      id = member;
      return std::unique_ptr<Election>(std::make_unique<PretendedElection>(store, member));
    });
  }
  /// Looks that often, and gives up.
  static std::function<bool()> after(int looks) {
    return [left = std::make_shared<int>(looks)] { return (*left)-- <= 0; };
  }
  void write(const Membership& membership) { EXPECT_TRUE(write_membership(directory, membership)); }
  /// Journal and namespace, of one cluster, as a copy has them; the id of that.
  std::string make_stores() const {
    const std::string cluster = storage::NamespaceStore::open(directory + "/namespace").value()->cluster_id();
    JournalRecord first;
    first.masters = 1;
    first.cluster = cluster;
    EXPECT_TRUE(JournalFile::open(directory + "/journal", {}).value().commit_first(first));
    return cluster;
  }
  /// The master that the record names as the only one in sync does not lead, and says why; record and membership stay.
  void expect_refused(const std::string& why) {
    store.record = LeaderRecord{"c", 8, "m", "h:1", {"m"}};
    const Membership before = read_membership(directory).value().value();
    const auto led = open().value()->lead(after(3));
    ASSERT_FALSE(led) << why;
    EXPECT_EQ(led.error().code(), Code::invalid_argument);
    EXPECT_THAT(led.error().to_string(), HasSubstr(why));
    EXPECT_THAT(led.error().to_string(), HasSubstr("is not whole, and this master does not lead with it"));
    EXPECT_EQ(store.record->epoch, 8u);
    EXPECT_EQ(read_membership(directory).value()->epoch, before.epoch);
  }

  weft::test::ScratchDirectory scratch;
  const std::string directory = scratch / "data";
  ElectionStore store;
  std::string id;
  bool address_taken = false;
};

TEST_F(AMember, LeadsWhereNobodyHasLedYet) {
  const auto member = open().value();
  const auto leadership = member->lead(after(1)).value();
  ASSERT_NE(leadership, nullptr);
  EXPECT_EQ(leadership->epoch(), 1u);
  EXPECT_EQ(store.record->address, "h:1");
  EXPECT_EQ(store.record->leader, id);
  EXPECT_THAT(store.record->in_sync, ElementsAre(id));
  const auto membership = read_membership(directory).value();
  ASSERT_TRUE(membership);
  EXPECT_EQ(membership->cluster, store.record->cluster);
  EXPECT_EQ(membership->member, id);
  EXPECT_FALSE(membership->copying);
}

TEST_F(AMember, IsTheSameWhenItIsStartedAgain) {
  open().value();
  const std::string first = id;
  open().value();
  EXPECT_EQ(id, first);
}

TEST_F(AMember, DoesNotBeginAClusterAsAStandby) {
  const auto member = open(true).value();
  EXPECT_EQ(member->lead(after(3)).value(), nullptr);
  EXPECT_FALSE(store.record);
}

TEST_F(AMember, DoesNotBeginAClusterWithACopyThatMayNotBeWhole) {
  std::filesystem::create_directory(directory);
  write({"m", "", 0, true});
  const auto member = open().value();
  EXPECT_EQ(member->lead(after(3)).value(), nullptr);
}

TEST_F(AMember, LeadsAfterTheOneBeforeWhenItIsInSync) {
  std::filesystem::create_directory(directory);
  write({"m", "c", 11, true});
  const std::string files = make_stores();
  store.record = LeaderRecord{"c", 8, "other", "h:2", {"other", "m"}};
  const auto member = open(true).value();
  const auto leadership = member->lead(after(1)).value();
  ASSERT_NE(leadership, nullptr);
  EXPECT_EQ(leadership->epoch(), 12u) << "one higher than any that it knows of";
  EXPECT_EQ(leadership->cluster(), "c");
  EXPECT_THAT(store.record->in_sync, ElementsAre("m"));
  EXPECT_FALSE(read_membership(directory).value()->copying);
  EXPECT_EQ(read_membership(directory).value()->files, files);
}

/// A disk that was replaced, or a directory that was restored in part: the others would copy what is not there.
TEST_F(AMember, DoesNotLeadWithoutWhatItsClusterKeeps) {
  for (const bool copying : {true, false}) {
    std::filesystem::create_directory(directory);
    write({"m", "c", 8, copying});
    expect_refused("there is no namespace in");
    make_stores();
    std::filesystem::rename(directory + "/journal", directory + "/elsewhere");
    expect_refused("there is no journal");
    std::filesystem::rename(directory + "/elsewhere", directory + "/journal");
    std::filesystem::rename(directory + "/namespace", directory + "/elsewhere");
    expect_refused("there is no namespace in");
    std::filesystem::rename(directory + "/elsewhere", directory + "/namespace");
    EXPECT_NE(open().value()->lead(after(1)).value(), nullptr);
    std::filesystem::remove_all(directory);
  }
}

TEST_F(AMember, DoesNotLeadWithWhatOtherClustersKeep) {
  std::filesystem::create_directory(directory);
  write({"m", "c", 8, true});
  make_stores();
  std::filesystem::remove_all(directory + "/namespace");
  storage::NamespaceStore::open(directory + "/namespace").value();
  expect_refused("and the journal " + directory + "/journal is of");
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  write({"m", "c", 8, false, false, "another"});
  make_stores();
  expect_refused("and member.json is of another");
}

TEST_F(AMember, ThatHasBegunAClusterNeedsItsStoresOnceTheyAreMade) {
  {
    const auto member = open().value();
    ASSERT_NE(member->lead(after(1)).value(), nullptr);
    ASSERT_NE(member->lead(after(1)).value(), nullptr) << "its server may have ended before it made them";
    EXPECT_TRUE(read_membership(directory).value()->fresh);
    member->stores_are_made();
    EXPECT_FALSE(read_membership(directory).value()->fresh);
    store.record->in_sync = {id};
    EXPECT_FALSE(member->lead(after(1)));
  }
  make_stores();
  EXPECT_NE(open().value()->lead(after(1)).value(), nullptr);
}

TEST_F(AMember, BeginsNoClusterWithAJournalWhoseFilesAreMissing) {
  std::filesystem::create_directory(directory);
  make_stores();
  std::filesystem::remove_all(directory + "/namespace");
  const auto led = open().value()->lead(after(1));
  ASSERT_FALSE(led);
  EXPECT_THAT(led.error().to_string(), HasSubstr("there is no namespace in"));
  EXPECT_FALSE(store.record);
}

TEST_F(AMember, WaitsForThoseThatAreInSyncWhenItIsNot) {
  std::filesystem::create_directory(directory);
  write({"m", "c", 0, false});
  store.record = LeaderRecord{"c", 8, "other", "h:2", {"other"}};
  const auto member = open().value();
  EXPECT_EQ(member->lead(after(3)).value(), nullptr);
  EXPECT_EQ(store.record->epoch, 8u);
}

TEST_F(AMember, WaitsWhileTheLeaseOfTheOneBeforeLasts) {
  std::filesystem::create_directory(directory);
  write({"m", "c", 0, false});
  make_stores();
  store.record = LeaderRecord{"c", 8, "m", "h:1", {"m"}};
  store.holder = "m of before";
  const auto member = open().value();
  EXPECT_EQ(member->lead(after(3)).value(), nullptr);
  store.holder.clear();
  EXPECT_NE(member->lead(after(1)).value(), nullptr);
}

TEST_F(AMember, WaitsForAStoreThatIsAway) {
  const auto member = open().value();
  store.away = true;
  EXPECT_EQ(member->lead(after(3)).value(), nullptr);
  store.away = false;
  EXPECT_NE(member->lead(after(1)).value(), nullptr);
}

/// A backup of its directory was put back. Marks tell it; a record of a release before there were any does not.
TEST_F(AMember, DoesNotLeadWithADirectoryOfBeforeItCameIntoSync) {
  std::filesystem::create_directory(directory);
  write({"m", "c", 8, true, false, "", "8.1"});
  make_stores();
  const LeaderRecord with_marks{"c", 8, "other", "h:2", {"other", "m"}, {{"other", "8.0"}, {"m", "8.2"}}};
  store.record = with_marks;
  EXPECT_EQ(open().value()->lead(after(3)).value(), nullptr);
  EXPECT_EQ(store.record, with_marks);
  store.record->marks.erase("m");
  EXPECT_NE(open().value()->lead(after(1)).value(), nullptr);
  store.record = with_marks;
  write({"m", "c", 9, true, false, "", "8.2"});  // it has tried to lead, and nothing came of it
  EXPECT_NE(open().value()->lead(after(1)).value(), nullptr);
  EXPECT_EQ(store.record->marks.at("m"), "10.0");
  EXPECT_EQ(store.record->marks.size(), 1u);
}

TEST_F(AMember, DoesNotLeadWithADirectoryOfBeforeItLed) {
  std::filesystem::create_directory(directory);
  write({"m", "c", 8, false, false, "", "8.2"});
  make_stores();
  const LeaderRecord led{"c", 9, "m", "h:1", {"m", "other"}, {{"m", "9.0"}, {"other", "9.1"}}};
  store.record = led;
  EXPECT_EQ(open().value()->lead(after(3)).value(), nullptr);
  EXPECT_EQ(store.record, led);
  write({"m", "c", 9, false, false, "", "8.2"});
  EXPECT_NE(open().value()->lead(after(1)).value(), nullptr);
}

/// With the record of a leader that cannot serve no other member could lead.
TEST_F(AMember, LeavesTheLeadToOthersWhileItCouldNotServe) {
  std::filesystem::create_directory(directory);
  write({"m", "c", 8, true});
  make_stores();
  store.record = LeaderRecord{"c", 8, "other", "h:2", {"other", "m"}};
  const auto member = open().value();
  address_taken = true;
  EXPECT_EQ(member->lead(after(3)).value(), nullptr);
  EXPECT_EQ(store.record->leader, "other");
  EXPECT_THAT(store.record->in_sync, ElementsAre("other", "m"));
  address_taken = false;
  EXPECT_NE(member->lead(after(1)).value(), nullptr);
}

TEST_F(AMember, WaitsForRoomOnItsDiskBeforeItLeads) {
  const auto member = open().value();
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit full{0, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto led = member->lead(after(3));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ASSERT_TRUE(led) << led.error().to_string();
  EXPECT_EQ(*led, nullptr);
  EXPECT_FALSE(store.record);
  EXPECT_NE(member->lead(after(1)).value(), nullptr);
}

TEST_F(AMember, OfAnotherClusterIsRefused) {
  std::filesystem::create_directory(directory);
  write({"m", "c", 0, false});
  store.record = LeaderRecord{"d", 1, "x", "h:2", {"x", "m"}};
  const auto member = open().value();
  const auto led = member->lead(after(3));
  ASSERT_FALSE(led);
  EXPECT_THAT(led.error().to_string(), HasSubstr("is of cluster c, and these masters are of cluster d"));
}

TEST_F(AMember, HasItsDirectoryForItself) {
  const auto member = open().value();
  const auto second = open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), Code::unavailable);
}

TEST_F(AMember, WithADamagedMembershipIsRefused) {
  std::filesystem::create_directory(directory);
  for (const std::string text : {"", "{", "{}", "{\"member\":7}", "[]"}) {
    weft::test::write_file(directory + "/member.json", text);
    const auto opened = open();
    ASSERT_FALSE(opened) << text;
    EXPECT_THAT(opened.error().to_string(), HasSubstr("member.json is damaged; restore all of " + directory)) << text;
    EXPECT_FALSE(check_alone(directory)) << text;
  }
}

TEST_F(AMember, KeepsItsDirectoryFromAMasterThatIsAlone) {
  EXPECT_TRUE(check_alone(directory));
  open().value();
  EXPECT_THAT(check_alone(directory).error().to_string(), HasSubstr("member.json if it is to be the only master"));
}

}  // namespace
}  // namespace weft::master
