#include "engine/tools/web/metrics.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "engine/tools/display/master_text.hpp"
#include "engine/tools/display/node_text.hpp"

namespace weft::web {

namespace {

constexpr std::size_t kMostLabelled = 1000;

/// What is no UTF-8 becomes U+FFFD: Prometheus takes nothing of a page that has a single byte of it.
std::string label_value(std::string_view text) {
  std::string made;
  for (std::size_t size = 0; !text.empty(); text.remove_prefix(std::max<std::size_t>(1, size))) {
    size = utf8_length(text);
    const char c = text.front();
    if (size == 0) {
      made += "\uFFFD";
    } else if (c == '\n') {
      made += "\\n";
    } else {
      if (c == '"' || c == '\\') made += '\\';
      made += text.substr(0, size);
    }
  }
  return made;
}

/// Every family of workers: its name, and its value of a worker.
struct NodeFamily {
  const char* name;
  const char* help;
  double (*value)(const client::NodeStatus& node);
  Metrics::Type type = Metrics::Type::gauge;
};
using Node = client::NodeStatus;
constexpr auto kCounter = Metrics::Type::counter;
const NodeFamily kNodeFamilies[] = {
    {"weft_worker_slots", "Tasks that the worker may run at a time", [](const Node& node) { return node.capacity.cpu; }},
    {"weft_worker_devices", "Devices that it joined with", [](const Node& node) { return node.standing.nominal.accelerator; }},
    {"weft_worker_devices_held", "Devices that attempts hold", [](const Node& node) { return node.used.accelerator; }},
    {"weft_worker_devices_excluded", "Devices that no task gets, because they failed or an operator said so",
     [](const Node& node) { return node.standing.nominal.accelerator - node.capacity.accelerator; }},
    {"weft_worker_running_tasks", "Attempts that run there", [](const Node& node) { return double(node.running); }},
    {"weft_worker_heard_seconds", "Since it was last heard", [](const Node& node) { return in_seconds(node.heard); }},
    {"weft_worker_clock_ahead_seconds", "Of its clock, against the master's",
     [](const Node& node) { return in_seconds(node.clock_ahead); }},
    {"weft_worker_speed_ratio", "Against the median of the same stages", [](const Node& node) { return node.standing.speed; }},
    {"weft_worker_cpus", "Processors that its own processes use", [](const Node& node) { return node.measured.worker.cpu; }},
    {"weft_worker_memory_bytes", "Memory of its own processes", [](const Node& node) { return node.measured.worker.memory; }},
    {"weft_worker_store_memory_bytes", "Map outputs that it holds in memory",
     [](const Node& node) { return double(node.store_memory_bytes); }},
    {"weft_worker_store_disk_bytes", "Map outputs that it holds in files",
     [](const Node& node) { return double(node.store_disk_bytes); }},
    {"weft_worker_prefetch_memory_bytes", "Prefetched blocks that it holds in memory",
     [](const Node& node) { return double(node.prefetch_memory_bytes); }},
    {"weft_worker_prefetched_bytes", "Blocks that it prefetched",
     [](const Node& node) { return double(node.prefetch.prefetched_bytes); }, kCounter},
    {"weft_worker_prefetch_wasted_bytes", "Prefetched blocks that were given up before a task read them",
     [](const Node& node) { return double(node.prefetch.wasted_bytes); }, kCounter},
    {"weft_worker_prefetch_evicted_bytes", "Prefetched blocks that were moved from memory to files",
     [](const Node& node) { return double(node.prefetch.evicted_bytes); }, kCounter},
    {"weft_worker_cross_rack_up_bytes_per_second", "Map outputs that it sends over its rack's uplink",
     [](const Node& node) { return node.measured.cross_rack.up; }},
    {"weft_worker_cross_rack_down_bytes_per_second", "Map outputs that come to it over its rack's uplink",
     [](const Node& node) { return node.measured.cross_rack.down; }},
};

void add_workers(Metrics& metrics, const std::vector<Node>& nodes) {
  std::map<std::string_view, int> states{{"ready", 0}, {"excluded", 0}, {"leaving", 0}, {"lost", 0}, {"dead", 0}};
  double slots = 0, running = 0;
  for (const Node& node : nodes) {
    ++states[tools::state_of(node)];
    if (node.dead || node.lost) continue;
    slots += node.capacity.cpu;
    running += node.running;
  }
  metrics.family("weft_workers", "Workers by state");
  for (const auto& [state, count] : states) metrics.sample(count, {{"state", state}});
  metrics.single("weft_slots", "Tasks that the workers that are there may run at a time", slots);
  metrics.single("weft_running_tasks", "Attempts that run", running);
  if (nodes.size() > kMostLabelled) return;
  for (const NodeFamily& family : kNodeFamilies) {
    metrics.family(family.name, family.help, family.type);
    for (const Node& node : nodes)
      if (!node.dead)
        metrics.sample(family.value(node), {{"worker", node.name}, {"rack", node.rack}, {"node", std::to_string(node.id.value())}});
  }
}

void add_masters(Metrics& metrics, const client::MasterList& list) {
  std::map<std::string_view, int> states{{"leads", 0}, {"in sync", 0}, {"copies", 0}};
  for (const client::MasterStatus& master : list.masters) ++states[tools::state_of(master)];
  metrics.family("weft_masters", "Masters by state; only one that is in sync can take over");
  for (const auto& [state, count] : states) metrics.sample(count, {{"state", state}});
  metrics.single("weft_master_epoch", "How many masters have led", list.epoch);
}

void add_jobs(Metrics& metrics, const client::JobList& jobs) {
  std::map<std::string_view, int> states{{"running", 0}, {"finished", 0}, {"failed", 0}, {"killed", 0}};
  std::uint64_t input = 0, shuffled = 0, late = 0;
  for (const master::JobStatus& job : jobs.jobs) {
    ++states[name_of(job.state)];
    if (job.state != master::JobState::running) continue;
    input += job.input_bytes;
    shuffled += job.shuffle_bytes;
    if (job.deadline && *job.deadline < jobs.now) ++late;
  }
  metrics.family("weft_jobs", "Jobs that the master keeps, by state");
  for (const auto& [state, count] : states) metrics.sample(count, {{"state", state}});
  metrics.single("weft_late_jobs", "Running jobs whose deadline is over", late);
  metrics.single("weft_running_jobs_input_bytes", "That running jobs have read from files", input);
  metrics.single("weft_running_jobs_shuffle_bytes", "That running jobs have written to shuffles", shuffled);
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
    {"weft_pool_fair_share", "Its part of the present capacity, by demand",
     [](const Group& group) { return group.status.fair_share; }},
    {"weft_pool_used", "In the unit of the fair share", [](const Group& group) { return group.status.used; }},
    {"weft_pool_demand", "Used and wanted, in the unit of the fair share", [](const Group& group) { return group.status.demand; }},
};

void add_storage(Metrics& metrics, const storage::StorageReport& report) {
  metrics.single("weft_files", "Files of the cluster", report.files);
  metrics.single("weft_chunks", "Chunks of these files", report.chunks);
  metrics.single("weft_missing_chunks", "Chunks without a replica", report.missing_chunks);
  metrics.single("weft_under_replicated_chunks", "Chunks with fewer replicas than wanted", report.under_replicated);
  metrics.single("weft_corrupt_replicas", "Replicas that are damaged", report.corrupt_replicas);
  metrics.single("weft_safe_mode", "1 while nothing is copied or erased", report.safe_mode ? 1 : 0);
}

/// OpenMetrics: the end of a family's name, when that is a unit.
std::string_view unit_of(std::string_view name) {
  for (const std::string_view unit : {"bytes_per_second", "bytes", "seconds", "ratio"})
    if (name.ends_with(unit)) return unit;
  return "";
}

}  // namespace

void Metrics::family(std::string_view name, std::string_view help, Type type) {
  name_ = name;
  type_ = type;
  text_ += fmt::format("# TYPE {} {}\n", name, type == Type::counter ? "counter" : "gauge");
  if (const std::string_view unit = unit_of(name); !unit.empty()) text_ += fmt::format("# UNIT {} {}\n", name, unit);
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
  metrics.family("weft_build", "1, with the release");
  metrics.sample(1, {{"version", version()}});
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  metrics.single("process_cpu_seconds", "Processor time in user code and in the kernel",
                 seconds(usage.ru_utime) + seconds(usage.ru_stime), kCounter);
  if (const auto pages = read_file("/proc/self/statm"); pages) {
    const double resident = static_cast<double>(parse_number<std::uint64_t>(split(*pages, ' ').at(1)).value_or(0));
    metrics.single("process_resident_memory_bytes", "Memory in use", resident * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  }
  std::error_code ignored;
  std::size_t descriptors = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", ignored), end; entry != end; entry.increment(ignored))
    ++descriptors;
  metrics.single("process_open_fds", "Descriptors in use", descriptors);
}

void add_cluster(Metrics& metrics, const ClusterReadings& state) {
  add_masters(metrics, state.masters);
  add_workers(metrics, state.nodes);
  std::uint64_t waiting = 0;
  for (const Group& group : state.groups) waiting += group.pending;
  metrics.single("weft_waiting_tasks", "Tasks of all jobs that could run and wait for room", waiting);
  add_jobs(metrics, state.jobs);
  if (state.groups.size() <= kMostLabelled)
    for (const GroupFamily& family : kGroupFamilies) {
      metrics.family(family.name, family.help);
      for (const Group& group : state.groups) metrics.sample(family.value(group), {{"pool", group.status.name}});
    }
  metrics.single("weft_scheduler_refused_decisions", "Decisions of the scheduler that the master refused",
                 state.scheduler.trouble.refused, kCounter);
  metrics.single("weft_scheduler_faults", "Calls of the scheduler that failed", state.scheduler.trouble.faults, kCounter);
  if (state.storage) add_storage(metrics, *state.storage);
}

Result<std::string> master_metrics(Cluster& cluster) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  ClusterReadings state;
  WEFT_ASSIGN(state.masters, admin->masters());
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
