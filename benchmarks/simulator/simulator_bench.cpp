// How fast the simulator is, each run in a process of its own so that its memory is its own: processor time and peak memory next to
// their limits.
//
//   simulator_bench [--traces DIR] [NAME…]      DIR holds the public traces; runs that need one that is missing are left out
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/simulator/simulate.hpp"
#include "engine/simulator/workloads/workloads.hpp"
#include "schedulers/builtin.hpp"

namespace {

using namespace weft;
using namespace weft::simulator;

struct Case {
  std::string name;
  std::string workload;  // "carbyne:FILE" with FILE below the traces, or "generate:…"
  std::string scheduler;
  std::function<ClusterModel()> model;
  double units;  // of the machine that traces mean by parts of one
  std::size_t jobs;
  bool at_once;
  double limit_s;
  std::size_t limit_mb;
};

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "simulator_bench: %s\n", why.c_str());
  std::exit(2);
}

/// One thread simulates: on a quiet machine this is the time that passes.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void run(const Case& what, const std::string& traces, int out) {
  std::string text = what.workload;
  if (const auto colon = text.find(':'); text.compare(0, colon, "generate") != 0) text.insert(colon + 1, traces + "/");
  workloads::Context context;
  auto workload = workloads::load(text, context);
  if (!workload) give_up(workload.error().to_string());
  if (what.jobs > 0 && workload->jobs.size() > what.jobs) workload->jobs.resize(what.jobs);
  if (what.at_once) {
    for (auto& job : workload->jobs) job.arrival = Time(0);
  }
  auto scheduler = schedulers::make_scheduler(what.scheduler);
  if (!scheduler) give_up(scheduler.error().to_string());
  const double before = processor_seconds();
  auto result = simulate(*workload, what.model(), std::move(*scheduler), {});
  const double seconds = processor_seconds() - before;
  if (!result) give_up(result.error().to_string());
  double sum = 0;
  std::size_t finished = 0;
  for (const auto& job : result->jobs) {
    if (!job.completion_time()) continue;
    sum += std::chrono::duration<double>(*job.completion_time()).count();
    ++finished;
  }
  char line[512];
  const int length = std::snprintf(
      line, sizeof line,
      "%.3f %.3f %.1f us a task, %llu tasks, %zu of %zu jobs, mean completion %.2f s, makespan %.0f s, scheduler %.2f s in %llu "
      "calls",
      seconds, std::chrono::duration<double>(result->wall_time).count(),
      seconds * 1e6 / static_cast<double>(std::max<std::uint64_t>(1, result->tasks)),
      static_cast<unsigned long long>(result->tasks), finished, result->jobs.size(),
      finished == 0 ? 0 : sum / static_cast<double>(finished), std::chrono::duration<double>(result->makespan).count(),
      std::chrono::duration<double>(result->scheduler_time).count(), static_cast<unsigned long long>(result->scheduler_calls));
  if (write(out, line, static_cast<std::size_t>(length)) != length) std::exit(2);
}

bool measure(const Case& what, const std::string& traces) {
  int channel[2];
  if (pipe(channel) != 0) give_up("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    run(what, traces, channel[1]);
    std::_Exit(0);
  }
  close(channel[1]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  char line[513] = {};
  const ssize_t length = read(channel[0], line, sizeof line - 1);
  close(channel[0]);
  if (length <= 0 || status != 0) give_up(what.name + " failed");
  char* rest = nullptr;
  const double seconds = std::strtod(line, &rest), wall = std::strtod(rest, &rest);
  const auto megabytes = static_cast<std::size_t>(usage.ru_maxrss / 1024);
  const bool good = seconds <= what.limit_s && megabytes <= what.limit_mb;
  std::printf("%-28s %9.3f s (limit %6.1f; passed %.3f)  %5zu MB (limit %5zu)  %s %s\n", what.name.c_str(), seconds, what.limit_s,
              wall, megabytes, what.limit_mb, good ? "ok  " : "OVER", rest);
  std::fflush(stdout);
  return good;
}

/// Nodes that are alike.
ClusterModel cluster_of(std::uint32_t count, double cores, std::uint32_t racks) {
  ClusterModel model;
  NodeGroup nodes;
  nodes.count = count;
  nodes.capacity.cpu = cores;
  model.groups.push_back(nodes);
  model.racks = racks;
  return model;
}

ClusterModel facebook() {
  ClusterModel model = cluster_of(3000, 8, 75);
  model.storage.replicas = 0;
  return model;
}

/// 40 nodes of 8 cores in each rack.
ClusterModel large(std::uint32_t count) { return cluster_of(count, 8, count / 40); }

/// 100 nodes in 10 racks, 5:1, with Hadoop's slots.
ClusterModel shuffling() {
  ClusterModel model = cluster_of(100, 4, 10);
  schedulers::Resources& capacity = model.groups[0].capacity;
  capacity.map_slots = capacity.reduce_slots = 2;
  model.network.flows = true;
  model.network.nic = 31.25e6;
  model.network.disk_read = model.network.disk_write = 100e6;
  model.network.uplink = 62.5e6;
  model.storage.output_replicas = 3;
  model.slow_start = 0.05;
  return model;
}

/// The model with flows and the shuffle service.
ClusterModel with_service(ClusterModel model) {
  model.network.flows = true;
  model.shuffle.mode = shuffle::Mode::memory;
  model.preplace = 0.05;
  return model;
}

/// 100 nodes of two cores where bytes take no time, so that the service's own cost shows.
ClusterModel prefetching() { return with_service(cluster_of(100, 2, 10)); }

std::vector<Case> cases() {
  const auto machine = [] { return ClusterModel::one_machine(100); };
  const std::string tpcds = "carbyne:carbyne_dags/queries_tpcds_FB_distr_new.txt.gz";
  std::vector<Case> all;
  for (const char* policy : {"drf(form=closed,mean=all,leftover=furthest,digits=2)", "srtf(stages=cpm)",
                             "tetris(mode=paper, srtf=false,barrier=2,penalty=1,digits=2)"}) {
    all.push_back({std::string("tpcds-50-") + policy, tpcds, policy, machine, 100, 50, false, 0.1, 50});
    all.push_back({std::string("tpcds-399-") + policy, tpcds, policy, machine, 100, 0, false, 1, 100});
  }
  for (const char* policy : {"carbyne(mode=paper)", "carbyne(mode=safe)", "carbyne(mode=reference)"}) {
    all.push_back({std::string("tpcds-50-") + policy, tpcds, policy, machine, 100, 50, false, 0.5, 50});
    all.push_back({std::string("tpcds-399-") + policy, tpcds, policy, machine, 100, 0, false, 8, 100});
  }
  all.push_back({"fb2010-fair", "swim:swim/FB-2010_samples_24_times_1hr_0.tsv.gz", "fair", facebook, 1, 0, false, 600, 1000});
  all.push_back({"fb2010-fifo", "swim:swim/FB-2010_samples_24_times_1hr_0.tsv.gz", "fifo", facebook, 1, 0, false, 600, 1000});
  all.push_back({"shuffle-4h-100-nodes", "generate:jobs=360,mean_gap=40s,input=lognormal(8GiB,1.8),shuffle_ratio=uniform(0,1.4)",
                 "fifo", shuffling, 1, 0, false, 30, 1000});
  // 111 fetches a task.
  all.push_back({"service-100-nodes",
                 "generate:jobs=8,mean_gap=30s,input=14GB,shuffle_ratio=1,maps=256,reduces=200,map_time=5s,reduce_time=5s", "fifo",
                 prefetching, 1, 0, false, 6, 150});
  all.push_back({"service-shuffle-100-nodes",
                 "generate:jobs=16,mean_gap=40s,input=lognormal(8GiB,1.8),shuffle_ratio=uniform(0,1.4)", "fifo",
                 [] { return with_service(shuffling()); }, 1, 0, false, 6, 150});
  // A million tasks. Nodes that are idle must cost nothing: at most 25 us a task, and as many megabytes as jobs need.
  const std::string small =
      "generate:jobs=10000,mean_gap=0.1s,maps=80,reduces=20,input=5GiB,map_time=lognormal(20s,0.4),reduce_time=20s";
  for (const char* policy : {"fifo", "fair"}) {
    all.push_back({std::string("million-1000-nodes-") + policy, small, policy, [] { return large(1000); }, 1, 0, false, 25, 1000});
    all.push_back(
        {std::string("million-10000-nodes-") + policy, small, policy, [] { return large(10'000); }, 1, 0, false, 25, 250});
    // All of them live at the same time; fair sharing has outputs of all jobs, too.
    const std::size_t limit_mb = policy == std::string("fifo") ? 250 : 320;
    all.push_back(
        {std::string("live-million-10000-nodes-") + policy, small, policy, [] { return large(10'000); }, 1, 0, true, 25, limit_mb});
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  std::string traces;
  std::vector<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--traces") == 0 && i + 1 < argc) {
      traces = argv[++i];
    } else {
      wanted.emplace_back(argv[i]);
    }
  }
  bool good = true;
  for (const Case& what : cases()) {
    const bool asked =
        wanted.empty() || std::any_of(wanted.begin(), wanted.end(), [&](const auto& w) { return what.name.starts_with(w); });
    if (!asked) continue;
    if (const auto colon = what.workload.find(':'); what.workload.compare(0, colon, "generate") != 0) {
      if (traces.empty() || !std::filesystem::exists(traces + "/" + what.workload.substr(colon + 1))) {
        std::printf("%-28s left out: its trace is not there (--traces DIR)\n", what.name.c_str());
        continue;
      }
    }
    good &= measure(what, traces);
  }
  return good ? 0 : 1;
}
