// Runs every experiment of published work that weft claims, and prints each figure next to the paper's and to its band.
//
//   papers [--only ID|PREFIX]… [--quick] [--long] [--simulated] [--seeds N] [--traces DIR] [--write DIR]
//
// Exit status 1 when a figure misses its band and no reason is known.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/file.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/papers/page.hpp"

namespace {

using namespace weft::papers;

std::vector<Experiment> all_experiments() {
  std::vector<Experiment> all;
  for (const auto& part : {baseline_experiments, delay_experiments, cogrs_experiments, shufflewatcher_experiments,
                           carbyne_experiments, carbyne_altruism_experiments, adaptive_experiments, adaptive_affinity_experiments,
                           resource_aware_experiments, shared_cluster_experiments, placement_time_experiments,
                           scache_placing_experiments, scache_experiments, scache_real_experiments, loader_experiments}) {
    for (Experiment& one : part()) all.push_back(std::move(one));
  }
  return all;
}

bool wanted(const std::string& id, const std::vector<std::string>& only) {
  if (only.empty()) return true;
  return std::any_of(only.begin(), only.end(), [&](const std::string& prefix) {
    return id == prefix || (id.starts_with(prefix) && !(id[prefix.size()] >= '0' && id[prefix.size()] <= '9'));
  });
}

void write(const std::vector<Experiment>& experiments, const std::vector<Done>& all, const Context& context,
           const std::string& directory) {
  std::filesystem::create_directories(directory + "/papers");
  const std::string file = directory + "/papers.md";
  const std::string earlier = std::filesystem::exists(file) ? weft::bench::need(weft::read_file(file)) : "";
  std::vector<std::string> ids;
  for (const Experiment& one : experiments) ids.push_back(one.id);
  weft::bench::need(weft::write_file(file, page(ids, all, earlier, context)));
  for (const Done& done : all) {
    for (const Chart& chart : done.findings.charts)
      weft::bench::need(weft::write_file(directory + "/papers/" + chart.file, chart.svg));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Context context;
  std::vector<std::string> only;
  std::string directory;
  if (const char* traces = std::getenv("WEFT_TRACES")) context.traces = traces;
  CLI::App app("Published experiments, next to what weft measures");
  app.add_option("--only", only, "Experiments with this id (BS-5) or prefix (BS)");
  app.add_flag("--quick", context.quick, "One seed and less work: within a minute; each experiment says what is smaller");
  app.add_flag("--long", context.whole, "Also sweeps that take many minutes");
  app.add_flag("--simulated", context.simulated, "Leave out what runs on real workers: the machine is busy, or somebody else's");
  app.add_option("--seeds", context.seeds, "Seeds of random experiments; intervals are of 95 %")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--traces", context.traces, "Directory with the public traces (default: $WEFT_TRACES)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--programs", context.programs, "Directory of weft and the job programs (default: that of this program)")
      ->check(CLI::ExistingDirectory);
  app.add_option("--write", directory,
                 "Write papers.md and papers/*.svg to this directory; what --only leaves out keeps its sections")
      ->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (context.programs.empty()) context.programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::vector<Experiment> experiments = all_experiments();
  std::vector<Done> all;
  for (const Experiment& one : experiments) {
    if (!wanted(one.id, only)) continue;
    Done& done = all.emplace_back(Done{&one, one.measure(context)});
    std::fputs(lines(done, context.quick).c_str(), stdout);
    std::fflush(stdout);
  }
  if (all.empty()) {
    std::fprintf(stderr, "papers: no experiment has the id or prefix %s; --only takes one of:", only.front().c_str());
    for (const Experiment& one : experiments) std::fprintf(stderr, " %s", one.id.c_str());
    std::fputs("\n", stderr);
    return 2;
  }
  const Tally sum = tally(all);
  std::printf("%s\n", sum.text().c_str());
  if (!directory.empty()) write(experiments, all, context, directory);
  return sum.exit_status();
}
