#include "schedulers/parts/dispatcher.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "schedulers/parts/fair_ends.hpp"

namespace weft::schedulers {

namespace {

/// No capacity is left: takes the job that would have been next, and records that.
class NextWithoutCapacity final : public Launcher {
 public:
  explicit NextWithoutCapacity(Explanations& explanations) : explanations_(explanations) {}
  bool launch(const JobInfo& job) override { return explanations_.no_capacity(job.id), true; }
  bool launch(const JobInfo& job, const StageInfo&, Locality) override { return launch(job); }
  void hold(JobId job, std::string_view reason) override { explanations_.hold_by_policy(job, reason); }

 private:
  Explanations& explanations_;
};

}  // namespace

void Dispatcher::on_event(const Notice& notice) {
  call_.kept.on_event(notice);
  finder_.on_event(notice);
  explanations_.on_event(notice);
}

void Dispatcher::schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) {
  begin_call(view, trigger, decisions);
  if (call_.open == 0) return;
  for (const Pass& pass : parts_.passes) run(pass, trigger.kind != Trigger::Kind::node);
}

void Dispatcher::begin_call(const ClusterView& view, const Trigger& trigger, Decisions& decisions) {
  call_.view = &view;
  call_.decisions = &decisions;
  const auto overdue = [&](const JobInfo& job) {
    return std::ranges::any_of(parts_.passes, [&](const Pass& pass) {
      const FairEnds* const ends = policy_of(pass).fair_ends();
      return ends != nullptr && ends->overdue(job.id);
    });
  };
  call_.kept.update(view, overdue, decisions);
  call_.by_node = call_.one = false;  // the call before may have been cut off
  call_.farthest = Locality::any;
  const bool all = trigger.kind != Trigger::Kind::node || parts_.all_nodes ||
                   std::ranges::any_of(parts_.passes, [&](const Pass& pass) { return policy_of(pass).wants_all_nodes(); });
  if (all) {
    call_.nodes.all(view, finder_.last_node());
  } else if (view.free_nodes().contains(trigger.node)) {
    call_.nodes.one(trigger.node);
  } else {
    call_.nodes.none();
  }
  call_.open = call_.nodes.count();
  call_.node = call_.open == 1 ? view.node(call_.nodes.only()) : nullptr;
  finder_.begin_call();
  explanations_.begin_call();
  launcher_.forget_skipped();
}

void Dispatcher::run(const Pass& pass, bool all_nodes) {
  call_.pass = &pass;
  call_.last_pass = &pass == &parts_.passes.back();
  launcher_.begin_pass();
  OrderingPolicy& policy = policy_of(pass);
  if (pass.limit) pass.limit->plan(*call_.view);
  policy.begin(*call_.view, call_.open);
  if (policy.asks() == Asks::jobs && parts_.asks == Asks::jobs) return offer_jobs(policy);
  ask_nodes(policy);
  if (all_nodes && call_.last_pass) policy.explain(*call_.view, launcher_);
}

void Dispatcher::offer_jobs(OrderingPolicy& policy) {
  static constexpr std::array kAny{SlotKind::any};
  const std::span<const SlotKind> kinds = policy.asks() == Asks::nodes_of_any_slot ? kAny : slot_kinds(*call_.view);
  call_.typed = kinds.size() > 1;
  for (const SlotKind kind : kinds) {
    call_.kind = kind;
    offer_jobs(policy, kind);
    const bool full = call_.open == 0 && !finder_.kept_reservations();
    if (full && !explanations_.muted() && policy.asks() == Asks::jobs) explain_next(policy, kind);
  }
}

/// In two rounds where tasks are reserved for other nodes (task_reservations.hpp).
void Dispatcher::offer_jobs(OrderingPolicy& policy, SlotKind kind) {
  // Free capacity and pending tasks only become fewer in a pass, so a job that nothing suited will find nothing later. Not so where
  // the best place for one task depends on the capacity that another has taken, where a locality wait ends, or where one of several
  // tasks that fit was limited.
  const bool steady = !parts_.locality_wait && !parts_.placement && !(call_.by_node && call_.pass->limit);
  for (const bool first : {true, false}) {
    if (!first && (call_.open == 0 || !finder_.kept_reservations())) break;
    finder_.begin_round(first);
    launcher_.set_starts_over(true);
    while (call_.open > 0 && !(call_.one && call_.launched) && policy.offer(*call_.view, kind, launcher_)) {
      call_.launched = true;
      launcher_.set_starts_over(!steady);
    }
  }
  launcher_.set_starts_over(true);
}

void Dispatcher::explain_next(OrderingPolicy& policy, SlotKind kind) {
  if (call_.view->runnable_jobs().empty()) return;
  NextWithoutCapacity next(explanations_);
  policy.offer(*call_.view, kind, next);
}

void Dispatcher::ask_nodes(OrderingPolicy& policy) {
  if (call_.node != nullptr) {
    if (call_.open > 0) ask_node(policy);
    return;
  }
  std::vector<NodeId> nodes(call_.view->free_nodes().begin(), call_.view->free_nodes().end());
  call_.one = parts_.in_turns && nodes.size() > 1;
  std::size_t open = call_.open;
  if (parts_.near_first && nodes.size() > 1) {
    call_.farthest = Locality::node;
    open = ask_nodes(policy, nodes, open);
    call_.farthest = Locality::any;
    std::erase_if(nodes, [this](NodeId id) { return !call_.view->free_nodes().contains(id); });
  }
  open = ask_nodes(policy, std::move(nodes), open);
  call_.one = false;
  call_.node = nullptr;
  call_.open = open;
  explanations_.mute(false);
}

/// `open`: nodes with free capacity. How many are left.
std::size_t Dispatcher::ask_nodes(OrderingPolicy& policy, std::vector<NodeId> nodes, std::size_t open) {
  while (!nodes.empty() && !call_.view->runnable_jobs().empty()) {
    if (call_.one) most_free_first(nodes);
    std::vector<NodeId> again;
    for (const NodeId id : nodes) {
      if (call_.view->runnable_jobs().empty()) break;
      call_.node = call_.view->node(id);
      call_.open = 1;
      explanations_.mute(id != nodes.back() || call_.farthest != Locality::any);
      ask_node(policy);
      open -= 1 - call_.open;
      if (call_.one && call_.launched && call_.open > 0) again.push_back(id);
    }
    nodes = std::move(again);
  }
  return open;
}

/// Of equally free nodes the order stays.
void Dispatcher::most_free_first(std::vector<NodeId>& nodes) const {
  std::ranges::stable_sort(nodes, std::greater<>(), [this](NodeId id) {
    const NodeInfo& node = *call_.view->node(id);
    return node.free().cpu / node.capacity.cpu;
  });
}

void Dispatcher::ask_node(OrderingPolicy& policy) {
  call_.by_node = true;
  call_.launched = false;
  launcher_.forget_skipped();
  offer_jobs(policy);
  if (call_.open > 0 && !(call_.one && call_.launched) && launcher_.skip_node()) offer_jobs(policy);
  call_.by_node = false;
}

}  // namespace weft::schedulers
