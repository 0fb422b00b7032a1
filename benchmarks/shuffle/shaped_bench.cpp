// The shuffle modes against each other on a network that is slower than the machine: N network namespaces joined by a bridge, a
// worker in each, `tc tbf` on both ends of every link.
//
//   shaped_bench PROGRAMS DIRECTORY [--quick] [--nodes N] [--rate MBIT] [--bytes SIZE] [--rounds N] [--html FILE]
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
#include "benchmarks/shuffle/shaped_network.hpp"
#include "benchmarks/shuffle/shaped_runs.hpp"
#include "benchmarks/shuffle/supervised.hpp"

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
  std::string bytes = "512MiB";
  app.add_option("--bytes", bytes, "Shuffled by GroupByTest; the other jobs shuffle half of it")->capture_default_str();
  app.add_option("--html", setting.html, "Write what the nodes did over time to this file");
  CLI11_PARSE(app, argc, argv);
  const auto size = weft::parse_size(bytes);
  if (!size || *size < (16u << 20) || *size > (std::uint64_t{1} << 30)) {
    std::fprintf(stderr, "shaped_bench: --bytes is a size from 16MiB to 1GiB\n");
    return 2;
  }
  setting.bytes = *size;
  if (quick) setting.bytes /= 4, setting.rounds = 1;
  if (const std::string missing = ShapedNetwork::missing(); !missing.empty()) {
    std::printf("shaped_bench: skipped, %s\n", missing.c_str());
    return 77;
  }
  return supervised(setting.data, [&](const std::string& name, const std::string& data, const std::string& spills) {
    setting.name = name, setting.data = data, setting.spills = spills;
    return run_shaped(setting) ? 0 : 1;
  });
}
