// A scheduler that behaves badly: throws, decides nonsense, never has enough. The core refuses, records, and goes on.
#include <functional>
#include <stdexcept>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master::test {
namespace {

using schedulers::ClusterView;
using schedulers::Decisions;
using schedulers::Notice;
using schedulers::Trigger;

class Scripted final : public schedulers::Scheduler {
 public:
  using Script = std::function<void(const ClusterView&, const Trigger&, Decisions&)>;
  explicit Scripted(Script script, std::function<void(const Notice&)> hear = {})
      : script_(std::move(script)), hear_(std::move(hear)) {}
  std::string_view name() const override { return "scripted"; }
  void on_event(const ClusterView&, const Notice& notice) override {
    if (hear_) hear_(notice);
  }
  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override {
    script_(view, trigger, decisions);
  }

 private:
  Script script_;
  std::function<void(const Notice&)> hear_;
};

TaskId first_task() { return {JobId(1), StageId(0), 0}; }

/// A cluster of one node with two slots and a job of three tasks, under the scripted scheduler.
class SchedulerFaults : public testing::Test {
 protected:
  void start(Scripted::Script script, CoreOptions options = {}, std::function<void(const Notice&)> hear = {}) {
    driver = std::make_unique<Driver>(std::make_unique<Scripted>(std::move(script), std::move(hear)), options);
    driver->join(1, 2);
    driver->submit(1);
    ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 3, 0))})));
  }
  Result<void> beat() { return driver->apply(WorkerHeartbeat{NodeId(1)}); }
  std::string reason() { return driver->core.job(JobId(1))->stages.at(0).reason; }

  std::unique_ptr<Driver> driver;
};

TEST_F(SchedulerFaults, ASchedulerThatThrowsIsRecordedAndWhatItDecidedBeforeStands) {
  start([](const ClusterView& view, const Trigger&, Decisions& decisions) {
    if (view.free_nodes().empty() || view.runnable_jobs().empty()) return;
    (void)decisions.launch(first_task(), NodeId(1), "first");
    throw std::runtime_error("out of ideas");
  });
  EXPECT_TRUE(driver->is_running(1, 0, 0));
  EXPECT_GE(driver->core.scheduler_faults().faults, 1u);
  EXPECT_EQ(driver->core.scheduler_faults().fault, "scheduler scripted threw: out of ideas");
  const auto before = driver->core.scheduler_faults().faults;
  EXPECT_TRUE(beat());  // events go on being accepted, the scheduler goes on being asked
  EXPECT_EQ(driver->core.scheduler_faults().faults, before + 1);
  EXPECT_NE(driver->core.explain(JobId(1))->summary.find("out of ideas"), std::string::npos);
}

TEST_F(SchedulerFaults, ASchedulerThatThrowsWhenToldOfAnEventIsRecorded) {
  start([](const ClusterView&, const Trigger&, Decisions&) {}, {}, [](const Notice&) { throw 7; });
  EXPECT_GE(driver->core.scheduler_faults().faults, 3u);  // node, job, stage
  EXPECT_NE(driver->core.scheduler_faults().fault.find("no std::exception"), std::string::npos);
}

TEST_F(SchedulerFaults, NonsenseIsRefusedRecordedAndChangesNothing) {
  std::vector<std::string> refusals;
  start([&](const ClusterView& view, const Trigger&, Decisions& decisions) {
    if (view.runnable_jobs().empty() || !refusals.empty()) return;
    const auto say = [&](Result<void> done) { refusals.push_back(done ? "accepted" : done.error().message()); };
    say(decisions.launch(first_task(), NodeId(9), ""));                        // unknown node
    say(decisions.launch({JobId(1), StageId(4), 0}, NodeId(1), ""));           // unknown stage
    say(decisions.launch({JobId(1), StageId(0), 99}, NodeId(1), ""));          // unknown task
    say(decisions.launch(first_task(), NodeId(1), ""));                        // fine
    say(decisions.launch(first_task(), NodeId(1), ""));                        // twice
    say(decisions.launch({JobId(1), StageId(0), 1}, NodeId(1), ""));           // fine
    say(decisions.launch({JobId(1), StageId(0), 2}, NodeId(1), ""));           // more than the node has
    say(decisions.preempt({{JobId(1), StageId(0), 2}, 0}, "not running"));     // not running
    say(decisions.preempt({first_task(), 3}, "no such attempt"));              // another attempt
    say(decisions.preplace({JobId(1), StageId(0), 2}, NodeId(7), "nowhere"));  // unknown node
    say(decisions.preplace(first_task(), NodeId(1), "too late"));              // running already
    decisions.hold(JobId(8), StageId(8), "no such job");
  });
  ASSERT_EQ(refusals.size(), 11u);
  const std::vector<std::string> expected = {"no node 9",       "there is no", "there is no",     "accepted",
                                             "running already", "accepted",    "no room",         "is not running",
                                             "is not running",  "no node 7",   "launched already"};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NE(refusals[i].find(expected[i]), std::string::npos) << refusals[i];
  EXPECT_EQ(driver->core.scheduler_faults().refused, 9u);
  EXPECT_EQ(driver->core.scheduler_faults().faults, 0u);
  EXPECT_EQ(driver->running.size(), 2u);
  EXPECT_EQ(driver->core.view().node(NodeId(1))->used.cpu, 2);
}

TEST_F(SchedulerFaults, ACallThatIsRefusedTooOftenIsCutOff) {
  std::uint64_t asked = 0;
  start(
      [&](const ClusterView& view, const Trigger&, Decisions& decisions) {
        if (view.runnable_jobs().empty()) return;
        while (!decisions.launch(first_task(), NodeId(9), "")) ++asked;  // would never end
      },
      {.max_refusals = 50});
  EXPECT_EQ(asked, 49u);
  EXPECT_NE(driver->core.scheduler_faults().fault.find("cut off after 50 refused decisions"), std::string::npos);
  EXPECT_NE(driver->core.scheduler_faults().fault.find("no node 9"), std::string::npos);
  EXPECT_NE(reason().find("no node 9"), std::string::npos) << reason();
}

TEST_F(SchedulerFaults, ACallThatLaunchesAndPreemptsForEverIsCutOff) {
  start(
      [&](const ClusterView& view, const Trigger&, Decisions& decisions) {
        while (!view.runnable_jobs().empty()) {
          if (!decisions.launch(first_task(), NodeId(1), "")) return;
          (void)decisions.preempt({first_task(), view.task(first_task())->attempts - 1}, "changed its mind");
        }
      },
      {.max_decisions = 1001});
  EXPECT_NE(driver->core.scheduler_faults().fault.find("1001 decisions"), std::string::npos);
  EXPECT_LE(driver->core.view().node(NodeId(1))->running.size(), 1u);  // consistent
}

}  // namespace
}  // namespace weft::master::test
