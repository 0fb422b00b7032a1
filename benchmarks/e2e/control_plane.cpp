// The empty job and many empty tasks: what a job and a task cost.
#include <filesystem>
#include <string>

#include <unistd.h>

#include "benchmarks/e2e/command.hpp"
#include "benchmarks/e2e/sections.hpp"
#include "benchmarks/e2e/standing_cluster.hpp"

namespace weft::bench {

namespace {

namespace fs = std::filesystem;

void empty_job_embedded(const Setting& setting) {
  const double milliseconds = median_seconds(alternate({{setting.program("noop"), "--quiet"}}, 11)[0]) * 1e3;
  row("empty job, embedded", text("%.1f ms", milliseconds), at_most(milliseconds, 50, " ms"));
}

void standing_cluster(const Setting& setting, const Command& options, const char* empty_job, const char* many_tasks) {
  const StandingCluster cluster(setting, options);
  const Command empty{setting.program("noop"), "--quiet", "--cluster", cluster.address()};
  time_command(empty);  // the binary becomes known
  const auto times = alternate({empty, {setting.program("noop"), "--help"}}, 21);
  const double milliseconds = median_seconds(times[0]) * 1e3, starts = milliseconds / (median_seconds(times[1]) * 1e3);
  row(empty_job, text("%.1f ms", milliseconds), at_most(milliseconds, 30, " ms"));
  row("the same over starting its program alone", text("%.1f x", starts), at_most(starts, 5, " x"));

  Command many = empty;
  many.insert(many.end(), {"--tasks", "20000"});
  const double rate = 20'000 / median_seconds(alternate({many}, 3)[0]);
  row(many_tasks, text("%.0f tasks/s", rate), at_least(rate, 5'000, " tasks/s"));
}

/// What it costs to write down what happens, so that the page and weft job diagnose know it later.
void history(const Setting& setting) {
  const StandingCluster with(setting, {}, false, "with-history"),
      without(setting, {"--event-log", "none"}, false, "without-history");
  const auto many = [&](const StandingCluster& cluster) {
    return Command{setting.program("noop"), "--quiet", "--cluster", cluster.address(), "--tasks", "20000"};
  };
  const auto times = alternate({many(with), many(without)}, 31);  // what differs is less than what other processes do to one run
  const double ratio = median_seconds(times[0]) / median_seconds(times[1]);
  row("20,000 no-op tasks: with the master's event log over without", text("%.3f x", ratio), at_most(ratio, 1.03, " x"));
}

}  // namespace

void control_plane(const Setting& setting) {
  std::printf("Jobs and tasks that do nothing\n");
  empty_job_embedded(setting);
  standing_cluster(setting, {}, "empty job, standing cluster, program known", "20,000 no-op tasks, a master, two workers");
  const std::string journal = fs::temp_directory_path() / text("weft-bench-%d.journal", ::getpid());  // on a disk
  standing_cluster(setting, {"--journal", journal}, "the same, the master with a journal", "the same, the master with a journal");
  fs::remove(journal);
  history(setting);
}

}  // namespace weft::bench
