#include <atomic>
#include <mutex>

#include "base/sanitized.hpp"
#include "storage/tables/replica_directories.hpp"
#include "tests/storage/tables/faulty_partition.hpp"
#include "tests/storage/tables/replica_fixture.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;

class ReplicaTest : public ReplicaFixture {
 protected:
  const std::shared_ptr<Faults> faults = std::make_shared<Faults>();
};

TEST_F(ReplicaTest, WhatWasAcknowledgedIsReadFromWhoeverTakesOver) {
  for (const char* name : {"a", "b", "c"}) start(name);
  make(3);
  ASSERT_TRUE(put("k", "1"));
  kill(status().primary);
  EXPECT_EQ(get("k").value(), "1");
  ASSERT_TRUE(put("k", "2"));
  kill(status().primary);
  EXPECT_EQ(get("k").value(), "2");
}

TEST_F(ReplicaTest, OneThatComesBackWithAnEmptyDirectoryIsFilledFromAnother) {
  for (const char* name : {"a", "b"}) start(name);
  make(2);
  ASSERT_TRUE(put("k", "1"));
  kill("a"), kill("b");
  std::filesystem::remove_all(path("a", places_[0]));
  start("a");
  EXPECT_FALSE(turn([&] { return !status().primary.empty(); }, 10s)) << "it has nothing to serve";
  EXPECT_NE(fault().find("is its disk mounted?"), std::string::npos) << fault();
  start("b");
  ASSERT_TRUE(whole()) << fault();
  EXPECT_EQ(get("k").value(), "1");
  kill("b");
  EXPECT_EQ(get("k").value(), "1") << "the copy has it too";
}

TEST_F(ReplicaTest, TheOnlyOneWithoutItsDirectoryServesWhenThatIsBack) {
  start("a");
  make(1);
  ASSERT_TRUE(put("k", "1"));
  kill("a");
  std::filesystem::rename(path("a", places_[0]), scratch_ / "unmounted");
  start("a");
  EXPECT_FALSE(turn([&] { return !status().primary.empty(); }, 10s));
  EXPECT_FALSE(std::filesystem::exists(path("a", places_[0])));
  std::filesystem::rename(scratch_ / "unmounted", path("a", places_[0]));
  EXPECT_EQ(get("k").value(), "1");
}

TEST_F(ReplicaTest, OneWithAnEarlierStateIsNotServed) {
  start("a"), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  kill("a");
  std::filesystem::copy(path("a", places_[0]), scratch_ / "earlier", std::filesystem::copy_options::recursive);
  ASSERT_TRUE(put("k", "2"));
  start("a");
  ASSERT_TRUE(whole());
  kill("a"), kill("b");
  std::filesystem::remove_all(path("a", places_[0]));
  std::filesystem::rename(scratch_ / "earlier", path("a", places_[0]));
  start("a");
  EXPECT_FALSE(turn([&] { return !status().primary.empty(); }, 10s));
  start("b");
  EXPECT_EQ(get("k").value(), "2");
  ASSERT_TRUE(whole()) << fault();
}

TEST_F(ReplicaTest, WhatIsLeftOfAPartitionIsServedWhenItsLossIsAccepted) {
  start("a"), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  const std::string newest = status().primary, other = newest == "a" ? "b" : "a";
  kill(other);
  ASSERT_TRUE(put("k", "2"));
  ASSERT_FALSE(catalogue_.promote_remaining("t", true, now())) << "it is served";
  reactor_.pass(1s);  // the master hears what it has
  kill(newest);
  start(other);
  EXPECT_FALSE(turn([&] { return !status().primary.empty(); }, 10s)) << "it lacks what was acknowledged";
  EXPECT_EQ(catalogue_.describe("t")->down_partitions, 1u);

  const auto left = catalogue_.promote_remaining("t", false, now());
  ASSERT_TRUE(left) << left.error().to_string();
  ASSERT_EQ(left->replicas.size(), 1u);
  EXPECT_EQ(left->replicas[0].worker, other);
  EXPECT_LT(left->replicas[0].version, left->replicas[0].known);
  EXPECT_NE(left->replicas[0].fault.find("worker " + newest + " is away"), std::string::npos) << left->replicas[0].fault;
  EXPECT_FALSE(left->replicas[0].promoted);
  EXPECT_FALSE(turn([&] { return !status().primary.empty(); }, 10s)) << "nobody accepted the loss";

  ASSERT_TRUE(catalogue_.promote_remaining("t", true, now()).value().replicas.at(0).promoted);
  EXPECT_EQ(get("k").value(), "1");
  ASSERT_TRUE(put("l", "3"));
  start(newest);  // what it had is lost, too
  ASSERT_TRUE(whole()) << fault();
  kill(other);
  EXPECT_EQ(get("k").value(), "1");
  EXPECT_EQ(get("l").value(), "3");
}

TEST_F(ReplicaTest, OfAPartitionThatNobodyHasNothingIsPromoted) {
  start("a");
  make(1);
  ASSERT_TRUE(put("k", "1"));
  kill("a");
  reactor_.pass(10s);
  const auto left = catalogue_.promote_remaining("t", true, now());
  ASSERT_TRUE(left) << left.error().to_string();
  EXPECT_EQ(left->replicas.at(0).worker, "");
  EXPECT_FALSE(left->replicas.at(0).promoted);
  start("a");
  EXPECT_EQ(get("k").value(), "1") << "it was only away";
}

TEST_F(ReplicaTest, OnlyWhoLeadsByTheMastersLeaveKnowsThatThereIsNoSnapshot) {
  start("a"), start("b");
  make(2);
  const std::string old = status().primary;
  const PartitionRequest scan = request_of(ScanRows{SnapshotId(4711), "", "", 10});
  const auto unknown = ask(old, scan);
  ASSERT_TRUE(unknown && !*unknown);
  EXPECT_EQ((*unknown).error().code(), Code::not_found);
  workers_.at(old).hears_master = false;  // another may have become primary, and marked it
  reactor_.pass(3s);
  const auto cut_off = ask(old, scan);
  ASSERT_TRUE(cut_off && !*cut_off);
  EXPECT_EQ((*cut_off).error().code(), Code::unavailable) << (*cut_off).error().to_string();
}

TEST_F(ReplicaTest, AFollowerThatIsOpenedAgainWhileItLooksForRoomFindsItAllTheSame) {
  const std::map<std::string, std::shared_ptr<Faults>> disks{{"a", std::make_shared<Faults>()}, {"b", std::make_shared<Faults>()}};
  for (const auto& [name, disk] : disks) {
    start(name);
    workers_.at(name).context->open_partition = faulty(disk);
  }
  make(2);
  ASSERT_TRUE(put("k", "0"));
  const std::string follower = status().primary == "a" ? "b" : "a";
  // Its disk fills up under an entry; it looks for room, and only then hears that the entry was not taken, and is opened again.
  disks.at(follower)->applying = [&, disk = disks.at(follower), replica = workers_.at(follower).replicas.at(places_[0])] {
    disk->full = true;
    reactor_.post([replica] { replica->look_at_disk(); });
  };
  ASSERT_TRUE(put("k", "1"));
  disks.at(follower)->applying = [] {};
  reactor_.pass(3s);
  EXPECT_FALSE(in_sync(follower));
  disks.at(follower)->full = false;
  ASSERT_TRUE(whole()) << fault();
  kill(status().primary);
  EXPECT_EQ(get("k").value(), "1");
}

TEST_F(ReplicaTest, APrimaryWhoseDiskIsFullMakesRoomForOneThatTakesWrites) {
  std::map<std::string, std::shared_ptr<Faults>> disks;
  for (const char* name : {"a", "b", "c"}) {
    disks[name] = std::make_shared<Faults>();
    start(name, faulty(disks[name]));
  }
  make(3);
  ASSERT_TRUE(put("k", "0"));
  const std::string first = status().primary;
  disks.at(first)->full = true;
  const auto done = put("k", "1");
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_NE(status().primary, first);
  EXPECT_TRUE(turn([&] { return !in_sync(first); })) << "it lacks what was written";
  EXPECT_NE(fault().find("disk is full"), std::string::npos) << fault();
  disks.at(first)->full = false;
  ASSERT_TRUE(whole()) << fault();
  // Nobody has room: who leads stays, serves what is there, and says why it takes nothing.
  for (const auto& [name, disk] : disks) disk->full = true;
  const auto refused = ask_primary(request_of(PutRows{{{"k", "2"}}}), 1min);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::resource_exhausted) << refused.error().to_string();
  EXPECT_EQ(get("k").value(), "1");
  // So does one that starts then.
  for (const char* name : {"a", "b", "c"}) kill(name);
  for (const char* name : {"a", "b", "c"}) start(name, faulty(disks[name]));
  EXPECT_EQ(get("k").value(), "1");
  for (const auto& [name, disk] : disks) disk->full = false;
  ASSERT_TRUE(put("k", "2"));
  ASSERT_TRUE(whole()) << fault();
}

TEST_F(ReplicaTest, AFollowerKeepsNoDeletionsAndNoOldVersionsThatNobodySees) {
  std::map<std::string, TablePartition*> stores{{"a", nullptr}, {"b", nullptr}};
  for (const char* name : {"a", "b"})
    start(name, [&stores, name](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<TablePartition>> {
      WEFT_ASSIGN(auto store, TablePartition::open(path, mode));
      stores.at(name) = store.get();  // each on a thread of its own
      return store;
    });
  make(2);
  ASSERT_TRUE(put("gone", "1"));
  ASSERT_TRUE(put("k", "1"));
  ASSERT_TRUE(ask_primary(request_of(PutRows{{{"gone", std::nullopt}}})));
  ASSERT_TRUE(done(order(Hold{1, false})));
  ASSERT_TRUE(done(order(Mark{1, SnapshotId(1000)})));
  for (const char* value : {"2", "3"}) ASSERT_TRUE(put("k", value));
  for (const auto& [name, store] : stores) {
    ASSERT_TRUE(store->compact());
    EXPECT_EQ(store->stored_versions().value(), 2u) << name << " keeps the newest, and that of the snapshot";
    EXPECT_EQ(value_of(**ask(name, request_of(GetRows{SnapshotId(1000), {"k"}}))), "1") << name;
  }
  kill(status().primary);
  EXPECT_EQ(get("k").value(), "3");
  EXPECT_EQ(get("gone").value(), std::nullopt);
}

TEST_F(ReplicaTest, OneThatIsMadeOnAFullDiskIsWrittenWhenThereIsRoom) {
  faults->full = true;
  start("a", faulty(faults));
  make(1);
  EXPECT_EQ(put("k", "1").error().code(), Code::resource_exhausted);
  faults->full = false;
  reactor_.pass(1s);
  const auto done = put("k", "1");
  EXPECT_TRUE(done) << done.error().to_string();
}

TEST_F(ReplicaTest, APrimaryWhoseDatabaseHasFailedMakesRoomForAnother) {
  start("a", faulty(faults)), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  ASSERT_EQ(status().primary, "a");
  faults->broken = true;
  const auto refused = ask("a", request_of(PutRows{{{"k", "2"}}}));
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().code(), Code::unavailable) << "another one will take it";
  ASSERT_TRUE(put("k", "2"));
  EXPECT_EQ(status().primary, "b");
  faults->broken = false;
  ASSERT_TRUE(whole()) << fault();
}

TEST_F(ReplicaTest, APrimaryThatLostItsDiskLeadsInAnotherEpochOnly) {
  start("a");
  workers_.at("a").context->open_partition = faulty(faults);
  make(1);
  ASSERT_TRUE(put("k", "0"));
  const std::uint64_t epoch = status().epoch;
  // The master hears nothing until the disk is well again.
  workers_.at("a").hears_master = false;
  faults->apply_fails = true;
  const PartitionRequest request = request_of(PutRows{{{"k", "v"}}});
  const auto failed = ask("a", request);
  ASSERT_TRUE(failed && !*failed);
  reactor_.pass(1s);
  const auto& replica = workers_.at("a").replicas.at(places_[0]);
  ASSERT_TRUE(turn([&] { return replica->report().bytes > 0; })) << "it is opened again";
  const auto refused = ask("a", request);
  ASSERT_TRUE(refused && !*refused) << "in the same epoch, another entry would get the number of the lost one";
  workers_.at("a").hears_master = true;
  ASSERT_TRUE(put("k", "1"));
  EXPECT_GT(status().epoch, epoch);
}

TEST_F(ReplicaTest, AnEarlierPrimaryIsRefusedByOneThatWasRestarted) {
  start("a"), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  const std::string first = status().primary, second = first == "a" ? "b" : "a";
  const std::uint64_t epoch = status().epoch;
  kill(first);
  ASSERT_TRUE(put("k", "2"));
  EXPECT_GT(status().epoch, epoch);
  kill(second);
  // Before it hears of the master, and after.
  start(second);
  workers_.at(second).timer.reset();
  const PartitionRequest position{{}, epoch, BeginStream{77, "an earlier primary"}};
  const auto refused = ask(second, position, 0s);
  EXPECT_TRUE(refused && !*refused);
  heartbeat_soon(second);
  EXPECT_EQ(get("k").value(), "2");
  const auto again = ask(second, position);
  EXPECT_TRUE(again && !*again);
}

TEST_F(ReplicaTest, WhatACopyWasAboutToReplaceComesBackWhenItWasCutShort) {
  const std::string tables = scratch_ / "tables";
  std::filesystem::create_directories(tables + "/7-1.old/deep");
  std::filesystem::create_directories(tables + "/7-1.copy");
  std::filesystem::create_directories(tables + "/7-2");
  std::filesystem::create_directories(tables + "/7-2.old");
  std::filesystem::create_directories(tables + "/7-3.damaged-1");
  std::filesystem::create_directories(tables + "/nonsense.old");
  const auto found = find_replicas({scratch_ / ""}, "c");
  ASSERT_TRUE(found) << found.error().to_string();
  EXPECT_EQ(found->size(), 2u);
  EXPECT_EQ(found->at({TableId(7), 1}), tables + "/7-1");
  EXPECT_TRUE(std::filesystem::exists(tables + "/7-1/deep"));
  EXPECT_TRUE(std::filesystem::exists(tables + "/7-3.damaged-1"));
  for (const char* gone : {"/7-1.copy", "/7-2.old", "/nonsense.old"}) EXPECT_FALSE(std::filesystem::exists(tables + gone)) << gone;
  EXPECT_EQ(find_replicas({scratch_ / ""}, "another").error().code(), Code::version_mismatch);
}

TEST_F(ReplicaTest, WhatSomebodyReadsIsNotReplacedUnderHim) {
  start("a"), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  ASSERT_TRUE(done(order(Hold{1, false})));
  ASSERT_TRUE(done(order(Mark{1, SnapshotId(1000)})));
  kill("b");
  ASSERT_TRUE(put("k", "2"));
  std::mutex reads;
  std::unique_lock lock(reads);
  std::atomic<bool> reading = false;
  faults->reading = [&] {
    reading = true;
    const std::lock_guard wait(reads);
  };
  faults->log_is_trimmed = true;
  kill("a");
  start("a", faulty(faults));
  start("b", faulty(faults));
  // As soon as it is there, and before it is told to copy.
  PartitionRequest read = request_of(GetRows{SnapshotId(1000), {"k"}});
  read.place = places_[0];
  std::optional<Result<PartitionReply>> answer;
  deliver("client", "b", read, [&](Result<PartitionReply> reply) { answer = std::move(reply); });
  ASSERT_TRUE(turn([&] { return reading.load(); }));
  const std::string copy = path("b", places_[0]) + ".copy";
  const auto patience = std::exchange(reactor_.patience, 50ms);
  ASSERT_TRUE(turn([&] { return std::filesystem::exists(copy); }));
  reactor_.pass(3s);
  EXPECT_TRUE(std::filesystem::exists(copy)) << "the old one is in use";
  lock.unlock();
  reactor_.patience = patience;
  ASSERT_TRUE(whole()) << fault();
  ASSERT_TRUE(answer && *answer) << answer->error().to_string();
  EXPECT_EQ(value_of(**answer), "1");
  kill("a");
  faults->reading = [] {};
  EXPECT_EQ(get("k").value(), "2");
}

TEST_F(ReplicaTest, WhoIsAskedForAPartitionThatHeHasGivenAwaySendsTheAskerElsewhere) {
  start("a");
  make(1);
  ASSERT_TRUE(put("k", "0"));
  bool gone = false;
  workers_.at("a").replicas.at(places_[0])->erase([&] { gone = true; });
  const auto refused = ask("a", request_of(GetRows{{}, {"k"}}));
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ((*refused).error().code(), Code::unavailable) << "others may have it: " << (*refused).error().to_string();
  EXPECT_TRUE(turn([&] { return gone; }));
}

TEST_F(ReplicaTest, ACopyCatchesUpWhateverIsWrittenMeanwhile) {
  if (kSanitized) GTEST_SKIP() << "80 MB take so long with it that the copy runs out of time";
  start("a", faulty(faults)), start("b");
  make(2);
  kill("b");
  ASSERT_TRUE(put("k", "1"));
  faults->log_is_trimmed = true;
  int copies = 0;
  holds_ = [&](const PartitionRequest& request) {
    copies += std::holds_alternative<StartCopy>(request.operation);
    if (copies > 0) faults->log_is_trimmed = false;
    const auto* const page = std::get_if<NextPage>(&request.operation);
    return page != nullptr && page->session != 0;
  };
  start("b");
  ASSERT_TRUE(turn([&] { return !held_.empty(); }));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(put("k", std::string(8u << 20, 'v')));
  ASSERT_TRUE(put("k", "last"));
  let_go();
  ASSERT_TRUE(whole()) << fault();
  EXPECT_EQ(copies, 1) << "what came after the copy was still there";
  kill("a");
  EXPECT_EQ(get("k").value(), "last");
}

TEST_F(ReplicaTest, DamageThatAReaderFindsIsRepairedFromAnother) {
  start("a", faulty(faults)), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  ASSERT_EQ(status().primary, "a");
  faults->damage = true;
  EXPECT_EQ(get("k").value(), "1") << "from the other one";
  faults->damage = false;  // the copy is whole
  ASSERT_TRUE(turn([&] { return status().fault.empty() && in_sync("a") && in_sync("b"); })) << fault();
  EXPECT_TRUE(std::filesystem::exists(path("a", places_[0]) + ".damaged-1"));
  kill("b");
  EXPECT_EQ(get("k").value(), "1");
}

TEST_F(ReplicaTest, DamageOfAFollowerIsRepairedToo) {
  start("a"), start("b", faulty(faults));
  make(2);
  ASSERT_TRUE(put("k", "1"));
  ASSERT_TRUE(done(order(Hold{1, false})));
  ASSERT_TRUE(done(order(Mark{1, SnapshotId(1000)})));
  faults->damage = true;
  PartitionRequest read = request_of(GetRows{SnapshotId(1000), {"k"}});
  const auto refused = ask("b", read);
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().code(), Code::unavailable) << "another one has it";
  faults->damage = false;
  ASSERT_TRUE(turn([&] { return std::filesystem::exists(path("b", places_[0]) + ".damaged-1"); }));
  ASSERT_TRUE(turn([&] { return status().fault.empty() && in_sync("b"); })) << fault();
  EXPECT_EQ(value_of(**ask("b", read)), "1");
}

TEST_F(ReplicaTest, DamageOfTheOnlyOneIsToldAndTheRestServed) {
  start("a", faulty(faults));
  make(1);
  ASSERT_TRUE(put("k", "1"));
  faults->damage = true;
  EXPECT_EQ(get("k").error().code(), Code::corrupt);
  faults->damage = false;
  reactor_.pass(2s);
  EXPECT_NE(fault().find("a block is damaged"), std::string::npos) << fault();
  EXPECT_EQ(get("k").value(), "1");
  EXPECT_TRUE(put("k", "2"));
}

TEST_F(ReplicaTest, WhatADiskDoesNotGiveNowIsReadElsewhereOrWaitedFor) {
  start("a", faulty(faults));
  make(1);
  ASSERT_TRUE(put("k", "1"));
  faults->gives_none = true;
  EXPECT_EQ(get("k").error().code(), Code::unavailable) << "it may give it later";
  kill("a");
  start("a", faulty(faults));  // what was before is in the log only
  const auto repeated = ask_primary(request_of(PutRows{{{"k", "2"}}, 7, true}), 5s);
  ASSERT_FALSE(repeated);
  EXPECT_EQ(repeated.error().code(), Code::unavailable);
  faults->gives_none = false;
  EXPECT_TRUE(ask_primary(request_of(PutRows{{{"k", "2"}}, 7, true})));
  EXPECT_EQ(get("k").value(), "2");
  EXPECT_TRUE(turn([&] { return status().fault.empty(); })) << fault();
}

TEST_F(ReplicaTest, OfTwoWhatOneDiskDoesNotGiveIsReadFromTheOther) {
  start("a", faulty(faults)), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  ASSERT_EQ(status().primary, "a");
  faults->gives_none = true;
  EXPECT_EQ(get("k").value(), "1");
  faults->gives_none = false;
  ASSERT_TRUE(whole()) << fault();
}

TEST_F(ReplicaTest, ASnapshotThatAFollowerHasNotGotIsAskedForElsewhere) {
  start("a"), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  PartitionRequest read = request_of(GetRows{SnapshotId(1000), {"k"}});
  EXPECT_EQ(ask("a", read)->error().code(), Code::not_found) << "the primary knows";
  EXPECT_EQ(ask("b", read)->error().code(), Code::unavailable);
}

TEST_F(ReplicaTest, AReadOfASnapshotThatIsDroppedMeanwhileIsNotAnswered) {
  start("a", faulty(faults));
  make(1);
  ASSERT_TRUE(put("k", "1"));
  const SnapshotId id = catalogue_.begin_snapshot("t", "s", 1, 0, now()).value();
  ASSERT_TRUE(done(order(Hold{1, false})));
  ASSERT_TRUE(done(order(Mark{1, id})));
  ASSERT_TRUE(catalogue_.complete_snapshot("t", id));
  spread_changes();
  PartitionRequest read = request_of(GetRows{id, {"k"}});
  read.place = places_[0];
  EXPECT_EQ(value_of(**ask("a", read)), "1");
  std::mutex reads;
  std::unique_lock lock(reads);
  std::atomic<bool> reading = false;
  faults->reading = [&] {
    reading = true;
    const std::lock_guard wait(reads);
  };
  std::optional<Result<PartitionReply>> answer;
  deliver("client", "a", read, [&](Result<PartitionReply> reply) { answer = std::move(reply); });
  ASSERT_TRUE(turn([&] { return reading.load(); }));
  reactor_.patience = 20ms;
  ASSERT_TRUE(catalogue_.drop_snapshot("t", "s", {}));
  spread_changes();
  reactor_.pass(10s);
  EXPECT_EQ(ask("a", read)->error().code(), Code::not_found) << "it is gone";
  lock.unlock();
  reactor_.patience = 10s;
  ASSERT_TRUE(turn([&] { return answer.has_value(); }));
  ASSERT_FALSE(*answer) << "what it kept may be compacted away";
  EXPECT_EQ((*answer).error().code(), Code::unavailable);
}

TEST_F(ReplicaTest, TheKeysOfATableAreKnownWhileTheMasterIsAway) {
  start("a");
  make(1);
  ASSERT_TRUE(put("k", "1"));
  ASSERT_TRUE(catalogue_.set_mode("t", 0640, {17, 18}));
  spread_changes();
  const auto keys = [&] { return workers_.at("a").replicas.at(places_[0])->keys(); };
  ASSERT_TRUE(turn([&] { return keys() == TableKeys{17, 18}; }));
  workers_.at("a").hears_master = false;
  workers_.at("a").replicas.at(places_[0])->master_lost();
  EXPECT_EQ(keys(), (TableKeys{17, 18})) << "snapshots are read all the same";
  kill("a");
  IoThreads threads(1);
  ReplicaContext alone{reactor_, threads, clock_, {}, "a", 0, "a"};
  EXPECT_EQ(std::make_shared<Replica>(alone, places_[0], path("a", places_[0]))->keys(), std::nullopt)
      << "started again, nobody knows yet who may read it";
}

TEST_F(ReplicaTest, WhatWasNeverAcknowledgedIsNotMissedOfOneInSync) {
  for (const char* name : {"a", "b", "c"}) start(name);
  make(3);
  ASSERT_TRUE(put("k", "1"));
  const std::string first = status().primary;
  const std::string second = first == "a" ? "b" : "a", third = first == "c" ? "b" : "c";
  const auto last_of = [&](const std::string& name) { return workers_.at(name).replicas.at(places_[0])->report().last; };
  ASSERT_TRUE(turn([&] { return last_of(third) == last_of(first); }));
  // The next entry reaches the second only, which is sent it before the third.
  int sent = 0;
  holds_ = [&](const PartitionRequest& request) { return std::holds_alternative<AppendEntries>(request.operation) && ++sent == 2; };
  EXPECT_FALSE(ask(first, request_of(PutRows{{{"k", "2"}}}), 500ms));
  ASSERT_TRUE(turn([&] { return last_of(second) > last_of(third); }));
  ASSERT_EQ(held_.size(), 1u);
  kill(first);
  held_.clear();
  // Whoever leads asks the third first, there is nobody else; that it has not answered yet makes no time too long.
  std::set<std::uint64_t> epochs;
  holds_ = [&](const PartitionRequest& request) {
    return std::holds_alternative<BeginStream>(request.operation) && epochs.insert(request.epoch).second;
  };
  ASSERT_TRUE(turn([&] { return status().primary == second; })) << fault();
  start(first);
  ASSERT_TRUE(turn([&] { return in_sync(first); })) << fault();
  ASSERT_TRUE(in_sync(third)) << "it may be reached yet";
  ASSERT_LT(last_of(third), last_of(second));
  kill(second), kill(first);
  held_.clear();
  let_go();
  EXPECT_EQ(get("k").value(), "1") << "it has all that was acknowledged; " << fault();
}

TEST_F(ReplicaTest, OfACopyOnePageIsSentAtATime) {
  start("a");
  make(1);
  ASSERT_TRUE(put("k", "1"));
  PartitionRequest page = order(NextPage{});
  const auto first = ask("a", page);
  ASSERT_TRUE(first && *first);
  page.place = places_[0];
  page.operation = NextPage{std::get<CopiedPage>(**first).session};
  std::vector<Result<PartitionReply>> answers;
  for (int i = 0; i < 2; ++i)
    deliver("client", "a", page, [&](Result<PartitionReply> reply) { answers.push_back(std::move(reply)); });
  ASSERT_TRUE(turn([&] { return answers.size() == 2; }));
  ASSERT_FALSE(answers[0]) << "the one that came second, while the other was read";
  EXPECT_EQ(answers[0].error().code(), Code::unavailable);
  ASSERT_TRUE(answers[1]) << answers[1].error().to_string();
  EXPECT_TRUE(std::get<CopiedPage>(*answers[1]).records.empty()) << "all was in the first page";
}

TEST_F(ReplicaTest, ADrainedWorkersReplicaMovesWithWhatWasWritten) {
  start("a"), start("b");
  make(2);
  ASSERT_TRUE(put("k", "1"));
  catalogue_.drain("a", true);
  start("c");
  ASSERT_TRUE(turn([&] { return catalogue_.replicas_on("a") == 0 && whole(); })) << fault();
  kill("a"), kill("b");
  EXPECT_EQ(get("k").value(), "1");
}

}  // namespace
}  // namespace weft::storage::tables
