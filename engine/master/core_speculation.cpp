// Second attempts: which running tasks take much longer than others of their stage, and what becomes of two attempts at a task.
//
// A look costs one pass over the tasks of each watched stage. There is a timer for the next one only while a running task could
// turn out to straggle, so a cluster in which nothing does pays for launches and ends alone.
#include <algorithm>
#include <cmath>

#include "base/clock.hpp"
#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

constexpr std::uint64_t kLeastPerJob = 10;  // second attempts of a job at a time, whatever its size
constexpr std::uint16_t kMostLater = 3;     // second attempts while the same first one runs
constexpr double kMemory = 0.8;             // what a pace keeps of its value with each further attempt
constexpr double kMostPace = 10;            // of one attempt: more says no more
constexpr std::uint64_t kEnough = 3;        // finished tasks that make a mean

double slower(double pace, double ratio) { return kMemory * pace + (1 - kMemory) * std::min(ratio, kMostPace); }

}  // namespace

/// Of an attempt whose node was vacated: the other one is the task's attempt now, or the task waits again.
void Core::Impl::give_up_attempt(const TaskRef& task) {
  if (!task.races()) return state_.set_task(*task.job->info, *task.stage->info, task.index, schedulers::TaskState::pending);
  const NodeId node = task.node();
  if (task.second) {
    state_.drop_speculative(*task.stage->info, task.index);
  } else {
    state_.promote_speculative(*task.stage->info, task.index);
  }
  notify({schedulers::Notice::Kind::attempt_dropped, task.job->spec.job, task.stage->plan.id, task.index, node});
  watch_stage(*task.job, *task.stage);
}

/// One of two attempts has finished, and its node was vacated: it is the task's attempt, and the other one is killed.
void Core::Impl::win_race(const TaskRef& winner) {
  const TaskRef loser = winner.rival();
  const NodeId node = loser.node();
  if (winner.second) note_pace(*winner.stage, node, state_.now() - loser.launched());
  emit(KillTask{node, loser.attempt(), KillCause::lost_race, "another attempt of the task finished first"});
  vacate(loser);
  if (winner.second) {
    ++winner.stage->speculative_won;
    state_.promote_speculative(*winner.stage->info, winner.index);
  } else {
    state_.drop_speculative(*winner.stage->info, winner.index);
  }
  notify({schedulers::Notice::Kind::attempt_dropped, winner.job->spec.job, winner.stage->plan.id, winner.index, node});
}

/// How long a task of the stage should take: the median of those that finished, or what was told when none did.
std::optional<Time> Core::Impl::typical_duration(const StageRecord& stage) {
  const schedulers::StageInfo& info = *stage.info;
  if (info.finished == 0) return info.observed_count == 0 ? info.estimated_duration : std::nullopt;
  if (info.finished < std::floor(speculation_.finished * static_cast<double>(info.tasks.size()))) return std::nullopt;
  durations_.clear();
  for (const schedulers::TaskInfo& task : info.tasks) {
    if (task.state == schedulers::TaskState::finished) durations_.push_back(task.ended - task.launched);
  }
  const auto middle = durations_.begin() + static_cast<std::ptrdiff_t>(durations_.size() / 2);
  std::nth_element(durations_.begin(), middle, durations_.end());
  return *middle;
}

/// Called when something of the stage has begun or ended: it may be time for a look soon.
void Core::Impl::watch_stage(const JobRecord& job, const StageRecord& stage) {
  if (!speculation_.on) return;
  const schedulers::StageInfo& info = *stage.info;
  const bool measured = info.finished > 0
                            ? info.finished >= std::floor(speculation_.finished * static_cast<double>(info.tasks.size()))
                            : info.estimated_duration.has_value();
  if (info.running == 0 || !info.pending.empty() || !measured) return;
  watched_.insert({job.spec.job, stage.plan.id});
  look_at(state_.now() + speculation_.every);
}

void Core::Impl::look_at(Time at) {
  if (next_look_ && *next_look_ <= at) return;
  next_look_ = at;
  set_timer(Timer::Purpose::stragglers, {}, at);
}

/// Adds what straggles. When a further task of the stage could, if none of them ends before.
std::optional<Time> Core::Impl::find_stragglers(JobRecord& job, StageRecord& stage, std::vector<Straggling>& found) {
  const schedulers::StageInfo& info = *stage.info;
  if (!info.ready || !stage.info->inputs_complete || !info.pending.empty()) return std::nullopt;
  const auto typical = typical_duration(stage);
  if (!typical) return std::nullopt;
  const double usual_bytes =
      info.finished == 0 ? 0 : static_cast<double>(info.input_bytes) / static_cast<double>(info.observed_count);
  std::optional<Time> next;
  for (std::uint32_t i = 0; i < info.tasks.size(); ++i) {
    const schedulers::TaskInfo& task = info.tasks[i];
    if (task.state != schedulers::TaskState::running || task.later_attempts >= kMostLater || info.speculative.contains(i)) continue;
    // Who reads more than others may take longer.
    const double larger = usual_bytes > 0 ? std::max(1.0, static_cast<double>(task.input_bytes) / usual_bytes) : 1;
    const double expected = std::max(1e-9, in_seconds(*typical) * larger);
    const Time limit = std::max(speculation_.shortest, Time(std::llround(std::min(expected * speculation_.slower, 1e9) * 1e9)));
    const Time due = task.launched + limit;
    if (due <= state_.now()) {
      found.push_back({in_seconds(state_.now() - task.launched) / expected, {job.spec.job, info.id, i}, task.node});
    } else {
      next = next ? std::min(*next, due) : due;
    }
  }
  return next;
}

void Core::Impl::look_for_stragglers() {
  next_look_.reset();
  std::vector<Straggling> found;
  std::map<JobId, std::uint64_t> racing;
  std::optional<Time> next;
  if (!speculation_.on) watched_.clear();
  for (auto at = watched_.begin(); at != watched_.end();) {
    const auto job = jobs_.find(at->first);
    StageRecord* stage = job == jobs_.end() ? nullptr : &job->second.stages.at(at->second);
    if (stage == nullptr || stage->info->running == 0) {
      at = watched_.erase(at);
      continue;
    }
    racing[at->first] += stage->info->speculative.size();
    const auto due = find_stragglers(job->second, *stage, found);
    if (due) next = next ? std::min(*next, *due) : due;
    ++at;
  }
  note_slow_nodes(found);
  state_.clear_stragglers();
  if (!found.empty()) {
    publish(std::move(found), racing);
    next = state_.now();
  }
  if (next) look_at(std::max(*next, state_.now() + speculation_.every));
}

/// As many as the caps allow, the most overdue first.
void Core::Impl::publish(std::vector<Straggling> found, const std::map<JobId, std::uint64_t>& racing) {
  std::sort(found.begin(), found.end(), [](const Straggling& a, const Straggling& b) {
    return a.overdue != b.overdue ? a.overdue > b.overdue : a.task < b.task;
  });
  const schedulers::Resources& capacity = state_.capacity();
  const double slots = std::max(capacity.cpu, capacity.map_slots + capacity.reduce_slots);
  const auto most = static_cast<std::uint64_t>(std::max(1.0, std::min(speculation_.per_cluster * slots, 1e12)));
  std::uint64_t all = 0;
  for (const auto& [job, count] : racing) all += count;
  std::map<JobId, std::uint64_t> of_job = racing;
  for (const Straggling& one : found) {
    if (all >= most) break;
    const double part = speculation_.per_job * static_cast<double>(jobs_.at(one.task.job).info->running);
    std::uint64_t& count = of_job[one.task.job];
    if (count >= std::max(kLeastPerJob, static_cast<std::uint64_t>(part))) continue;
    ++count, ++all;
    state_.set_straggler(one.task, true);
  }
  if (!state_.stragglers().empty()) trigger_work();
}

/// An attempt ended on the node, or was overtaken there.
void Core::Impl::note_pace(const StageRecord& stage, NodeId node, Time took) {
  if (!speculation_.on || stage.info->observed_count < kEnough) return;
  const double mean = in_seconds(*stage.info->mean_duration());
  if (mean <= 0) return;
  double& pace = paces_.try_emplace(node, 1).first->second;
  pace = slower(pace, in_seconds(took) / mean);
}

/// By what has ended there, and by what straggles there now.
void Core::Impl::note_slow_nodes(const std::vector<Straggling>& found) {
  std::map<NodeId, double> paces = paces_;
  for (const Straggling& one : found) {
    double& pace = paces.try_emplace(one.node, 1).first->second;
    pace = slower(pace, one.overdue);
  }
  for (const auto& [id, node] : state_.nodes()) {
    const auto pace = paces.find(id);
    state_.mutable_node(id).slow = pace != paces.end() && pace->second > speculation_.slow_node;
  }
}

}  // namespace weft::master
