#include "engine/simulator/readers.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft::simulator {

namespace {

constexpr std::int64_t kRoundTripsOfFetch = 1;  // connections are kept

shuffle::FetchFailure failure_of(std::uint32_t stage, const Output& output) {
  return {ShuffleId(stage), output.map, output.attempt, output.node};
}

/// The first map of which the latest output is not there any more.
std::optional<shuffle::FetchFailure> missing(const JobRun& job, std::uint32_t index) {
  const StageRun& stage = job.stages[index];
  for (std::uint32_t map = 0; map < stage.latest.size(); ++map) {
    if (stage.latest[map] == 0) continue;
    const Output& output = stage.outputs[stage.latest[map] - 1];
    if (!output.there) return failure_of(index, output);
  }
  return std::nullopt;
}

}  // namespace

void SourceSums::add(std::uint32_t machine, double bytes) {
  if (bytes <= 0) return;
  if (bytes_[machine] == 0) machines_.push_back(machine);
  bytes_[machine] += bytes;
}

void SourceSums::clear() {
  for (const std::uint32_t machine : machines_) bytes_[machine] = 0;
  machines_.clear();
}

std::vector<Source> SourceSums::take() {
  if (!std::ranges::is_sorted(machines_)) std::ranges::sort(machines_);
  std::vector<Source> sources;
  sources.reserve(machines_.size());
  for (const std::uint32_t machine : machines_) sources.push_back({machine, bytes_[machine]});
  clear();
  return sources;
}

/// What one map of `input` wrote for this attempt, as it goes over the network.
double Readers::bytes_of(const JobRun& job, const Attempt& attempt, const StageRun& input) const {
  const std::uint32_t readers = job.stages[attempt.id.task.stage.value()].spec->tasks;
  const double bytes = input.bytes_per_task * world_.model.shuffle.compressed;
  if (input.spec->broadcast != 0) return bytes;
  return input.plan.weights.empty() ? bytes / readers : bytes * input.plan.weights[attempt.id.task.index];
}

void Readers::begin(Slot slot) {
  Attempt& attempt = attempts_[slot];
  std::vector<std::uint32_t> parents = world_.stage_of(attempt).spec->parents;
  if (parents.empty()) return next_.work(slot);
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  attempt.fetch = std::make_unique<Fetch>();
  for (std::uint32_t parent : parents) attempt.fetch->inputs.emplace_back().stage = parent;
  attempt.began = world_.now;
  if (const auto& load = world_.job_of(attempt).spec->hints.shuffle_profile; world_.contention && load) {
    world_.contention->begin(world_.now, attempt.machine, slot, *load, std::nullopt);
    world_.note_next_worked(attempt.machine);
  }
  if (service_) return take_prefetched(slot);
  fetch_more(slot);
}

/// Takes the prefetched blocks of its partitions. The prefetcher answers when blocks under way have come, and evicted ones are
/// back.
void Readers::take_prefetched(Slot slot) {
  Attempt& attempt = attempts_[slot];
  attempt.phase = Phase::taking;
  const JobRun& job = world_.job_of(attempt);
  const std::size_t inputs = attempt.fetch->inputs.size();
  attempt.fetch->taking = static_cast<std::uint32_t>(inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    const auto took = [this, slot, generation = attempt.generation, i](const std::vector<shuffle::HeldPtr>& all) {
      Attempt* reader = attempts_.find(slot, generation);
      if (reader == nullptr) return;
      Fetch::Input& input = reader->fetch->inputs[i];
      for (const shuffle::HeldPtr& blocks : all) {
        input.prefetched.resize(world_.stage_at(*reader, input.stage).spec->tasks);
        for (const shuffle::MapAttempt& map : blocks->maps) input.prefetched[map.map] = map.attempt + 1;
      }
      if (--reader->fetch->taking == 0) world_.agenda.add(world_.now, {What::taken, slot, generation});
    };
    const std::uint32_t stage = attempt.fetch->inputs[i].stage;
    const std::uint32_t partition = job.stages[stage].plan.shared ? 0 : attempt.id.task.index;
    service_->take(attempt.machine, attempt.id.task.job, ShuffleId(stage), partition, took);
  }
}

void Readers::fetch_more(Slot slot) {
  Attempt& attempt = attempts_[slot];
  JobRun& job = world_.job_of(attempt);
  bool complete = true;
  for (const Fetch::Input& input : attempt.fetch->inputs) {
    if (job.stages[input.stage].complete()) continue;
    complete = false;
    if (job.early) continue;
    return next_.fail(slot, master::FailureKind::fetch_failed, "an output is gone", missing(job, input.stage));
  }
  if (!complete && !world_.flows()) return wait(slot);
  if (!gather(slot)) return;
  double bytes = 0;
  for (const Source& source : sources_) bytes += source.bytes;
  attempt.input_bytes += static_cast<std::uint64_t>(bytes);
  attempt.phase = Phase::fetching;
  if (!start_fetch(slot)) fetched(slot);
}

/// Fetches from all `sources_` at the same time, or with a shuffle mode from one after the other, as tasks of real workers do.
bool Readers::start_fetch(Slot slot) {
  Attempt& attempt = attempts_[slot];
  if (!one_by_one()) return attempts_.start_move(slot, world_.machines.fetch(sources_, attempt.machine), kRoundTripsOfFetch);
  const auto behind = std::ranges::upper_bound(sources_, attempt.machine, {}, &Source::machine);
  std::rotate(sources_.begin(), behind, sources_.end());  // not all from the same one first
  attempt.fetch->sources.assign(sources_.rbegin(), sources_.rend());
  return start_last(slot);
}

/// False when no source is left, or none of them takes time.
bool Readers::start_last(Slot slot) {
  Attempt& attempt = attempts_[slot];
  for (std::vector<Source>& sources = attempt.fetch->sources; !sources.empty(); sources.pop_back()) {
    if (attempts_.start_move(slot, world_.machines.fetch({sources.back()}, attempt.machine), kRoundTripsOfFetch)) return true;
  }
  return false;
}

/// Collects in `sources_` all outputs that are there and were not fetched. False when one of them turned out to be unreadable: the
/// attempt has failed.
bool Readers::gather(Slot slot) {
  Attempt& attempt = attempts_[slot];
  const JobRun& job = world_.job_of(attempt);
  for (Fetch::Input& input : attempt.fetch->inputs) {
    const StageRun& stage = job.stages[input.stage];
    const auto unreadable = gather(attempt, input, stage, bytes_of(job, attempt, stage));
    if (!unreadable) continue;
    drawn_.clear();
    next_.fail(slot, master::FailureKind::fetch_failed, "an output cannot be read", unreadable);
    return false;
  }
  sources_ = drawn_.take();
  return true;
}

/// Collects the outputs of one input, each of `bytes`. Stops at one that cannot be read and returns that.
std::optional<shuffle::FetchFailure> Readers::gather(Attempt& attempt, Fetch::Input& input, const StageRun& stage, double bytes) {
  itemize(input, stage);
  input.batch.clear();
  if (input.have == 0 && input.prefetched.empty() && stage.complete() && stage.unreadable == 0) {
    gather_whole(input, stage, bytes);
    return std::nullopt;
  }
  input.fetched.resize(stage.spec->tasks);
  for (; input.next < stage.outputs.size(); ++input.next) {
    const Output& output = stage.outputs[input.next];
    if (!output.there || input.fetched[output.map]) continue;
    const bool prefetched = !input.prefetched.empty() && input.prefetched[output.map] == output.attempt + 1;
    if (!prefetched && !output.readable) return failure_of(input.stage, output);
    input.fetched[output.map] = true;
    ++input.have;
    if (prefetched) {
      attempt.input_bytes += static_cast<std::uint64_t>(bytes);
    } else {
      input.batch.push_back(input.next);
      drawn_.add(output.machine, bytes);
    }
  }
  return std::nullopt;
}

/// The usual case, without a list of the maps: nothing was fetched before, and everything is there.
void Readers::gather_whole(Fetch::Input& input, const StageRun& stage, double bytes) {
  input.have = stage.spec->tasks;
  input.whole = input.next = static_cast<std::uint32_t>(stage.outputs.size());
  for (const auto& [machine, outputs] : stage.on_machine) drawn_.add(machine, bytes * outputs);
}

/// Fills in the lists of an input that gather_whole() took.
void Readers::itemize(Fetch::Input& input, const StageRun& stage) {
  const std::uint32_t outputs = std::exchange(input.whole, 0);
  if (outputs == 0) return;
  input.fetched.assign(stage.spec->tasks, true);
  input.batch.resize(stage.spec->tasks);
  for (std::uint32_t i = 0; i < outputs; ++i) input.batch[stage.outputs[i].map] = i;
  std::sort(input.batch.begin(), input.batch.end());
}

void Readers::fetched(Slot slot) {
  Attempt& attempt = attempts_[slot];
  const JobRun& job = world_.job_of(attempt);
  attempt.fetch->left = 1;
  if (!attempt.fetch->sources.empty()) {
    attempt.fetch->sources.pop_back();
    if (start_last(slot)) return;
  }
  bool all = true, complete = true;
  for (const Fetch::Input& input : attempt.fetch->inputs) {
    all &= input.have == job.stages[input.stage].spec->tasks;
    complete &= job.stages[input.stage].complete();
  }
  if (all) return next_.work(slot);
  if (complete) return fetch_more(slot);
  wait(slot);
}

void Readers::wait(Slot slot) {
  Attempt& attempt = attempts_[slot];
  attempt.phase = Phase::waiting;
  world_.stage_of(attempt).waiting.push_back(slot);
  ++waiting_;
  if (world_.flows()) poll_later();
}

void Readers::poll_later() {
  if (std::exchange(polling_, true)) return;
  const Time interval = world_.model.network.fetch_interval;
  world_.agenda.add((world_.now / interval + 1) * interval, {What::poll});
}

void Readers::stop_waiting(Slot slot) {
  std::erase(world_.stage_of(attempts_[slot]).waiting, slot);
  attempts_[slot].phase = Phase::fetching;
  --waiting_;
}

void Readers::go_on(const JobRun& job, const StageRun& stage) {
  for (std::uint32_t child : stage.plan.children) {
    for (Slot slot : std::vector<Slot>(job.stages[child].waiting)) {
      stop_waiting(slot);
      fetch_more(slot);
    }
  }
}

void Readers::poll() {
  polling_ = false;
  for (Slot slot = 0; slot < attempts_.count(); ++slot) {
    const Attempt& attempt = attempts_[slot];
    if (!attempt.active || attempt.phase != Phase::waiting) continue;
    const JobRun& job = world_.job_of(attempt);
    const bool more = std::any_of(attempt.fetch->inputs.begin(), attempt.fetch->inputs.end(),
                                  [&](const Fetch::Input& input) { return input.next < job.stages[input.stage].outputs.size(); });
    if (!more) continue;
    stop_waiting(slot);
    fetch_more(slot);
  }
  if (waiting_ > 0) poll_later();
}

/// An output that the attempt is fetching from the machine, if there is one.
std::optional<shuffle::FetchFailure> Readers::under_way_from(Attempt& attempt, std::uint32_t machine) {
  const JobRun& job = world_.job_of(attempt);
  std::optional<shuffle::FetchFailure> last;
  for (Fetch::Input& input : attempt.fetch->inputs) {
    const StageRun& stage = job.stages[input.stage];
    itemize(input, stage);
    for (const std::uint32_t i : input.batch) {
      const Output& output = stage.outputs[i];
      if (output.machine == machine && input.fetched[output.map]) last = failure_of(input.stage, output);
    }
  }
  return last;
}

/// What was under way from the machine is to be fetched again. `sources_`: what was under way from others, as far as it is left.
void Readers::give_up(Attempt& attempt, std::uint32_t machine) {
  const JobRun& job = world_.job_of(attempt);
  for (Fetch::Input& input : attempt.fetch->inputs) {
    const StageRun& stage = job.stages[input.stage];
    const double left = bytes_of(job, attempt, stage) * attempt.fetch->left;
    for (const std::uint32_t i : input.batch) {
      const Output& output = stage.outputs[i];
      if (!input.fetched[output.map]) continue;
      if (output.machine != machine) {
        drawn_.add(output.machine, left);
      } else {
        input.fetched[output.map] = false;
        --input.have;
        input.next = 0;  // its map may have run again already
      }
    }
  }
  sources_ = drawn_.take();
}

void Readers::refetch(Slot slot, std::uint32_t machine) {
  Attempt& attempt = attempts_[slot];
  std::vector<Source>& waiting = attempt.fetch->sources;
  const auto is_gone = [machine](const Source& source) { return source.machine == machine; };
  if (one_by_one() && std::ranges::none_of(waiting, is_gone)) return;
  const auto gone = under_way_from(attempt, machine);
  if (!gone) return;
  if (!world_.job_of(attempt).early) return next_.fail(slot, master::FailureKind::fetch_failed, "its source is gone", gone);
  attempts_.break_move(slot);
  give_up(attempt, machine);
  if (one_by_one()) {
    waiting.back().bytes *= std::exchange(attempt.fetch->left, 1.0);
    std::erase_if(waiting, is_gone);
    sources_.assign(waiting.rbegin(), waiting.rend());
  }
  if (!start_fetch(slot)) fetched(slot);
}

}  // namespace weft::simulator
