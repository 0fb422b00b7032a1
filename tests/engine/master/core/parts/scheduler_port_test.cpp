#include "engine/master/core/scheduler_port.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

/// Does as its test says.
struct Scripted final : schedulers::Scheduler {
  std::string_view name() const override { return "scripted"; }
  Result<void> start(const schedulers::ClusterView&, schedulers::Scheduler* before) override {
    started_after = before;
    return can_start ? Result<void>() : fail(Code::invalid_argument, "no pools");
  }
  void schedule(const schedulers::ClusterView&, const schedulers::Trigger&, schedulers::Decisions& decisions) override {
    if (on_schedule) on_schedule(decisions);
  }
  void on_event(const schedulers::ClusterView&, const schedulers::Notice& notice) override { notices.push_back(notice.kind); }

  bool can_start = true;
  const schedulers::Scheduler* started_after = nullptr;
  std::function<void(schedulers::Decisions&)> on_schedule;
  std::vector<schedulers::Notice::Kind> notices;
};

/// Counts, and refuses every launch.
struct Refusing final : schedulers::Decisions {
  explicit Refusing(SchedulerPort*& to) : port(to) {}
  Result<void> launch(const TaskId&, NodeId, std::string_view) override {
    port->count_decision();
    port->count_refusal("no");
    return fail(Code::invalid_argument, "no");
  }
  Result<void> preempt(const AttemptId&, std::string_view) override { return {}; }
  Result<void> preplace(const TaskId&, NodeId, std::string_view) override { return {}; }
  void hold(JobId, std::optional<StageId>, std::string_view) override { port->count_decision(); }
  void wake_at(Time) override {}
  SchedulerPort*& port;
};

class SchedulerPortTest : public testing::Test {
 protected:
  SchedulerPort& make(SchedulerFactory factory = {}) {
    auto scripted = std::make_unique<Scripted>();
    scheduler_ = scripted.get();
    made_ = std::make_unique<SchedulerPort>(std::move(scripted), std::move(factory), view_, 3, 5);
    port_ = made_.get();
    return *made_;
  }

  schedulers::ClusterState view_;
  Scripted* scheduler_ = nullptr;
  std::unique_ptr<SchedulerPort> made_;
  SchedulerPort* port_ = nullptr;
  Refusing decisions_{port_};
};

TEST_F(SchedulerPortTest, KeepsWhatWasThrownAndCallsAgain) {
  SchedulerPort& port = make();
  view_.set_now(Time(7));
  scheduler_->on_schedule = [](schedulers::Decisions&) { throw std::runtime_error("out of ideas"); };
  port.schedule({}, decisions_);
  EXPECT_EQ(port.faults().fault, "scheduler scripted threw: out of ideas");
  EXPECT_EQ(port.faults().at, Time(7));
  scheduler_->on_schedule = [](schedulers::Decisions&) { throw 7; };
  port.schedule({}, decisions_);
  EXPECT_EQ(port.faults().faults, 2u);
}

TEST_F(SchedulerPortTest, CutsOffACallWithTooManyRefusalsOrDecisionsAndCountsEachCallAnew) {
  SchedulerPort& port = make();
  int made = 0;
  scheduler_->on_schedule = [&](schedulers::Decisions& decisions) {
    for (made = 0; made < 100; ++made) (void)decisions.launch({}, {}, "");
  };
  for (int call = 1; call <= 2; ++call) {
    port.schedule({}, decisions_);
    EXPECT_EQ(made, 2) << "the third refusal ends the call";
    EXPECT_EQ(port.faults().refused, 3u * static_cast<unsigned>(call));
  }
  scheduler_->on_schedule = [&](schedulers::Decisions& decisions) {
    for (made = 0; made < 100; ++made) decisions.hold({}, {}, "");
  };
  port.schedule({}, decisions_);
  EXPECT_EQ(made, 5);
  EXPECT_EQ(port.faults().faults, 3u);
}

TEST_F(SchedulerPortTest, ASchedulerThatCannotStartIsAFault) {
  SchedulerPort& port = make();
  scheduler_->can_start = false;
  port.start();
  EXPECT_EQ(port.faults().fault.find("scheduler scripted could not start: "), 0u) << port.faults().fault;
}

TEST_F(SchedulerPortTest, AnotherSchedulerSeesTheOldOneAndAnErrorLeavesThatInPlace) {
  EXPECT_EQ(make().configure({}).error().code(), Code::unavailable);
  bool can_start = false;
  Scripted* next = nullptr;
  SchedulerPort& port = make([&](const std::string&, const auto&) -> Result<std::unique_ptr<schedulers::Scheduler>> {
    auto scheduler = std::make_unique<Scripted>();
    scheduler->can_start = can_start;
    next = scheduler.get();
    return scheduler;
  });
  EXPECT_FALSE(port.configure({}));
  port.notify({});
  EXPECT_EQ(scheduler_->notices.size(), 1u);
  can_start = true;
  const schedulers::Scheduler* old = scheduler_;
  ASSERT_TRUE(port.configure({}));
  EXPECT_EQ(next->started_after, old);
  port.notify({});
  EXPECT_EQ(next->notices.size(), 1u);
}

}  // namespace
}  // namespace weft::master
