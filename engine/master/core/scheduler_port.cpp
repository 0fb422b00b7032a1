#include "engine/master/core/scheduler_port.hpp"

#include <exception>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

namespace weft::master {

namespace {

/// Thrown through the scheduler's frames to end a call that has used up its decisions.
struct CutOff {
  std::string why;
};

/// What the call threw, in words; nothing when it returned.
template <class Call>
std::optional<std::string> fault_of(Call&& call) {
  try {
    call();
    return std::nullopt;
  } catch (const CutOff& cut_off) {
    return cut_off.why;
  } catch (const std::exception& fault) {
    return fmt::format("threw: {}", fault.what());
  } catch (...) {
    return "threw something that is no std::exception";
  }
}

}  // namespace

template <class Call>
void SchedulerPort::guarded(Call&& call) {
  if (auto fault = fault_of(std::forward<Call>(call))) failed(*fault);
}

void SchedulerPort::failed(const std::string& what) {
  ++faults_.faults;
  faults_.fault = fmt::format("scheduler {} {}", scheduler_->name(), what);
  faults_.at = view_.now();
}

SchedulerPort::SchedulerPort(std::unique_ptr<schedulers::Scheduler> scheduler, SchedulerFactory factory,
                             schedulers::ClusterState& view, std::uint32_t max_refusals, std::uint32_t max_decisions)
    : scheduler_(std::move(scheduler)),
      factory_(std::move(factory)),
      view_(view),
      max_refusals_(max_refusals),
      max_decisions_(max_decisions) {}

void SchedulerPort::start() {
  guarded([&] {
    if (auto started = scheduler_->start(view_, nullptr); !started) failed("could not start: " + started.error().to_string());
  });
}

Result<void> SchedulerPort::configure(const SchedulerConfigured& event) {
  if (!factory_) return fail(Code::unavailable, "the scheduler of this core cannot be changed");
  std::unique_ptr<schedulers::Scheduler> next;
  Result<void> started;
  const auto fault = fault_of([&] {
    auto made = factory_(event.spec, event.files);
    if (made) next = std::move(*made);
    started = made ? next->start(view_, scheduler_.get()) : fail(std::move(made).error());
  });
  if (fault) return fail(Code::invalid_argument, fmt::format("scheduler {} {}", event.spec, *fault));
  WEFT_TRY(std::move(started));
  scheduler_ = std::move(next);
  return {};
}

void SchedulerPort::schedule(const schedulers::Trigger& trigger, schedulers::Decisions& decisions) {
  refused_now_ = decided_now_ = 0;
  notify_changed_jobs();
  guarded([&] { scheduler_->schedule(view_, trigger, decisions); });
  if (view_.stragglers().empty() || view_.free_nodes().empty()) return;
  notify_changed_jobs();
  guarded([&] { scheduler_->speculate(view_, trigger, decisions); });
}

void SchedulerPort::preplace(const schedulers::Preplaceable& what, schedulers::Decisions& decisions) {
  refused_now_ = decided_now_ = 0;
  guarded([&] { scheduler_->preplace(view_, what, decisions); });
}

schedulers::Sharing SchedulerPort::sharing() const {
  schedulers::Sharing sharing;
  if (fault_of([&] { sharing = scheduler_->sharing(view_); })) return {};
  return sharing;
}

void SchedulerPort::notify(const schedulers::Notice& notice) {
  guarded([&] { scheduler_->on_event(view_, notice); });
}

void SchedulerPort::notify_changed_jobs() {
  for (JobId job : view_.take_changed_jobs()) {
    if (view_.job(job) != nullptr) notify({.kind = schedulers::Notice::Kind::job_changed, .job = job});
  }
}

Result<void> SchedulerPort::admit(const schedulers::JobInfo& job) {
  Result<void> admitted;
  guarded([&] { admitted = scheduler_->admit(view_, job); });
  return admitted;
}

double SchedulerPort::slow_start(const schedulers::JobInfo& job) {
  double part = 1;
  guarded([&] {
    part = scheduler_->slow_start(view_, job);
    if (!(part >= 0 && part <= 1)) throw std::out_of_range(fmt::format("a slow start of {} is not between 0 and 1", part));
  });
  return part >= 0 && part <= 1 ? part : 1;
}

schedulers::RoundOrder SchedulerPort::round_order() {
  schedulers::RoundOrder order = schedulers::RoundOrder::by_submission;
  guarded([&] { order = scheduler_->round_order(); });
  return order;
}

std::optional<std::uint32_t> SchedulerPort::far_prefetches(RackId rack) {
  std::optional<std::uint32_t> most;
  guarded([&] { most = scheduler_->far_prefetches(rack); });
  return most;
}

Result<std::vector<schedulers::GroupStatus>> SchedulerPort::groups() const {
  std::vector<schedulers::GroupStatus> groups;
  if (auto fault = fault_of([&] { groups = scheduler_->groups(view_); }))
    return fail(Code::internal, fmt::format("scheduler {} {}", scheduler_->name(), *fault));
  return groups;
}

void SchedulerPort::count_decision() {
  if (++decided_now_ > max_decisions_) throw CutOff{fmt::format("was cut off after {} decisions in one call", max_decisions_)};
}

void SchedulerPort::count_refusal(const std::string& why) {
  ++faults_.refused;
  if (++refused_now_ >= max_refusals_)
    throw CutOff{fmt::format("was cut off after {} refused decisions in one call; the last: {}", refused_now_, why)};
}

}  // namespace weft::master
