// Tables under faults, in a simulation that a seed repeats: what was acknowledged is there, for everybody and for good.
// One writer counts: each of its transactions writes the same number, one higher than the last, into every partition. So whatever
// is read must be at least the last number that was acknowledged, or read by anybody, before the read began: in any partition. That
// is strict serialisability for these histories. Another one counts with single writes. And two write over each other: each of
// their values is written once, so whoever has seen it go never sees it again.
#include "tests/engine/master/storage/table_simulation.hpp"

#include <cstdlib>
#include <iostream>
#include <set>

#include <gtest/gtest.h>

#include "base/sanitized.hpp"

namespace weft::master {
namespace {

using namespace storage::tables;
using namespace std::chrono_literals;

std::uint64_t seeds() { return std::getenv("WEFT_LONG") != nullptr ? 300 : kSanitized ? 3 : 15; }

std::uint64_t number_of(const std::optional<std::string>& value) { return value ? std::stoull(*value) : 0; }
std::uint64_t number_of(const PartitionReply& reply) { return number_of(std::get<Values>(reply).values.at(0).value); }

/// The history of a number that only grows: what may be read when.
class Counter {
 public:
  explicit Counter(std::string name) : name_(std::move(name)) {}
  std::uint64_t next() { return ++begun_; }
  void acknowledged(std::uint64_t number) { seen(number); }
  /// To be given back when the read has been answered.
  std::uint64_t least() const { return least_; }
  void read(std::uint64_t least, std::uint64_t number, const std::string& where) {
    ++reads;
    if (number < least)
      ADD_FAILURE() << name_ << ": " << where << " gave " << number << " when " << least << " had been acknowledged or read";
    if (number > begun_) ADD_FAILURE() << name_ << ": " << where << " gave " << number << ", which nobody wrote";
    seen(number);
  }
  std::size_t reads = 0;

 private:
  void seen(std::uint64_t number) { least_ = std::max(least_, number); }
  const std::string name_;
  std::uint64_t begun_ = 0, least_ = 0;
};

class Workload {
 public:
  explicit Workload(TableSimulation& cluster) : cluster_(cluster) {}

  void begin() {
    transact();
    write();
    for (int writer = 0; writer < 2; ++writer) contend();
    look();
    for (int reader = 0; reader < 3; ++reader) read();
    scan();
  }
  void end() { ending_ = true; }
  bool over() const { return running_ == 0; }
  std::size_t commits = 0, writes = 0, snapshots = 0, turns = 0;
  Counter transactions{"transactions"}, puts{"writes"};

 private:
  void soon(void (Workload::*next)()) {
    --running_;
    if (ending_) return;
    ++running_;
    cluster_.later(std::chrono::milliseconds(cluster_.random().between(1, 300)), [this, next] {
      --running_;
      (this->*next)();
    });
  }

  void transact() {
    ++running_;
    cluster_.begin([this](const Result<TransactionId>& id) {
      if (!id) return soon(&Workload::transact);
      stage(*id, std::to_string(transactions.next()), 0);
    });
  }
  void stage(TransactionId id, const std::string& number, std::uint32_t partition) {
    if (partition == cluster_.options().partitions) return commit(id, number);
    cluster_.ask(partition, StageRows{id, 7, {{"together", number}}}, 60s, [=, this](const Result<PartitionReply>& staged) {
      staged ? stage(id, number, partition + 1) : soon(&Workload::transact);  // it is given up, and goes by itself
    });
  }
  void commit(TransactionId id, const std::string& number) {
    cluster_.commit({id, {7}}, 120s, [this, number](const Result<void>& done) {
      if (done) transactions.acknowledged(std::stoull(number));
      commits += done.has_value();
      soon(&Workload::transact);
    });
  }

  void write() {
    ++running_;
    const std::uint64_t number = puts.next();
    cluster_.ask(0, PutRows{{{"alone", std::to_string(number)}}}, 300s, [this, number](const Result<PartitionReply>& done) {
      if (done) puts.acknowledged(number);
      writes += done.has_value();
      soon(&Workload::write);
    });
  }

  void contend() {
    ++running_;
    const std::uint64_t number = ++contended_;
    cluster_.ask(0, PutRows{{{"contended", std::to_string(number)}}, number}, 300s, [this](const Result<PartitionReply>& done) {
      turns += done.has_value();
      soon(&Workload::contend);
    });
  }
  void look() {
    ++running_;
    cluster_.ask(0, GetRows{{}, {"contended"}}, 60s, [this](const Result<PartitionReply>& reply) {
      const std::uint64_t number = reply ? number_of(*reply) : last_;
      if (number != last_) gone_.insert(last_);
      if (gone_.contains(number)) ADD_FAILURE() << number << " was overwritten, and is back";
      last_ = number;
      soon(&Workload::look);
    });
  }

  void read() {
    ++running_;
    const auto partition = static_cast<std::uint32_t>(cluster_.random().below(cluster_.options().partitions));
    Counter& counter = partition == 0 && cluster_.random().chance(0.3) ? puts : transactions;
    const std::string key = &counter == &puts ? "alone" : "together";
    cluster_.ask(partition, GetRows{{}, {key}}, 60s,
                 [=, this, &counter, least = counter.least()](const Result<PartitionReply>& reply) {
                   if (reply) counter.read(least, number_of(*reply), "partition " + std::to_string(partition));
                   soon(&Workload::read);
                 });
  }

  void scan() {
    ++running_;
    cluster_.snapshot(60s, [this, least = transactions.least()](const Result<SnapshotId>& snapshot) {
      if (!snapshot) return soon(&Workload::scan);
      ++snapshots;
      scan(*snapshot, least, 0, 0);
    });
  }
  void scan(SnapshotId snapshot, std::uint64_t least, std::uint64_t first, std::uint32_t partition) {
    if (partition == cluster_.options().partitions) return soon(&Workload::scan);
    // Not so long that its lease is over: nobody renews it.
    cluster_.ask(partition, ScanRows{snapshot, "together", "together\x01", 10}, 20s,
                 [=, this](const Result<PartitionReply>& reply) {
                   if (!reply) {
                     if (reply.error().code() == Code::not_found) ADD_FAILURE() << reply.error().to_string();
                     return soon(&Workload::scan);
                   }
                   const auto& rows = std::get<Rows>(*reply).rows;
                   const std::uint64_t number = rows.empty() ? 0 : std::stoull(rows.at(0).value);
                   transactions.read(least, number, "a snapshot of partition " + std::to_string(partition));
                   if (partition > 0 && number != first)
                     ADD_FAILURE() << "a snapshot has " << first << " in one partition and " << number << " in another";
                   scan(snapshot, least, number, partition + 1);
                 });
  }

  TableSimulation& cluster_;
  int running_ = 0;
  bool ending_ = false;
  std::uint64_t contended_ = 0, last_ = 0;  // of those who contend: written, and seen
  std::set<std::uint64_t> gone_;
};

/// One fault, or the end of one.
void disturb(TableSimulation& cluster) {
  Random& random = cluster.random();
  const std::string name = cluster.name_of(random.below(cluster.options().workers));
  const auto anybody = [&] {
    const std::uint64_t who = random.below(cluster.options().workers + 1);
    return who == cluster.options().workers ? std::string("master") : cluster.name_of(who);
  };
  switch (random.below(10)) {
    case 0:
      return cluster.lives(name) ? cluster.kill(name) : cluster.start(name);
    case 1:
      return cluster.lives(name) ? void() : cluster.start(name);
    case 2:
      return cluster.runs(name) ? cluster.pause(name) : void();
    case 3:
      return cluster.lives(name) && !cluster.runs(name) ? cluster.resume(name) : void();
    case 4:
    case 5: {
      const std::string other = anybody();
      if (other == name) return;
      const std::uint64_t ways = 1 + random.below(3);
      if ((ways & 1) != 0) cluster.cut(name, other);
      if ((ways & 2) != 0) cluster.cut(other, name);
      return;
    }
    case 6:
      return random.chance(0.3) ? cluster.restart_master() : void();
    case 7:
      return random.chance(0.5) ? cluster.fill_master_disk() : cluster.make_room();
    default:
      return cluster.heal();
  }
}

TEST(TableSimulationTest, WhatWasAcknowledgedIsSeenByEverybodyFromThenOn) {
  std::size_t commits = 0, writes = 0, turns = 0, reads = 0, snapshots = 0;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    TableSimulation::Options options;
    options.workers = 2 + static_cast<std::uint32_t>(seed % 3);
    options.replication = std::min(options.workers, 2 + static_cast<std::uint32_t>(seed % 2));
    TableSimulation cluster(seed, options);
    ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
    Workload workload(cluster);
    workload.begin();
    for (int fault = 0; fault < 25; ++fault) {
      cluster.pass(std::chrono::milliseconds(cluster.random().between(1, 4000)));
      disturb(cluster);
    }
    cluster.heal();
    for (std::uint64_t w = 0; w < options.workers; ++w)
      if (!cluster.lives(cluster.name_of(w))) cluster.start(cluster.name_of(w));
    workload.end();
    ASSERT_TRUE(cluster.until([&] { return workload.over() && cluster.whole(); }, 20min)) << "something waits for ever";
    cluster.pass(5s);
    for (std::uint32_t p = 0; p < options.partitions; ++p) {
      const auto all = cluster.contents(p);
      for (const auto& one : all) EXPECT_EQ(one, all.front()) << "replicas of partition " << p << " differ, and are called in sync";
    }
    commits += workload.commits, writes += workload.writes, turns += workload.turns, snapshots += workload.snapshots;
    reads += workload.transactions.reads + workload.puts.reads;
    if (testing::Test::HasFailure()) break;
  }
  std::cout << commits << " commits, " << writes << " and " << turns << " writes, " << reads << " reads, " << snapshots
            << " snapshots\n";
  EXPECT_GT(commits, 10 * seeds() / 2);
}

TEST(TableSimulationTest, AFollowerThatStopsWhileACommitIsCarriedOutHoldsUpItsAnswer) {
  TableSimulation cluster(3, {2, 4, 2});
  ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
  std::optional<TransactionId> id;
  cluster.begin([&](const Result<TransactionId>& begun) { id = begun.value(); });
  ASSERT_TRUE(cluster.until([&] { return id.has_value(); }, 10s));
  int staged = 0;
  for (std::uint32_t p = 0; p < 4; ++p)
    cluster.ask(p, StageRows{*id, 7, {{"k", "new"}}}, 30s, [&](const Result<PartitionReply>& done) { staged += done.has_value(); });
  ASSERT_TRUE(cluster.until([&] { return staged == 4; }, 30s));
  // Both are primaries of some partitions, and followers of the others. One stops at each moment of the next second, in turn.
  bool committed = false;
  cluster.commit({*id, {7}}, 5min, [&](const Result<void>& done) { committed = done.has_value(); });
  cluster.pass(std::chrono::milliseconds(cluster.random().between(5, 40)));
  cluster.pause("b");
  cluster.pass(4s);
  const bool before_lost = committed;  // its lease is not over, nobody has taken it out
  cluster.kill("a");
  cluster.pass(1s);
  cluster.resume("b");
  cluster.start("a");
  ASSERT_TRUE(cluster.until([&] { return committed && cluster.whole(); }, 10min));
  cluster.pass(5s);
  EXPECT_FALSE(before_lost);
  for (std::uint32_t p = 0; p < 4; ++p)
    for (const auto& rows : cluster.contents(p)) EXPECT_EQ(rows, (std::vector<TableRow>{{"k", "new"}})) << "partition " << p;
}

TEST(TableSimulationTest, ACommitThatTheMastersDiskHasNoRoomForIsSeenEverywhereOrNowhere) {
  TableSimulation cluster(7, {2, 4, 2});
  ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
  std::optional<TransactionId> id;
  cluster.begin([&](const Result<TransactionId>& begun) { id = begun.value(); });
  ASSERT_TRUE(cluster.until([&] { return id.has_value(); }, 10s));
  int staged = 0;
  for (std::uint32_t p = 0; p < 4; ++p)
    cluster.ask(p, StageRows{*id, 7, {{"k", "new"}}}, 30s, [&](const Result<PartitionReply>& done) { staged += done.has_value(); });
  ASSERT_TRUE(cluster.until([&] { return staged == 4; }, 30s));
  bool committed = false;
  cluster.commit({*id, {7}}, 20min, [&](const Result<void>& done) { committed = done.has_value(); });
  ASSERT_TRUE(cluster.until([&] { return cluster.decided(); }, 10s));
  cluster.fill_master_disk();
  cluster.pass(kHoldLasts + 10s);
  // The decision reaches one of the two before the other, which may serve for the rest of its lease.
  cluster.cut("master", "b");
  cluster.make_room();
  bool seen = false;
  const auto read = [&](std::uint32_t p) {
    std::optional<Result<PartitionReply>> reply;
    cluster.ask(p, GetRows{{}, {"k"}}, 0s, [&](const Result<PartitionReply>& what) { reply = what; });
    ASSERT_TRUE(cluster.until([&] { return reply.has_value(); }, 1min));
    if (!*reply) return;
    const bool fresh = std::get<Values>(**reply).values.at(0).value.has_value();
    EXPECT_TRUE(fresh || !seen) << "partition " << p << " shows nothing of a commit that another one showed before";
    seen = seen || fresh;
  };
  for (int round = 0; round < 20; ++round) {
    cluster.pass(20ms);
    for (std::uint32_t p = 0; p < 4; ++p) ASSERT_NO_FATAL_FAILURE(read(p));
  }
  cluster.heal();
  ASSERT_TRUE(cluster.until([&] { return committed && cluster.whole(); }, 10min));
  for (std::uint32_t p = 0; p < 4; ++p) ASSERT_NO_FATAL_FAILURE(read(p));
  EXPECT_TRUE(seen);
}

/// The partitions whose primary is that worker.
std::vector<std::uint32_t> led_by(const TableSimulation& cluster, const std::string& worker) {
  std::vector<std::uint32_t> led;
  const TableStatus table = cluster.status();
  for (std::uint32_t p = 0; p < table.partitions.size(); ++p)
    if (table.partitions[p].primary == worker) led.push_back(p);
  return led;
}

/// Whether the partition takes a write within that time.
bool takes_a_write(TableSimulation& cluster, std::uint32_t partition, Duration most) {
  const auto done = std::make_shared<bool>(false);
  cluster.ask(partition, PutRows{{{"k", "v"}}}, 0s, [done](const Result<PartitionReply>& reply) { *done = reply.has_value(); });
  return cluster.until([&] { return *done; }, most);
}

/// A transaction with a row in every partition.
std::optional<TransactionId> staged_everywhere(TableSimulation& cluster) {
  std::optional<TransactionId> id;
  cluster.begin([&](const Result<TransactionId>& begun) { id = begun.value(); });
  if (!cluster.until([&] { return id.has_value(); }, 10s)) return std::nullopt;
  std::uint32_t staged = 0;
  for (std::uint32_t p = 0; p < cluster.options().partitions; ++p)
    cluster.ask(p, StageRows{*id, 7, {{"k", "new"}}}, 30s, [&](const Result<PartitionReply>& done) { staged += done.has_value(); });
  if (!cluster.until([&] { return staged == cluster.options().partitions; }, 40s)) return std::nullopt;
  return id;
}

TEST(TableSimulationTest, FollowersThatTakeLongForALargeCommitStayInSync) {
  TableSimulation cluster(14, {3, 1, 3, 8s});
  ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
  std::optional<TransactionId> id;
  cluster.begin([&](const Result<TransactionId>& begun) { id = begun.value(); });
  ASSERT_TRUE(cluster.until([&] { return id.has_value(); }, 10s));
  std::uint32_t staged = 0;
  for (const char* key : {"k1", "k2", "k3", "k4"})  // 40 MiB: ten seconds
    cluster.ask(0, StageRows{*id, 7, {{key, std::string(10u << 20, 'v')}}}, 30s,
                [&](const Result<PartitionReply>& done) { staged += done.has_value(); });
  ASSERT_TRUE(cluster.until([&] { return staged == 4; }, 40s));
  const TimePoint begun = cluster.now();
  bool committed = false;
  cluster.commit({*id, {7}}, 5min, [&](const Result<void>& done) { committed = done.has_value(); });
  while (!committed && cluster.now() < begun + 5min) {
    cluster.pass(100ms);
    ASSERT_TRUE(cluster.whole()) << "a follower is given up after " << std::chrono::duration<double>(cluster.now() - begun).count();
  }
  EXPECT_TRUE(committed);
  EXPECT_GE(cluster.now() - begun, 8s);
}

TEST(TableSimulationTest, NothingIsHeldForASnapshotThatAPartitionWithoutAWorkerCannotTake) {
  TableSimulation cluster(11, {2, 4, 1});
  ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
  const auto led = led_by(cluster, "a");
  ASSERT_FALSE(led.empty());
  std::size_t holds = 0, releases = 0;
  cluster.watch([&](const PartitionRequest& request) {
    holds += std::holds_alternative<Hold>(request.operation);
    releases += std::holds_alternative<Release>(request.operation);
  });
  cluster.kill("b");
  std::optional<Result<SnapshotId>> taken;
  cluster.snapshot(30s, [&](const Result<SnapshotId>& id) { taken.emplace(id); });
  for (int i = 0; i < 10; ++i) {
    cluster.pass(1s);
    for (const std::uint32_t p : led) EXPECT_TRUE(takes_a_write(cluster, p, 4s)) << "partition " << p;
  }
  ASSERT_TRUE(cluster.until([&] { return taken.has_value(); }, 2min));
  EXPECT_FALSE(*taken);
  EXPECT_EQ(holds, 0u);
  EXPECT_EQ(releases, 0u);
  cluster.start("b");
  ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
  taken.reset();
  cluster.snapshot(1min, [&](const Result<SnapshotId>& id) { taken.emplace(id); });
  ASSERT_TRUE(cluster.until([&] { return taken.has_value(); }, 3min));
  EXPECT_TRUE(*taken) << taken->error().to_string();
}

TEST(TableSimulationTest, TheIdOfASnapshotIsDurableBeforeAnyPartitionHearsOfIt) {
  TableSimulation cluster(15, {2, 4, 2});
  ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
  cluster.pass(1s);
  const std::string before = cluster.durable("ti");
  ASSERT_FALSE(before.empty());
  std::size_t holds = 0;
  cluster.watch([&](const PartitionRequest& request) {
    if (!std::holds_alternative<Hold>(request.operation)) return;
    ++holds;
    EXPECT_NE(cluster.durable("ti"), before) << "a master that is restarted now gives the id again";
  });
  std::optional<Result<SnapshotId>> taken;
  cluster.snapshot(30s, [&](const Result<SnapshotId>& id) { taken.emplace(id); });
  ASSERT_TRUE(cluster.until([&] { return taken.has_value(); }, 2min));
  EXPECT_TRUE(*taken) << taken->error().to_string();
  EXPECT_GE(holds, 4u);
}

TEST(TableSimulationTest, APartitionThatDoesNotAnswerIsReleasedByOneLoopHoweverOftenAnybodyTries) {
  TableSimulation cluster(12, {2, 4, 1});
  ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
  const auto led = led_by(cluster, "a"), others = led_by(cluster, "b");
  ASSERT_FALSE(led.empty() || others.empty());
  std::size_t releases = 0;
  cluster.watch([&](const PartitionRequest& request) { releases += std::holds_alternative<Release>(request.operation); });
  cluster.cut("master", "b");  // which the master hears all the same
  std::optional<Result<SnapshotId>> taken;
  cluster.snapshot(90s, [&](const Result<SnapshotId>& id) { taken.emplace(id); });
  ASSERT_TRUE(cluster.until([&] { return taken.has_value(); }, 5min));
  EXPECT_FALSE(*taken);
  cluster.pass(30s);
  for (const std::uint32_t p : led) EXPECT_TRUE(takes_a_write(cluster, p, 4s)) << "partition " << p;
  releases = 0;
  cluster.pass(1min);
  EXPECT_GT(releases, 0u);
  EXPECT_LE(releases, 15 * others.size()) << "each takes five seconds to fail";
  cluster.heal();
  cluster.pass(20s);
  releases = 0;
  cluster.pass(1min);
  EXPECT_EQ(releases, 0u) << "all have heard it";
  for (const std::uint32_t p : others) EXPECT_TRUE(takes_a_write(cluster, p, 4s)) << "partition " << p;
}

TEST(TableSimulationTest, AFewRequestsWaitForACommitThatCannotBeCarriedOut) {
  TableSimulation cluster(13, {2, 4, 1});
  ASSERT_TRUE(cluster.until([&] { return cluster.whole(); }, 1min));
  const auto id = staged_everywhere(cluster);
  ASSERT_TRUE(id);
  std::size_t holds = 0;
  cluster.watch([&](const PartitionRequest& request) { holds += std::holds_alternative<Hold>(request.operation); });
  bool committed = false;
  cluster.commit({*id, {7}}, 20min, [&](const Result<void>& done) { committed = done.has_value(); });
  ASSERT_TRUE(cluster.until([&] { return cluster.decided(); }, 10s));
  cluster.kill("b");
  std::size_t refused = 0;
  for (int i = 0; i < 100; ++i)
    cluster.snapshot(0s, [&](const Result<SnapshotId>& taken) {
      refused += !taken && taken.error().to_string().find("requests wait for the table") != std::string::npos;
    });
  cluster.pass(3s);
  // All but 63, which wait behind the commit. The connections of a few may have broken before they heard.
  EXPECT_GE(refused, 30u);
  EXPECT_LE(refused, 37u);
  cluster.pass(20s);
  EXPECT_FALSE(committed);
  const std::size_t before = holds;
  cluster.start("b");
  ASSERT_TRUE(cluster.until([&] { return committed; }, 10min));
  cluster.pass(2s);
  EXPECT_LT(holds - before, 60u) << "nobody waits for those snapshots any more; the commit may have been asked for again";
  std::optional<Result<SnapshotId>> taken;
  cluster.snapshot(1min, [&](const Result<SnapshotId>& made) { taken.emplace(made); });
  ASSERT_TRUE(cluster.until([&] { return taken.has_value(); }, 3min));
  EXPECT_TRUE(*taken) << taken->error().to_string();
}

}  // namespace
}  // namespace weft::master
