// Reads of tables at snapshots beside reads of now, as tables 5.4 and 5.5 of Polo's thesis have them for Cassandra; three replicas
// on three worker processes, clients in one process:
//
//   snapshot_bench DIRECTORY [--quick]
//
// Workloads are those of YCSB: A half updates, B a twentieth, C half read-modify-write, D reads only, E a twentieth inserts. For
// each, the mean latency of reads of now before any snapshot, of now beside one, and at one; the last two in five rounds in turn,
// of which the median ratio counts, because a table's levels are rewritten now and then and reads of either kind wait. Then
// workload A with a new snapshot in each of ten rounds, against one snapshot at the beginning. Then a job that reads a snapshot
// from end to end while workload A goes on: both alone and together.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/file.hpp"
#include "benchmarks/e2e/setting.hpp"
#include "benchmarks/storage/table_cluster.hpp"

namespace weft::bench {
namespace {

using storage::tables::SnapshotId;

struct Mix {
  const char* name;
  double update, modify, insert;  // parts of the operations; the rest are reads, and a modification begins with one
};
constexpr std::array<Mix, 5> kMixes{{{"A", 0.5, 0, 0}, {"B", 0.05, 0, 0}, {"C", 0, 0.5, 0}, {"D", 0, 0, 0}, {"E", 0, 0, 0.05}}};

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}
double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(std::max<std::size_t>(1, values.size()));
}

class Bench {
 public:
  Bench(const std::string& weft, const std::string& directory, bool quick)
      : keys_(quick ? 20'000 : 200'000), operations_(quick ? 500 : 4000), cluster_(weft, directory) {}

  void run() {
    cluster_.fill(0, keys_, 1);
    std::printf("snapshots: %llu rows of %llu bytes; two clients; milliseconds a read\n", static_cast<unsigned long long>(keys_),
                static_cast<unsigned long long>(TableCluster::kValueBytes));
    std::vector<double> before;
    for (const Mix& mix : kMixes) before.push_back(mean(reads(mix, {})));
    const SnapshotId snapshot = need(cluster_.tables().snapshot("t", "first"));
    for (std::size_t i = 0; i < kMixes.size(); ++i) {
      std::vector<double> beside, at, ratios;
      for (int round = 0; round < 5; ++round) {
        beside.push_back(mean(reads(kMixes[i], {})));
        at.push_back(mean(reads(kMixes[i], snapshot)));
        ratios.push_back(at.back() / beside.back());
      }
      row(text("workload %s: now / beside a snapshot / at it", kMixes[i].name),
          text("%.3f / %.3f / %.3f", before[i], median(beside), median(at)), at_most(median(ratios), 1.1, " x now"));
    }
    many_versions(snapshot);
    job_beside(snapshot);
  }

 private:
  /// Latencies of reads, at the snapshot or of now, while two clients do the mix.
  std::vector<double> reads(const Mix& mix, SnapshotId at) {
    std::array<std::vector<double>, 2> latencies;
    std::vector<std::thread> clients;
    for (std::size_t c = 0; c < latencies.size(); ++c)
      clients.emplace_back([&, c] { latencies[c] = client(mix, at, ++seed_ * 2 + c, operations_); });
    for (std::thread& one : clients) one.join();
    latencies[0].insert(latencies[0].end(), latencies[1].begin(), latencies[1].end());
    return latencies[0];
  }

  std::vector<double> client(const Mix& mix, SnapshotId at, std::uint64_t seed, std::size_t operations) {
    Random random(seed);
    std::vector<double> latencies;
    for (std::size_t i = 0; i < operations && !stop_; ++i) {
      const double kind = random.uniform();
      const std::string key = TableCluster::key(random.below(keys_));
      const bool writes = kind < mix.update + mix.modify + mix.insert;
      if (!writes || (kind >= mix.update && kind < mix.update + mix.modify))
        latencies.push_back(1e3 * seconds([&] { need(cluster_.tables().get("t", {key}, at)); }));
      if (!writes) continue;
      const bool inserts = kind >= mix.update + mix.modify;
      need(cluster_.tables().put("t", {{inserts ? "new-" + key : key, TableCluster::value(random)}}));
    }
    return latencies;
  }

  /// Ten rounds of workload A: read at one snapshot, and at the newest where each round makes one.
  void many_versions(SnapshotId first) {
    std::string one, many;
    std::vector<double> ratios;
    for (int round = 0; round < 10; ++round) {
      const SnapshotId newest = need(cluster_.tables().snapshot("t", text("round-%d", round)));
      const double at_first = mean(reads(kMixes[0], first)), at_newest = mean(reads(kMixes[0], newest));
      ratios.push_back(at_newest / at_first);
      one += text(" %.2f", at_first);
      many += text(" %.2f", at_newest);
    }
    row("ten rounds of A, at the first snapshot", one, "");
    row("at the snapshot of each round", many, at_most(median(ratios), 1.3, " x the first"));
  }

  void job_beside(SnapshotId snapshot) {
    std::uint64_t all_rows = 0;  // however much is written meanwhile
    const auto scan = [&] {
      std::uint64_t rows = 0;
      auto all = need(cluster_.tables().scan("t", {}, snapshot));
      while (need(all->next()) != nullptr) ++rows;
      if (all_rows == 0) all_rows = rows;
      if (rows == all_rows) return;
      std::fprintf(stderr, "snapshot_bench: the snapshot had %llu rows and has %llu\n", static_cast<unsigned long long>(all_rows),
                   static_cast<unsigned long long>(rows));
      std::exit(1);
    };
    const double scan_alone = seconds(scan);
    const std::vector<double> alone = reads(kMixes[0], {});
    std::vector<double> beside;
    double scans = 0;
    std::thread load([&] { beside = client(kMixes[0], {}, 99, SIZE_MAX); });
    const double together = seconds([&] {
      for (; scans < 3; ++scans) scan();
    });
    stop_ = true;
    load.join();
    row("a job that reads the snapshot, alone / beside A", text("%.2f s / %.2f s", scan_alone, together / scans), "");
    row("reads of A, alone: p50 / p99", text("%.3f / %.3f ms", quantile(alone, 0.5), quantile(alone, 0.99)), "");
    row("reads of A, beside the job: p50 / p99", text("%.3f / %.3f ms", quantile(beside, 0.5), quantile(beside, 0.99)), "");
  }

  const std::uint64_t keys_;
  const std::size_t operations_;
  TableCluster cluster_;
  std::atomic<std::uint64_t> seed_ = 1;
  std::atomic<bool> stop_ = false;
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const bool quick = argc == 3 && std::string(argv[2]) == "--quick";
  if (argc < 2 || (argc > 2 && !quick)) {
    std::fprintf(stderr, "usage: snapshot_bench DIRECTORY [--quick]\n");
    return 2;
  }
  auto directory = weft::bench::need(weft::TempDir::create("weft-snapshot-bench-", argv[1]));
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  weft::bench::Bench(here / "weft", directory.path(), quick).run();
  return 0;
}
