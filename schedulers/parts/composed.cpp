#include "schedulers/parts/composed.hpp"

#include <algorithm>
#include <vector>

#include "schedulers/parts/preplacement.hpp"
#include "schedulers/parts/speculation.hpp"

namespace weft::schedulers {

namespace {

Composition with_a_pass(Composition parts) {
  if (parts.passes.empty()) parts.passes.emplace_back();
  return parts;
}

/// Whether a pending task fits a node as it is now: it was not launched there, so it waits for a better place.
bool waits_for_a_place(const ClusterView& view) {
  std::vector<Resources> too_large;
  const auto fits_somewhere = [&](const Resources& demand) {
    if (std::ranges::find(too_large, demand) != too_large.end()) return false;
    const bool found = std::ranges::any_of(view.free_nodes(), [&](NodeId id) {
      const NodeInfo& node = *view.node(id);
      return fits(demand, node.used, node.capacity);
    });
    if (!found) too_large.push_back(demand);
    return found;
  };
  return std::ranges::any_of(view.runnable_jobs(), [&](const JobOrder& order) {
    const JobInfo& job = *view.job(order.id);
    return std::ranges::any_of(job.runnable, [&](StageId stage) { return fits_somewhere(job.stage(stage)->demand); });
  });
}

}  // namespace

Composed::Composed(std::string name, Composition parts)
    : name_(std::move(name)),
      parts_(with_a_pass(std::move(parts))),
      all_{parts_.jobs.get(), parts_.stages.get(), parts_.locality_wait.get(), parts_.placement.get(), parts_.preemption.get()},
      dispatcher_(name_, parts_) {
  for (const Pass& pass : parts_.passes) all_.insert(all_.end(), {pass.jobs.get(), pass.stages.get(), pass.limit.get()});
  for (Part* part : all_) {
    if (part != nullptr) cycles_.emplace_back(part, Time(0));
  }
}

Result<void> Composed::start(const ClusterView& view, Scheduler* before) {
  if (parts_.admission != nullptr) {
    for (const auto& [id, job] : view.jobs()) WEFT_TRY(parts_.admission->admit(view, job));
  }
  const auto* old = dynamic_cast<Composed*>(before);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (all_[i] == nullptr) continue;
    WEFT_TRY(all_[i]->start(view, old == nullptr || i >= old->all_.size() ? nullptr : old->all_[i]));
  }
  return {};
}

Result<void> Composed::admit(const ClusterView& view, const JobInfo& job) const {
  return parts_.admission == nullptr ? Result<void>() : parts_.admission->admit(view, job);
}

std::optional<std::uint32_t> Composed::far_prefetches(RackId rack) const {
  return parts_.prefetch_limits == nullptr ? std::nullopt : parts_.prefetch_limits->far_prefetches(rack);
}

std::vector<GroupStatus> Composed::groups(const ClusterView& view) const {
  return parts_.groups == nullptr ? std::vector<GroupStatus>() : parts_.groups->groups(view);
}

void Composed::on_event(const ClusterView& view, const Notice& notice) {
  dispatcher_.on_event(notice);
  for (Part* part : all_) {
    if (part != nullptr) part->on_event(view, notice);
  }
}

bool Composed::work_conserving() const {
  const Pass& last = parts_.passes.back();
  const bool keeps_nodes = std::ranges::any_of(
      parts_.passes, [&](const Pass& pass) { return (pass.jobs ? *pass.jobs : *parts_.jobs).fair_ends() != nullptr; });
  return !keeps_nodes && (last.jobs ? *last.jobs : *parts_.jobs).offers_all() && !last.limit && !parts_.locality_wait &&
         !parts_.placement && parts_.remote_per_call == 0 && parts_.reduces_per_call == 0;
}

/// Whether nodes may take other tasks than before.
bool Composed::tick(const ClusterView& view, Decisions& decisions) {
  bool changed = false;
  if (view.jobs().empty()) return false;
  for (auto& [part, next] : cycles_) {
    const Time period = part->period();
    if (period <= Time(0)) continue;
    if (view.now() >= part->next_tick(next)) {
      next = view.now() + period;
      changed = part->tick(view, decisions) || changed;
    }
    const Time wanted = part->next_tick(next);
    decisions.wake_at(wanted > view.now() ? wanted : next);  // one that was just called is not called at once again
  }
  return changed;
}

void Composed::schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) {
  const bool changed = tick(view, decisions);
  const bool killed = parts_.preemption && parts_.preemption->preempt(view, decisions);
  if (view.runnable_jobs().empty() || view.free_nodes().empty()) return;
  dispatcher_.schedule(view, changed || killed ? Trigger{} : trigger, decisions);
  for (Part* part : all_) {
    if (part != nullptr) part->decided(view, decisions);
  }
}

void Composed::speculate(const ClusterView& view, const Trigger& trigger, Decisions& decisions) {
  // A job that waits for a better place may take this capacity soon.
  if ((parts_.locality_wait || parts_.placement) && waits_for_a_place(view)) return;
  Limit* const limit = parts_.passes.back().limit.get();  // what the last pass leaves stays idle
  if (limit != nullptr) limit->plan(view);
  place_speculative_attempts(view, trigger, decisions, [&](const JobInfo& job, const StageInfo& stage) {
    return (parts_.groups == nullptr || parts_.groups->within_limits(view, job, stage)) &&
           (limit == nullptr || limit->may_launch(view, job, stage));
  });
}

void Composed::preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) {
  if (parts_.placement && parts_.placement->preplace(view, what, decisions)) return;
  if (parts_.preplaces) preplace_by_size(view, what, decisions);
}

}  // namespace weft::schedulers
