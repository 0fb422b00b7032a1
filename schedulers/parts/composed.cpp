#include "schedulers/parts/composed.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "schedulers/parts/preplacement.hpp"
#include "schedulers/parts/speculation.hpp"

namespace weft::schedulers {

namespace {

constexpr std::size_t kMaxHopeless = 16;

bool at_least(const Resources& a, const Resources& b) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](const ResourceKind& kind) { return a.*kind.amount >= b.*kind.amount; });
}

}  // namespace

Composed::Composed(std::string name, Composition parts)
    : name_(std::move(name)),
      parts_(std::move(parts)),
      reasons_{fmt::format("{}: input on this node", name_), fmt::format("{}: input in this rack", name_),
               fmt::format("{}: input elsewhere", name_), fmt::format("{}: next in order", name_)} {}

Result<void> Composed::start(const ClusterView& view, Scheduler* before) {
  auto* old = dynamic_cast<Composed*>(before);
  auto start = [&](auto& part, auto Composition::*which) -> Result<void> {
    if (!part) return {};
    return part->start(view, old == nullptr ? nullptr : (old->parts_.*which).get());
  };
  WEFT_TRY(start(parts_.who, &Composition::who));
  WEFT_TRY(start(parts_.leftover, &Composition::leftover));
  WEFT_TRY(start(parts_.stages, &Composition::stages));
  WEFT_TRY(start(parts_.locality_wait, &Composition::locality_wait));
  WEFT_TRY(start(parts_.reduces, &Composition::reduces));
  WEFT_TRY(start(parts_.preemption, &Composition::preemption));
  return start(parts_.yield, &Composition::yield);
}

void Composed::on_event(const ClusterView& view, const Notice& notice) {
  if (notice.kind == Notice::Kind::job_ended) glances_.erase(notice.job);
  if (notice.kind == Notice::Kind::job_changed) {
    if (auto found = glances_.find(notice.job); found != glances_.end()) found->second.known = found->second.told = false;
  }
  parts_.who->on_event(view, notice);
  for (Part* part : std::initializer_list<Part*>{parts_.leftover.get(), parts_.stages.get(), parts_.locality_wait.get(),
                                                 parts_.reduces.get(), parts_.preemption.get(), parts_.yield.get()}) {
    if (part != nullptr) part->on_event(view, notice);
  }
}

bool Composed::work_conserving() const {
  return parts_.who->offers_all() && !parts_.locality_wait && !parts_.reduces && (!parts_.yield || parts_.second_pass) &&
         parts_.remote_per_call == 0 && parts_.reduces_per_call == 0;
}

void Composed::schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) {
  view_ = &view;
  decisions_ = &decisions;
  yielding_ = closing_ = false;  // a call may have been cut off
  const bool killed = parts_.preemption && parts_.preemption->preempt(view, decisions);
  if (view.runnable_jobs().empty() || view.free_nodes().empty()) return;
  collect_offers(killed ? Trigger{} : trigger);
  if (offers_.count() == 0) return;
  sweeps_.clear();
  hopeless_.clear();
  skipped_.clear();
  if (parts_.yield) {
    yielding_ = true;
    parts_.yield->plan(view);
    give_away(*parts_.who);
    yielding_ = false;
    if (!parts_.second_pass) return;
  }
  give_away(parts_.yield && parts_.leftover ? *parts_.leftover : *parts_.who);
}

void Composed::speculate(const ClusterView& view, const Trigger& trigger, Decisions& decisions) {
  // Who waits for a better place may take this one soon.
  if ((parts_.locality_wait || parts_.reduces) && !view.runnable_jobs().empty()) return;
  const bool strict = parts_.yield && !parts_.second_pass;
  if (strict) parts_.yield->plan(view);
  place_speculative_attempts(view, trigger, decisions, [&](const JobInfo& job, const StageInfo& stage) {
    return parts_.who->has_room(view, job, stage) && (!strict || parts_.yield->may_launch(view, job, stage));
  });
}

/// Who has a placement of its own decides when tasks are launched.
void Composed::preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) {
  if (!parts_.reduces) preplace_by_size(view, what, decisions);
}

void Composed::collect_offers(const Trigger& trigger) {
  if (trigger.kind != Trigger::Kind::node) {
    offers_.all(*view_, last_);
  } else if (view_->free_nodes().contains(trigger.node)) {
    offers_.one(trigger.node);
  } else {
    offers_.none();
  }
  given_.clear();
  open_ = offers_.count();
  only_ = open_ == 1 ? view_->node(offers_.only()) : nullptr;
}

void Composed::give_away(WhoNext& who) {
  const std::vector<SlotKind> kinds = slot_kinds(*view_);
  typed_ = kinds.size() > 1;
  // Room and pending tasks only become fewer in a pass, so whom nothing suited nothing will suit. Not so where the best place for
  // one task depends on the room that another has taken, or where a locality wait ends.
  const bool steady = !parts_.locality_wait && !parts_.reduces;
  for (SlotKind kind : kinds) {
    kind_ = kind;
    starts_over_ = true;
    while (open_ > 0 && who.offer(*view_, kind, *this)) starts_over_ = !steady;
    starts_over_ = true;
    if (open_ > 0 || view_->runnable_jobs().empty()) continue;
    closing_ = true;  // tells the one that would have been next
    who.offer(*view_, kind, *this);
    closing_ = false;
  }
}

bool Composed::serve(const JobInfo& job) {
  if (closing_) return no_room(job), true;
  if (yielding_ && !parts_.yield->may_launch(*view_, job)) return keeps_to_share(job.id, std::nullopt);
  if (!promising(job)) {
    if (!passes_again()) no_room(job);
    return false;
  }
  order_.clear();
  if (parts_.stages) {
    parts_.stages->order(*view_, job, order_);
  } else {
    order_.assign(job.runnable.begin(), job.runnable.end());
  }
  Locality allowed = parts_.locality_wait ? parts_.locality_wait->allowed(*view_, job) : Locality::any;
  for (;;) {
    bool waits = false;
    for (StageId id : order_) {
      const StageInfo& stage = *job.stage(id);
      if (stage.pending.empty() || slot_kind_of(stage, typed_) != kind_ || !may_launch(job, stage)) continue;
      // A locality wait is for files; where readers of shuffles go is the placement's business.
      const Locality limit = parts_.reduces && stage.reads_shuffle ? Locality::any : allowed;
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

Composed::Glance& Composed::glance(const JobInfo& job) {
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
void Composed::no_room(const JobInfo& job) {
  if (!std::exchange(glances_[job.id].told, true)) decisions_->hold(job.id, std::nullopt, "no free node has room for its tasks");
}

void Composed::say(JobId job, std::optional<StageId> stage, std::string_view reason) {
  glances_[job].told = false;  // this is newer
  decisions_->hold(job, stage, reason);
}

/// Whether a task of it fits anywhere.
bool Composed::promising(const JobInfo& job) {
  if (only_ != nullptr) {
    if (!fits(glance(job).least, only_->used, only_->capacity)) return false;
    if (job.runnable.size() == 1 && !typed_) return true;  // the least is what its stage asks for
  }
  return std::any_of(job.runnable.begin(), job.runnable.end(), [&](StageId id) {
    const StageInfo& stage = *job.stage(id);
    return slot_kind_of(stage, typed_) == kind_ && !hopeless(stage.demand);
  });
}

bool Composed::keeps_to_share(JobId job, std::optional<StageId> stage) {
  if (!passes_again()) say(job, stage, "the job keeps to its share");
  return false;
}

bool Composed::may_launch(const JobInfo& job, const StageInfo& stage) {
  if (!yielding_ || parts_.yield->may_launch(*view_, job, stage)) return true;
  return keeps_to_share(job.id, stage.id);
}

void Composed::explain(const JobInfo& job, const StageInfo& stage, Locality allowed) {
  if (hopeless(stage.demand) || (allowed == Locality::any && !(parts_.reduces && stage.reads_shuffle))) {
    say(job.id, stage.id, "no free node has room for its tasks");
  } else if (parts_.reduces && stage.reads_shuffle) {
    say(job.id, stage.id, "waits for a node nearer to what it reads");
    parts_.reduces->waiting(*view_, job, stage, *decisions_);
  } else {
    say(job.id, stage.id,
        allowed == Locality::node ? "waits for room on a node that holds its input"
                                  : "waits for room in a rack that holds its input");
  }
}

bool Composed::hopeless(const Resources& demand) const {
  if (only_ != nullptr) return !fits(demand, only_->used, only_->capacity);
  return std::any_of(hopeless_.begin(), hopeless_.end(), [&demand](const Resources& h) { return at_least(demand, h); });
}

bool Composed::place(const JobInfo& job, const StageInfo& stage, Locality allowed) {
  if (hopeless(stage.demand)) return false;
  if (offers_.count() == 1) return place_on_one(job, stage, allowed);
  Sweep& sweep = sweeps_[{job.id, stage.id}];
  while (!sweep.over && sweep.level <= allowed) {
    if (!std::exchange(sweep.begun, true)) begin_level(sweep, stage);
    const auto try_on = [&](NodeId id) { return launch_on(job, stage, id, sweep.level, sweep.room_seen); };
    if (offers_.go_on(sweep.walk, try_on)) {
      sweep.again.push_back(sweep.walk.at);
      if (sweep.level == Locality::any) last_ = sweep.walk.at;
      return true;
    }
    if (!next_round(sweep, stage)) return false;
  }
  return false;
}

bool Composed::place_on_one(const JobInfo& job, const StageInfo& stage, Locality allowed) {
  bool room_seen = false;
  for (Locality level : {Locality::node, Locality::rack, Locality::any}) {
    if (level <= allowed && launch_on(job, stage, offers_.only(), level, room_seen)) return true;
  }
  return false;
}

/// Which nodes are to be tried. Idle ones that pick() has nothing for are left out where they can be told without a look at each.
void Composed::begin_level(Sweep& sweep, const StageInfo& stage) const {
  sweep.walk = sweep.level == Locality::any ? Offers::walk_after(last_) : offers_.walk();
  if (sweep.level == Locality::any) return;
  if (stage.reads_shuffle && parts_.reduces) {
    sweep.walk.listed.emplace();
  } else {  // whoever waits for locality takes what has no preference on any node
    sweep.walk.listed = offers_.near(stage, sweep.level, parts_.locality_wait && sweep.level == Locality::node);
  }
  if (!sweep.walk.listed) return;
  NodeWalk look = offers_.walk();
  sweep.room_seen = offers_.go_on(look, [&](NodeId id) {
    const NodeInfo& node = *view_->node(id);
    return fits(stage.demand, node.used, node.capacity);
  });
}

/// Another round over the nodes that had something, or the next level. False when there is none.
bool Composed::next_round(Sweep& sweep, const StageInfo& stage) {
  if (!sweep.again.empty()) {
    sweep.first = false;
    sweep.walk = {};
    sweep.walk.listed = std::exchange(sweep.again, {});
    return true;
  }
  if (sweep.first && !sweep.room_seen) {
    if (hopeless_.size() < kMaxHopeless) hopeless_.push_back(stage.demand);
    sweep.over = true;
  }
  if (sweep.level == Locality::any) sweep.over = true;
  if (sweep.over) return false;
  sweep.level = static_cast<Locality>(static_cast<int>(sweep.level) + 1);
  if (sweep.level == Locality::rack && !stage.pending.placed()) sweep.level = Locality::any;
  sweep.first = true;
  sweep.begun = sweep.room_seen = false;
  return true;
}

bool Composed::full(NodeId node, const StageInfo& stage, Locality level) const {
  const std::uint32_t most = stage.reads_shuffle ? parts_.reduces_per_call : parts_.remote_per_call;
  if (most == 0) return false;
  const auto given = given_.find(node);
  if (given == given_.end()) return false;
  if (stage.reads_shuffle) return given->second.reduces >= most;
  return level == Locality::any && stage.pending.placed() && given->second.remote >= most;
}

std::optional<std::uint32_t> Composed::pick(const JobInfo& job, const StageInfo& stage, const NodeInfo& node,
                                            Locality level) const {
  if (stage.reads_shuffle && parts_.reduces) {
    if (level != Locality::any) return std::nullopt;
    return parts_.reduces->choose(*view_, job, stage, node);
  }
  if (level == Locality::node) {
    if (auto promised = stage.preplaced.find(node.id); promised != stage.preplaced.end()) return *promised->second.begin();
    // What has no preference, or is tried again elsewhere, is as near here as anywhere.
    if (auto task = stage.pending.pick(node.id, node.host, node.rack, Locality::node)) return task;
    if (!parts_.locality_wait) return std::nullopt;
    auto task = stage.pending.pick(node.id, node.host, node.rack, Locality::any);
    if (!task || stage.tasks[*task].preplaced) return std::nullopt;
    if (stage.pending.unconstrained().contains(*task) && !stage.pending.hosts(*task).empty()) task.reset();
    return task;
  }
  const auto task = stage.pending.pick(node.id, node.host, node.rack, level);
  if (task && stage.tasks[*task].preplaced) return promised_elsewhere(stage, node.id).value_or(*task);
  return task;
}

/// What a node with room takes from others' promises: of the one that has most before it, what it would come to last.
std::optional<std::uint32_t> Composed::promised_elsewhere(const StageInfo& stage, NodeId node) {
  const auto most = std::max_element(stage.preplaced.begin(), stage.preplaced.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == stage.preplaced.end()) return std::nullopt;
  const std::uint32_t last = *most->second.rbegin();
  if (stage.tasks[last].avoid == node || !stage.pending.contains(last)) return std::nullopt;
  return last;
}

bool Composed::launch_on(const JobInfo& job, const StageInfo& stage, NodeId id, Locality level, bool& room_seen) {
  const NodeInfo& node = *view_->node(id);
  if (!fits(stage.demand, node.used, node.capacity)) return false;
  room_seen = true;
  if (full(id, stage, level)) return false;
  const auto task = pick(job, stage, node, level);
  if (!task) return false;
  const bool placed = !stage.pending.hosts(*task).empty(), promised = stage.tasks[*task].preplaced.has_value();
  const std::string& reason = reasons_[placed ? static_cast<std::size_t>(level) : reasons_.size() - 1];
  const bool reads_shuffle = stage.reads_shuffle;
  if (!decisions_->launch(TaskId{job.id, stage.id, *task}, id, reason)) return false;
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
