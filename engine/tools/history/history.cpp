#include "engine/tools/history/history.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/master/core/core.hpp"
#include "engine/master/core/events.hpp"

namespace weft::history {

namespace {

constexpr std::size_t kMostHotKeys = 64;  // of one partition

/// Of an attempt within its job.
std::uint64_t key_of(const master::EventLine& line) {
  return (std::uint64_t{line.stage} << 48) ^ (std::uint64_t{line.task} << 12) ^ line.attempt;
}

/// The lowest that has been free since then at the latest.
std::uint32_t take_slot(std::vector<Time>& slots, Time since) {
  const auto free = std::find_if(slots.begin(), slots.end(), [&](Time each) { return each != kTaken && each <= since; });
  const auto slot = static_cast<std::uint32_t>(free - slots.begin());
  (free == slots.end() ? slots.emplace_back() : *free) = kTaken;
  return slot;
}

void add(std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& sizes) {
  sums.resize(std::max(sums.size(), sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) sums[i] += sizes[i];
}

/// What came since `before`; nothing where a worker reports less than before.
shuffle::PrefetchStats difference(const shuffle::PrefetchStats& now, const shuffle::PrefetchStats& before) {
  const auto more = [&](std::uint64_t shuffle::PrefetchStats::*part) { return now.*part - std::min(now.*part, before.*part); };
  return {more(&shuffle::PrefetchStats::prefetched_bytes),   more(&shuffle::PrefetchStats::read_bytes),
          more(&shuffle::PrefetchStats::wasted_bytes),       more(&shuffle::PrefetchStats::evicted_bytes),
          more(&shuffle::PrefetchStats::evicted_file_bytes), more(&shuffle::PrefetchStats::returned_bytes)};
}

}  // namespace

const char* name_of(Fate fate) {
  constexpr const char* kNames[] = {"running", "finished", "failed", "killed", "lost"};
  return kNames[static_cast<std::size_t>(fate)];
}

const LoggedJob* EventHistory::job(std::uint64_t id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

void EventHistory::apply(const master::EventLine& line) {
  if (line.event == "log_started") restart(line.at);
  now_ = line.event == "worker_joined" ? std::max(now_, line.at) : line.at;  // rotated logs repeat what is known of workers
  if (only_ && line.job != 0 && line.job != *only_) return note_other(line);
  if (line.event == "worker_joined")
    workers_[line.node] = {line.name, line.host, line.rack, static_cast<std::uint32_t>(line.capacity.cpu),
                           line.at,   {},        {},        line.capacity.memory};
  if (line.event == "worker_lost" || line.event == "worker_silent") lose(line);
  if (line.event == "job_submitted") submit(line);
  const auto found = jobs_.find(line.job);
  if (found == jobs_.end()) return;
  LoggedJob& job = found->second;
  if (line.event == "plan_extended") {
    job.stages.insert(job.stages.end(), line.stages.begin(), line.stages.end());
    job.planned.resize(job.stages.size(), line.at);
  }
  if (line.event == "job_finished") end_job(job, JobState::finished, "");
  if (line.event == "job_failed") end_job(job, job.status.error.empty() ? JobState::failed : JobState::killed, line.error);
  if (line.event == "job_killed" && job.status.state == JobState::running)
    job.status.error = line.reason.empty() ? "killed" : line.reason;
  if (line.event == "task_launched") launch(line, job, line.at, kTaken);
  if (line.event == "task_finished") end_attempt(line, job, Fate::finished);
  if (line.event == "task_failed") end_attempt(line, job, line.kind == "killed" ? Fate::killed : Fate::failed);
  if (line.event == "task_killed") end_attempt(line, job, Fate::killed);
  if (line.event == "blocks_prefetched") note_prefetched(line, job);
  if (line.event == "copy_started" || line.event == "output_copied") note_replica(line, job);
}

const LoggedWorker* EventHistory::worker(std::uint32_t node) const {
  const auto found = workers().find(node);
  return found == workers().end() ? nullptr : &found->second;
}

std::string EventHistory::worker_name(std::uint32_t node) const {
  const LoggedWorker* found = worker(node);
  return found == nullptr ? fmt::format("node {}", node) : found->name;
}

bool EventHistory::waits(std::uint64_t id) const {
  const LoggedJob* found = job(id);
  return found != nullptr && found->status.state == JobState::running && found->attempts.empty();
}

std::size_t EventHistory::others(const LoggedJob& job) const {
  if (only_) return job.others.size();
  const Time until = job.attempts.empty() ? job.status.ended == Time(0) ? now_ : job.status.ended : job.attempts.front().launched;
  const auto is_then = [&](Time at) { return at >= job.status.submitted && at <= until; };
  const auto had_slots = [&](const LoggedAttempt& each) {
    return is_then(each.launched) || (each.fate != Fate::running && is_then(each.ended)) ||
           (each.launched < job.status.submitted && (each.fate == Fate::running || each.ended > until));
  };
  return static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& other) {
    return other.first != job.status.id.value() &&
           std::any_of(other.second.attempts.begin(), other.second.attempts.end(), had_slots);
  }));
}

/// A job of which an attempt is launched or ends has, or had, a slot.
void EventHistory::note_other(const master::EventLine& line) {
  if (waits(*only_) && master::is_of_attempt(line.event)) jobs_.find(*only_)->second.others.insert(line.job);
}

/// Another master: no job of the one before runs any more.
void EventHistory::restart(Time at) {
  if (is_over() && !workers_then_) workers_then_ = workers_;
  for (auto& [id, job] : jobs_)
    if (job.status.state == JobState::running) end_job(job, JobState::failed, "the master was restarted");
  workers_.clear();
  now_ = at;
}

/// Whether it is about one job only, and that has ended.
bool EventHistory::is_over() const {
  const LoggedJob* found = only_ ? job(*only_) : nullptr;
  return found != nullptr && found->status.state != JobState::running;
}

void EventHistory::drop(std::uint64_t job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  attempts_ -= std::min(attempts_, found->second.attempts.size());
  jobs_.erase(found);
}

void EventHistory::submit(const master::EventLine& line) {
  forget();
  workers_then_.reset();  // a master without a journal gives the numbers of jobs again
  LoggedJob& job = jobs_[line.job];
  attempts_ -= std::min(attempts_, job.attempts.size());
  leave_out_outputs(job);
  job = LoggedJob{};
  job.status.id = JobId(line.job);
  job.status.name = line.name;
  job.status.user = line.options.user;
  job.status.pool = line.options.pool;
  job.status.submitted = line.at;
  job.status.deadline = line.deadline;
  job.status.priority = line.options.priority;
  job.status.weight = line.options.weight.value_or(1);
  job.status.shuffle_replicas = line.options.shuffle_replicas.value_or(1);
  job.status.options = master::texts_of(line.options);
  job.options = line.options;
}

void EventHistory::launch(const master::EventLine& line, LoggedJob& job, Time at, Time slot_free_since) {
  LoggedAttempt made;
  made.stage = line.stage;
  made.task = line.task;
  made.attempt = line.attempt;
  made.node = line.node;
  made.slot = take_slot(job.slots[line.node], slot_free_since);
  made.partitions = line.partitions;
  made.speculative = line.speculative;
  made.launched = at;
  made.changed = ++changes_;
  job.open[key_of(line)] = job.attempts.size();
  job.known.insert(key_of(line));
  job.attempts.push_back(std::move(made));
  ++attempts_;
}

/// A master that was killed has lost its last lines, and with them launches of attempts that went on: one that ends was launched
/// when its code began, as far as that is known. False when the line is of no such attempt.
bool EventHistory::launch_unseen(const master::EventLine& line, LoggedJob& job) {
  if (job.status.state != JobState::running || job.known.contains(key_of(line))) return false;
  const auto stage = std::find_if(job.stages.begin(), job.stages.end(), [&](const auto& each) { return each.id == line.stage; });
  if (stage == job.stages.end()) return false;
  const Time planned = job.planned[static_cast<std::size_t>(stage - job.stages.begin())];
  const Time at = std::min(line.at, std::max(line.at - std::max(line.usage.run, Time(0)), planned));
  launch(line, job, at, at);
  return true;
}

void EventHistory::end_attempt(const master::EventLine& line, LoggedJob& job, Fate fate) {
  auto open = job.open.find(key_of(line));
  if (open == job.open.end()) {
    if (!launch_unseen(line, job)) return;
    open = job.open.find(key_of(line));
  }
  LoggedAttempt& attempt = job.attempts[open->second];
  attempt.kind = line.kind;
  attempt.input_bytes = line.input_bytes;
  attempt.input_records = line.input_records;
  attempt.output_bytes = line.output_bytes;
  attempt.output_records = line.output_records;
  attempt.result_bytes = line.result_bytes;
  attempt.shuffle_read = line.shuffle_read.value_or(Time(0));
  attempt.shuffle_write = line.shuffle_write.value_or(Time(0));
  attempt.usage = line.usage;
  if (fate == Fate::finished) {
    note_task(line, job);
    note_output(line, job);
  }
  const std::size_t place = open->second;
  job.open.erase(open);
  close(job, place, fate, line.message.empty() ? line.reason : line.message);
}

void EventHistory::close(LoggedJob& job, std::size_t place, Fate fate, std::string why) {
  LoggedAttempt& attempt = job.attempts[place];
  attempt.fate = fate;
  attempt.ended = now_;
  attempt.why = std::move(why);
  attempt.changed = ++changes_;
  auto& slots = job.slots[attempt.node];
  if (attempt.slot < slots.size()) slots[attempt.slot] = now_;
}

void EventHistory::end_job(LoggedJob& job, JobState state, const std::string& error) {
  if (job.status.state != JobState::running) return;
  job.status.state = state;
  job.status.error = error;
  job.status.ended = now_;
  for (const auto& [key, place] : std::exchange(job.open, {})) close(job, place, Fate::killed, "the job is over");
  job.slots.clear();
  job.known = job.counted = {};  // no end of an attempt counts any more
}

void EventHistory::lose(const master::EventLine& line) {
  const auto found = workers_.find(line.node);
  if (found == workers_.end()) return;
  // One that fell silent is lost again when its connection ends. A job's part of a log repeats the same moment.
  if (found->second.lost && *found->second.lost < line.at) return;
  found->second.lost = line.at;
  found->second.why = line.reason;
  for (auto& [id, job] : jobs_) {
    std::erase_if(job.open, [&, &of = job](const auto& open) {
      if (of.attempts[open.second].node != line.node) return false;
      close(of, open.second, Fate::lost, line.reason);
      return true;
    });
    if (job.status.state != JobState::running) continue;
    if (line.reason != master::kWorkerLeft && ++job.status.workers_lost <= master::kLostWorkersNamed)
      job.status.lost_workers.push_back(fmt::format("{} ({})", found->second.name, line.reason));
    for (auto& [stage, outputs] : job.outputs) outputs.erase(line.node);  // its maps run again elsewhere
  }
}

void EventHistory::note_replica(const master::EventLine& line, LoggedJob& job) {
  if (line.event == "copy_started") {
    job.replicas.push_back({line.shuffle, line.map, line.from, line.node, line.at, Time(0)});
    return;
  }
  const auto begun = std::find_if(job.replicas.rbegin(), job.replicas.rend(), [&](const LoggedReplica& replica) {
    return replica.shuffle == line.shuffle && replica.map == line.map && replica.node == line.node && replica.ended == Time(0);
  });
  if (begun != job.replicas.rend()) begun->ended = line.at;
}

/// The node reports sums since the job began, and once more after its end.
void EventHistory::note_prefetched(const master::EventLine& line, LoggedJob& job) {
  PrefetchTotals& before = job.reported.try_emplace(line.node, PrefetchTotals{job.status.submitted, {}}).first->second;
  const shuffle::PrefetchStats more = difference(line.prefetch, before.bytes);
  job.status.prefetch += more;
  const Time to = job.status.state == JobState::running ? line.at : std::min(line.at, job.status.ended);
  if (job.prefetched.size() < kMostPrefetched)
    job.prefetched.push_back({line.node, std::max(to - line.within, std::min(before.at, to)), to, more});
  before = {to, line.prefetch};
}

/// The sums over tasks.
void EventHistory::note_task(const master::EventLine& line, LoggedJob& job) {
  if (!job.counted.insert(std::uint64_t{line.stage} << 32 | line.task).second) return;
  for (const auto& [name, value] : line.counters) job.status.counters[name] += value;
  for (const runtime::HotKey& hot : line.usage.hot_keys) {
    auto& keys = job.hot_keys[{line.stage, hot.partition}];
    if (keys.size() < kMostHotKeys || keys.contains(hot.text)) keys[hot.text] += hot.records;
  }
  if (!line.partition_bytes.empty()) add(job.partition_bytes[line.stage], line.partition_bytes);
}

/// Where outputs are: also those that were lost and made again.
void EventHistory::note_output(const master::EventLine& line, LoggedJob& job) {
  if (line.partition_bytes.empty() || job.outputs_left_out) return;
  auto& of_node = job.outputs[line.stage][line.node];
  const std::size_t more = line.partition_bytes.size() - std::min(of_node.size(), line.partition_bytes.size());
  add(of_node, line.partition_bytes);
  job.output_cells += more;
  output_cells_ += more;
  for (auto other = jobs_.begin(); output_cells_ > kMostOutputCells && other != jobs_.end(); ++other)
    leave_out_outputs(other->second);
}

void EventHistory::leave_out_outputs(LoggedJob& job) {
  output_cells_ -= std::exchange(job.output_cells, 0);
  job.outputs.clear();
  job.outputs_left_out = true;
}

void EventHistory::forget() {
  for (auto job = jobs_.begin(); attempts_ > most_attempts_ && job != jobs_.end();) {
    if (job->second.status.state == JobState::running) {
      ++job;
      continue;
    }
    attempts_ -= std::min(attempts_, job->second.attempts.size());
    leave_out_outputs(job->second);
    job = jobs_.erase(job);
  }
}

}  // namespace weft::history
