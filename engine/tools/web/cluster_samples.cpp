#include "engine/tools/web/cluster_samples.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/rack_text.hpp"

namespace weft::web {

namespace {

constexpr const char* kOthers = "others";

void add_all(std::map<std::string, double>& sums, const std::map<std::string, double>& more) {
  for (const auto& [name, value] : more) sums[name] += value;
}

/// Those with the most by name, and the others together.
std::map<std::string, double> largest(const std::map<std::string, double>& all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, value] : all) order.emplace_back(-value, name);
  std::sort(order.begin(), order.end());
  std::map<std::string, double> kept;
  for (std::size_t i = 0; i < order.size(); ++i) kept[i < most ? order[i].second : std::string(kOthers)] -= order[i].first;
  return kept;
}

/// As many digits as a picture shows.
double rounded(double value) {
  const double scale = value >= 1000 ? 1 : 1000;
  return std::round(value * scale) / scale;
}

}  // namespace

const std::array<const char*, ClusterSamples::kSeries> ClusterSamples::kNames{
    "workers",           "slots",      "running",     "pending",    "jobs",      "processors",   "memory_bytes",
    "memory_of_bytes",   "network_in", "network_out", "cross_rack", "disk_read", "disk_written", "shuffle_memory_bytes",
    "shuffle_disk_bytes"};

void ClusterSamples::Bucket::add(TimePoint at, const Sample& sample) {
  if (samples == 0) began = at;
  ended = at;
  ++samples;
  for (std::size_t i = 0; i < kSeries; ++i) sum.sums[i] += sample.sums[i];
  for (const auto& [name, of] : kByName) add_all(sum.*of, sample.*of);
}

/// Of the busier direction, as far as it is known what the uplink carries.
void ClusterSamples::add_racks(const std::vector<client::NodeStatus>& nodes, Sample& sample) {
  for (const tools::RackLoad& rack : tools::racks_of(nodes)) {
    const auto use = [](double rate, double carries) { return carries > 0 ? rate / carries : rate; };
    const bool up = use(rack.crossing.up, rack.uplink.up) >= use(rack.crossing.down, rack.uplink.down);
    const double rate = up ? rack.crossing.up : rack.crossing.down, carries = up ? rack.uplink.up : rack.uplink.down;
    if (rack.nodes == 0) continue;
    sample.uplinks[rack.name] = rate;
    if (carries > 0) sample.limits[rack.name] = carries;
  }
  sample.uplinks = largest(sample.uplinks, kMostNames);
  std::erase_if(sample.limits, [&](const auto& limit) { return !sample.uplinks.contains(limit.first); });
}

ClusterSamples::Sample ClusterSamples::sample_of(const std::vector<client::NodeStatus>& nodes, const client::JobList& jobs) {
  Sample sample;
  auto& sums = sample.sums;
  std::map<std::string, schedulers::Resources> machines;  // several workers may be on one, and each measures all of it
  for (const client::NodeStatus& node : nodes) {
    if (node.dead || node.lost) continue;
    sums[workers] += 1;
    sums[slots] += node.capacity.cpu;
    sums[running] += node.running;
    sums[cross_rack] += node.measured.cross_rack.up;
    sums[shuffle_memory] += static_cast<double>(node.store_memory_bytes);
    sums[shuffle_disk] += static_cast<double>(node.store_disk_bytes);
    sums[memory_of] += node.capacity.memory;
    sums[memory] += node.measured.worker.memory;
    machines[node.host.empty() ? node.name : node.host] = node.measured.machine;
  }
  for (const auto& [host, used] : machines) {
    sums[processors] += used.cpu;
    sums[network_in] += used.network_in;
    sums[network_out] += used.network_out;
    sums[disk_read] += used.disk_read;
    sums[disk_written] += used.disk_write;
  }
  for (const master::JobStatus& job : jobs.jobs) {
    if (job.state != master::JobState::running) continue;
    sums[jobs_running] += 1;
    sums[pending] += static_cast<double>(job.tasks.all - std::min(job.tasks.all, job.tasks.finished + job.tasks.running));
    if (job.tasks.running == 0) continue;
    sample.users[job.user] += static_cast<double>(job.tasks.running);
    sample.pools[job.pool] += static_cast<double>(job.tasks.running);
  }
  add_racks(nodes, sample);
  sample.users = largest(sample.users, kMostNames);
  sample.pools = largest(sample.pools, kMostNames);
  return sample;
}

void ClusterSamples::note(TimePoint at, const char* kind, std::string text, std::uint64_t job) {
  if (!looked_) return;
  events_.push_back({at, kind, std::move(text), job});
  if (events_.size() > kMostEvents) events_.pop_front();
}

void ClusterSamples::note_workers(TimePoint at, const std::vector<client::NodeStatus>& nodes) {
  std::map<NodeId, Worker> now;
  for (const client::NodeStatus& node : nodes) {
    const bool alive = !node.dead && !node.lost;
    now[node.id] = {node.name, alive};
    const auto before = workers_.find(node.id);
    const bool known_lost = before != workers_.end() && !before->second.alive;
    if (alive && before == workers_.end()) note(at, "worker_joined", fmt::format("worker {} joined", node.name));
    if (!alive && !known_lost)  // also one that joined and was lost between two samples
      note(at, "worker_lost", fmt::format("worker {} was lost{}", node.name, node.cause.empty() ? "" : ": " + node.cause));
  }
  for (const auto& [id, worker] : workers_)
    if (worker.alive && !now.contains(id)) note(at, "worker_left", fmt::format("worker {} left", worker.name));
  workers_ = std::move(now);
}

void ClusterSamples::note_jobs(TimePoint at, const client::JobList& jobs) {
  std::set<JobId> run;
  for (const master::JobStatus& job : jobs.jobs) {
    if (job.state == master::JobState::running) run.insert(job.id);
    const bool ended_since = running_.contains(job.id) || job.id > latest_;
    if (ended_since && (job.state == master::JobState::failed || job.state == master::JobState::killed))
      note(at, job.state == master::JobState::failed ? "job_failed" : "job_killed",
           fmt::format("job {} {} of {} {}", job.id.value(), job.name, job.user,
                       job.state == master::JobState::failed ? "failed" : "was killed"),
           job.id.value());
  }
  for (const master::JobStatus& job : jobs.jobs) latest_ = std::max(latest_, job.id);
  running_ = std::move(run);
}

void ClusterSamples::add(TimePoint at, const std::vector<client::NodeStatus>& nodes, const client::JobList& jobs,
                         const std::string& scheduler) {
  const Sample sample = sample_of(nodes, jobs);
  const std::lock_guard lock(mutex_);
  for (Span& span : spans_) {
    if (span.buckets.empty() || at >= span.buckets.back().began + span.step) span.buckets.emplace_back();
    span.buckets.back().add(at, sample);
    if (span.buckets.size() > kKept) span.buckets.pop_front();
  }
  note_workers(at, nodes);
  note_jobs(at, jobs);
  if (scheduler != scheduler_) note(at, "scheduler_changed", fmt::format("the scheduler is {}, and was {}", scheduler, scheduler_));
  scheduler_ = scheduler;
  looked_ = true;
}

Result<std::string> ClusterSamples::json(TimePoint now, std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto span = std::find_if(spans_.begin(), spans_.end(), [&](const Span& one) { return one.name == name; });
  if (span == spans_.end())
    return fail(Code::invalid_argument, fmt::format("span is hour, day or week, and not {}", escaped(name)));
  const auto of_all = [&](const auto& value) {
    std::vector<double> values;
    for (const Bucket& bucket : span->buckets) values.push_back(rounded(bucket.mean(value(bucket.sum))));
    return values;
  };
  const auto series = [&](JsonWriter& json) {
    json.begin_object();
    for (std::size_t i = 0; i < kSeries; ++i)
      tools::members(json, kNames[i], of_all([i](const Sample& sum) { return sum.sums[i]; }));
    json.end_object();
  };
  const auto of_name = [&](Slots Sample::*of, const std::string& one) {
    return of_all([&](const Sample& sum) {
      const auto found = (sum.*of).find(one);
      return found == (sum.*of).end() ? 0.0 : found->second;
    });
  };
  const auto by_name = [&](Slots Sample::*of, const char* member, const auto& more) {
    return [&, of, member](JsonWriter& json) {
      std::set<std::string> names;
      for (const Bucket& bucket : span->buckets)
        for (const auto& [one, value] : bucket.sum.*of) names.insert(one);
      tools::write_value(json, tools::objects(names, [&](JsonWriter& one, const std::string& named) {
                           tools::members(one, "name", named, member, of_name(of, named));
                           more(one, named);
                         }));
    };
  };
  const auto no_more = [](JsonWriter&, const std::string&) {};
  const auto limit = [&](JsonWriter& one, const std::string& rack) {
    tools::members(one, "limit", of_name(&Sample::limits, rack));
  };
  std::vector<double> seconds_ago;
  for (const Bucket& bucket : span->buckets) seconds_ago.push_back(in_seconds(now - bucket.ended));
  std::vector<const Event*> events;
  for (const Event& event : events_)
    if (now - event.at <= span->step * static_cast<int>(kKept)) events.push_back(&event);
  const auto event = [now](JsonWriter& json, const Event* one) {
    tools::members(json, "seconds_ago", in_seconds(now - one->at), "kind", one->kind, "text", one->text);
    if (one->job != 0) tools::members(json, "job", one->job);
  };
  return tools::json_line(tools::object("span", span->name, "step_seconds", in_seconds(span->step), "seconds_ago", seconds_ago,
                                        "series", series, "users", by_name(&Sample::users, "slots", no_more), "pools",
                                        by_name(&Sample::pools, "slots", no_more), "racks",
                                        by_name(&Sample::uplinks, "uplink", limit), "events", tools::objects(events, event)));
}

}  // namespace weft::web
