#include "engine/simulator/run.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <variant>

namespace weft::simulator {

namespace {

/// A run without progress for this long has ended.
constexpr Time kHopeless = std::chrono::hours(24 * 30);

Tasks::End end_by(master::KillCause cause) {
  switch (cause) {
    case master::KillCause::preempted:
    case master::KillCause::making_way:
      return Tasks::End::preempted;
    case master::KillCause::job_over:
      return Tasks::End::lost;
    case master::KillCause::lost_race:
      break;
  }
  return Tasks::End::redundant;
}

}  // namespace

Run::Run(const Workload& workload, const ClusterModel& model, std::unique_ptr<schedulers::Scheduler> scheduler,
         const RunOptions& options)
    : world_(workload, model, options),
      services_(world_, transfers_),
      transfers_(world_),
      master_(world_, *this, std::move(scheduler)),
      drivers_(world_, master_, transfers_),
      heartbeats_(world_, master_),
      attempts_(world_, transfers_),
      outputs_(world_, master_, transfers_, services_.get()),
      tasks_(world_, master_, transfers_, attempts_, outputs_, heartbeats_, services_.get()),
      nodes_(world_, master_, transfers_, attempts_, outputs_, heartbeats_, tasks_, services_.get()) {}

RunResult Run::run() {
  const auto start = std::chrono::steady_clock::now();
  nodes_.start();
  if (world_.flows() && world_.model.heartbeat == Time(0)) world_.agenda.add(world_.model.network.report_interval, {What::report});
  drivers_.start();
  while (!drivers_.all_over() && step()) {
  }
  const std::optional<Time>& until = world_.options.until;
  RunResult result = world_.accounts.finish(until && !drivers_.all_over() ? std::max(world_.now, *until) : world_.now,
                                            [this] { return transfers_.moved_so_far(); });
  result.seed = world_.model.seed;
  result.series.rack_limits = world_.machines.uplink_limits();
  result.node_deaths = nodes_.deaths();
  master_.add_to(result);
  services_.add_to(result);
  result.wall_time = std::chrono::steady_clock::now() - start;
  return result;
}

/// One event, and everything that the master does about it. False when nothing is left, or the time is up.
bool Run::step() {
  // Rates are computed once for all events of a moment.
  const bool more = !world_.agenda.empty() && world_.agenda.next() <= world_.now && !world_.network.ending();
  const std::optional<Time> flow = world_.flows() && !more ? world_.network.next() : std::nullopt;
  if (world_.agenda.empty() && !flow) return false;
  const bool moved = flow && (world_.agenda.empty() || *flow <= world_.agenda.next());
  const Time next = moved ? *flow : world_.agenda.next();
  if (world_.options.until && next > *world_.options.until) return false;
  if (attempts_.running() == 0 && drivers_.all_arrived() && next - world_.last_progress > kHopeless) return false;
  pass_to(next);
  if (moved) {
    flows_end();
  } else {
    happen(world_.agenda.take());
  }
  master_.drain();
  return true;
}

void Run::flows_end() {
  ended_.clear();
  world_.network.advance(world_.now, ended_);
  ended_slots_.clear();  // collected first: flows that start below use the numbers again
  for (FlowNetwork::Flow done : ended_) {
    if (transfers_.ended(done)) continue;
    const Slot slot = attempts_.flow_ended(done);
    ended_slots_.emplace_back(slot, attempts_[slot].generation);
  }
  for (const auto& [slot, generation] : ended_slots_) {
    if (attempts_.find(slot, generation) != nullptr) tasks_.flow_ended(slot);
  }
  transfers_.finish_ended();
}

void Run::pass_to(Time now) {
  if (now <= world_.now) return;
  const auto meters = [this] { return transfers_.moved_so_far(); };
  if (world_.flows() && world_.options.series_step > Time(0)) {
    // Meters are read at the ends of samples.
    for (Time at = (world_.now / world_.options.series_step + 1) * world_.options.series_step; at < now;
         at += world_.options.series_step) {
      world_.now = at;
      world_.accounts.advance(world_.now, meters);
    }
  }
  world_.now = now;
  world_.accounts.advance(world_.now, meters);
}

void Run::happen(const AgendaEvent& event) {
  switch (event.what) {
    case What::fault:
      return nodes_.fault(world_.model.faults.nodes[event.id]);
    case What::death:
      return nodes_.next_death();
    case What::repair:
      return nodes_.repair(event.slot);
    case What::silence:
      return nodes_.silence(event.slot, NodeId(static_cast<std::uint32_t>(event.id)));
    case What::work_done:
      return tasks_.work_done(event.slot, event.generation);
    case What::works_done:
      return tasks_.works_done(event.slot, event.id);
    case What::taken:
      return tasks_.readers().taken(event.slot, event.generation);
    case What::poll:
      return tasks_.readers().poll();
    case What::availability:
      return nodes_.set_availability(event.id);
    case What::arrival:
      return drivers_.arrive();
    case What::plan:
      return drivers_.plan_next(event.id);
    case What::injected:
      return drivers_.inject(event.id);
    case What::moving:
      return attempts_.moving(event.slot, event.generation, event.id);
    case What::answered:
      return transfers_.answered(event.id);
    case What::report:
      return heartbeats_.report_rates();
    case What::heartbeat:
      return heartbeat(event.slot);
    case What::timer:
      master_.apply(master::TimerFired{event.id});
      master_.drain();
      return heartbeats_.wake_free();
  }
}

/// Reports the ends since the last one, and asks for tasks.
void Run::heartbeat(std::uint32_t machine) {
  for (Heartbeats::Report& ended : heartbeats_.begin(machine)) {
    if (attempts_.find(ended.slot, ended.generation) == nullptr) continue;
    tasks_.deliver(ended.slot, std::move(ended.event));
    master_.drain();
  }
  heartbeats_.beat(machine);
}

// ---- what the master commands -------------------------------------------------------------------------------------------

void Run::carry_out(const master::Command& command) {
  std::visit([this](const auto& alternative) { obey(alternative); }, command);
}

template <class Command>
void Run::obey(const Command& command) {
  using namespace master;
  ShuffleService* service = services_.get();
  if constexpr (std::is_same_v<Command, LaunchTask>) {
    tasks_.launch(command);
  } else if constexpr (std::is_same_v<Command, KillTask>) {
    kill(command);
  } else if constexpr (std::is_same_v<Command, PrefetchShuffle>) {
    if (service != nullptr) service->prefetch(world_.machine_of_node[command.node.value()], command);
  } else if constexpr (std::is_same_v<Command, ShuffleLocations>) {
    world_.job_of(command.job).early = command.maps > 0;  // the table itself is not needed: the simulator knows where outputs are
  } else if constexpr (std::is_same_v<Command, ReleaseShuffle>) {
    if (service != nullptr) service->release(world_.machine_of_node[command.node.value()], command.job, command.shuffle);
  } else if constexpr (std::is_same_v<Command, ReleaseJob>) {
    if (service != nullptr) service->release(world_.machine_of_node[command.node.value()], command.job);
  } else if constexpr (std::is_same_v<Command, NodeLost>) {
    if (service != nullptr) service->node_lost(command.node);
  } else if constexpr (std::is_same_v<Command, ReplicateOutput>) {
    outputs_.replicate(command);
  } else if constexpr (std::is_same_v<Command, OutputMoved>) {
    JobRun& job = world_.job_of(command.job);
    StageRun& stage = job.stages[command.shuffle.value()];
    if (outputs_.move(stage, command)) tasks_.readers().go_on(job, stage);
  } else if constexpr (std::is_same_v<Command, ActionFinished>) {
    drivers_.action_finished(World::index_of(command.job));
  } else if constexpr (std::is_same_v<Command, JobFinished>) {
    drivers_.job_over(World::index_of(command.job), Outcome::finished, "");
  } else if constexpr (std::is_same_v<Command, JobFailed>) {
    const bool never_ran = !world_.accounts.job(World::index_of(command.job)).started;
    const Outcome outcome = never_ran && command.error.code() == Code::resource_exhausted ? Outcome::refused : Outcome::failed;
    drivers_.job_over(World::index_of(command.job), outcome, command.error.to_string());
  } else if constexpr (std::is_same_v<Command, SetTimer>) {
    world_.agenda.add(command.at, {What::timer, 0, 0, command.timer});
  }
}

void Run::kill(const master::KillTask& command) {
  const std::uint32_t machine = world_.machine_of_node[command.node.value()];
  if (const auto slot = attempts_.slot_of(command.attempt, machine)) tasks_.end(*slot, end_by(command.cause));
  heartbeats_.wake(machine);
}

void Run::job_refused(JobId job, std::string error) { drivers_.job_over(World::index_of(job), Outcome::refused, std::move(error)); }

void Run::output_lost(JobId job, const shuffle::FetchFailure& failure) { outputs_.lost(world_.job_of(job), failure); }

Result<RunResult> simulate(const Workload& workload, const ClusterModel& model, std::unique_ptr<schedulers::Scheduler> scheduler,
                           const RunOptions& options) {
  WEFT_TRY(validate(model));
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) WEFT_TRY(validate(workload.jobs[i], i));
  return Run(workload, model, std::move(scheduler), options).run();
}

}  // namespace weft::simulator
