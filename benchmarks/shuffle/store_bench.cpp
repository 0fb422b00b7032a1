// A shuffle that is much larger than the memory of its stores, next to its bounds: 2 GiB between four workers that hold 64 MiB
// each.
//
//   store_bench PROGRAMS DIRECTORY [--quick]       DIRECTORY on a disk; what is written there is removed afterwards
//
//   time      of the job, maps and reduces and all                at most 1.5 times writing and reading the same bytes there
//   memory    of a worker, its executor and what they share       at most their budgets and 64 MiB
//
// Rounds alternate and the medians count. The records do not compress. The job must print what it prints in one process with all
// the memory it wants.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/file.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/shuffle/shaped_cluster.hpp"
#include "tests/support/peak_memory.hpp"

namespace weft::bench {
namespace {

constexpr double kTimes = 1.5, kStoreMib = 64, kExecutorMib = 256, kRoomMib = 64;

/// Writes the bytes, waits until they are on the disk, and reads them back from there.
double write_and_read(const std::string& path, std::uint64_t bytes) {
  const std::string block = content(1u << 20);
  const double taken = seconds([&] {
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    for (std::uint64_t at = 0; at < bytes; at += block.size()) need(write_all(fd.get(), as_bytes(block)));
    if (::fdatasync(fd.get()) != 0 || ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) != 0)
      need<void>(fail(errno_error("writing " + path, errno)));
    std::string back(block.size(), '\0');
    for (std::uint64_t at = 0; at < bytes; at += block.size()) {
      if (::pread(fd.get(), back.data(), back.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(back.size()))
        need<void>(fail(errno_error("reading " + path, errno)));
    }
  });
  std::filesystem::remove(path);
  return taken;
}

int run(const std::string& programs, const std::string& directory, bool quick) {
  const std::uint64_t bytes = quick ? 512u << 20 : 2048u << 20;
  const std::vector<std::string> job{"group_by", "once", "--bytes", std::to_string(bytes), "--maps", "64", "--reduces", "128"};
  std::vector<std::string> alone = job;
  alone[0] = programs + "/group_by";
  const std::string right = test::run(alone, {{}, std::chrono::seconds(600)}).out;

  std::vector<double> by_hand, taken;
  double peak = 0;
  std::string printed;
  ClusterSetting setting{programs, directory + "/cluster"};
  setting.store = std::to_string(static_cast<int>(kStoreMib)) + "MiB";
  setting.memory = std::to_string(static_cast<int>(kExecutorMib)) + "MiB";
  setting.share = false;
  for (int round = 0; round < (quick ? 1 : 3); ++round) {
    by_hand.push_back(write_and_read(directory + "/by-hand", bytes));
    ShapedCluster cluster(setting);
    std::vector<std::unique_ptr<test::MemoryWatch>> watches;
    for (const int pid : cluster.workers())
      watches.push_back(std::make_unique<test::MemoryWatch>(pid, std::chrono::milliseconds(20)));
    taken.push_back(seconds([&] { printed = cluster.run(job, "memory").output; }));
    for (const auto& watch : watches) peak = std::max(peak, static_cast<double>(watch->finish().total) / 0x1p20);
    if (printed != right) break;
  }
  const double times = median(taken) / median(by_hand), limit = kStoreMib + kExecutorMib + kRoomMib;
  std::printf("%.1f GiB of shuffle, four workers with --store-memory %.0fMiB --memory %.0fMiB\n",
              static_cast<double>(bytes) / 0x1p30, kStoreMib, kExecutorMib);
  std::printf("  time               %6.2f s, by hand %.2f s: %.2f times      at most %.1f: %s\n", median(taken), median(by_hand),
              times, kTimes, times <= kTimes ? "ok" : "MISSED");
  std::printf("  memory of a worker %6.0f MiB                              at most %.0f MiB: %s\n", peak, limit,
              peak <= limit ? "ok" : "MISSED");
  std::printf("  result             %s", printed == right ? "as in one process: ok\n" : ("WRONG: " + printed).c_str());
  return times <= kTimes && peak <= limit && printed == right ? 0 : 1;
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  const bool quick = argc == 4 && std::string(argv[3]) == "--quick";
  if (argc < 3 || argc > 4 || (argc == 4 && !quick)) {
    std::fprintf(stderr, "usage: store_bench PROGRAMS DIRECTORY [--quick]\n");
    return 2;
  }
  const std::string directory = std::string(argv[2]) + "/store_bench-" + std::to_string(::getpid());
  std::filesystem::create_directories(directory);
  const int status = weft::bench::run(argv[1], directory, quick);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return status;
}
