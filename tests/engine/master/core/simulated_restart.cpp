// A simulated master that dies and is started again, or is cut off from the one that stands by, which takes over.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "schedulers/builtin.hpp"
#include "tests/engine/master/core/simulated.hpp"

namespace weft::master {

/// All that was recorded is on the disk: it can be relied on, and workers may forget what they reported.
void SimulatedCluster::keep_all() {
  if (!journal_ || cut_off_) return;
  journal_->keep_all();
  for (auto& [id, node] : nodes_)
    std::erase_if(node.unkept, [this](const Unkept& unkept) { return unkept.records <= journal_->kept(); });
}

void SimulatedCluster::on(const Restart& restart) {
  if (!cut_off_ && random_.chance(options_.cut_off)) {
    cut_off_ = journal_->records();
    ++cut_offs_;
    at(now_ + Time(random_.between(1, options_.longest_cut_off.count())), TakeOver{restarts_});
  } else if (!cut_off_) {
    restart_master();
  }
  at(now_ + Time(random_.between(1, 2 * options_.between_restarts.count())), restart);
}

void SimulatedCluster::on(const TakeOver& next) {
  if (cut_off_ && next.restarts == restarts_) restart_master();
}

/// Of ends that the new master does not know: that they counted is forgotten, too.
void SimulatedCluster::forget_unrecorded() {
  for (auto& [id, node] : nodes_) {
    for (Unkept& unkept : node.unkept) {
      if (unkept.records <= journal_->records()) continue;
      unkept.records = UINT64_MAX;
      if (const auto* finished = std::get_if<TaskFinished>(&unkept.event)) committed_.erase(finished->attempt.task);
    }
    std::erase_if(node.unkept, [](const Unkept& unkept) { return unkept.records != UINT64_MAX; });
  }
}

void SimulatedCluster::restart_master() {
  ++restarts_;
  const std::uint64_t most = std::exchange(cut_off_, std::nullopt).value_or(journal_->records());
  journal_->cut(journal_->kept() + random_.below(most - journal_->kept() + 1));
  forget_unrecorded();
  std::erase_if(agenda_, [](const auto& item) { return std::holds_alternative<TimerFired>(item.second); });
  core_ = std::make_unique<Core>(schedulers::make_scheduler(options_.scheduler).value(), options_.core);
  int fresh = std::exchange(joining_, 0);
  for (auto& [id, node] : nodes_) {
    const bool was_known = node.known;
    node.connected = false;
    node.busy = 0;
    if (!was_known && std::exchange(node.alive, false)) ++fresh;  // it was given up: it ends, and joins as another one
    // Commands of the last moment may not have arrived.
    std::erase_if(node.running, [&](const auto& running) {
      return !running.second.fenced && random_.chance(0.1) && started_.contains(running.first) && node.alive;
    });
    if (!was_known || !node.alive) continue;
    if (random_.chance(options_.returns)) {
      at(now_ + Time(random_.between(1, std::chrono::nanoseconds(std::chrono::seconds(3)).count())), Return{id});
    } else {
      node.alive = false;
      ++fresh;
    }
  }
  std::vector<Command> commands;
  core_->restore(now_, journal_->restored(), commands);
  journal_->decided(commands);
  for (auto& [id, node] : nodes_) node.known = core_->view().node(id) != nullptr;
  for (const Command& command : commands) {
    command_log_ += to_text(command) + '\n';
    std::visit([this](const auto& alternative) { carry_out(alternative); }, command);
  }
  for (; fresh > 0; --fresh) add_node();
}

void SimulatedCluster::on(const Return& back) {
  Node& node = nodes_.at(back.node);
  if (!node.alive || node.connected) return;
  if (!node.known) {  // it comes too late: it ends what it has, and joins as another one
    node.alive = false;
    add_node();
    return;
  }
  node.connected = true;
  // What it knows from the last master, this one will not take back: that is of no harm until the job is over.
  node.told.clear();
  node.placed.clear();
  node.tables.clear();
  at(now_ + options_.heartbeat, Heartbeat{back.node});
  WorkerRejoined event{back.node, {}, {}};
  for (const auto& [attempt, running] : node.running) event.running.push_back(attempt);
  std::vector<Unkept> unkept = std::exchange(node.unkept, {});
  for (const Unkept& end : unkept) {
    const auto* finished = std::get_if<TaskFinished>(&end.event);
    event.running.push_back(finished != nullptr ? finished->attempt : std::get<TaskFailed>(end.event).attempt);
  }
  for (const Output& output : node.store) event.outputs.push_back({output.job, output.shuffle, output.map, output.attempt});
  for (auto& [attempt, running] : node.running) running.fenced = true;  // unless the core takes it up
  node.busy = 0;
  returning_ = true;
  check(apply(std::move(event)).has_value(), "a node that was waited for was refused");
  returning_ = false;
  node.busy = 0;
  for (auto& [attempt, running] : node.running) {
    const schedulers::NodeInfo* known = core_->view().node(back.node);
    running.fenced = known == nullptr || !known->running.contains(attempt);
    if (!running.fenced) ++node.busy;
  }
  for (const JobId job : over_)
    carry_out(ReleaseJob{back.node, job});  // as the server says it to a worker that has something of it
  for (Unkept& end : unkept) {
    const auto* finished = std::get_if<TaskFinished>(&end.event);
    const AttemptId attempt = finished != nullptr ? finished->attempt : std::get<TaskFailed>(end.event).attempt;
    const schedulers::NodeInfo* known = core_->view().node(back.node);
    report(back.node, std::move(end.event), known == nullptr || !known->running.contains(attempt));
  }
}

std::string SimulatedCluster::standing() const {
  std::string text;
  for (const auto& [id, node] : core_->view().nodes()) {
    text += fmt::format("node {}{}{}:", id.value(), node.away ? " (away)" : "", node.usable() ? "" : " (not usable)");
    for (const AttemptId& attempt : node.running) {
      const auto& there = nodes_.at(id).running;
      const auto running = there.find(attempt);
      text += fmt::format(" {}{}", to_string(attempt),
                          running == there.end()   ? " (not there)"
                          : waits(running->second) ? " (waits)"
                                                   : "");
    }
    text += "; ";
  }
  for (const auto& [id, job] : core_->view().jobs()) {
    for (const auto& [stage_id, stage] : job.stages)
      text += fmt::format("job {} stage {}: {} of {} finished, {} running{}; ", id.value(), stage_id.value(), stage.finished,
                          stage.tasks.size(), stage.running, stage.ready ? ", ready" : "");
  }
  return text;
}

}  // namespace weft::master
