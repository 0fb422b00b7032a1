// Tables of a cluster of real processes, three replicas of each partition:
//
//   table_bench DIRECTORY [--quick]
//
//   get at a snapshot       ≤ 1.1 times as long as a get of now, with one live snapshot and with ten
//   making a snapshot       ≤ 50 ms, of 1 GiB (256 MiB with --quick)
//
// Between one snapshot and the next, a tenth of the keys is written again. Kinds of gets alternate, and the medians of the rounds
// count.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "base/random.hpp"
#include "benchmarks/e2e/setting.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/storage/table_cluster.hpp"

namespace weft::bench {
namespace {

using storage::tables::SnapshotId;

class Bench {
 public:
  Bench(const std::string& weft, const std::string& directory, bool quick)
      : bytes_(std::uint64_t{quick ? 256u : 1024u} << 20),
        keys_(bytes_ / TableCluster::kValueBytes),
        rounds_(quick ? 15 : 31),
        cluster_(weft, directory),
        tables_(&cluster_.tables()) {}

  void run() {
    const double filling = 1e3 * seconds([&] { cluster_.fill(0, keys_, 1); });
    std::printf("tables: %llu rows of %llu bytes, %u partitions, three replicas on three worker processes\n",
                static_cast<unsigned long long>(keys_), static_cast<unsigned long long>(TableCluster::kValueBytes),
                TableCluster::kPartitions);
    row("rows written", text("%.1f MiB/s", static_cast<double>(bytes_) / 1048.576 / filling), "");
    std::vector<SnapshotId> snapshots{make_snapshot()};
    cluster_.fill(0, keys_ / 10, 2);
    compare(snapshots);
    while (snapshots.size() < 10) {
      snapshots.push_back(make_snapshot());
      cluster_.fill(keys_ / 10 * (snapshots.size() - 1), keys_ / 10, snapshots.size() + 1);
    }
    compare(snapshots);
    const double making = median(making_);
    row("making a snapshot", text("%.1f ms, ratio %.2f", making, making / 50), "50 ms at most");
  }

 private:
  SnapshotId make_snapshot() {
    SnapshotId id;
    making_.push_back(1e3 * seconds([&] { id = need(tables_->snapshot("t", "s" + std::to_string(making_.size()))); }));
    return id;
  }
  double gets(SnapshotId snapshot) {
    constexpr int kGets = 400;
    return 1e3 * seconds([&] {
             for (int i = 0; i < kGets; ++i)
               if (!need(tables_->get("t", {TableCluster::key(random_.below(keys_))}, snapshot)).at(0)) std::exit(1);
           }) /
           kGets;
  }
  void compare(const std::vector<SnapshotId>& snapshots) {
    std::vector<double> now, then;
    gets({}), gets(snapshots.front());
    for (int round = 0; round < rounds_; ++round) {
      now.push_back(gets({}));
      then.push_back(gets(snapshots[random_.below(snapshots.size())]));
    }
    const double ratio = median(then) / median(now);
    row(text("get at one of %zu live snapshots", snapshots.size()),
        text("%.3f ms, now %.3f ms, ratio %.2f", median(then), median(now), ratio), "1.1 at most");
  }

  const std::uint64_t bytes_, keys_;
  const int rounds_;
  TableCluster cluster_;
  storage::tables::TableClient* tables_;
  std::vector<double> making_;
  Random random_{7};
};

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const bool quick = argc == 3 && std::string(argv[2]) == "--quick";
  if (argc < 2 || (argc > 2 && !quick)) return std::fprintf(stderr, "usage: table_bench DIRECTORY [--quick]\n"), 2;
  auto directory = weft::bench::need(weft::TempDir::create("weft-table-bench-", argv[1]));
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  weft::bench::Bench(here / "weft", directory.path(), quick).run();
  return 0;
}
