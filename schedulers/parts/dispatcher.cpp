#include "schedulers/parts/dispatcher.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedulers/parts/task_choice.hpp"

namespace weft::schedulers {

Dispatcher::Dispatcher(const std::string& name, const Composition& parts)
    : parts_(parts),
      reasons_{fmt::format("{}: input on this node", name), fmt::format("{}: input in this rack", name),
               fmt::format("{}: input elsewhere", name), fmt::format("{}: next in order", name)} {}

void Dispatcher::on_event(const Notice& notice) {
  if (notice.kind == Notice::Kind::job_ended) {
    glances_.erase(notice.job);
    promises_.ended(notice.job);
  }
  if (notice.kind == Notice::Kind::job_changed) {
    if (auto found = glances_.find(notice.job); found != glances_.end()) found->second.known = found->second.told = false;
  }
}

void Dispatcher::give_away(const ClusterView& view, const Trigger& trigger, Decisions& decisions) {
  view_ = &view;
  decisions_ = &decisions;
  closing_ = quiet_ = false;  // a call may have been cut off
  asking_ = nullptr;
  collect_offers(trigger);
  if (offers_.count() == 0) return;
  sweeps_.clear();
  skipped_.clear();
  waiting_.clear();
  for (const Pass& pass : parts_.passes) {
    pass_ = &pass;
    last_pass_ = &pass == &parts_.passes.back();
    WhoNext& who = pass.who ? *pass.who : *parts_.who;
    plain_ = !pass.limit && !parts_.locality_wait && !parts_.placement && !parts_.preplaces && parts_.remote_per_call == 0 &&
             parts_.reduces_per_call == 0;
    if (pass.limit) pass.limit->plan(view);
    who.begin(view, open_);
    if (who.by_node() || parts_.asks == Asks::nodes) {
      ask_nodes(who, trigger.kind != Trigger::Kind::node);
    } else {
      give_away(who);
    }
  }
}

void Dispatcher::collect_offers(const Trigger& trigger) {
  bool all = trigger.kind != Trigger::Kind::node;
  for (const Pass& pass : parts_.passes) {
    if (!all) all = (pass.who ? *pass.who : *parts_.who).wants_all_nodes();
  }
  if (all) {
    offers_.all(*view_, sweeps_.last());
  } else if (view_->free_nodes().contains(trigger.node)) {
    offers_.one(trigger.node);
  } else {
    offers_.none();
  }
  given_.clear();
  open_ = offers_.count();
  only_ = open_ == 1 ? view_->node(offers_.only()) : nullptr;
}

void Dispatcher::give_away(WhoNext& who) {
  static constexpr std::array kAny{SlotKind::any};
  const std::span<const SlotKind> kinds = who.by_slot_kind() ? slot_kinds(*view_) : kAny;
  typed_ = kinds.size() > 1;
  // Room and pending tasks only become fewer in a pass, so whom nothing suited nothing will suit. Not so where the best place for
  // one task depends on the room that another has taken, where a locality wait ends, or where one of several that fit was limited.
  const bool steady = !parts_.locality_wait && !parts_.placement && !(asking_ != nullptr && pass_->limit);
  for (SlotKind kind : kinds) {
    kind_ = kind;
    for (const bool first : {true, false}) {
      if (!first && (open_ == 0 || !promises_.kept())) break;
      if (!first) sweeps_.clear();
      promises_.begin_round(first);
      starts_over_ = true;
      while (open_ > 0 && who.offer(*view_, kind, *this)) starts_over_ = !steady;
    }
    starts_over_ = true;
    if (open_ == 0 && !quiet_ && !who.by_node() && !promises_.kept()) tell_next(who, kind);
  }
}

/// Tells the one that would have been next.
void Dispatcher::tell_next(WhoNext& who, SlotKind kind) {
  if (view_->runnable_jobs().empty()) return;
  closing_ = true;
  who.offer(*view_, kind, *this);
  closing_ = false;
}

void Dispatcher::ask_nodes(WhoNext& who, bool all) {
  if (only_ != nullptr) {
    if (open_ > 0) ask_node(who);
  } else {
    const std::vector<NodeId> nodes(view_->free_nodes().begin(), view_->free_nodes().end());
    std::size_t open = open_;
    for (const NodeId id : nodes) {
      if (view_->runnable_jobs().empty()) break;
      only_ = view_->node(id);
      open_ = 1;
      quiet_ = id != nodes.back();
      ask_node(who);
      open -= 1 - open_;
    }
    only_ = nullptr;
    quiet_ = false;
    open_ = open;
  }
  if (all && last_pass_) who.explain(*view_, *this);
}

void Dispatcher::ask_node(WhoNext& who) {
  asking_ = only_;
  skipped_.clear();
  passed_up_.clear();
  give_away(who);
  if (open_ > 0 && passed_up()) give_away(who);
  asking_ = nullptr;
}

/// Those of whose stages nearest() gave nothing have passed up the node that asks. True: some take worse at once.
bool Dispatcher::passed_up() {
  bool worse = false;
  for (const auto& [job_id, stage_id] : passed_up_) {
    const JobInfo& job = *view_->job(job_id);
    const StageInfo& stage = *job.stage(stage_id);
    if (stage.pending.empty() || hopeless(stage.demand)) continue;
    const bool answered = answers_for(job, stage);
    explain(job, stage, answered ? Locality::any : parts_.locality_wait->allowed(*view_, job));
    if (!quiet_) waiting_.insert(job_id);
    if (!answered && skipped_.insert(job_id).second) {
      worse = parts_.locality_wait->skipped(*view_, job, 1, *decisions_) || worse;
    }
  }
  return worse;
}

bool Dispatcher::serve(const JobInfo& job) {
  if (closing_) return no_room(job), true;
  if (pass_->limit && !pass_->limit->may_launch(*view_, job)) return keeps_to_share(job.id, std::nullopt);
  if (!promising(job)) {
    if (last_pass_) no_room(job);
    return false;
  }
  order_stages(job);
  Locality allowed = parts_.locality_wait ? parts_.locality_wait->allowed(*view_, job) : Locality::any;
  for (;;) {
    bool waits = false;
    for (StageId id : order_) {
      const StageInfo& stage = *job.stage(id);
      if (stage.pending.empty() || slot_kind_of(stage, typed_) != kind_ || !may_launch(job, stage)) continue;
      // A locality wait is for files; where a placement answers, it is its business.
      const Locality limit = answers_for(job, stage) ? Locality::any : allowed;
      if (place(job, stage, limit)) return true;
      explain(job, stage, limit);
      const bool particular = stage.pending.placed() || !stage.preplaced.empty();
      waits = waits || (limit != Locality::any && particular && !hopeless(stage.demand));
    }
    if (!waits || !skipped_.insert(job.id).second) return false;  // one opportunity per node and call
    if (!parts_.locality_wait->skipped(*view_, job, open_, *decisions_)) return false;
    allowed = parts_.locality_wait->allowed(*view_, job);
  }
}

bool Dispatcher::serve(const JobInfo& job, const StageInfo& stage, Locality farthest) {
  if (closing_) return no_room(job), true;
  if (stage.pending.empty() || slot_kind_of(stage, typed_) != kind_ || !may_launch(job, stage)) return false;
  const bool waits = parts_.locality_wait && !answers_for(job, stage);
  return place(job, stage, waits ? std::min(farthest, parts_.locality_wait->allowed(*view_, job)) : farthest);
}

void Dispatcher::order_stages(const JobInfo& job) {
  order_.clear();
  StageOrder* const stages = pass_->stages ? pass_->stages.get() : parts_.stages.get();
  if (stages != nullptr) {
    stages->order(*view_, job, only_, order_);
  } else {
    order_.assign(job.runnable.begin(), job.runnable.end());
  }
}

Dispatcher::Glance& Dispatcher::glance(const JobInfo& job) {
  Glance& glance = glances_[job.id];
  if (std::exchange(glance.known, true)) return glance;
  glance.least = job.stage(*job.runnable.begin())->demand;
  for (StageId id : job.runnable) {
    const Resources& demand = job.stage(id)->demand;
    for (const auto& kind : kResourceKinds) glance.least.*kind.amount = std::min(glance.least.*kind.amount, demand.*kind.amount);
  }
  return glance;
}

/// Says so once, until something of the job changes.
void Dispatcher::no_room(const JobInfo& job) {
  if (!quiet_ && !std::exchange(glances_[job.id].told, true))
    decisions_->hold(job.id, std::nullopt, "no free node has room for its tasks");
}

void Dispatcher::say(JobId job, std::optional<StageId> stage, std::string_view reason) {
  if (quiet_) return;
  glances_[job].told = false;  // this is newer
  decisions_->hold(job, stage, reason);
}

/// Whether a task of it fits anywhere.
bool Dispatcher::promising(const JobInfo& job) {
  if (only_ != nullptr) {
    if (!fits(glance(job).least, only_->used, only_->capacity)) return false;
    if (job.runnable.size() == 1 && !typed_) return true;  // the least is what its stage asks for
  }
  return std::any_of(job.runnable.begin(), job.runnable.end(), [&](StageId id) {
    const StageInfo& stage = *job.stage(id);
    return slot_kind_of(stage, typed_) == kind_ && !hopeless(stage.demand);
  });
}

bool Dispatcher::keeps_to_share(JobId job, std::optional<StageId> stage) {
  if (last_pass_) say(job, stage, "the job keeps to its share");
  return false;
}

bool Dispatcher::may_launch(const JobInfo& job, const StageInfo& stage) {
  if (!pass_->limit || pass_->limit->may_launch(*view_, job, stage)) return true;
  return keeps_to_share(job.id, stage.id);
}

void Dispatcher::explain(const JobInfo& job, const StageInfo& stage, Locality allowed) {
  const bool answered = answers_for(job, stage);
  if (promises_.kept() && !stage.preplaced.empty()) {
    say(job.id, stage.id, "waits for room on the nodes that its input is brought to");
  } else if (hopeless(stage.demand) || (allowed == Locality::any && !answered)) {
    say(job.id, stage.id, "no free node has room for its tasks");
  } else if (answered) {
    say(job.id, stage.id, "waits for a node nearer to what it reads");
    parts_.placement->waiting(*view_, job, stage, *decisions_);
  } else {
    say(job.id, stage.id,
        allowed == Locality::node ? "waits for room on a node that holds its input"
                                  : "waits for room in a rack that holds its input");
  }
}

bool Dispatcher::hopeless(const Resources& demand) const {
  return only_ != nullptr ? !fits(demand, only_->used, only_->capacity) : sweeps_.hopeless(demand);
}

bool Dispatcher::place(const JobInfo& job, const StageInfo& stage, Locality allowed) {
  if (hopeless(stage.demand)) return false;
  if (only_ == nullptr) {
    const Finds finds = answers_for(job, stage) ? Finds::placed : parts_.locality_wait ? Finds::waiting : Finds::near;
    return sweeps_.place(*view_, offers_, job, stage, allowed, finds, *this);
  }
  bool room_seen = false;
  for (Locality level : {Locality::node, Locality::rack, Locality::any}) {
    if (level <= allowed && launch_on(job, stage, only_->id, level, room_seen)) return true;
  }
  return false;
}

bool Dispatcher::full(NodeId node, const StageInfo& stage, Locality level) const {
  const std::uint32_t most = stage.reads_shuffle ? parts_.reduces_per_call : parts_.remote_per_call;
  if (most == 0) return false;
  const auto given = given_.find(node);
  if (given == given_.end()) return false;
  if (stage.reads_shuffle) return given->second.reduces >= most;
  return level == Locality::any && stage.pending.placed() && given->second.remote >= most;
}

std::optional<std::uint32_t> Dispatcher::pick(const JobInfo& job, const StageInfo& stage, const NodeInfo& node, Locality level) {
  if (answers_for(job, stage)) return level == Locality::any ? parts_.placement->choose(*view_, job, stage, node) : std::nullopt;
  const auto task = choose_near(stage, node, level, parts_.locality_wait != nullptr);
  return task && !parts_.who->in_haste(*view_, job) && promises_.keeps(*view_, job, stage, *task, node, *decisions_) ? std::nullopt
                                                                                                                     : task;
}

/// The task of the stage that the node that asks would take.
std::optional<Pick> Dispatcher::candidate(const JobInfo& job, const StageInfo& stage) {
  const NodeInfo& node = *asking_;
  if (plain_) return stage.pending.pick(node.id, node.host, node.rack);
  if (!may_launch(job, stage)) return std::nullopt;
  const bool answered = answers_for(job, stage);
  const Locality allowed = parts_.locality_wait && !answered ? parts_.locality_wait->allowed(*view_, job) : Locality::any;
  for (const Locality level : {Locality::node, Locality::rack, Locality::any}) {
    if (level > allowed || full(node.id, stage, level)) break;
    if (const auto task = pick(job, stage, node, level)) return Pick{*task, level};
  }
  const bool particular = stage.pending.placed() || !stage.preplaced.empty();
  if ((allowed != Locality::any && particular) || answered) passed_up_.emplace(job.id, stage.id);
  return std::nullopt;
}

std::optional<Locality> Dispatcher::nearest(const JobInfo& job, const StageInfo& stage) {
  const PendingTasks& pending = stage.pending;
  if (plain_ && !pending.placed() && !pending.unconstrained().empty()) return Locality::node;  // chosen when it is launched
  const auto task = candidate(job, stage);
  if (!task) return std::nullopt;
  return task->locality == Locality::node || pending.hosts(task->task).empty() ? Locality::node : task->locality;
}

bool Dispatcher::launch(const JobInfo& job, const StageInfo& stage, std::string_view reason, const TaskCheck& may) {
  const auto first = candidate(job, stage);
  if (!first) return false;
  std::optional<std::uint32_t> task = first->task;
  if (!may(*task)) {
    if (answers_for(job, stage) || first->locality == Locality::node) return false;
    task = choose_instead(stage, *task, may);
  }
  return task && start_task(job, stage, *task, asking_->id, first->locality, reason);
}

bool Dispatcher::launch_on(const JobInfo& job, const StageInfo& stage, NodeId id, Locality level, bool& room_seen) {
  const NodeInfo& node = *view_->node(id);
  if (!fits(stage.demand, node.used, node.capacity)) return false;
  room_seen = true;
  if (full(id, stage, level)) return false;
  const auto task = pick(job, stage, node, level);
  if (!task) return false;
  const bool placed = !stage.pending.hosts(*task).empty();
  return start_task(job, stage, *task, id, level, reasons_[placed ? static_cast<std::size_t>(level) : reasons_.size() - 1]);
}

bool Dispatcher::start_task(const JobInfo& job, const StageInfo& stage, std::uint32_t task, NodeId id, Locality level,
                            std::string_view reason) {
  const bool placed = !stage.pending.hosts(task).empty(), promised = stage.tasks[task].preplaced.has_value();
  const bool reads_shuffle = stage.reads_shuffle;
  promises_.launched(job.id, stage, task, id);
  if (!decisions_->launch(TaskId{job.id, stage.id, task}, id, reason)) return false;
  if (reads_shuffle && parts_.reduces_per_call > 0) ++given_[id].reduces;
  if (placed && level == Locality::any && parts_.remote_per_call > 0) ++given_[id].remote;
  if (parts_.locality_wait && (placed || promised)) parts_.locality_wait->launched(*view_, job, level);
  if (!view_->free_nodes().contains(id)) {
    --open_;
    offers_.filled(id);
  }
  return true;
}

}  // namespace weft::schedulers
