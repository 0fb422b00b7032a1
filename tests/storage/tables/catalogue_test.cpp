#include "tests/storage/tables/catalogue_fixture.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;

TEST_F(CatalogueTest, AWorkerThatLostItsReplicaIsNotMadePrimary) {
  make({"a", "b"});
  const std::string other = status().primary == "a" ? "b" : "a", primary = status().primary;
  restart();
  replica(other).state = ReplicaState::absent;
  replica(other).failure = "nothing is there";
  now += 1h;
  heartbeat(other, true);
  for (int i = 0; i < 20; ++i) now += 1s, settle({other});
  EXPECT_EQ(status().primary, "");
  EXPECT_NE(status().fault.find("worker " + other + ": nothing is there"), std::string::npos) << status().fault;
  replicas[other].clear();
  heartbeat(other, true);
  for (int i = 0; i < 20; ++i) now += 1s, catalogue.tick(now);
  EXPECT_EQ(status().primary, "") << "nor one that says nothing of it";
  heartbeat(primary, true);
  now += 1s;
  settle({primary});
  EXPECT_EQ(status().primary, primary);
}

TEST_F(CatalogueTest, AReplicaThatWasPutBackToAnEarlierStateIsNotMadePrimary) {
  make({"a", "b"});
  const std::string primary = status().primary;
  InSyncChange change{{catalogue.describe("t")->id, 0}, status().epoch, replica(primary).revision, {"a", "b"}, 17};
  Assignment assignment;
  ASSERT_TRUE(catalogue.change_in_sync(primary, change, assignment));
  restart();
  replica("a").last = replica("b").last = 16;
  heartbeat("a", true), heartbeat("b", true);
  now += 10s;
  settle({"a", "b"});
  EXPECT_EQ(status().primary, "");
  EXPECT_NE(status().fault.find("has version 16 of what had version 17 there"), std::string::npos) << status().fault;
  replica("b").last = 17;
  settle({"a", "b"});
  EXPECT_EQ(status().primary, "b");
}

TEST_F(CatalogueTest, APartitionThatWasNeverUsedIsGivenToWhoeverIsThere) {
  heartbeat("a", true), heartbeat("b", true);
  ASSERT_TRUE(catalogue.create("t", 1, 2));
  const std::string first = status().primary, other = first == "a" ? "b" : "a";
  lose(first);
  now += 10s;
  settle({other});
  EXPECT_EQ(status().primary, other);
}

TEST_F(CatalogueTest, APrimaryThatCannotServeMakesRoomWhenItSaysSoOfItsPresentOrders) {
  make({"a", "b"});
  const std::string primary = status().primary, other = primary == "a" ? "b" : "a";
  replica(primary).failure = "its disk broke", replica(primary).state = ReplicaState::failed;
  settle({"a", "b"});
  EXPECT_EQ(status().primary, other);
}

TEST_F(CatalogueTest, ACreationAskedAgainIsDoneAndAnotherOneOfTheNameRefused) {
  heartbeat("a", true);
  ASSERT_TRUE(catalogue.create("t", 1, 1, 11));
  restart();
  heartbeat("a", true);
  EXPECT_TRUE(catalogue.create("t", 1, 1, 11));
  EXPECT_EQ(catalogue.create("t", 1, 1, 12).error().code(), Code::already_exists);
  EXPECT_EQ(catalogue.create("t", 1, 1).error().code(), Code::already_exists);
  const auto id = catalogue.begin_snapshot("t", "s", 13, 0, now);
  ASSERT_TRUE(id);
  EXPECT_EQ(catalogue.made_before("t", 13).value(), SnapshotId()) << "not yet";
  ASSERT_TRUE(catalogue.complete_snapshot("t", *id));
  restart();
  EXPECT_EQ(catalogue.made_before("t", 13).value(), *id);
  EXPECT_EQ(catalogue.made_before("t", 14).value(), SnapshotId());
  EXPECT_EQ(catalogue.made_before("t", 0).value(), SnapshotId());
  EXPECT_EQ(catalogue.begin_snapshot("t", "s", 14, 0, now).error().code(), Code::already_exists);
}

TEST_F(CatalogueTest, ADropAskedAgainDropsNoOtherTableOfTheName) {
  heartbeat("a", true);
  ASSERT_TRUE(catalogue.create("t", 1, 1));
  const TableId first = catalogue.describe("t")->id;
  ASSERT_TRUE(catalogue.drop("t", first));
  ASSERT_TRUE(catalogue.create("t", 1, 1));
  EXPECT_EQ(catalogue.drop("t", first).error().code(), Code::not_found);
  EXPECT_TRUE(catalogue.describe("t"));
}

TEST_F(CatalogueTest, AHurtPrimaryMakesRoomWhenItHasHeardOfIt) {
  make({"a", "b"});
  const std::string primary = status().primary, other = primary == "a" ? "b" : "a";
  replica(primary).failure = "a block is damaged", replica(primary).state = ReplicaState::damaged;
  heartbeat(primary), catalogue.tick(now);
  for (int i = 0; i < 5; ++i) heartbeat(other), catalogue.tick(now);
  EXPECT_EQ(status().primary, primary) << "it may serve still";
  EXPECT_EQ(heartbeat(primary).assignments.at(0).primary, "");
  settle({"a", "b"});
  EXPECT_EQ(status().primary, other);
  for (const MemberStatus& member : status().members)
    EXPECT_EQ(member.in_sync, member.name == other) << "the other is filled again";
}

TEST_F(CatalogueTest, AHurtPrimaryStaysWhenNobodyElseHasEverything) {
  make({"a", "b"});
  const std::string primary = status().primary, other = primary == "a" ? "b" : "a";
  lose(other);
  replica(primary).failure = "a block is damaged", replica(primary).state = ReplicaState::damaged;
  for (int i = 0; i < 20; ++i) settle({primary});
  EXPECT_EQ(status().primary, primary);
  EXPECT_NE(status().fault.find("a block is damaged"), std::string::npos);
  lose(primary);
  now += 10s;
  heartbeat(primary, true);
  settle({primary});
  EXPECT_EQ(status().primary, primary) << "better than nobody";
}

TEST_F(CatalogueTest, AHurtFollowerIsNoLongerInSync) {
  make({"a", "b"});
  const std::string primary = status().primary, other = primary == "a" ? "b" : "a";
  replica(other).failure = "a block is damaged", replica(other).state = ReplicaState::damaged;
  settle({"a", "b"});
  EXPECT_EQ(status().primary, primary);
  for (const MemberStatus& member : status().members) EXPECT_EQ(member.in_sync, member.name == primary);
}

TEST_F(CatalogueTest, ADrainedWorkersPartitionsMoveWhenOthersHaveThem) {
  make({"a", "b"});
  const std::string drained = status().primary, other = drained == "a" ? "b" : "a";
  catalogue.drain(drained, true);
  for (int i = 0; i < 20; ++i) now += 1s, settle({"a", "b"});
  EXPECT_EQ(catalogue.replicas_on(drained), 1u) << "there is nobody else";
  EXPECT_EQ(status().primary, drained);
  heartbeat("c", true);
  for (int i = 0; i < 5; ++i) now += 1s, settle({"a", "b", "c"});
  EXPECT_EQ(status().members.size(), 3u);
  EXPECT_EQ(status().primary, drained) << "the new one has nothing yet";
  InSyncChange change{{catalogue.describe("t")->id, 0}, status().epoch, replica(drained).revision, {"a", "b", "c"}, 0};
  Assignment assignment;
  ASSERT_TRUE(catalogue.change_in_sync(drained, change, assignment));
  settle({"a", "b", "c"});
  settle({"a", "b", "c"});
  EXPECT_EQ(catalogue.replicas_on(drained), 0u);
  EXPECT_EQ(status().members.size(), 2u);
  EXPECT_NE(status().primary, drained);
  EXPECT_NE(status().primary, "");
  heartbeat("d", true);
  ASSERT_TRUE(catalogue.create("u", 8, 3));
  EXPECT_EQ(catalogue.replicas_on(drained), 0u) << "it gets no new ones";
  catalogue.drain(drained, false);
  ASSERT_TRUE(catalogue.create("v", 8, 4));
  EXPECT_EQ(catalogue.replicas_on(drained), 8u);
}

TEST_F(CatalogueTest, APrimaryThatLeavesForAWhileIsReplacedByAnotherMember) {
  make({"a", "b"});
  heartbeat("c", true);
  const std::string leaves = status().primary, other = leaves == "a" ? "b" : "a";
  catalogue.node_leaves(leaves, true);
  EXPECT_EQ(catalogue.to_hand_over(leaves), 1u);
  EXPECT_EQ(catalogue.to_hand_over(other), 0u) << "it stays";
  settle({"a", "b", "c"});
  settle({"a", "b", "c"});
  EXPECT_EQ(status().primary, other);
  EXPECT_EQ(status().members.size(), 2u) << "nothing is copied";
  EXPECT_EQ(catalogue.to_hand_over(leaves), 0u);
  ASSERT_TRUE(catalogue.create("u", 8, 2));
  EXPECT_EQ(catalogue.replicas_on(leaves), 1u) << "it gets no new ones";
  lose(leaves);
  catalogue.node_left(leaves);
  heartbeat(leaves, true);
  catalogue.drain(other, true);
  settle({"a", "b", "c"});
  settle({"a", "b", "c"});
  EXPECT_NE(status().primary, "") << "who came back stays";
}

TEST_F(CatalogueTest, AMemberThatLeavesAloneWaitsUntilAnotherHasEverything) {
  make({"a"});
  catalogue.node_leaves("a", true);
  settle({"a"});
  EXPECT_EQ(catalogue.to_hand_over("a"), 0u) << "nobody could take it, and it comes back";
  heartbeat("b", true);
  EXPECT_EQ(catalogue.to_hand_over("a"), 1u);
  for (int i = 0; i < 5; ++i) now += 100ms, settle({"a", "b"});
  EXPECT_EQ(status().members.size(), 2u) << "one other is asked, not more with each look";
  EXPECT_EQ(status().primary, "a");
  EXPECT_EQ(catalogue.to_hand_over("a"), 1u) << "it has nothing yet";
  InSyncChange change{{catalogue.describe("t")->id, 0}, status().epoch, replica("a").revision, {"a", "b"}, 0};
  Assignment assignment;
  ASSERT_TRUE(catalogue.change_in_sync("a", change, assignment));
  settle({"a", "b"});
  settle({"a", "b"});
  EXPECT_EQ(status().primary, "b");
  EXPECT_EQ(catalogue.to_hand_over("a"), 0u);
}

TEST_F(CatalogueTest, WhoLeavesForGoodIsDrainedUntilItIsGone) {
  make({"a", "b"});
  const std::string leaves = status().primary, other = leaves == "a" ? "b" : "a";
  heartbeat("c", true);
  catalogue.node_leaves(leaves, false);
  settle({"a", "b", "c"});
  EXPECT_EQ(status().members.size(), 3u);
  EXPECT_EQ(catalogue.to_hand_over(leaves), 1u);
  InSyncChange change{{catalogue.describe("t")->id, 0}, status().epoch, replica(leaves).revision, {"a", "b", "c"}, 0};
  Assignment assignment;
  ASSERT_TRUE(catalogue.change_in_sync(leaves, change, assignment));
  settle({"a", "b", "c"});
  settle({"a", "b", "c"});
  EXPECT_EQ(catalogue.to_hand_over(leaves), 0u);
  EXPECT_EQ(catalogue.replicas_on(leaves), 0u);
  lose(leaves);
  catalogue.node_left(leaves);
  heartbeat(leaves, true);
  ASSERT_TRUE(catalogue.create("u", 8, 3));
  EXPECT_EQ(catalogue.replicas_on(leaves), 8u) << "another worker of its name stays";
}

TEST_F(CatalogueTest, ATableIsNotMadeWhenAllWorkersAreBeingDrained) {
  heartbeat("a", true), heartbeat("b", true);
  catalogue.drain("a", true), catalogue.drain("b", true);
  const auto refused = catalogue.create("t", 4, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::unavailable);
  EXPECT_NE(refused.error().to_string().find("being drained"), std::string::npos) << refused.error().to_string();
  EXPECT_FALSE(catalogue.describe("t"));
  catalogue.drain("b", false);
  ASSERT_TRUE(catalogue.create("t", 4, 2));
  EXPECT_EQ(catalogue.replicas_on("a"), 0u);
  EXPECT_EQ(catalogue.replicas_on("b"), 4u);
}

TEST_F(CatalogueTest, ADrainTakenBackLeavesNoReplicaTooMany) {
  make({"a", "b"});
  const std::string primary = status().primary, other = primary == "a" ? "b" : "a";
  catalogue.drain(primary, true);
  heartbeat("c", true);
  settle({"a", "b", "c"});
  ASSERT_EQ(status().members.size(), 3u);
  catalogue.drain(primary, false);
  lose(other);
  InSyncChange change{{catalogue.describe("t")->id, 0}, status().epoch, replica(primary).revision, {"a", "b", "c"}, 0};
  Assignment assignment;
  ASSERT_TRUE(catalogue.change_in_sync(primary, change, assignment));
  settle({primary, "c"});
  EXPECT_EQ(status().members.size(), 3u) << "one of them is away";
  heartbeat(other, true);
  settle({"a", "b", "c"});
  EXPECT_EQ(status().members.size(), 2u);
  EXPECT_EQ(status().primary, primary);
  EXPECT_EQ(catalogue.replicas_on("c"), 0u) << "the last that came";
  for (const MemberStatus& member : status().members) EXPECT_TRUE(member.in_sync) << member.name;
}

// Takes hours when each choice counts everything.
TEST_F(CatalogueTest, ManyPartitionsAreSpreadEvenlyOverManyWorkers) {
  constexpr std::size_t kWorkers = 128;
  for (std::size_t i = 0; i < kWorkers; ++i) heartbeat("w" + std::to_string(i), true);
  ASSERT_TRUE(catalogue.create("t", kMostPartitions, 3));
  std::map<std::string, std::size_t> primaries, members;
  const TableStatus table = *catalogue.describe("t");
  for (const PartitionStatus& partition : table.partitions) {
    ++primaries[partition.primary];
    for (const MemberStatus& member : partition.members) ++members[member.name];
  }
  ASSERT_EQ(primaries.size(), kWorkers);
  for (const auto& [name, count] : primaries) EXPECT_EQ(count, kMostPartitions / kWorkers) << name;
  for (const auto& [name, count] : members) EXPECT_NEAR(static_cast<double>(count), 3.0 * kMostPartitions / kWorkers, 8) << name;
  // One is lost for good: who takes its replicas is chosen as fast.
  lose("w0");
  now += 10s;
  catalogue.tick(now);
  catalogue.tick(now);
  EXPECT_EQ(catalogue.replicas_on("w0"), 0u);
}

TEST_F(CatalogueTest, TransactionsAreBounded) {
  heartbeat("a", true);
  ASSERT_TRUE(catalogue.create("t", 1, 1));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(catalogue.begin("t", now));
  EXPECT_EQ(catalogue.begin("t", now).error().code(), Code::resource_exhausted);
  for (int i = 0; i < 60; ++i) now += 1s, catalogue.tick(now);
  EXPECT_TRUE(catalogue.begin("t", now)) << "those nobody renewed are gone";
}

TEST_F(CatalogueTest, SomebodyTakesOverLongBeforeAnythingIsCopied) {
  CatalogueOptions options;
  options.lost_grace = 1h;
  catalogue = TableCatalogue(options);
  make({"a", "b", "c"});
  const std::string primary = status().primary, last = primary == "a" ? "b" : "a";
  for (const char* name : {"a", "b", "c"})
    if (name != last) lose(name);
  now += 5s;
  settle({last});
  EXPECT_EQ(status().primary, last);
  EXPECT_EQ(status().members.size(), 3u);
  now += 2h;
  heartbeat("d", true);
  settle({last, "d"});
  EXPECT_EQ(catalogue.replicas_on("d"), 1u);
}

TEST_F(CatalogueTest, ATableIsForItsOwnerAndForWhomItsModeLets) {
  heartbeat("a", true);
  const TableKeys first{11, 12};
  ASSERT_TRUE(catalogue.create("t", 1, 1, 0, {"alice", 0640, first}));
  const Actor alice{"alice"}, bob{"bob"}, root{"carol", true};
  EXPECT_TRUE(catalogue.may(alice, "t", TableRight::write));
  EXPECT_TRUE(catalogue.may(root, "t", TableRight::write));
  const auto refused = catalogue.may(bob, "t", TableRight::read);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::permission_denied);
  EXPECT_EQ(refused.error().message(), "bob may not read the table 't': it belongs to alice and has mode 640 (weft table chmod)");
  EXPECT_EQ(catalogue.may_own(bob, "t", "drop").error().message(),
            "bob may not drop the table 't': it belongs to alice and has mode 640 (weft table chmod)");
  EXPECT_TRUE(catalogue.may(bob, "nothing", TableRight::read)) << "the operation says that there is none";

  // Keys are told to those who have the right, and to workers.
  EXPECT_EQ(catalogue.describe("t", alice)->keys, first);
  EXPECT_EQ(catalogue.describe("t", bob)->keys, TableKeys());
  EXPECT_EQ(heartbeat("a").assignments.at(0).keys, first);
  const TableKeys second{21, 22};
  ASSERT_TRUE(catalogue.set_mode("t", 0644, second));
  EXPECT_FALSE(catalogue.set_mode("t", 01644, second));
  const TableStatus seen = catalogue.describe("t", bob).value();
  EXPECT_EQ(seen.keys, (TableKeys{second.read, 0}));
  EXPECT_EQ(seen.read_refusal, "");
  EXPECT_EQ(seen.write_refusal, "bob may not write the table 't': it belongs to alice and has mode 644 (weft table chmod)");
  EXPECT_EQ(heartbeat("a").assignments.at(0).keys, second) << "those of before are of no use any more";
  EXPECT_EQ(catalogue.list().at(0).keys, TableKeys());
  EXPECT_EQ(catalogue.list().at(0).owner, "alice");

  restart();
  EXPECT_EQ(catalogue.describe("t", bob)->mode, 0644U);
  ASSERT_TRUE(catalogue.set_owner("t", "bob", first));
  EXPECT_FALSE(catalogue.set_owner("t", "", first));
  EXPECT_FALSE(catalogue.may(alice, "t", TableRight::write));
  EXPECT_TRUE(catalogue.may(bob, "t", TableRight::write));
  ASSERT_TRUE(catalogue.drop("t"));
  restart();
  EXPECT_FALSE(kept.contains("ta0000000000000001")) << "it goes with the table";
}

TEST_F(CatalogueTest, ATableOfAnEarlierReleaseIsEverybodysUntilItIsGivenAnOwner) {
  make({"a"});
  restart();
  kept.erase("ta0000000000000001");
  restart();
  EXPECT_TRUE(catalogue.may({"bob"}, "t", TableRight::write));
  EXPECT_FALSE(catalogue.may_own({""}, "t", "drop")) << "but nobody's";
  EXPECT_EQ(catalogue.describe("t")->keys, TableKeys());
  ASSERT_TRUE(catalogue.set_owner("t", "alice", {1, 2}));
  ASSERT_TRUE(catalogue.set_mode("t", 0600, {3, 4}));
  EXPECT_FALSE(catalogue.may({"bob"}, "t", TableRight::write));
}

TEST_F(CatalogueTest, WhatNobodyRenewsGoesHoweverOftenMastersAreRestarted) {
  make({"a"});
  const auto snapshot = [&](const std::string& name) {
    const SnapshotId id = catalogue.begin_snapshot("t", name, 0, 0, now).value();
    EXPECT_TRUE(catalogue.complete_snapshot("t", id));
    return id.value();
  };
  const auto snapshots = [&] { return catalogue.describe("t")->snapshots.size(); };
  const std::uint64_t silent = snapshot(""), renewed = snapshot("");
  snapshot("named");
  const TransactionId transaction = catalogue.begin("t", now).value();
  for (int master = 0; master < 2; ++master) {  // each lives for 30 s, of which 24 are known to the next
    for (int i = 0; i < 30; ++i) now += 1s, catalogue.tick(now);
    ASSERT_TRUE(catalogue.renew("t", renewed, now));
    now += 1h;  // without a master nobody can renew
    restart();
    EXPECT_EQ(snapshots(), 3u);
  }
  for (int i = 0; i < 23; ++i) now += 1s, catalogue.tick(now);
  EXPECT_EQ(snapshots(), 3u);
  now += 1s, catalogue.tick(now);
  EXPECT_EQ(snapshots(), 2u);
  EXPECT_EQ(catalogue.renew("t", silent, now).error().code(), Code::not_found);
  EXPECT_EQ(catalogue.decide("t", {transaction, {}}).error().code(), Code::not_found);
  ASSERT_TRUE(catalogue.renew("t", renewed, now));
  for (int i = 0; i < 20; ++i) now += 1s, catalogue.tick(now);
  ASSERT_TRUE(catalogue.drop("t"));
  restart();
  EXPECT_TRUE(std::ranges::none_of(kept, [](const auto& record) { return record.first.starts_with(kTableLeaseTimes); }))
      << "nothing of them is left";
}

TEST_F(CatalogueTest, NothingEndsWhileTheMasterWasStoppedOrItsDiskWasFull) {
  make({"a"});
  const TransactionId transaction = catalogue.begin("t", now).value();
  catalogue.tick(now += 50s);
  catalogue.tick(now += 50s);  // of which nobody could make use
  EXPECT_TRUE(catalogue.renew("t", transaction.value(), now));
}

TEST_F(CatalogueTest, TransactionsThatAPromotedReplicaMayLackAreOverUnlessTheyWereDecided) {
  make({"a", "b"});
  const std::string primary = status().primary, other = primary == "a" ? "b" : "a";
  InSyncChange change{{catalogue.describe("t")->id, 0}, status().epoch, replica(primary).revision, {primary}, 0};
  Assignment assignment;
  ASSERT_TRUE(catalogue.change_in_sync(primary, change, assignment));
  const TransactionId open = catalogue.begin("t", now).value(), decided = catalogue.begin("t", now).value();
  ASSERT_TRUE(catalogue.decide("t", {decided, {}}));
  lose(primary);
  for (int i = 0; i < 10; ++i) now += 1s, settle({other});
  const auto left = catalogue.promote_remaining("t", false, now);
  ASSERT_TRUE(left) << left.error().to_string();
  EXPECT_TRUE(catalogue.renew("t", open.value(), now)) << "nobody accepted the loss";
  ASSERT_TRUE(catalogue.promote_remaining("t", true, now).value().replicas.at(0).promoted);
  EXPECT_EQ(catalogue.renew("t", open.value(), now).error().code(), Code::not_found);
  const auto orders = heartbeat(other).assignments;
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_EQ(orders[0].transactions, std::vector{decided}) << "its workers drop the other one";
  ASSERT_TRUE(orders[0].commit);
  EXPECT_EQ(orders[0].commit->id, decided);
  ASSERT_TRUE(catalogue.complete_commit("t", decided));
  const auto refused = catalogue.decide("t", {open, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::not_found);
  EXPECT_NE(refused.error().to_string().find("was promoted"), std::string::npos) << refused.error().to_string();
  EXPECT_TRUE(catalogue.decide("t", {catalogue.begin("t", now).value(), {}})) << "others begin as ever";
}

TEST_F(CatalogueTest, MarksOfASnapshotThatTookTooLongAreDropped) {
  make({"a"});
  const SnapshotId id = catalogue.begin_snapshot("t", "", 0, 0, now).value();
  ASSERT_TRUE(catalogue.begin("t", now));
  EXPECT_EQ(heartbeat("a").assignments.at(0).snapshots, std::vector{id}) << "it may be marked";
  for (int i = 0; i < 61; ++i) now += 1s, catalogue.tick(now);
  settle({"a"});
  EXPECT_TRUE(heartbeat("a").assignments.empty());
  EXPECT_EQ(catalogue.complete_snapshot("t", id).error().code(), Code::unavailable);
  const auto orders = heartbeat("a").assignments;
  ASSERT_EQ(orders.size(), 1u);
  EXPECT_TRUE(orders[0].snapshots.empty());
}

TEST_F(CatalogueTest, OnlyWhatIsOfTheTableIsRenewed) {
  make({"a"});
  ASSERT_TRUE(catalogue.create("u", 1, 1));
  const TransactionId transaction = catalogue.begin("t", now).value();
  EXPECT_TRUE(catalogue.renew("t", transaction.value(), now));
  EXPECT_EQ(catalogue.renew("u", transaction.value(), now).error().code(), Code::not_found);
}

TEST_F(CatalogueTest, ADamagedRecordIsNamed) {
  const auto time = catalogue.restore("!lt0000000000000001", "abc");
  ASSERT_FALSE(time);
  EXPECT_EQ(time.error().message(), "the record '!lt0000000000000001' of the tables is damaged");

  const auto damaged = catalogue.restore("ta000000000000000g", "");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code(), Code::corrupt);
  EXPECT_EQ(damaged.error().message(), "the record 'ta000000000000000g' of the tables is damaged");
}

}  // namespace
}  // namespace weft::storage::tables
