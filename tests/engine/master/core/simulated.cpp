#include "tests/engine/master/core/simulated.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "engine/master/log/event_log.hpp"
#include "schedulers/builtin.hpp"

namespace weft::master {

Result<void> replay(const std::vector<AcceptedEvent>& events, Core& core, std::vector<Command>& commands) {
  for (std::size_t i = 0; i < events.size(); ++i)
    if (auto applied = core.apply(events[i].at, copy_of(events[i].event), commands); !applied)
      return fail(std::move(applied).error().wrap(fmt::format("event {} does not apply", i)));
  return {};
}

std::string SimulatedCluster::event_lines() const {
  std::string lines;
  for (const AcceptedEvent& accepted : events_) lines += event_json(accepted.at, accepted.event) + '\n';
  return lines;
}

namespace {

bool same(const std::vector<std::vector<Buffer>>& a, const std::vector<std::vector<Buffer>>& b) {
  const auto equal = [](const Buffer& x, const Buffer& y) { return as_chars(x.view()) == as_chars(y.view()); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const auto& x, const auto& y) { return std::equal(x.begin(), x.end(), y.begin(), y.end(), equal); });
}

}  // namespace

SimulatedCluster::SimulatedCluster(SimulatedOptions options)
    : SimulatedCluster(options, schedulers::make_scheduler(options.scheduler).value()) {}

SimulatedCluster::SimulatedCluster(SimulatedOptions options, std::unique_ptr<schedulers::Scheduler> scheduler,
                                   SchedulerFactory factory)
    : options_(std::move(options)),
      random_(options_.seed),
      reading_(options_.seed + 7),
      core_(std::make_unique<Core>(std::move(scheduler), options_.core, std::move(factory))) {
  if (options_.between_restarts > Time(0)) {
    journal_ = std::make_unique<SimulatedJournal>(*this);
    at(Time(random_.between(1, 2 * options_.between_restarts.count())), Restart{});
  }
  for (std::uint32_t i = 0; i < options_.nodes; ++i) add_node();
  if (options_.between_deaths > Time(0)) at(Time(random_.between(1, 2 * options_.between_deaths.count())), Death{});
}

Result<void> SimulatedCluster::apply(Event event) {
  std::vector<Command> commands;
  AcceptedEvent accepted{now_, copy_of(event)};
  if (journal_) journal_->before(event);
  auto applied = core_->apply(now_, std::move(event), commands);
  if (applied && journal_) journal_->after(accepted.event, commands);
  if (applied) events_.push_back(std::move(accepted));
  if (options_.synced >= 1) keep_all();
  check(applied || commands.empty(), "a refused event gave commands");
  forget_lost_nodes();
  for (const Command& command : commands) {
    command_log_ += to_text(command);
    command_log_ += '\n';
    std::visit([this](const auto& alternative) { carry_out(alternative); }, command);
  }
  for (const Command& command : commands) {
    if (cut_off_) break;  // what has to be promised first is not carried out
    if (const auto* release = std::get_if<ReleaseShuffle>(&command); release != nullptr && !returning_)
      check_released(release->job, release->shuffle);
    if (const auto* finished = std::get_if<JobFinished>(&command)) check_released(finished->job, std::nullopt);
    if (const auto* failed = std::get_if<JobFailed>(&command)) check_released(failed->job, std::nullopt);
  }
  return applied;
}

/// That the nodes which the core knows keep nothing of a shuffle, or of any of the job's.
void SimulatedCluster::check_released(JobId job, std::optional<ShuffleId> shuffle) {
  const auto about = [&](JobId its_job, ShuffleId its_shuffle) { return its_job == job && (!shuffle || its_shuffle == *shuffle); };
  const auto any = [&](const auto& entries) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const auto& entry) { return about(entry.first.first, entry.first.second); });
  };
  for (const auto& [id, node] : nodes_) {
    if (!node.known || !node.connected) continue;
    const bool output =
        std::any_of(node.store.begin(), node.store.end(), [&](const Output& kept) { return about(kept.job, kept.shuffle); });
    check(!output && !any(node.tables) && !any(node.told) && !any(node.placed),
          fmt::format("node {} keeps {} of job {}{} that was released", id.value(),
                      output             ? "an output"
                      : any(node.tables) ? "a table"
                                         : "what it was to prefetch",
                      job.value(), shuffle ? fmt::format(" shuffle {}", shuffle->value()) : std::string()));
  }
}

void SimulatedCluster::check(bool good, std::string what) {
  if (!good) violations_.push_back(fmt::format("at {} ns: {}", now_.count(), what));
}

NodeId SimulatedCluster::add_node() {
  if (cut_off_) {
    ++joining_;
    return NodeId();
  }
  const NodeId id(next_node_++);
  nodes_[id];
  WorkerJoined event;
  event.node = id;
  event.name = fmt::format("worker-{}", id.value());
  event.host = fmt::format("host-{}", id.value());
  event.rack = fmt::format("rack-{}", id.value() % options_.racks);
  event.capacity.cpu = options_.slots;
  event.capacity.memory = options_.memory;
  event.prefetch_bytes = options_.prefetch_bytes;
  auto joined = apply(std::move(event));
  check(joined.has_value(), "a new node was refused");
  at(now_ + options_.heartbeat, Heartbeat{id});
  return id;
}

JobId SimulatedCluster::submit(JobSubmitted job) {
  if (cut_off_) restart_master();  // it would not be acknowledged before
  job.job = JobId(next_job_++);
  const JobId id = job.job;
  auto submitted = apply(std::move(job));
  check(submitted.has_value(), "a new job was refused");
  keep_all();
  return id;
}

void SimulatedCluster::extend(JobId job, plan::PlanPart part) {
  if (cut_off_) restart_master();
  for (const auto& stage : part.stages) {
    if (stage.output == plan::OutputKind::result) targets_[job].insert(stage.id);
    if (stage.indeterminate) indeterminate_.insert({job, stage.id});
  }
  of_action_[{job, part.action}] = part.targets;
  for (const auto& stage : part.stages) {
    for (const auto& branch : stage.branches) {
      for (ShuffleId input : branch.partitioned) released_[job].erase(input);
      for (ShuffleId input : branch.broadcast) released_[job].erase(input);
    }
  }
  released_[job].insert(part.released.begin(), part.released.end());
  const auto key = std::pair(job, part.action);
  waiting_.insert(key);
  if (auto extended = apply(PlanExtended{job, std::move(part)}); !extended) {
    waiting_.erase(key);
    check(over_.contains(job), "a plan was refused: " + extended.error().to_string());
  }
  keep_all();
}

void SimulatedCluster::kill(JobId job, std::string reason) { (void)apply(JobKilled{job, std::move(reason)}); }
void SimulatedCluster::close(JobId job) {
  if (cut_off_) restart_master();
  (void)apply(JobClosed{job});
}

bool SimulatedCluster::run(Time limit) {
  while (!waiting_.empty()) {
    if (now_ > limit || !step()) return false;
  }
  return true;
}

void SimulatedCluster::settle() {
  const auto runs = [](const auto& entry) { return entry.second.known && entry.second.busy > 0; };
  while (std::any_of(nodes_.begin(), nodes_.end(), runs)) {
    if (!step()) return check(false, "what runs does not end");
  }
  if (cut_off_) return;  // nothing that it decides is carried out
  for (const auto& [job, shuffles] : released_)
    for (ShuffleId shuffle : shuffles) check_released(job, shuffle);
}

bool SimulatedCluster::step() {
  if (agenda_.empty()) return false;
  auto next = agenda_.extract(agenda_.begin());
  now_ = std::max(now_, next.key().first);
  std::visit([this](const auto& alternative) { on(alternative); }, next.mapped());
  return true;
}

// ---- what happens in the world --------------------------------------------------------------------------------------

void SimulatedCluster::on(const TaskEnd& end) {
  Node& node = nodes_.at(end.node);
  auto found = node.running.find(end.attempt);
  if (found == node.running.end()) return;
  if (!node.alive && !found->second.fenced) return at(now_ + options_.heartbeat, end);  // stalled until the core gives it up
  if (!found->second.fenced && waits(found->second)) return at(now_ + options_.shortest_task, end);
  Running task = std::move(found->second);
  node.running.erase(found);
  if (!task.fenced) --node.busy;
  Event event = outcome(end.node, end.attempt, task);
  const bool finished = std::holds_alternative<TaskFinished>(event);
  const bool is_target = targets_[end.attempt.task.job].contains(end.attempt.task.stage);
  if (finished && !is_target && !task.fenced) {
    node.store.insert(
        {end.attempt.task.job, ShuffleId(end.attempt.task.stage.value()), end.attempt.task.index, end.attempt.attempt});
  }
  report(end.node, std::move(event), task.fenced);
  if (finished && random_.chance(options_.loss_rate)) {
    node.store.erase(
        {end.attempt.task.job, ShuffleId(end.attempt.task.stage.value()), end.attempt.task.index, end.attempt.attempt});
  }
}

/// The master hears of the end of an attempt, at once or when the node is back.
void SimulatedCluster::report(NodeId id, Event event, bool fenced) {
  Node& node = nodes_.at(id);
  if (!node.connected) return node.unkept.push_back({std::move(event), UINT64_MAX});
  const auto* done = std::get_if<TaskFinished>(&event);
  const AttemptId attempt = done != nullptr ? done->attempt : std::get<TaskFailed>(event).attempt;
  const bool finished = done != nullptr;
  Event kept = copy_of(event);
  const bool accepted = apply(std::move(event)).has_value();
  check(!(accepted && finished && fenced), fmt::format("the fenced {} was accepted", to_string(attempt)));
  check(accepted || fenced, fmt::format("the end of {} was refused", to_string(attempt)));
  if (!accepted) ++zombies_refused_;
  if (accepted && finished && targets_[attempt.task.job].contains(attempt.task.stage))
    check(committed_.insert(attempt.task).second, fmt::format("{} was committed twice", to_string(attempt.task)));
  check(!(accepted && finished && mixed_.contains(attempt)),
        fmt::format("{} counts, and read outputs of two attempts at an indeterminate task", to_string(attempt)));
  if (!journal_) return;
  node.unkept.push_back({std::move(kept), journal_->records()});
  if (random_.chance(options_.synced)) keep_all();
}

Event SimulatedCluster::outcome(NodeId node, const AttemptId& attempt, const Running& task) {
  TaskFailed failed;
  failed.attempt = attempt;
  failed.node = node;
  if ((failed.fetch = missing_input(task))) {
    failed.kind = FailureKind::fetch_failed;
    failed.message = fmt::format("map {} of shuffle {} is not there", failed.fetch->map, failed.fetch->shuffle.value());
    return failed;
  }
  if (random_.chance(options_.failure_rate)) {
    failed.message = "simulated exception";
    return failed;
  }
  note_origin(attempt, task);
  TaskFinished finished;
  finished.attempt = attempt;
  finished.node = node;
  const std::uint64_t stable = attempt.task.stage.value() * 1000 + attempt.task.index;
  for (std::uint32_t i = 0; i < task.launch.spec.output_partitions; ++i)
    finished.output.push_back({stable + i + (i == 0 ? options_.hot_bytes : 0), 1});
  if (task.launch.spec.output_partitions == 0) finished.result = Buffer::copy_of(as_bytes(std::to_string(stable)));
  finished.counters["tasks"] = 1;
  if (!ended_.insert(attempt.task).second) ++ended_again_;
  return finished;
}

/// A task reads its inputs one after the other: half of what it knows of it may have by now.
void SimulatedCluster::read_some(Running& task) {
  for (const ShuffleLocations& table : task.tables) {
    for (const auto& output : *table.outputs) {
      const auto node = nodes_.find(output.node);
      const bool there = node != nodes_.end() && node->second.alive &&
                         node->second.store.contains({table.job, table.shuffle, output.map, output.attempt});
      if (there && reading_.chance(0.5)) task.read.try_emplace({table.shuffle, output.map}, output.attempt);
    }
  }
}

/// What the attempt's output, or result, was made of.
void SimulatedCluster::note_origin(const AttemptId& attempt, const Running& task) {
  Origin& origin = origins_[attempt];
  const JobId job = attempt.task.job;
  const auto add = [&](const TaskId& map, std::uint32_t its_attempt) {
    if (!origin.try_emplace(map, its_attempt).second && origin.at(map) != its_attempt) mixed_.insert(attempt);
  };
  for (const ShuffleLocations& table : task.tables) {
    shuffle::MapRange maps;
    for (const auto& slice : task.launch.spec.inputs) {
      if (slice.shuffle == table.shuffle) maps = slice.maps;
    }
    for (const auto& output : shuffle::in_range(*table.outputs, maps)) {
      const auto read = task.read.find({table.shuffle, output.map});
      const std::uint32_t its_attempt = read == task.read.end() ? output.attempt : read->second;
      const TaskId map{job, StageId(table.shuffle.value()), output.map};
      if (indeterminate_.contains({job, map.stage})) add(map, its_attempt);
      if (const auto made = origins_.find({map, its_attempt}); made != origins_.end())
        for (const auto& [before, its] : made->second) add(before, its);
    }
  }
}

/// What an action gives is made of one output of each task.
void SimulatedCluster::check_origins(const ActionFinished& finished) {
  Origin all;
  const std::vector<StageId>& targets = of_action_.at({finished.job, finished.action});
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::uint32_t index = 0; index < finished.results.at(i).size(); ++index) {
      const TaskId task{finished.job, targets[i], index};
      const auto made = origins_.find({task, core_->view().task(task)->attempt()});
      if (made == origins_.end()) continue;
      for (const auto& [map, attempt] : made->second)
        check(all.try_emplace(map, attempt).first->second == attempt,
              fmt::format("action {} of job {} has results of two outputs of {}", finished.action.value(), finished.job.value(),
                          to_string(map)));
    }
  }
}

/// Slow start: it was not told of all outputs yet.
bool SimulatedCluster::waits(const Running& task) const {
  return std::any_of(task.tables.begin(), task.tables.end(), [this](const ShuffleLocations& table) {
    const auto* stage = core_->view().stage(table.job, StageId(table.shuffle.value()));
    return stage != nullptr && table.outputs->size() < stage->tasks.size();
  });
}

std::optional<shuffle::FetchFailure> SimulatedCluster::missing_input(const Running& task) const {
  for (const auto& table : task.tables) {
    shuffle::MapRange maps;
    for (const auto& slice : task.launch.spec.inputs) {
      if (slice.shuffle == table.shuffle) maps = slice.maps;
    }
    for (const auto& output : shuffle::in_range(*table.outputs, maps)) {
      if (task.read.contains({table.shuffle, output.map})) continue;
      const auto node = nodes_.find(output.node);
      const bool there = node != nodes_.end() && node->second.alive &&
                         node->second.store.contains({table.job, table.shuffle, output.map, output.attempt});
      if (!there) return shuffle::FetchFailure{table.shuffle, output.map, output.attempt, output.node};
    }
  }
  return std::nullopt;
}

void SimulatedCluster::on(const Heartbeat& beat) {
  const Node& node = nodes_.at(beat.node);
  if (!node.alive || !node.known || !node.connected) return;
  check(apply(WorkerHeartbeat{beat.node}).has_value(), "a heartbeat of a known node was refused");
  at(now_ + options_.heartbeat, beat);
}

void SimulatedCluster::on(const Death& death) {
  std::vector<NodeId> alive;
  for (const auto& [id, node] : nodes_) {
    if (node.alive && node.known && node.connected) alive.push_back(id);
  }
  if (!alive.empty()) kill_node(alive[random_.below(alive.size())], random_.chance(options_.silent_deaths));
  add_node();
  at(now_ + Time(random_.between(1, 2 * options_.between_deaths.count())), death);
}

void SimulatedCluster::kill_node(NodeId id, bool silently) {
  Node& node = nodes_.at(id);
  node.alive = false;
  node.store.clear();
  if (!silently) check(apply(WorkerLost{id, "simulated death"}).has_value(), "the loss of a known node was refused");
}

void SimulatedCluster::on(const TimerFired& timer) { (void)apply(timer); }

void SimulatedCluster::on(const CopyEnd& end) {
  const ReplicateOutput& copy = end.copy;
  Node& node = nodes_.at(copy.node);
  if (!node.alive) return;
  const Output output{copy.job, copy.shuffle, copy.output.map, copy.output.attempt};
  const OutputReplica what{copy.node, copy.job, copy.shuffle, output.map, output.attempt};
  const auto coming = node.coming.find(output);
  if (coming == node.coming.end()) return;  // released meanwhile
  node.coming.erase(coming);
  const bool readable = nodes_.at(copy.output.node).store.contains(output);
  if (readable && !random_.chance(options_.failure_rate)) {
    const bool fresh = node.store.insert(output).second;
    // What the next master does not take up is no one's: a real one has it released with the job.
    if (node.connected && !apply(OutputReplicated{what}) && end.restarts != restarts_ && fresh) node.store.erase(output);
  } else if (node.connected) {
    (void)apply(ReplicaFailed{what, readable ? "simulated failure" : "its source is gone"});
  }
}

void SimulatedCluster::forget_lost_nodes() {
  for (auto& [id, node] : nodes_) {
    if (!node.known || core_->view().node(id) != nullptr) continue;
    node.known = false;
    fence(node);
  }
}

/// The attempts of a lost node: most are gone, some go on as zombies.
void SimulatedCluster::fence(Node& node) {
  for (auto task = node.running.begin(); task != node.running.end();) {
    task->second.fenced = true;
    task = random_.chance(options_.zombies) ? std::next(task) : node.running.erase(task);
  }
  node.busy = 0;
}

// ---- commands -------------------------------------------------------------------------------------------------------

void SimulatedCluster::carry_out(const LaunchTask& command) {
  Node& node = nodes_.at(command.node);
  const TaskId task = command.attempt.task;
  check(node.known && node.connected, fmt::format("{} was launched on a lost node", to_string(command.attempt)));
  check(!over_.contains(task.job), fmt::format("{} was launched after the end of its job", to_string(command.attempt)));
  if (command.speculative) {
    ++second_attempts_;
    const bool elsewhere = std::none_of(node.running.begin(), node.running.end(),
                                        [&](const auto& other) { return other.first.task == task && !other.second.fenced; });
    check(elsewhere, fmt::format("{} is a speculative attempt on the node of the first", to_string(command.attempt)));
  }
  check(started_.insert(command.attempt).second, fmt::format("{} was launched twice", to_string(command.attempt)));
  check(++node.busy <= options_.slots, fmt::format("node {} is given more than it has slots", command.node.value()));
  Running running{command, {}, false};
  for (ShuffleId input : command.inputs) {
    auto table = node.tables.find({task.job, input});
    if (table == node.tables.end()) {
      check(false, fmt::format("{} was launched without the locations of shuffle {}", to_string(command.attempt), input.value()));
      continue;
    }
    for (const auto& output : *table->second.outputs) {
      const auto holder = nodes_.find(output.node);
      check(holder != nodes_.end() && holder->second.known,
            fmt::format("{} is to read from a lost node", to_string(command.attempt)));
    }
    running.tables.push_back(table->second);
  }
  read_some(running);
  node.running.emplace(command.attempt, std::move(running));
  Time duration(random_.between(options_.shortest_task.count(), options_.longest_task.count()));
  if (options_.straggler_rate > 0 && random_.chance(options_.straggler_rate)) duration *= 20;
  at(now_ + duration, TaskEnd{command.node, command.attempt});
}

void SimulatedCluster::carry_out(const KillTask& command) {
  if (!nodes_.at(command.node).connected) return;
  Node& node = nodes_.at(command.node);
  auto found = node.running.find(command.attempt);
  if (found == node.running.end()) return;
  if (!found->second.fenced) --node.busy;
  found->second.fenced = true;
  if (!random_.chance(options_.zombies)) node.running.erase(found);
}

void SimulatedCluster::carry_out(const ShuffleLocations& command) {
  if (!nodes_.at(command.node).connected) return;
  const auto* stage = core_->view().stage(command.job, StageId(command.shuffle.value()));
  const bool over = core_->view().job(command.job) == nullptr;  // later in the same event
  const bool complete = stage != nullptr && command.outputs->size() == stage->tasks.size();
  check(complete || over || (stage != nullptr && options_.core.slow_start.value_or(1) < 1),
        fmt::format("the table of shuffle {} is not complete", command.shuffle.value()));
  Node& node = nodes_.at(command.node);
  node.tables[{command.job, command.shuffle}] = command;
  if (!stage) return;
  for (auto& [attempt, running] : node.running) {  // early readers, of a master that was started again
    for (ShuffleLocations& known : running.tables)
      if (attempt.task.job == command.job && known.shuffle == command.shuffle && known.outputs->size() < stage->tasks.size())
        known = command;
  }
}

void SimulatedCluster::carry_out(const ShuffleExtended& command) {
  if (!nodes_.at(command.node).connected) return;
  Node& node = nodes_.at(command.node);
  const auto extend = [&command](ShuffleLocations& table) {
    const auto before = [](const shuffle::MapOutput& output, std::uint32_t map) { return output.map < map; };
    std::vector<shuffle::MapOutput> outputs = *table.outputs;
    auto at = std::lower_bound(outputs.begin(), outputs.end(), command.output.map, before);
    if (at == outputs.end() || at->map != command.output.map) at = outputs.insert(at, command.output);
    *at = command.output;
    table.outputs = std::make_shared<const std::vector<shuffle::MapOutput>>(std::move(outputs));
  };
  const auto table = node.tables.find({command.job, command.shuffle});
  check(table != node.tables.end(), "an output was told to a node that has no table to add it to");
  if (table == node.tables.end()) return;
  extend(table->second);
  for (auto& [attempt, running] : node.running) {
    if (attempt.task.job != command.job || running.fenced) continue;
    for (auto& known : running.tables) {
      if (known.shuffle == command.shuffle) extend(known);
    }
    read_some(running);
  }
}

void SimulatedCluster::carry_out(const PrefetchShuffle& command) {
  if (!nodes_.at(command.node).connected) return;
  Node& node = nodes_.at(command.node);
  check(node.known, "a node that is gone is told to prefetch");
  auto& told = node.told[{command.job, command.shuffle}];
  for (const shuffle::MapOutput& output : command.outputs) {
    check(told.emplace(output.map, output.attempt, output.node).second, "an output is told twice to a node that prefetches");
    check(nodes_.at(output.node).known, "an output on a lost node is to be prefetched");
  }
  const auto* stage = core_->view().stage(command.job, StageId(command.shuffle.value()));
  check(stage != nullptr && (!command.partitions || std::all_of(command.partitions->begin(), command.partitions->end(),
                                                                [&](std::uint32_t p) { return p < stage->output.partitions(); })),
        "a partition that does not exist is to be prefetched");
  auto& placed = node.placed[{command.job, command.shuffle}];
  if (command.partitions) placed.insert(command.partitions->begin(), command.partitions->end());
  check(!command.deferred ||
            std::all_of(command.deferred->begin(), command.deferred->end(), [&](std::uint32_t p) { return placed.contains(p); }),
        "a partition is held back that was not placed there");
}

void SimulatedCluster::carry_out(const ReplicateOutput& command) {
  if (!nodes_.at(command.node).connected) return;
  const auto knows = [this](NodeId id) { return nodes_.at(id).known; };
  check(knows(command.node) && knows(command.output.node), "an output is to be copied to or from a lost node");
  check(command.node != command.output.node, "an output is to be copied to where it is");
  nodes_.at(command.node).coming.insert({command.job, command.shuffle, command.output.map, command.output.attempt});
  at(now_ + Time(random_.between(options_.shortest_task.count(), options_.longest_task.count())), CopyEnd{command, restarts_});
}

void SimulatedCluster::carry_out(const OutputMoved& command) {
  ++outputs_moved_;
  const Node& node = nodes_.at(command.output.node);
  check(node.known, "an output is said to be on a lost node");
  const bool there = node.store.contains({command.job, command.shuffle, command.output.map, command.output.attempt});
  check(there || !node.alive, "an output is said to be where no copy of it is");
}

void SimulatedCluster::carry_out(const StageRolledBack& command) {
  ++rolled_back_;
  std::erase_if(committed_, [&](const TaskId& task) { return task.job == command.job && task.stage == command.stage; });
}

void SimulatedCluster::carry_out(const ReleaseShuffle& command) {
  if (cut_off_ || !nodes_.at(command.node).connected) return;
  Node& node = nodes_.at(command.node);
  node.told.erase({command.job, command.shuffle});
  node.placed.erase({command.job, command.shuffle});
  const auto released = [&](const Output& output) { return output.job == command.job && output.shuffle == command.shuffle; };
  std::erase_if(node.store, released);
  std::erase_if(node.coming, released);
  node.tables.erase({command.job, command.shuffle});
}

void SimulatedCluster::carry_out(const ReleaseJob& command) {
  if (cut_off_ || !nodes_.at(command.node).connected) return;
  Node& node = nodes_.at(command.node);
  std::erase_if(node.told, [&](const auto& entry) { return entry.first.first == command.job; });
  std::erase_if(node.placed, [&](const auto& entry) { return entry.first.first == command.job; });
  std::erase_if(node.store, [&](const Output& output) { return output.job == command.job; });
  std::erase_if(node.coming, [&](const Output& output) { return output.job == command.job; });
  std::erase_if(node.tables, [&](const auto& entry) { return entry.first.first == command.job; });
}

void SimulatedCluster::carry_out(const ActionFinished& command) {
  if (cut_off_) return;
  const auto key = std::pair(command.job, command.action);
  if (const auto before = results_.find(key); before != results_.end() && restarts_ > 0)
    return check(same(before->second, command.results),
                 fmt::format("action {} has other results than before", command.action.value()));
  keep_all();
  check_origins(command);
  check(waiting_.erase(key) == 1, fmt::format("action {} was finished twice or never asked for", command.action.value()));
  auto& kept = results_[key];
  for (const auto& target : command.results) {
    auto& list = kept.emplace_back();
    for (const auto& result : target) list.push_back(Buffer::copy_of(result.view()));
  }
}

void SimulatedCluster::carry_out(const JobFailed& command) {
  if (cut_off_) return;
  keep_all();
  check(over_.insert(command.job).second, "a job ended twice");
  failures_.emplace(command.job, command.error);
  std::erase_if(waiting_, [&](const auto& key) { return key.first == command.job; });
}

void SimulatedCluster::carry_out(const JobFinished& command) {
  if (cut_off_) return;
  keep_all();
  check(over_.insert(command.job).second, "a job ended twice");
  std::erase_if(waiting_, [&](const auto& key) { return key.first == command.job; });
}

void SimulatedCluster::carry_out(const SetTimer& command) { at(command.at, TimerFired{command.timer}); }

}  // namespace weft::master
