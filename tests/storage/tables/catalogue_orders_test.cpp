// What workers are ordered to do: which replicas they erase, and how much they hear at a time; how a commit ends.
#include "tests/storage/tables/catalogue_fixture.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;

TEST_F(CatalogueTest, AReplicaOfAnotherWorkerStaysWhileTheMembersInSyncAreAway) {
  make({"h-1"});
  const PlaceId place{catalogue.describe("t")->id, 0};
  replica("h-1").last = 7;
  // Its machine was cut off from power; the same disk comes back with a worker of another name.
  lose("h-1");
  replicas["h-2"][place] = replica("h-1");
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(heartbeat("h-2", i == 0).erase.empty()) << "it is all that is left";
    now += 1s, catalogue.tick(now);
  }
  heartbeat("h-1", true);
  now += 10s;
  settle({"h-1"});
  EXPECT_EQ(status().primary, "h-1");
  EXPECT_EQ(heartbeat("h-2").erase, std::vector{place}) << "the member has everything and serves it";
}

TEST_F(CatalogueTest, AFormerMembersReplicaStaysUntilAsManyAsWantedAreThere) {
  make({"a", "b"});
  const PlaceId place{catalogue.describe("t")->id, 0};
  const std::string primary = status().primary, other = primary == "a" ? "b" : "a";
  lose(other);
  now += 10s;
  heartbeat("c", true);
  settle({primary, "c"});
  InSyncChange change{place, status().epoch, replica(primary).revision, {primary, "c"}, 0};
  Assignment assignment;
  ASSERT_TRUE(catalogue.change_in_sync(primary, change, assignment));
  settle({primary, "c"});
  ASSERT_EQ(catalogue.replicas_on(other), 0u);
  lose(primary), lose("c");
  EXPECT_TRUE(heartbeat(other, true).erase.empty()) << "all in sync are away";
  heartbeat("c", true);
  settle({"c"});
  EXPECT_TRUE(heartbeat(other).erase.empty()) << "one of two is back";
  replica(primary).state = ReplicaState::damaged, replica(primary).failure = "a block is damaged";
  heartbeat(primary, true);
  EXPECT_TRUE(heartbeat(other).erase.empty()) << "what the other has cannot all be read";
  replica(primary).state = ReplicaState::good, replica(primary).failure.clear();
  now += 3s;
  heartbeat(primary);
  EXPECT_TRUE(heartbeat(other).erase.empty()) << "one was not heard of for three seconds, and may be gone";
  heartbeat("c");
  EXPECT_EQ(heartbeat(other).erase, std::vector{place});
}

TEST_F(CatalogueTest, OrdersOfManyPartitionsComeInSeveralAnswers) {
  heartbeat("a", true);
  constexpr std::uint32_t kPartitions = 1024;
  ASSERT_TRUE(catalogue.create("t", kPartitions, 1));
  settle({"a"});
  const auto id = catalogue.begin("t", now);
  ASSERT_TRUE(id);
  settle({"a"});
  ASSERT_TRUE(catalogue.decide("t", {*id, std::vector<std::uint64_t>(20'000, 7)}));
  (void)catalogue.changed_workers();
  std::size_t told = 0, answers = 0;
  while (told < kPartitions && answers < kPartitions) {
    const TableOrders orders = heartbeat("a");
    ASSERT_FALSE(orders.assignments.empty()) << "nothing more comes after " << told;
    EXPECT_LT(encode(orders).header.view().size(), 16u << 20);
    told += orders.assignments.size();
    EXPECT_EQ(catalogue.changed_workers().contains("a"), told < kPartitions) << "it asks again at once while there are more";
    ++answers;
  }
  EXPECT_EQ(told, kPartitions);
  EXPECT_GT(answers, 10u);
  for (const auto& [place, report] : replicas["a"]) EXPECT_GT(report.revision, 0u);
  EXPECT_TRUE(heartbeat("a").assignments.empty());
}

TEST_F(CatalogueTest, OrdersThatAreLargeAreGivenOneByOne) {
  heartbeat("a", true);
  ASSERT_TRUE(catalogue.create("t", 3, 1));
  const auto id = catalogue.begin("t", now);
  ASSERT_TRUE(catalogue.decide("t", {*id, std::vector<std::uint64_t>(2'000'000, 7)}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(heartbeat("a").assignments.size(), 1u);
  settle({"a"});
  EXPECT_TRUE(heartbeat("a").assignments.empty());
}

TEST_F(CatalogueTest, WhatIsCommittedOrIsAboutToBeCannotBeAborted) {
  make({"a"});
  const TransactionId first = catalogue.begin("t", now).value(), dropped = catalogue.begin("t", now).value();
  ASSERT_TRUE(catalogue.decide("t", {first, {7}}));
  EXPECT_EQ(catalogue.abort("t", first).error().code(), Code::already_exists) << "nothing stops it any more";
  ASSERT_TRUE(catalogue.complete_commit("t", first));
  EXPECT_TRUE(catalogue.abort("t", dropped));
  for (int i = 0; i < 1000; ++i) {
    const TransactionId other = catalogue.begin("t", now).value();
    ASSERT_TRUE(catalogue.decide("t", {other, {7}}).value());
    ASSERT_TRUE(catalogue.complete_commit("t", other));
  }
  restart();
  EXPECT_EQ(catalogue.abort("t", first).error().code(), Code::already_exists);
  EXPECT_FALSE(catalogue.decide("t", {first, {7}}).value()) << "it is done, for a driver that comes back for it";
  EXPECT_TRUE(catalogue.abort("t", dropped)) << "again";
  EXPECT_EQ(catalogue.decide("t", {dropped, {7}}).error().code(), Code::not_found);
}

}  // namespace
}  // namespace weft::storage::tables
