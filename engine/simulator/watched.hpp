// Counts and times the calls of a scheduler, without changing its decisions.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "schedulers/view/scheduler.hpp"

namespace weft::simulator {

struct Watch {
  std::uint64_t calls = 0;
  std::chrono::nanoseconds time{0};
  std::function<bool(const schedulers::Preplaceable&)> leaves_alone;  // readers that are not preplaced; empty: none
};

class WatchedScheduler final : public schedulers::Scheduler {
 public:
  /// `watch` outlives it.
  WatchedScheduler(std::unique_ptr<schedulers::Scheduler> inner, Watch& watch) : inner_(std::move(inner)), watch_(watch) {}
  std::string_view name() const override { return inner_->name(); }
  Result<void> start(const schedulers::ClusterView& view, schedulers::Scheduler*) override { return inner_->start(view, nullptr); }
  Result<void> admit(const schedulers::ClusterView& view, const schedulers::JobInfo& job) const override {
    return inner_->admit(view, job);
  }
  double slow_start(const schedulers::ClusterView& view, const schedulers::JobInfo& job) const override {
    return inner_->slow_start(view, job);
  }
  schedulers::RoundOrder round_order() const override { return inner_->round_order(); }
  std::optional<std::uint32_t> far_prefetches(RackId rack) const override { return inner_->far_prefetches(rack); }
  schedulers::Sharing sharing(const schedulers::ClusterView& view) const override { return inner_->sharing(view); }
  bool work_conserving() const override { return inner_->work_conserving(); }
  std::vector<schedulers::GroupStatus> groups(const schedulers::ClusterView& view) const override { return inner_->groups(view); }
  void on_event(const schedulers::ClusterView& view, const schedulers::Notice& notice) override { inner_->on_event(view, notice); }
  void schedule(const schedulers::ClusterView& view, const schedulers::Trigger& trigger,
                schedulers::Decisions& decisions) override {
    ++watch_.calls;
    timed([&] { inner_->schedule(view, trigger, decisions); });
  }
  void speculate(const schedulers::ClusterView& view, const schedulers::Trigger& trigger,
                 schedulers::Decisions& decisions) override {
    timed([&] { inner_->speculate(view, trigger, decisions); });
  }
  void preplace(const schedulers::ClusterView& view, const schedulers::Preplaceable& what,
                schedulers::Decisions& decisions) override {
    if (watch_.leaves_alone && watch_.leaves_alone(what)) return;
    timed([&] { inner_->preplace(view, what, decisions); });
  }

 private:
  template <class Call>
  void timed(Call&& call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    watch_.time += std::chrono::steady_clock::now() - start;
  }

  std::unique_ptr<schedulers::Scheduler> inner_;
  Watch& watch_;
};

}  // namespace weft::simulator
