// The tables of a cluster of real processes: the command line, the client, failures.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "storage/tables/table_client.hpp"
#include "tests/cluster/file_cluster.hpp"

namespace weft::test {
namespace {

using storage::tables::TableClient;
using storage::tables::TableWrite;

class Tables : public testing::Test {
 protected:
  void start(int workers, std::vector<std::string> options = {}) {
    cluster = std::make_unique<FileCluster>(workers, FileClusterOptions{std::move(options)});
  }
  ProcessResult table(std::vector<std::string> words, const std::string& input = "") {
    words.insert(words.begin(), {program("weft"), "table"});
    words.insert(words.begin() + (words.at(2) == "snapshot" ? 4 : 3), {"--master", cluster->address()});
    std::string command;
    for (const std::string& word : words) command += "'" + word + "' ";
    write_file(scratch / "input", input);
    return run({"/bin/sh", "-c", command + "< " + (scratch / "input")}, {.environment = {}, .deadline = std::chrono::seconds(100)});
  }
  std::string good(std::vector<std::string> words, const std::string& input = "") {
    const ProcessResult result = table(words, input);
    EXPECT_EQ(result.exit_code, 0) << words[0] << ": " << result.err;
    return result.out;
  }
  /// One line, after another one when something was waited for.
  std::string refusal(std::vector<std::string> words) {
    const ProcessResult result = table(words);
    EXPECT_EQ(result.exit_code, 1) << words[0] << ": " << result.out;
    const int lines = has(result.err, "; waiting for up to 30 s") ? 2 : 1;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), lines) << result.err;
    return result.err;
  }
  /// All replicas are there and equal.
  bool whole(const std::string& name) {
    return eventually(
        [&] {
          return has(table({"list"}).out, name) && has(table({"stat", name}).out, ", healthy\n");
        },
        std::chrono::seconds(60));
  }
  std::shared_ptr<TableClient> client() {
    auto made = TableClient::connect(cluster->address());
    EXPECT_TRUE(made) << made.error().to_string();
    return made ? *made : nullptr;
  }

  ScratchDirectory scratch;
  std::unique_ptr<FileCluster> cluster;
};

TEST_F(Tables, AreKeptByTheCommandLine) {
  start(3);
  good({"create", "users", "--partitions", "4"});
  good({"put", "users", "ann", "1"});
  good({"put", "users", "bob", "-"}, "two\nlines\n");
  EXPECT_EQ(good({"get", "users", "ann"}), "1\n");
  EXPECT_EQ(good({"get", "users", "bob"}), "two\nlines\n\n");
  EXPECT_EQ(good({"get", "users", "ann", "bob"}), "ann\t1\nbob\ttwo\\nlines\\n\n");
  good({"snapshot", "create", "users", "monday"});
  good({"put", "users", "ann", "2"});
  good({"delete", "users", "bob"});
  EXPECT_EQ(good({"get", "users", "ann", "--snapshot", "monday"}), "1\n");
  EXPECT_EQ(good({"get", "users", "ann", "--json"}), "[{\"key\":\"ann\",\"value\":\"2\"}]\n");
  EXPECT_TRUE(has(refusal({"get", "users", "bob"}), "has no key 'bob'"));
  std::string lines;
  for (int i = 1000; i < 3000; ++i) lines += "k" + std::to_string(i) + "\tv" + std::to_string(i) + "\n";
  good({"import", "users"}, lines + "odd\\x00\\\\\tva\\tlue\nk1000\n");
  EXPECT_EQ(good({"scan", "users", "--prefix", "k10", "--limit", "2"}), "k1001\tv1001\nk1002\tv1002\n");
  EXPECT_EQ(good({"scan", "users", "--from", "k2998", "--to", "l"}), "k2998\tv2998\nk2999\tv2999\n");
  EXPECT_EQ(good({"scan", "users", "--snapshot", "monday"}), "ann\t1\nbob\ttwo\\nlines\\n\n");
  good({"export", "users", scratch / "rows"});
  const std::string rows = read_file(scratch / "rows");
  EXPECT_EQ(rows, "ann\t2\n" + lines.substr(lines.find('\n') + 1) + "odd\\x00\\\\\tva\\tlue\n");
  good({"create", "again", "--partitions", "3"});
  good({"import", "again", scratch / "rows"});
  EXPECT_TRUE(good({"export", "again"}) == rows);
  EXPECT_TRUE(has(good({"snapshot", "list", "users", "--json"}), "\"name\":\"monday\""));
  good({"snapshot", "drop", "users", "monday"});
  EXPECT_TRUE(has(refusal({"get", "users", "ann", "--snapshot", "monday"}), "no snapshot 'monday'"));
  EXPECT_TRUE(whole("users"));
  EXPECT_TRUE(has(good({"list", "--json"}), "\"name\":\"users\",\"partitions\":4,\"replication\":3"));
  good({"drop", "users"});
  EXPECT_TRUE(has(refusal({"get", "users", "ann"}), "there is no table 'users'"));
  EXPECT_TRUE(eventually([&] {
    std::size_t left = 0;
    for (std::size_t w = 0; w < 3; ++w)
      for (const auto& entry : std::filesystem::directory_iterator(cluster->chunk_directory(w) + "/tables"))
        left += entry.path().filename().string().starts_with("1-");
    return left == 0;
  }));
}

TEST_F(Tables, RefuseWhatCannotBe) {
  start(1);
  good({"create", "t", "--partitions", "2", "--replication", "1"});
  EXPECT_TRUE(has(refusal({"create", "t"}), "the table 't' exists"));
  EXPECT_TRUE(has(refusal({"create", "a/b"}), "'a/b' is no name of a table"));
  EXPECT_TRUE(has(refusal({"create", ""}), "is no name of a table"));
  EXPECT_TRUE(has(refusal({"create", std::string(200, 'x')}), "names have 1 to 128"));
  EXPECT_TRUE(has(refusal({"create", "u", "--partitions", "0"}), "1 to 4096 partitions"));
  EXPECT_TRUE(has(refusal({"create", "u", "--replication", "65"}), "1 to 64 replicas"));
  EXPECT_TRUE(has(refusal({"put", "nothing", "k", "v"}), "there is no table 'nothing'"));
  EXPECT_TRUE(has(refusal({"drop", "nothing"}), "there is no table 'nothing'"));
  EXPECT_TRUE(has(refusal({"put", "t", "", "v"}), "keys of tables have 1 to 65536 bytes"));
  EXPECT_TRUE(has(refusal({"get", "t", std::string(70'000, 'k')}), "not 70000"));
  EXPECT_TRUE(has(table({"put", "t", "k", "-"}, std::string((16u << 20) + 1, 'v')).err, "values of tables have up to"));
  EXPECT_TRUE(has(table({"import", "t"}, "a\tb\nc\\q\td\n").err, "line 2: 'c\\\\q' holds a backslash"));
  EXPECT_TRUE(has(refusal({"scan", "t", "--prefix", "a", "--from", "b"}), "either --prefix"));
  EXPECT_TRUE(has(refusal({"snapshot", "create", "t", "a b"}), "is no name of a snapshot"));
  good({"snapshot", "create", "t", "s"});
  EXPECT_TRUE(has(refusal({"snapshot", "create", "t", "s"}), "has a snapshot 's'"));
  EXPECT_TRUE(has(refusal({"snapshot", "drop", "t", "none"}), "no snapshot 'none'"));
  EXPECT_TRUE(has(refusal({"import", "t", scratch / "absent"}), "absent"));
  const auto no_master = run({program("weft"), "table", "list", "--master", "127.0.0.1:1"});
  EXPECT_TRUE(has(no_master.err, "no weft master answers at 127.0.0.1:1")) << no_master.err;
}

TEST_F(Tables, WithTooFewWorkersAreMadeAllTheSameAndCompletedLater) {
  start(1);
  const auto made = table({"create", "t", "--partitions", "3"});
  EXPECT_EQ(made.exit_code, 0);
  EXPECT_TRUE(has(made.err, "3 of 3 partitions have fewer than 3 replicas")) << made.err;
  good({"put", "t", "k", "v"});
  good({"snapshot", "create", "t", "s"});
  good({"put", "t", "k", "w"});
  cluster->add_worker();
  cluster->add_worker();
  EXPECT_TRUE(whole("t")) << good({"stat", "t"});
  cluster->kill_worker(0);
  EXPECT_EQ(good({"get", "t", "k"}), "w\n");
  EXPECT_EQ(good({"get", "t", "k", "--snapshot", "s"}), "v\n");
}

TEST_F(Tables, OfWorkersWithoutNamesAreThereAfterAllWereKilled) {
  FileClusterOptions options;
  options.named = false;
  cluster = std::make_unique<FileCluster>(2, options);
  good({"create", "t", "--partitions", "4", "--replication", "2"});
  EXPECT_TRUE(whole("t"));
  good({"put", "t", "k", "v"});
  for (std::size_t w = 0; w < 2; ++w) cluster->kill_worker(w);
  for (std::size_t w = 0; w < 2; ++w) cluster->start_worker(w);
  EXPECT_EQ(good({"get", "t", "k"}), "v\n");
  EXPECT_TRUE(whole("t")) << good({"stat", "t"});
}

TEST_F(Tables, OutliveWorkersAndTheMaster) {
  start(4);
  good({"create", "t", "--partitions", "4", "--replication", "2"});
  EXPECT_TRUE(whole("t"));
  std::string lines;
  for (int i = 1000; i < 2000; ++i) lines += "k" + std::to_string(i) + "\tv" + std::to_string(i) + "\n";
  good({"import", "t"}, lines);
  good({"snapshot", "create", "t", "s"});
  cluster->kill_worker(0);
  good({"put", "t", "k1500", "new"});
  EXPECT_TRUE(whole("t")) << good({"stat", "t"});  // on the others
  cluster->kill_worker(1);
  EXPECT_EQ(good({"get", "t", "k1500"}), "new\n");
  EXPECT_TRUE(good({"export", "t", "--snapshot", "s"}) == lines);
  cluster->start_worker(0);  // with what nobody needs, or with what is old
  cluster->start_worker(1);
  EXPECT_TRUE(whole("t")) << good({"stat", "t"});
  EXPECT_EQ(good({"get", "t", "k1500"}), "new\n");
  cluster->kill_master();
  cluster->restart_master();
  EXPECT_EQ(good({"get", "t", "k1500"}), "new\n");
  EXPECT_TRUE(good({"export", "t", "--snapshot", "s"}) == lines);
  EXPECT_TRUE(whole("t")) << good({"stat", "t"});
  for (std::size_t w = 0; w < 4; ++w) cluster->kill_worker(w);
  cluster->kill_master();
  cluster->restart_master();
  for (std::size_t w = 0; w < 4; ++w) cluster->start_worker(w);
  EXPECT_TRUE(whole("t")) << good({"stat", "t"});
  EXPECT_EQ(good({"get", "t", "k1500"}), "new\n");
  EXPECT_TRUE(good({"export", "t", "--snapshot", "s"}) == lines);
}

TEST_F(Tables, ClientsSayWhatTheyWaitFor) {
  start(1);
  std::vector<std::string> said;
  storage::tables::TableClientOptions options;
  options.patience = std::chrono::seconds(2);
  options.waiting = [&](const std::string& what) { said.push_back(what); };
  const auto tables = TableClient::connect(cluster->address(), options);
  ASSERT_TRUE(tables) << tables.error().to_string();
  cluster->kill_master();
  const auto listed = (*tables)->list();
  ASSERT_FALSE(listed);
  EXPECT_TRUE(has(listed.error().to_string(), cluster->address())) << listed.error().to_string();
  ASSERT_EQ(said.size(), 1u) << "once, not with every try";
  EXPECT_TRUE(has(said[0], cluster->address()) && has(said[0], "waiting for up to 2 s")) << said[0];
}

TEST_F(Tables, ADamagedReplicaIsCopiedAnewAndKeptBeside) {
  start(2);
  good({"create", "t", "--partitions", "1", "--replication", "2"});
  EXPECT_TRUE(whole("t"));
  good({"put", "t", "k", "v"});
  cluster->kill_worker(0);
  const std::filesystem::path replica = cluster->chunk_directory(0) + "/tables/1-0";
  for (const auto& entry : std::filesystem::directory_iterator(replica))
    if (entry.path().filename().string().starts_with("MANIFEST")) write_file(entry.path(), "nonsense");
  good({"put", "t", "k", "w"});
  cluster->start_worker(0);
  EXPECT_TRUE(whole("t")) << good({"stat", "t"});
  EXPECT_TRUE(std::filesystem::exists(replica.string() + ".damaged-1"));
  cluster->kill_worker(1);
  EXPECT_EQ(good({"get", "t", "k"}), "w\n");
}

TEST_F(Tables, TheOnlyReplicaThatIsDamagedSaysSoAndStays) {
  start(1);
  good({"create", "t", "--partitions", "1", "--replication", "1"});
  good({"put", "t", "k", "v"});
  cluster->kill_worker(0);
  const std::filesystem::path replica = cluster->chunk_directory(0) + "/tables/1-0";
  std::string manifest;
  for (const auto& entry : std::filesystem::directory_iterator(replica))
    if (entry.path().filename().string().starts_with("MANIFEST")) manifest = entry.path();
  const std::string good_one = read_file(manifest);
  write_file(manifest, "nonsense");
  cluster->start_worker(0);
  EXPECT_TRUE(eventually([&] { return has(table({"stat", "t"}).out, "cannot be opened"); }));
  EXPECT_TRUE(has(refusal({"get", "t", "k"}), "cannot be opened"));
  cluster->kill_worker(0);
  write_file(manifest, good_one);  // from a copy
  cluster->start_worker(0);
  EXPECT_TRUE(whole("t"));
  EXPECT_EQ(good({"get", "t", "k"}), "v\n");
}

TEST_F(Tables, AFullDiskSaysSo) {
  start(0);
  Process worker(
      {program("weft"), "worker", "--master", cluster->address(), "--chunk-dir", scratch / "chunks", "--chunk-reserve", "4000TiB"});
  EXPECT_TRUE(eventually([&] { return table({"create", "t", "--replication", "1", "--partitions", "1"}).exit_code == 0; }));
  EXPECT_TRUE(has(refusal({"put", "t", "k", "v"}), "is full"));
}

TEST_F(Tables, ASnapshotIsOneMomentOfAllPartitions) {
  start(3);
  const auto tables = client();
  ASSERT_TRUE(tables->create("t", {8, 3}));
  std::atomic<bool> stop{false};
  constexpr int kWriters = 3, kKeys = 6;
  std::vector<std::thread> writers;
  std::vector<std::string> keys;
  for (int w = 0; w < kWriters; ++w)
    for (int k = 0; k < kKeys; ++k) keys.push_back("w" + std::to_string(w) + "k" + std::to_string(k));
  for (int w = 0; w < kWriters; ++w)
    writers.emplace_back([&, w] {
      // Each key when the one before is acknowledged: at any moment at most one lies behind its predecessor.
      for (int round = 1; !stop; ++round)
        for (int k = 0; k < kKeys; ++k)
          if (const auto put = tables->put("t", {{keys[static_cast<std::size_t>(w * kKeys + k)], std::to_string(round)}}); !put) {
            ADD_FAILURE() << put.error().to_string();
            return;
          }
    });
  for (int i = 0; i < 15; ++i) {
    const auto snapshot = tables->snapshot("t", "s" + std::to_string(i));
    if (!snapshot) {
      ADD_FAILURE() << snapshot.error().to_string();
      break;
    }
    const auto first = tables->get("t", keys, *snapshot);
    EXPECT_TRUE(first);
    for (std::size_t w = 0; first && w < kWriters; ++w) {
      std::vector<int> rounds;
      for (std::size_t k = 0; k < kKeys; ++k) rounds.push_back(std::stoi((*first)[w * kKeys + k].value_or("0")));
      EXPECT_TRUE(std::is_sorted(rounds.rbegin(), rounds.rend())) << "snapshot " << i;
      EXPECT_LE(rounds.front(), rounds.back() + 1) << "snapshot " << i;
    }
    const auto again = tables->get("t", keys, *snapshot);
    EXPECT_TRUE(again && *again == *first) << "a snapshot changed";
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
}

TEST_F(Tables, ATransactionIsSeenWholeOrNotAtAll) {
  start(3);
  const auto tables = client();
  ASSERT_TRUE(tables->create("t", {6, 2}));
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("k" + std::to_string(i));
  std::atomic<bool> stop{false};
  std::atomic<int> committed{0};
  std::thread reader([&] {
    const auto other = client();
    while (!stop) {
      const int before = committed;
      const auto scan = other->scan("t", {});
      if (!scan) {
        ADD_FAILURE() << scan.error().to_string();
        return;
      }
      std::set<std::string> values;
      std::size_t rows = 0;
      while (true) {
        const auto row = (*scan)->next();
        ASSERT_TRUE(row) << row.error().to_string();
        if (*row == nullptr) break;
        values.insert((*row)->value);
        ++rows;
      }
      EXPECT_LE(values.size(), 1u);
      EXPECT_TRUE(rows == 0 || rows == keys.size());
      if (before > 0 && !values.empty()) {
        EXPECT_GE(std::stoi(*values.begin()), before);
      }
    }
  });
  for (int round = 1; round <= 12; ++round) {
    const auto id = tables->begin("t");
    ASSERT_TRUE(id) << id.error().to_string();
    std::vector<TableWrite> all, half;
    for (const std::string& key : keys) all.push_back({key, std::to_string(round)});
    for (std::size_t i = 0; i < 20; ++i) half.push_back({keys[i], "-1"});
    ASSERT_TRUE(tables->stage("t", *id, 1, half));  // an attempt that fails
    ASSERT_TRUE(tables->stage("t", *id, 2, all));
    if (round % 4 == 0) {
      ASSERT_TRUE(tables->abort("t", *id));
      const auto late = tables->stage("t", *id, 3, half);
      const Code refusal = late ? Code::invalid_argument : late.error().code();
      EXPECT_EQ(refusal, Code::invalid_argument);  // which fails the task's job at once
      const auto again = tables->commit("t", *id, {late ? 3u : 2u});
      EXPECT_TRUE(!again && again.error().code() == Code::not_found);
      continue;
    }
    const auto done = tables->commit("t", *id, {2});
    ASSERT_TRUE(done) << done.error().to_string();
    ASSERT_TRUE(tables->commit("t", *id, {2}));  // its answer was lost
    committed = round;
    const auto values = tables->get("t", keys);
    ASSERT_TRUE(values);
    for (const auto& value : *values) EXPECT_EQ(value, std::to_string(round));
  }
  stop = true;
  reader.join();
}

/// Runs the probe; `where` says on which cluster.
class TableJobs : public Tables {
 protected:
  ProcessResult job(std::vector<std::string> words, std::vector<std::string> where = {}) {
    words.insert(words.begin(), {program("table_probe")});
    if (where.empty()) where = {"--cluster", cluster->address()};
    words.insert(words.end(), where.begin(), where.end());
    words.emplace_back("--quiet");
    return run(words, {.environment = {}, .deadline = std::chrono::seconds(150)});
  }
  void fill(int rows, int factor) {
    std::string lines;
    for (int i = 0; i < rows; ++i)
      lines +=
          std::string(1, static_cast<char>('a' + i % 7)) + std::to_string(100'000 + i) + "\t" + std::to_string(i * factor) + "\n";
    good({"import", "in"}, lines);
  }
};

TEST_F(TableJobs, ReadSnapshotsAndWriteTablesEverywhere) {
  start(3);
  good({"create", "in", "--partitions", "6"});
  good({"create", "out", "--partitions", "3"});
  fill(5000, 1);
  good({"snapshot", "create", "in", "first"});
  fill(5000, 3);
  std::map<std::string, std::uint64_t> sums;  // the serial reference
  for (std::uint64_t i = 0; i < 5000; ++i) sums[std::string(1, static_cast<char>('a' + i % 7))] += i;
  const auto expected = [&](std::uint64_t factor) {
    std::string lines;
    for (const auto& [key, sum] : sums) lines += key + "\t" + std::to_string(sum * factor) + "\n";
    return lines;
  };
  const std::vector<std::vector<std::string>> places{
      {"--cluster", cluster->address()}, {"--workers", "2", "--files", cluster->address()}, {"--files", cluster->address()}};
  for (const auto& where : places) {
    for (const bool first : {true, false}) {
      std::vector<std::string> words{"sums", "--from", "in", "--to", "out"};
      if (first) words.insert(words.end(), {"--snapshot", "first"});
      const auto result = job(words, where);
      ASSERT_EQ(result.exit_code, 0) << where[0] << ": " << result.err;
      EXPECT_EQ(good({"scan", "out"}), expected(first ? 1 : 3)) << where[0];
    }
  }
  EXPECT_TRUE(eventually([&] {
    return good({"snapshot", "list", "in"}).find("of a scan or job") == std::string::npos;
  })) << "snapshots of jobs stay";
}

TEST_F(TableJobs, SeeExactlyTheirSnapshotWhileEveryKeyIsOverwritten) {
  start(3);
  good({"create", "in", "--partitions", "6"});
  good({"create", "copy", "--partitions", "4"});
  fill(8000, 1);
  const std::string before = good({"export", "in"});
  good({"snapshot", "create", "in", "first"});
  const auto tables = client();
  std::atomic<bool> stop{false};
  std::atomic<int> passes{0};
  std::thread writer([&] {
    for (int pass = 0; !stop; ++pass) {
      std::vector<TableWrite> batch;
      for (int i = 0; i < 8000; ++i)
        batch.push_back(
            {std::string(1, static_cast<char>('a' + i % 7)) + std::to_string(100'000 + i), "pass " + std::to_string(pass)});
      if (const auto put = tables->put("in", std::move(batch)); !put) {
        ADD_FAILURE() << put.error().to_string();
        return;
      }
      passes = pass + 1;
    }
  });
  EXPECT_TRUE(eventually([&] { return passes > 0; }));
  // Its tasks wait in the middle of their rows until every key was written once more.
  Process process({program("table_probe"), "wait", "--from", "in", "--to", "copy", "--snapshot", "first", "--marker",
                   scratch / "go", "--cluster", cluster->address(), "--quiet"},
                  {.environment = {}, .deadline = std::chrono::seconds(150)});
  const int began = passes;
  EXPECT_TRUE(eventually([&] { return passes >= began + 3; }));
  write_file(scratch / "go", "");
  const auto result = process.wait();
  stop = true;
  writer.join();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(good({"export", "copy"}) == before) << "the job saw something else than the snapshot";
  EXPECT_FALSE(good({"export", "in"}) == before);
}

TEST_F(TableJobs, ThatFailLeaveNothing) {
  start(2);
  good({"create", "in", "--partitions", "3", "--replication", "2"});
  good({"create", "out", "--partitions", "3", "--replication", "2"});
  fill(1000, 1);
  const auto failed = job({"fail", "--from", "in", "--to", "out"});
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_TRUE(has(failed.err, "told to fail")) << failed.err;
  EXPECT_EQ(good({"scan", "out"}), "");
  EXPECT_TRUE(has(job({"copy", "--from", "nothing", "--to", "out"}).err, "there is no table 'nothing'"));
  EXPECT_TRUE(has(job({"copy", "--from", "in", "--snapshot", "none", "--to", "out"}).err, "no snapshot 'none'"));
  EXPECT_TRUE(has(job({"copy", "--from", "in", "--to", "nothing"}).err, "there is no table 'nothing'"));
  EXPECT_TRUE(
      has(job({"copy", "--from", "in", "--to", "out"}, {"--threads", "1"}).err, "tables are kept by a cluster: say --cluster"));
}

TEST_F(TableJobs, LoseNothingToWorkersThatAreKilled) {
  start(4);
  good({"create", "in", "--partitions", "6"});
  good({"create", "out", "--partitions", "6"});
  fill(8000, 1);
  const std::string rows = good({"export", "in"});
  for (std::size_t victim = 0; victim < 3; ++victim) {
    Process process({program("table_probe"), "copy", "--from", "in", "--to", "out", "--cluster", cluster->address(), "--quiet"},
                    {.environment = {}, .deadline = std::chrono::seconds(150)});
    const auto moment = std::chrono::steady_clock::now() + std::chrono::milliseconds(100 + 250 * victim);
    eventually([&] { return !process.running() || std::chrono::steady_clock::now() >= moment; });
    cluster->kill_worker(victim);
    const auto result = process.wait();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    cluster->start_worker(victim);
    EXPECT_TRUE(good({"export", "out"}) == rows) << "victim " << victim;
    EXPECT_TRUE(whole("out"));
    good({"drop", "out"});
    good({"create", "out", "--partitions", "6"});
  }
}

}  // namespace
}  // namespace weft::test
