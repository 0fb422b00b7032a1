#include "engine/master/core/straggler_watch.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::master {

namespace {

constexpr std::uint64_t kLeastPerJob = 10;       // speculative attempts of a job at a time, whatever its size
constexpr std::uint16_t kMostLaterAttempts = 3;  // speculative attempts while the same first one runs
constexpr double kMemory = 0.8;                  // what a pace keeps of its value with each further attempt
constexpr double kMostPace = 10;                 // of one attempt: more says no more
constexpr std::uint64_t kEnough = 3;             // finished tasks that make a mean

double slower(double pace, double ratio) { return kMemory * pace + (1 - kMemory) * std::min(ratio, kMostPace); }

}  // namespace

void StragglerWatch::set_rules(const Speculation& rules) {
  rules_ = rules;
  if (!rules_.on) view_.clear_stragglers();
}

/// Whether enough tasks have finished to measure others against them.
bool StragglerWatch::measured(const schedulers::StageInfo& stage) const {
  return stage.finished >= std::floor(rules_.finished * static_cast<double>(stage.tasks.size()));
}

/// How long a task of the stage should take: the median of those that finished, or the estimate when none did.
std::optional<Time> StragglerWatch::typical_duration(const schedulers::StageInfo& stage) {
  if (stage.finished == 0) return stage.observed_count == 0 ? schedulers::known_duration(stage) : std::nullopt;
  if (!measured(stage)) return std::nullopt;
  durations_.clear();
  for (const schedulers::TaskInfo& task : stage.tasks) {
    if (task.state == schedulers::TaskState::finished) durations_.push_back(stage.worked(task.launched, task.ended));
  }
  const auto middle = durations_.begin() + static_cast<std::ptrdiff_t>(durations_.size() / 2);
  std::nth_element(durations_.begin(), middle, durations_.end());
  return *middle;
}

void StragglerWatch::watch(JobId job, const schedulers::StageInfo& stage) {
  if (!rules_.on || !view_.job(job)->speculates) return;
  const bool known = stage.finished > 0 ? measured(stage) : schedulers::known_duration(stage).has_value();
  if (stage.running == 0 || !stage.pending.empty() || !known) return;
  watched_.insert({job, stage.id});
  look_at(view_.now() + rules_.every);
}

void StragglerWatch::look_at(Time at) {
  if (next_look_ && *next_look_ <= at) return;
  next_look_ = at;
  timers_.set({Timers::Purpose::stragglers, at});
}

/// Adds what straggles. Returns when a further task of the stage could, if none of them ends before.
std::optional<Time> StragglerWatch::find(JobId job, const schedulers::StageInfo& stage, std::vector<Straggling>& found) {
  if (!stage.ready || !stage.inputs_complete || !stage.pending.empty()) return std::nullopt;
  const auto typical = typical_duration(stage);
  if (!typical) return std::nullopt;
  const double usual_bytes =
      stage.finished == 0 ? 0 : static_cast<double>(stage.input_bytes) / static_cast<double>(stage.observed_count);
  std::optional<Time> next;
  for (std::uint32_t i = 0; i < stage.tasks.size(); ++i) {
    const schedulers::TaskInfo& task = stage.tasks[i];
    if (task.state != schedulers::TaskState::running || task.later_attempts >= kMostLaterAttempts || stage.speculative.contains(i))
      continue;
    // A task that reads more than others may take longer.
    const double larger = usual_bytes > 0 ? std::max(1.0, static_cast<double>(task.input_bytes) / usual_bytes) : 1;
    const double expected = std::max(1e-9, in_seconds(*typical) * larger);
    const Time limit = std::max(rules_.shortest, Time(std::llround(std::min(expected * rules_.slower, 1e9) * 1e9)));
    const Time worked = stage.worked(task.launched, view_.now());
    const Time due = view_.now() - worked + limit;
    if (due <= view_.now()) {
      found.push_back({in_seconds(worked) / expected, {job, stage.id, i}, task.node});
    } else {
      next = next ? std::min(*next, due) : due;
    }
  }
  return next;
}

bool StragglerWatch::fire(Time at) {
  if (next_look_ != at) return false;
  next_look_.reset();
  std::vector<Straggling> found;
  std::map<JobId, std::uint64_t> speculative;
  std::optional<Time> next;
  if (!rules_.on) watched_.clear();
  for (auto entry = watched_.begin(); entry != watched_.end();) {
    const schedulers::JobInfo* job = view_.job(entry->first);
    const schedulers::StageInfo* stage = job == nullptr ? nullptr : &job->stages.at(entry->second);
    if (stage == nullptr || stage->running == 0) {
      entry = watched_.erase(entry);
      continue;
    }
    speculative[entry->first] += stage->speculative.size();
    const auto due = find(entry->first, *stage, found);
    if (due) next = next ? std::min(*next, *due) : due;
    ++entry;
  }
  mark_slow_nodes(found);
  view_.clear_stragglers();
  const bool any = !found.empty();
  if (any) {
    publish(std::move(found), std::move(speculative));
    next = view_.now();
  }
  if (next) look_at(std::max(*next, view_.now() + rules_.every));
  return any && !view_.stragglers().empty();
}

/// `speculative`: attempts that run already, by job.
void StragglerWatch::publish(std::vector<Straggling> found, std::map<JobId, std::uint64_t> speculative) {
  std::sort(found.begin(), found.end(), [](const Straggling& a, const Straggling& b) {
    return a.overdue != b.overdue ? a.overdue > b.overdue : a.task < b.task;
  });
  const schedulers::Resources& capacity = view_.capacity();
  const double slots = std::max(capacity.cpu, capacity.map_slots + capacity.reduce_slots);
  const auto most = static_cast<std::uint64_t>(std::max(1.0, std::min(rules_.per_cluster * slots, 1e12)));
  std::uint64_t all = 0;
  for (const auto& [job, count] : speculative) all += count;
  for (const Straggling& one : found) {
    if (all >= most) break;
    const double part = rules_.per_job * static_cast<double>(view_.job(one.task.job)->running);
    std::uint64_t& count = speculative[one.task.job];
    if (count >= std::max(kLeastPerJob, static_cast<std::uint64_t>(part))) continue;
    ++count;
    ++all;
    view_.set_straggler(one.task, true);
  }
}

void StragglerWatch::note_pace(const schedulers::StageInfo& stage, NodeId node, Time took) {
  if (!rules_.on || stage.observed_count < kEnough) return;
  const double mean = in_seconds(*stage.mean_duration());
  if (mean <= 0) return;
  double& pace = paces_.try_emplace(node, 1).first->second;
  pace = slower(pace, in_seconds(took) / mean);
}

/// By what has ended there, and by what straggles there now.
void StragglerWatch::mark_slow_nodes(const std::vector<Straggling>& found) {
  std::map<NodeId, double> paces = paces_;
  for (const Straggling& one : found) {
    double& pace = paces.try_emplace(one.node, 1).first->second;
    pace = slower(pace, one.overdue);
  }
  for (const auto& [id, node] : view_.nodes()) {
    const auto pace = paces.find(id);
    view_.mutable_node(id).slow = pace != paces.end() && pace->second > rules_.slow_node;
  }
}

}  // namespace weft::master
