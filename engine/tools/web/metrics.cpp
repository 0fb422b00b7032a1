#include "engine/tools/web/metrics.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "engine/tools/display/node_text.hpp"

namespace weft::web {

namespace {

constexpr std::size_t kMostLabelled = 1000;

std::string label_value(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '\n') {
      made += "\\n";
    } else {
      if (c == '"' || c == '\\') made += '\\';
      made += c;
    }
  }
  return made;
}

/// Every family of workers: what it is called, and what a worker has of it.
struct NodeFamily {
  const char* name;
  const char* unit;
  const char* help;
  Metrics::Type type;
  double (*value)(const client::NodeStatus& node);
};
using Node = client::NodeStatus;
constexpr auto kGauge = Metrics::Type::gauge;
constexpr auto kCounter = Metrics::Type::counter;
const NodeFamily kNodeFamilies[] = {
    {"weft_worker_slots", "", "Tasks that the worker may run at a time", kGauge,
     [](const Node& node) { return node.capacity.cpu; }},
    {"weft_worker_running_tasks", "", "Attempts that run there", kGauge, [](const Node& node) { return double(node.running); }},
    {"weft_worker_heard_seconds", "seconds", "Since it was last heard", kGauge,
     [](const Node& node) { return in_seconds(node.heard); }},
    {"weft_worker_clock_ahead_seconds", "seconds", "Of its clock, against the master's", kGauge,
     [](const Node& node) { return in_seconds(node.clock_ahead); }},
    {"weft_worker_speed_ratio", "ratio", "Against the median of the same stages", kGauge,
     [](const Node& node) { return node.standing.speed; }},
    {"weft_worker_cpus", "", "Processors that its own processes use", kGauge,
     [](const Node& node) { return node.measured.worker.cpu; }},
    {"weft_worker_memory_bytes", "bytes", "Memory of its own processes", kGauge,
     [](const Node& node) { return node.measured.worker.memory; }},
    {"weft_worker_store_memory_bytes", "bytes", "Map outputs that it holds in memory", kGauge,
     [](const Node& node) { return double(node.store_memory_bytes); }},
    {"weft_worker_store_disk_bytes", "bytes", "Map outputs that it holds in files", kGauge,
     [](const Node& node) { return double(node.store_disk_bytes); }},
    {"weft_worker_prefetch_memory_bytes", "bytes", "Prefetched blocks that it holds in memory", kGauge,
     [](const Node& node) { return double(node.prefetch_memory_bytes); }},
    {"weft_worker_prefetched_bytes", "bytes", "Blocks that it prefetched", kCounter,
     [](const Node& node) { return double(node.prefetch.prefetched_bytes); }},
    {"weft_worker_prefetch_wasted_bytes", "bytes", "Prefetched blocks that were given up before a task read them", kCounter,
     [](const Node& node) { return double(node.prefetch.wasted_bytes); }},
    {"weft_worker_prefetch_evicted_bytes", "bytes", "Prefetched blocks that were moved from memory to files", kCounter,
     [](const Node& node) { return double(node.prefetch.evicted_bytes); }},
    {"weft_worker_cross_rack_up_bytes_per_second", "bytes_per_second", "Map outputs that it sends over its rack's uplink", kGauge,
     [](const Node& node) { return node.measured.cross_rack.up; }},
    {"weft_worker_cross_rack_down_bytes_per_second", "bytes_per_second", "Map outputs that come to it over its rack's uplink",
     kGauge, [](const Node& node) { return node.measured.cross_rack.down; }},
};

void add_workers(Metrics& metrics, const std::vector<Node>& nodes) {
  std::map<std::string_view, int> states{{"ready", 0}, {"excluded", 0}, {"leaving", 0}, {"lost", 0}, {"dead", 0}};
  double slots = 0, running = 0;
  for (const Node& node : nodes) {
    ++states[tools::state_of(node)];
    slots += node.capacity.cpu;
    running += node.running;
  }
  metrics.family("weft_workers", kGauge, "", "Workers by state");
  for (const auto& [state, count] : states) metrics.sample(count, {{"state", state}});
  metrics.family("weft_slots", kGauge, "", "Tasks that all workers may run at a time");
  metrics.sample(slots);
  metrics.family("weft_running_tasks", kGauge, "", "Attempts that run");
  metrics.sample(running);
  if (nodes.size() > kMostLabelled) return;
  for (const NodeFamily& family : kNodeFamilies) {
    metrics.family(family.name, family.type, family.unit, family.help);
    for (const Node& node : nodes)
      if (!node.dead)
        metrics.sample(family.value(node), {{"worker", node.name}, {"rack", node.rack}, {"node", std::to_string(node.id.value())}});
  }
}

void add_jobs(Metrics& metrics, const client::JobList& jobs) {
  std::map<std::string_view, int> states{{"running", 0}, {"finished", 0}, {"failed", 0}, {"killed", 0}};
  double input = 0, shuffled = 0;
  int late = 0;
  for (const master::JobStatus& job : jobs.jobs) {
    ++states[name_of(job.state)];
    if (job.state != master::JobState::running) continue;
    input += static_cast<double>(job.input_bytes);
    shuffled += static_cast<double>(job.shuffle_bytes);
    if (job.deadline && *job.deadline < jobs.now) ++late;
  }
  metrics.family("weft_jobs", kGauge, "", "Jobs that the master keeps, by state");
  for (const auto& [state, count] : states) metrics.sample(count, {{"state", state}});
  metrics.family("weft_late_jobs", kGauge, "", "Running jobs whose deadline is over");
  metrics.sample(late);
  metrics.family("weft_running_jobs_input_bytes", kGauge, "bytes", "That running jobs have read from files");
  metrics.sample(input);
  metrics.family("weft_running_jobs_shuffle_bytes", kGauge, "bytes", "That running jobs have written to shuffles");
  metrics.sample(shuffled);
}

struct GroupFamily {
  const char* name;
  const char* help;
  double (*value)(const client::GroupInfo& group);
};
using Group = client::GroupInfo;
const GroupFamily kGroupFamilies[] = {
    {"weft_pool_running_tasks", "Tasks of the pool's jobs that run", [](const Group& group) { return double(group.running); }},
    {"weft_pool_waiting_tasks", "Tasks of the pool's jobs that wait", [](const Group& group) { return double(group.pending); }},
    {"weft_pool_fair_share", "Of what there is now, by demand", [](const Group& group) { return group.status.fair_share; }},
    {"weft_pool_used", "In the unit of the fair share", [](const Group& group) { return group.status.used; }},
    {"weft_pool_demand", "Used and wanted, in the unit of the fair share", [](const Group& group) { return group.status.demand; }},
};

void add_storage(Metrics& metrics, const storage::StorageReport& report) {
  const auto gauge = [&metrics](const char* name, const char* help, auto value) {
    metrics.family(name, kGauge, "", help);
    metrics.sample(static_cast<double>(value));
  };
  gauge("weft_files", "Files of the cluster", report.files);
  gauge("weft_chunks", "Chunks of these files", report.chunks);
  gauge("weft_missing_chunks", "Chunks without a replica", report.missing_chunks);
  gauge("weft_under_replicated_chunks", "Chunks with fewer replicas than wanted", report.under_replicated);
  gauge("weft_corrupt_replicas", "Replicas that are damaged", report.corrupt_replicas);
  gauge("weft_safe_mode", "1 while nothing is copied or erased", report.safe_mode ? 1 : 0);
}

}  // namespace

void Metrics::family(std::string_view name, Type type, std::string_view unit, std::string_view help) {
  name_ = name;
  type_ = type;
  text_ += fmt::format("# TYPE {} {}\n", name, type == Type::counter ? "counter" : "gauge");
  if (!unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name, unit);
  text_ += fmt::format("# HELP {} {}\n", name, label_value(help));
}

void Metrics::sample(double value, Labels labels) {
  WEFT_ASSERT(!name_.empty());
  text_ += name_;
  if (type_ == Type::counter) text_ += "_total";
  const char* before = "{";
  for (const auto& [name, content] : labels) {
    text_ += fmt::format("{}{}=\"{}\"", before, name, label_value(content));
    before = ",";
  }
  if (labels.size() > 0) text_ += '}';
  text_ += fmt::format(" {}\n", value);
}

std::string Metrics::text() { return text_ + "# EOF\n"; }

void add_process(Metrics& metrics) {
  metrics.family("weft_build", kGauge, "", "1, with the release");
  metrics.sample(1, {{"version", version()}});
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  metrics.family("process_cpu_seconds", kCounter, "seconds", "Processor time in user code and in the kernel");
  metrics.sample(seconds(usage.ru_utime) + seconds(usage.ru_stime));
  if (const auto pages = read_file("/proc/self/statm"); pages) {
    const auto words = split(*pages, ' ');
    metrics.family("process_resident_memory_bytes", kGauge, "bytes", "Memory in use");
    metrics.sample(static_cast<double>(parse_number<std::uint64_t>(words.at(1)).value_or(0)) *
                   static_cast<double>(::sysconf(_SC_PAGESIZE)));
  }
  std::error_code ignored;
  std::size_t descriptors = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", ignored), end; entry != end; entry.increment(ignored))
    ++descriptors;
  metrics.family("process_open_fds", kGauge, "", "Descriptors in use");
  metrics.sample(static_cast<double>(descriptors));
}

void add_cluster(Metrics& metrics, const ClusterState& state) {
  add_workers(metrics, state.nodes);
  double waiting = 0;
  for (const Group& group : state.groups) waiting += static_cast<double>(group.pending);
  metrics.family("weft_waiting_tasks", kGauge, "", "Tasks of all jobs that could run and wait for room");
  metrics.sample(waiting);
  add_jobs(metrics, state.jobs);
  if (state.groups.size() <= kMostLabelled)
    for (const GroupFamily& family : kGroupFamilies) {
      metrics.family(family.name, kGauge, "", family.help);
      for (const Group& group : state.groups) metrics.sample(family.value(group), {{"pool", group.status.name}});
    }
  metrics.family("weft_scheduler_refused_decisions", kCounter, "", "Decisions of the scheduler that the master refused");
  metrics.sample(static_cast<double>(state.scheduler.trouble.refused));
  metrics.family("weft_scheduler_faults", kCounter, "", "Calls of the scheduler that failed");
  metrics.sample(static_cast<double>(state.scheduler.trouble.faults));
  if (state.storage) add_storage(metrics, *state.storage);
}

Result<std::string> master_metrics(Cluster& cluster) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  ClusterState state;
  WEFT_ASSIGN(state.nodes, admin->nodes());
  WEFT_ASSIGN(state.jobs, admin->jobs());
  WEFT_ASSIGN(state.groups, admin->groups());
  WEFT_ASSIGN(state.scheduler, admin->scheduler());
  if (const auto files = cluster.files())
    if (auto report = (*files)->report()) state.storage = std::move(report->storage);
  Metrics metrics;
  add_process(metrics);
  add_cluster(metrics, state);
  return metrics.text();
}

}  // namespace weft::web
