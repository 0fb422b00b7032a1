// Counts and times what a scheduler does, without changing it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "schedulers/scheduler.hpp"

namespace weft::simulator {

struct Watch {
  std::uint64_t calls = 0;
  std::chrono::nanoseconds time{0};
};

class WatchedScheduler final : public sched::Scheduler {
 public:
  /// `watch` outlives it.
  WatchedScheduler(std::unique_ptr<sched::Scheduler> inner, Watch& watch) : inner_(std::move(inner)), watch_(watch) {}
  std::string_view name() const override { return inner_->name(); }
  Result<void> start(const sched::ClusterView& view, sched::Scheduler*) override { return inner_->start(view, nullptr); }
  Result<void> admit(const sched::ClusterView& view, const sched::JobInfo& job) const override { return inner_->admit(view, job); }
  bool work_conserving() const override { return inner_->work_conserving(); }
  std::vector<sched::GroupStatus> groups(const sched::ClusterView& view) const override { return inner_->groups(view); }
  void on_event(const sched::ClusterView& view, const sched::Notice& notice) override { inner_->on_event(view, notice); }
  void schedule(const sched::ClusterView& view, const sched::Trigger& trigger, sched::Decisions& decisions) override {
    ++watch_.calls;
    timed([&] { inner_->schedule(view, trigger, decisions); });
  }
  void speculate(const sched::ClusterView& view, const sched::Trigger& trigger, sched::Decisions& decisions) override {
    timed([&] { inner_->speculate(view, trigger, decisions); });
  }
  void preplace(const sched::ClusterView& view, const sched::Preplaceable& what, sched::Decisions& decisions) override {
    timed([&] { inner_->preplace(view, what, decisions); });
  }

 private:
  template <class Call>
  void timed(Call&& call) {
    const auto start = std::chrono::steady_clock::now();
    call();
    watch_.time += std::chrono::steady_clock::now() - start;
  }

  std::unique_ptr<sched::Scheduler> inner_;
  Watch& watch_;
};

}  // namespace weft::simulator
