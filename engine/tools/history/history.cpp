#include "engine/tools/history/history.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "engine/master/core/core.hpp"
#include "engine/master/core/events.hpp"

namespace weft::history {

namespace {

/// Of an attempt within its job.
std::uint64_t key_of(const master::EventLine& line) {
  return (std::uint64_t{line.stage} << 48) ^ (std::uint64_t{line.task} << 12) ^ line.attempt;
}

std::uint32_t take_slot(std::vector<bool>& taken) {
  const auto free = std::find(taken.begin(), taken.end(), false);
  const auto slot = static_cast<std::uint32_t>(free - taken.begin());
  if (free == taken.end()) taken.push_back(false);
  taken[slot] = true;
  return slot;
}

void add(std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& sizes) {
  sums.resize(std::max(sums.size(), sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) sums[i] += sizes[i];
}

/// What came since `before`; nothing where a worker says less than it said.
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

const char* name_of(Job::State state) {
  constexpr const char* kNames[] = {"running", "finished", "failed", "killed"};
  return kNames[static_cast<std::size_t>(state)];
}

const Job* History::job(std::uint64_t id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

void History::apply(const master::EventLine& line) {
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
  Job& job = found->second;
  if (line.event == "plan_extended") job.stages.insert(job.stages.end(), line.stages.begin(), line.stages.end());
  if (line.event == "job_finished") end_job(job, Job::State::finished, "");
  if (line.event == "job_failed") end_job(job, job.error.empty() ? Job::State::failed : Job::State::killed, line.error);
  if (line.event == "job_killed" && job.state == Job::State::running) job.error = line.reason.empty() ? "killed" : line.reason;
  if (line.event == "task_launched") launch(line, job);
  if (line.event == "task_finished") end_attempt(line, job, Fate::finished);
  if (line.event == "task_failed") end_attempt(line, job, line.kind == "killed" ? Fate::killed : Fate::failed);
  if (line.event == "task_killed") end_attempt(line, job, Fate::killed);
  if (line.event == "blocks_prefetched") note_prefetched(line, job);
  if (line.event == "copy_started" || line.event == "output_copied") note_copy(line, job);
}

bool History::waits(std::uint64_t id) const {
  const Job* found = job(id);
  return found != nullptr && found->state == Job::State::running && found->attempts.empty();
}

std::size_t History::others(const Job& job) const {
  if (only_) return job.others.size();
  const Time until = job.attempts.empty() ? job.ended == Time(0) ? now_ : job.ended : job.attempts.front().launched;
  const auto is_then = [&](Time at) { return at >= job.submitted && at <= until; };
  const auto had_slots = [&](const Attempt& each) {
    return is_then(each.launched) || (each.fate != Fate::running && is_then(each.ended)) ||
           (each.launched < job.submitted && (each.fate == Fate::running || each.ended > until));
  };
  return static_cast<std::size_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& other) {
    return other.first != job.id && std::any_of(other.second.attempts.begin(), other.second.attempts.end(), had_slots);
  }));
}

/// Whoever is launched or ends has, or had, a slot.
void History::note_other(const master::EventLine& line) {
  if (waits(*only_) && master::is_of_attempt(line.event)) jobs_.find(*only_)->second.others.insert(line.job);
}

/// Another master: what ran, ran no longer.
void History::restart(Time at) {
  for (auto& [id, job] : jobs_)
    if (job.state == Job::State::running) end_job(job, Job::State::failed, "the master was restarted");
  workers_.clear();
  now_ = at;
}

void History::drop(std::uint64_t job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  attempts_ -= std::min(attempts_, found->second.attempts.size());
  jobs_.erase(found);
}

void History::submit(const master::EventLine& line) {
  forget();
  Job& job = jobs_[line.job];
  attempts_ -= std::min(attempts_, job.attempts.size());
  leave_out_outputs(job);
  job = Job{};
  job.id = line.job;
  job.name = line.name;
  job.submitted = line.at;
  job.deadline = line.deadline;
  job.options = line.options;
}

void History::launch(const master::EventLine& line, Job& job) {
  Attempt made;
  made.stage = line.stage;
  made.task = line.task;
  made.attempt = line.attempt;
  made.node = line.node;
  made.slot = take_slot(job.taken[line.node]);
  made.partitions = line.partitions;
  made.speculative = line.speculative;
  made.launched = line.at;
  made.changed = ++changes_;
  job.open[key_of(line)] = job.attempts.size();
  job.attempts.push_back(std::move(made));
  ++attempts_;
}

void History::end_attempt(const master::EventLine& line, Job& job, Fate fate) {
  const auto open = job.open.find(key_of(line));
  if (open == job.open.end()) return;
  Attempt& attempt = job.attempts[open->second];
  attempt.kind = line.kind;
  attempt.input_bytes = line.input_bytes;
  attempt.input_records = line.input_records;
  attempt.output_bytes = line.output_bytes;
  attempt.output_records = line.output_records;
  attempt.result_bytes = line.result_bytes;
  attempt.shuffle_read = line.shuffle_read.value_or(Time(0));
  attempt.shuffle_write = line.shuffle_write.value_or(Time(0));
  attempt.usage = line.usage;
  if (fate == Fate::finished) note_output(line, job);
  const std::size_t place = open->second;
  job.open.erase(open);
  close(job, place, fate, line.message.empty() ? line.reason : line.message);
}

void History::close(Job& job, std::size_t place, Fate fate, std::string why) {
  Attempt& attempt = job.attempts[place];
  attempt.fate = fate;
  attempt.ended = now_;
  attempt.why = std::move(why);
  attempt.changed = ++changes_;
  auto& taken = job.taken[attempt.node];
  if (attempt.slot < taken.size()) taken[attempt.slot] = false;
}

void History::end_job(Job& job, Job::State state, const std::string& error) {
  if (job.state != Job::State::running) return;
  job.state = state;
  job.error = error;
  job.ended = now_;
  for (const auto& [key, place] : std::exchange(job.open, {})) close(job, place, Fate::killed, "the job is over");
  job.taken.clear();
}

void History::lose(const master::EventLine& line) {
  const auto found = workers_.find(line.node);
  if (found == workers_.end()) return;
  // One that fell silent is lost again when its connection ends. A job's part of a log tells of the same moment once more.
  if (found->second.lost && *found->second.lost < line.at) return;
  found->second.lost = line.at;
  found->second.why = line.reason;
  for (auto& [id, job] : jobs_) {
    std::erase_if(job.open, [&, &of = job](const auto& open) {
      if (of.attempts[open.second].node != line.node) return false;
      close(of, open.second, Fate::lost, line.reason);
      return true;
    });
    if (job.state != Job::State::running) continue;
    if (line.reason != master::kWorkerLeft && ++job.workers_lost <= master::kLostWorkersNamed)
      job.lost_workers.push_back(fmt::format("{} ({})", found->second.name, line.reason));
    for (auto& [stage, outputs] : job.outputs) outputs.erase(line.node);  // its maps run again elsewhere
  }
}

void History::note_copy(const master::EventLine& line, Job& job) {
  if (line.event == "copy_started") {
    job.copies.push_back({line.shuffle, line.map, line.from, line.node, line.at, Time(0)});
    return;
  }
  const auto begun = std::find_if(job.copies.rbegin(), job.copies.rend(), [&](const Copy& copy) {
    return copy.shuffle == line.shuffle && copy.map == line.map && copy.node == line.node && copy.ended == Time(0);
  });
  if (begun != job.copies.rend()) begun->ended = line.at;
}

/// The node says how much it is since the job began, once more after its end.
void History::note_prefetched(const master::EventLine& line, Job& job) {
  auto& [when, before] = job.said.try_emplace(line.node, job.submitted, shuffle::PrefetchStats()).first->second;
  const shuffle::PrefetchStats more = difference(line.prefetch, before);
  before = line.prefetch;
  job.prefetch += more;
  const Time to = job.state == Job::State::running ? line.at : std::min(line.at, job.ended);
  if (job.prefetched.size() < kMostPrefetched)
    job.prefetched.push_back({line.node, std::max(to - line.within, std::min(when, to)), to, more});
  when = to;
}

void History::note_output(const master::EventLine& line, Job& job) {
  for (const auto& [name, value] : line.counters) job.counters[name] += value;
  if (line.partition_bytes.empty()) return;
  auto& sums = job.partition_bytes[line.stage];
  add(sums, line.partition_bytes);
  if (job.outputs_left_out) return;
  auto& of_node = job.outputs[line.stage][line.node];
  const std::size_t more = line.partition_bytes.size() - std::min(of_node.size(), line.partition_bytes.size());
  add(of_node, line.partition_bytes);
  job.output_cells += more;
  output_cells_ += more;
  for (auto other = jobs_.begin(); output_cells_ > kMostOutputCells && other != jobs_.end(); ++other)
    leave_out_outputs(other->second);
}

void History::leave_out_outputs(Job& job) {
  output_cells_ -= std::exchange(job.output_cells, 0);
  job.outputs.clear();
  job.outputs_left_out = true;
}

void History::forget() {
  for (auto job = jobs_.begin(); attempts_ > most_attempts_ && job != jobs_.end();) {
    if (job->second.state == Job::State::running) {
      ++job;
      continue;
    }
    attempts_ -= std::min(attempts_, job->second.attempts.size());
    leave_out_outputs(job->second);
    job = jobs_.erase(job);
  }
}

}  // namespace weft::history
