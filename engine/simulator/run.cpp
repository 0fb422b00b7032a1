#include "engine/simulator/run.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace weft::simulator {

namespace {

/// A run in which nothing has moved for so long will not go on.
constexpr Time kHopeless = std::chrono::hours(24 * 30);

master::CoreOptions core_options(const ClusterModel& model) {
  master::CoreOptions options;
  options.heartbeat_timeout = Time(0);  // the simulator knows how long a silence takes to be noticed
  options.decide_every = model.step;
  options.keep_splits = false;
  options.on_heartbeats = model.heartbeat > Time(0);
  options.heartbeat = model.heartbeat;
  options.slow_start = model.slow_start;
  options.preplace_at = model.preplace;
  options.speculation = model.speculation;
  options.split_bytes = 0;  // partitions are as the workload has them
  options.merge_bytes = 0;
  options.placement_wait = std::chrono::hours(24 * 365);  // nodes come back
  options.finished_jobs_kept = 1;
  return options;
}

}  // namespace

Run::Run(const Workload& workload, const ClusterModel& model, std::unique_ptr<schedulers::Scheduler> scheduler,
         const RunOptions& options)
    : workload_(workload),
      model_(model),
      options_(options),
      machines_(model, network_),
      scheduler_name_(scheduler->name()),
      core_(std::make_unique<WatchedScheduler>(std::move(scheduler), watch_), core_options(model), options.factory),
      accounts_(workload, options.series_step, options.fairness_window),
      deaths_(model.seed, 1),
      order_(workload.jobs.size()),
      jobs_(workload.jobs.size()),
      outbox_(machines_.count()),
      from_(machines_.count()) {
  if (options.history != nullptr) observer_.emplace(*options.history);
  if (model.shuffle.mode == shuffle::Mode::memory)
    service_.emplace(static_cast<ShuffleService::World&>(*this), model.shuffle, machines_.count());
  watch_.leaves_alone = [this](const schedulers::Preplaceable& what) {
    return jobs_[what.job.value() - 1].spec->stages[what.reader.value()].merged != 0;
  };
  if (model.interference.on()) contention_.emplace(model.interference, machines_.count());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return workload.jobs[a].arrival < workload.jobs[b].arrival; });
}

Result<RunResult> Run::run() {
  const auto start = std::chrono::steady_clock::now();
  Random phases(model_.seed, 2);
  for (std::uint32_t i = 0; i < machines_.count(); ++i) {
    if (model_.heartbeat > Time(0))
      machines_[i].phase = Time(static_cast<std::int64_t>(phases.below(static_cast<std::uint64_t>(model_.heartbeat.count()))));
    join(i);
  }
  update_capacity();
  for (std::size_t i = 0; i < model_.availability.size(); ++i)
    agenda_.add(model_.availability[i].from, {What::availability, 0, 0, i});
  for (std::size_t i = 0; i < model_.faults.nodes.size(); ++i) agenda_.add(model_.faults.nodes[i].at, {What::fault, 0, 0, i});
  next_death();
  if (flows() && model_.heartbeat == Time(0)) agenda_.add(model_.network.report_interval, {What::report});
  if (!order_.empty()) agenda_.add(workload_.jobs[order_[0]].arrival, {What::arrival});
  if (!options_.told.empty()) agenda_.add(options_.told[0].at, {What::told});
  while (over_ < jobs_.size() && step()) {
  }
  RunResult result = accounts_.finish(options_.until && over_ < jobs_.size() ? std::max(now_, *options_.until) : now_,
                                      [this] { return moved_so_far(); });
  result.scheduler = scheduler_name_;
  result.seed = model_.seed;
  result.refused_decisions = core_.scheduler_faults().refused;
  result.node_deaths = deaths_count_;
  result.events = events_applied_;
  if (service_) {
    result.prefetched = service_->prefetched();
    result.outputs_evicted_bytes = service_->outputs_evicted();
  }
  result.event_digest = digest_.value();
  result.scheduler_calls = watch_.calls;
  result.scheduler_time = watch_.time;
  result.wall_time = std::chrono::steady_clock::now() - start;
  return result;
}

Moved Run::moved_so_far() {
  Moved moved{instant_traffic_, machines_.rack_traffic(network_, now_)};
  if (!flows()) return moved;
  for (std::size_t i = 0; i < kTrafficKinds; ++i) {
    const auto bytes = [&](int part) { return network_.link_bytes(now_, machines_.meter(static_cast<TrafficKind>(i), part)); };
    moved.traffic[i] = {bytes(0), bytes(1), bytes(2)};
  }
  return moved;
}

/// One event, and all that the master makes of it. False when nothing is left, or the time is up.
bool Run::step() {
  // Rates are worked out once for all that happens in a moment.
  const bool more = !agenda_.empty() && agenda_.next() <= now_ && !network_.ending();
  const std::optional<Time> flow = flows() && !more ? network_.next() : std::nullopt;
  if (agenda_.empty() && !flow) return false;
  const bool moved = flow && (agenda_.empty() || *flow <= agenda_.next());
  const Time next = moved ? *flow : agenda_.next();
  if (options_.until && next > *options_.until) return false;
  if (running_ == 0 && arrived_ == jobs_.size() && next - last_progress_ > kHopeless) return false;
  pass_to(next);
  if (moved) {
    ended_.clear();
    network_.advance(now_, ended_);
    ended_slots_.clear();  // first of all: their numbers are given again to flows that what follows starts
    for (FlowNetwork::Flow done : ended_) {
      if (auto moved_by_none = transfers_.extract(done); !moved_by_none.empty()) {
        ended_transfers_.push_back(std::move(moved_by_none.mapped()));
        forget_behind(ended_transfers_.back(), done);
        continue;
      }
      const Slot slot = flow_owner_[done];
      attempts_[slot].flow.reset();
      ended_slots_.emplace_back(slot, attempts_[slot].generation);
    }
    for (const auto& [slot, generation] : ended_slots_) {
      if (find(slot, generation) != nullptr) flow_ended(slot);
    }
    for (const Transfer& transfer : ended_transfers_) transferred(transfer);
    ended_transfers_.clear();  // with the memory that they hold
  } else {
    happen(agenda_.take());
  }
  drain();
  return true;
}

void Run::pass_to(Time now) {
  if (now <= now_) return;
  const auto meters = [this] { return moved_so_far(); };
  if (flows() && options_.series_step > Time(0)) {
    // Meters are read at the ends of samples.
    for (Time at = (now_ / options_.series_step + 1) * options_.series_step; at < now; at += options_.series_step) {
      now_ = at;
      accounts_.advance(now_, meters);
    }
  }
  now_ = now;
  accounts_.advance(now_, meters);
}

void Run::flow_ended(Slot slot) {
  const Attempt& attempt = attempts_[slot];
  count_traffic(index_of(attempt), attempt.move, 1);
  switch (attempt.phase) {
    case Phase::reading:
      begin_fetch(slot);
      break;
    case Phase::fetching:
      fetched(slot);
      break;
    case Phase::writing:
      written(slot);
      break;
    case Phase::taking:
    case Phase::waiting:
    case Phase::working:
    case Phase::reported:
    case Phase::stalled:
      WEFT_ASSERT(false);
  }
}

void Run::happen(const AgendaEvent& event) {
  switch (event.what) {
    case What::fault: {
      const NodeFault& fault = model_.faults.nodes[event.id];
      if (machines_[fault.node].alive) die(fault.node, fault.silent, fault.repair);
      break;
    }
    case What::death:
      next_death();
      break;
    case What::repair:
      repair(event.slot);
      break;
    case What::silence:
      if (machines_[event.slot].known && machines_[event.slot].id.value() == event.id) {
        lose(event.slot, fmt::format("not heard of for {:.1f} s", std::chrono::duration<double>(model_.faults.detection).count()));
      }
      break;
    case What::work_done:
      if (find(event.slot, event.generation) != nullptr) worked(event.slot);
      break;
    case What::works_done:
      works_done(event.slot, event.id);
      break;
    case What::taken:
      if (find(event.slot, event.generation) != nullptr) fetch_more(event.slot);
      break;
    case What::poll:
      poll();
      break;
    case What::availability:
      set_availability(event.id);
      break;
    case What::arrival:
      arrive(order_[arrived_++]);
      if (arrived_ < order_.size()) agenda_.add(workload_.jobs[order_[arrived_]].arrival, {What::arrival});
      break;
    case What::plan:
      plan_next(event.id);
      break;
    case What::told:
      tell(event.id);
      break;
    case What::report:
      report_rates();
      break;
    case What::heartbeat:
      heartbeat(event.slot);
      break;
    case What::timer:
      apply(master::TimerFired{event.id});
      drain();
      wake_free();
      break;
  }
}

Result<RunResult> simulate(const Workload& workload, const ClusterModel& model, std::unique_ptr<schedulers::Scheduler> scheduler,
                           const RunOptions& options) {
  WEFT_TRY(validate(model));
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) WEFT_TRY(validate(workload.jobs[i], i));
  return Run(workload, model, std::move(scheduler), options).run();
}

}  // namespace weft::simulator
