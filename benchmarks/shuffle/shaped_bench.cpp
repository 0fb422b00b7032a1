// The shuffle modes against each other on a network that is slower than the machine: N network namespaces joined by a bridge, a
// worker in each, `tc tbf` on both ends of every link; and on disks that are slower (slow_disk.cpp).
//
//   shaped_bench PROGRAMS DIRECTORY [--quick] [--nodes N] [--rate MBIT] [--disk-rate SIZE] [--page-cache SIZE] [--bytes SIZE]
//                [--rounds N] [--html FILE]
//
// PROGRAMS is where weft and the jobs are. Inputs and outputs go to DIRECTORY (shared memory is best), what workers write to
// $TMPDIR: that should be on a disk. Times and bytes come from the master's event log. Modes take turns and the medians count.
// Everything it made is removed at its end, also when it is interrupted. Without root, ip or tc it says so and exits with 77.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "benchmarks/shuffle/shaped_runs.hpp"
#include "benchmarks/shuffle/supervised.hpp"
#include "tests/support/shaped_network.hpp"

int main(int argc, char** argv) {
  using namespace weft::bench;
  ShapedSetting setting;
  bool quick = false;
  CLI::App app("Shuffle modes on a shaped network");
  app.add_option("PROGRAMS", setting.programs, "Directory of weft, group_by and terasort")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("DIRECTORY", setting.data, "For inputs and outputs")->required()->check(CLI::ExistingDirectory);
  app.add_flag("--quick", quick, "Less data, fewer rounds: within two minutes");
  app.add_option("--nodes", setting.nodes, "Workers, each in a namespace")->check(CLI::Range(2, 8))->capture_default_str();
  app.add_option("--rate", setting.megabits, "Mbit/s of each node in either direction")
      ->check(CLI::Range(10, 10'000))
      ->capture_default_str();
  app.add_option("--rounds", setting.rounds, "Runs in each mode")->check(CLI::Range(1, 99))->capture_default_str();
  // A trace of the published runs has disks that take 21.5 MB/s while processors wait for them.
  std::string bytes = "512MiB", disk_rate = "21500000", page_cache;
  app.add_option("--bytes", bytes, "Shuffled by GroupByTest; the other jobs shuffle half of it")->capture_default_str();
  app.add_option("--disk-rate", disk_rate, "What a node's disk takes in a second; 0: all that it can")->capture_default_str();
  app.add_option("--page-cache", page_cache, "What a node may have written that its disk does not have (default: a map's output)");
  app.add_option("--html", setting.html, "Write what the nodes did over time to this file");
  CLI11_PARSE(app, argc, argv);
  const auto size = weft::parse_size(bytes);
  if (!size || *size < (16u << 20) || *size > (std::uint64_t{1} << 30)) {
    std::fprintf(stderr, "shaped_bench: --bytes is a size from 16MiB to 1GiB\n");
    return 2;
  }
  setting.bytes = *size;
  if (quick) setting.bytes /= 4, setting.rounds = 1;
  const auto disk = weft::parse_size(disk_rate), cache = weft::parse_size(page_cache.empty() ? "0" : page_cache);
  if (!disk || (*disk != 0 && *disk < 1'000'000) || !cache) {
    std::fprintf(stderr, "shaped_bench: --disk-rate is 0 or a size of at least 1000000, --page-cache a size\n");
    return 2;
  }
  setting.disk = {*disk, page_cache.empty() ? setting.bytes / setting.maps() : *cache};
  if (const std::string missing = weft::test::ShapedNetwork::missing(); !missing.empty()) {
    std::printf("shaped_bench: skipped, %s\n", missing.c_str());
    return 77;
  }
  return supervised(setting.data, [&](const std::string& name, const std::string& data, const std::string& spills) {
    setting.name = name, setting.data = data, setting.spills = spills;
    return run_shaped(setting) ? 0 : 1;
  });
}
