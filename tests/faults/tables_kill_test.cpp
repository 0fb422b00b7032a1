// kill -9 of a worker, or of the master, at a random moment of puts, commits and snapshots: no acknowledged write is lost, no
// reader sees what was never written or what is older than an acknowledged write, snapshots don't change, and what is committed
// together is seen together. Seeds are printed; WEFT_LONG=1 runs two hundred.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "storage/tables/table_client.hpp"
#include "tests/cluster/file_cluster.hpp"

namespace weft::test {
namespace {

using storage::tables::SnapshotId;
using storage::tables::TableClient;
using storage::tables::TableWrite;
using Clock = std::chrono::steady_clock;

int rounds() { return std::getenv("WEFT_LONG") != nullptr ? 200 : 8; }

class TablesKillTest : public testing::Test {
 protected:
  static constexpr std::size_t kWorkers = 4;
  static constexpr std::size_t kWriters = 3, kKeys = 20;

  static std::string key(std::size_t writer, std::size_t k) { return "w" + std::to_string(writer) + "-" + std::to_string(k); }
  std::shared_ptr<TableClient> client() {
    storage::tables::TableClientOptions options;
    options.patience = std::chrono::seconds(60);
    auto made = TableClient::connect(cluster.address(), options);
    EXPECT_TRUE(made);
    return made ? *made : nullptr;
  }
  void kill_and_restart(std::size_t victim, std::chrono::milliseconds away) {
    if (victim == kWorkers)
      cluster.kill_master();
    else
      cluster.kill_worker(victim);
    const auto moment = Clock::now() + away;
    eventually([&] { return Clock::now() >= moment; });
    if (victim == kWorkers)
      cluster.restart_master();
    else
      cluster.start_worker(victim);
  }

  /// Counts up each of its keys; what was acknowledged is never read older again.
  void write(TableClient& tables, std::size_t writer, unsigned seed) {
    std::mt19937 random(seed);
    while (!stop) {
      std::vector<TableWrite> batch;
      std::map<std::size_t, int> values;
      for (int i = 0; i < 5; ++i) {
        const std::size_t k = random() % kKeys;
        values[k] = ++begun[writer][k];
      }
      for (const auto& [k, value] : values) batch.push_back({key(writer, k), std::to_string(value)});
      const auto put = tables.put("t", batch);
      ASSERT_TRUE(put) << put.error().to_string();
      for (const auto& [k, value] : values) acknowledged[writer][k] = value;
      ++puts;
    }
  }
  void check_value(const std::optional<std::string>& value, int at_least, int at_most, const std::string& what) {
    const int number = value ? std::stoi(*value) : 0;
    ASSERT_GE(number, at_least) << what;
    ASSERT_LE(number, at_most) << what;
  }
  using Numbers = std::array<std::array<std::atomic<int>, kKeys>, kWriters>;
  static std::array<std::array<int, kKeys>, kWriters> copy_of(const Numbers& numbers) {
    std::array<std::array<int, kKeys>, kWriters> copy{};
    for (std::size_t w = 0; w < kWriters; ++w)
      for (std::size_t k = 0; k < kKeys; ++k) copy[w][k] = numbers[w][k];
    return copy;
  }

  void read(TableClient& tables, unsigned seed) {
    std::mt19937 random(seed);
    while (!stop) {
      const std::size_t w = random() % kWriters, k = random() % kKeys;
      const int before = acknowledged[w][k];
      const auto value = tables.get("t", {key(w, k)});
      ASSERT_TRUE(value) << value.error().to_string();
      check_value(value->at(0), before, begun[w][k], "read of " + key(w, k));
      ++reads;
    }
  }
  void commit(TableClient& tables) {
    while (!stop) {
      const int number = ++commits_begun;
      const auto id = tables.begin("t");
      ASSERT_TRUE(id) << id.error().to_string();
      std::vector<TableWrite> rows;
      for (std::size_t k = 0; k < kKeys; ++k) rows.push_back({"together-" + std::to_string(k), std::to_string(number)});
      ASSERT_TRUE(tables.stage("t", *id, 7, rows));
      const auto done = tables.commit("t", *id, {7});
      ASSERT_TRUE(done) << done.error().to_string();
      commits = number;
    }
  }
  struct Kept {
    SnapshotId id;
    std::vector<std::optional<std::string>> values;
  };
  std::vector<std::string> all_keys() const {
    std::vector<std::string> keys;
    for (std::size_t w = 0; w < kWriters; ++w)
      for (std::size_t k = 0; k < kKeys; ++k) keys.push_back(key(w, k));
    for (std::size_t k = 0; k < kKeys; ++k) keys.push_back("together-" + std::to_string(k));
    return keys;
  }
  void check_together(const std::vector<std::optional<std::string>>& values, int at_least) {
    for (std::size_t k = 1; k < kKeys; ++k) ASSERT_EQ(values.at(kWriters * kKeys + k), values.at(kWriters * kKeys));
    check_value(values.at(kWriters * kKeys), at_least, commits_begun, "rows committed together");
  }
  void snapshot(TableClient& tables, const std::string& name) {
    const auto before = copy_of(acknowledged);
    const int commits_before = commits;
    const auto id = tables.snapshot("t", name);
    ASSERT_TRUE(id) << id.error().to_string();
    const auto after = copy_of(begun);
    auto values = tables.get("t", all_keys(), *id);
    ASSERT_TRUE(values) << values.error().to_string();
    for (std::size_t w = 0; w < kWriters; ++w)
      for (std::size_t k = 0; k < kKeys; ++k)
        check_value(values->at(w * kKeys + k), before[w][k], after[w][k], "snapshot " + name + " of " + key(w, k));
    check_together(*values, commits_before);
    kept.push_back({*id, std::move(*values)});
  }

  FileCluster cluster{kWorkers};
  std::atomic<bool> stop{false};
  Numbers begun{}, acknowledged{};
  std::atomic<int> commits_begun{0}, commits{0}, puts{0}, reads{0};
  std::vector<Kept> kept;
};

TEST_F(TablesKillTest, NothingAcknowledgedIsLostWhateverIsKilledWhenever) {
  const auto checks = client();
  ASSERT_TRUE(checks->create("t", {6, 3}));
  for (int seed = 0; seed < rounds() && !HasFatalFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(static_cast<unsigned>(seed) + 815);
    const std::size_t victim = seed % 3 == 2 ? kWorkers : random() % kWorkers;
    std::printf("seed %d: kill %s\n", seed, victim == kWorkers ? "the master" : ("w" + std::to_string(victim + 1)).c_str());
    std::fflush(stdout);
    stop = false;
    std::vector<std::thread> threads;
    std::vector<std::shared_ptr<TableClient>> clients;
    for (std::size_t i = 0; i < kWriters + 2; ++i) clients.push_back(client());
    for (std::size_t w = 0; w < kWriters; ++w)
      threads.emplace_back([&, w, s = random()] { write(*clients[w], w, static_cast<unsigned>(s)); });
    threads.emplace_back([&, s = random()] { read(*clients[kWriters], static_cast<unsigned>(s)); });
    threads.emplace_back([&] { commit(*clients[kWriters + 1]); });
    const auto moment = Clock::now() + std::chrono::milliseconds(random() % 400);
    eventually([&] { return Clock::now() >= moment; });
    kill_and_restart(victim, std::chrono::milliseconds(random() % 1500));
    snapshot(*checks, "s" + std::to_string(seed));
    const int puts_before = puts;
    EXPECT_TRUE(eventually([&] { return puts >= puts_before + 20; }, std::chrono::seconds(60))) << "writers don't go on";
    stop = true;
    for (std::thread& thread : threads) thread.join();
    if (HasFatalFailure() || HasFailure()) return;
    const auto values = checks->get("t", all_keys());
    ASSERT_TRUE(values) << values.error().to_string();
    for (std::size_t w = 0; w < kWriters; ++w)
      for (std::size_t k = 0; k < kKeys; ++k)
        check_value(values->at(w * kKeys + k), acknowledged[w][k], begun[w][k], "at the end: " + key(w, k));
    check_together(*values, commits);
    for (const Kept& one : kept) {
      const auto again = checks->get("t", all_keys(), one.id);
      ASSERT_TRUE(again) << again.error().to_string();
      ASSERT_TRUE(*again == one.values) << "a snapshot changed";
    }
    if (kept.size() > 5) {
      ASSERT_TRUE(checks->drop_snapshot("t", "s" + std::to_string(seed - 5)));
      kept.erase(kept.begin());
    }
  }
  EXPECT_TRUE(eventually(
      [&] {
        const auto status = checks->describe("t");
        return status && status->short_partitions == 0 && status->down_partitions == 0;
      },
      std::chrono::seconds(60)))
      << "replication is not restored";
  std::printf("%d puts, %d reads, %d commits\n", puts.load(), reads.load(), commits.load());
}

}  // namespace
}  // namespace weft::test
