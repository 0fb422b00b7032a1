// Speculative attempts: which tasks are given one, where, and what becomes of the two.
#include "engine/master/core/speculation.hpp"

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class SpeculativeAttempts : public testing::Test {
 protected:
  static CoreOptions options(const std::string& text) {
    return {.heartbeat_timeout = Time(0), .speculation = parse_speculation(text).value()};
  }
  void start(const std::string& text = "on", std::uint32_t nodes = 4, double slots = 2) {
    driver = std::make_unique<Driver>(options(text));
    for (std::uint32_t node = 1; node <= nodes; ++node) driver->join(node, slots);
    driver->submit(1);
  }
  /// Time passes, and timers that are due fire, in order.
  void pass_to(Time until) {
    for (;;) {
      const SetTimer* next = nullptr;
      for (const SetTimer* timer : driver->all<SetTimer>()) {
        if (fired.contains(timer->timer) || timer->at > until) continue;
        if (next == nullptr || timer->at < next->at) next = timer;
      }
      if (next == nullptr) break;
      const SetTimer due = *next;
      fired.insert(due.timer);
      driver->now = std::max(driver->now, due.at);
      ASSERT_TRUE(driver->apply(TimerFired{due.timer}));
    }
    driver->now = std::max(driver->now, until);
  }
  /// All tasks of a source but those named finish after a second.
  void finish_all_but(const std::set<std::uint32_t>& tasks) {
    pass_to(driver->now + seconds(1));
    const auto running = driver->running;
    for (const auto& [attempt, node] : running) {
      if (tasks.contains(attempt.task.index)) continue;
      ASSERT_TRUE(driver->finish(attempt));
    }
  }
  std::vector<const LaunchTask*> seconds_launched() const {
    std::vector<const LaunchTask*> found;
    for (const auto* launch : driver->all<LaunchTask>()) {
      if (launch->speculative) found.push_back(launch);
    }
    return found;
  }
  AttemptId attempt(std::uint32_t task, std::uint32_t number) const { return {{JobId(1), StageId(0), task}, number}; }
  StageStatus stage() const { return driver->core.job(JobId(1))->stages.at(0); }

  std::unique_ptr<Driver> driver;
  std::set<std::uint64_t> fired;
};

TEST_F(SpeculativeAttempts, AreGivenToATaskThatTakesMuchLongerThanOthersOfItsStageOnAnotherNode) {
  start("on(slower=2, shortest=5s)");
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 8, 0))})));
  const NodeId first = driver->running.at(attempt(3, 0));
  finish_all_but({3});
  pass_to(milliseconds(4900));
  EXPECT_TRUE(seconds_launched().empty()) << "younger than five seconds";
  pass_to(seconds(6));
  ASSERT_EQ(seconds_launched().size(), 1u);
  EXPECT_EQ(seconds_launched()[0]->attempt, attempt(3, 1));
  EXPECT_NE(seconds_launched()[0]->node, first);
  EXPECT_EQ(stage().speculative, 1u);
  EXPECT_EQ(stage().speculating, 1u);
  EXPECT_TRUE(has(driver->core.explain(JobId(1))->summary, "1 in two attempts")) << driver->core.explain(JobId(1))->summary;

  // The second finishes first: the first is killed, and what it says later is refused.
  ASSERT_TRUE(driver->finish(attempt(3, 1)));
  ASSERT_EQ(driver->all<KillTask>().size(), 1u);
  EXPECT_EQ(driver->last<KillTask>()->attempt, attempt(3, 0));
  EXPECT_EQ(driver->last<KillTask>()->node, first);
  EXPECT_EQ(driver->last<KillTask>()->cause, KillCause::lost_race);
  EXPECT_EQ(driver->finish(attempt(3, 0), first).error().code(), Code::cancelled);
  EXPECT_EQ(driver->last<ActionFinished>()->results.at(0).size(), 8u);
  EXPECT_EQ(stage().speculative_won, 1u);
  const StageAttempts attempts = stage().usage.attempts;
  EXPECT_EQ(std::tie(attempts.first, attempts.retried, attempts.finished, attempts.killed), std::tuple(8u, 0u, 8u, 1u));
  EXPECT_EQ(driver->core.job(JobId(1))->counters.at("tasks"), 8) << "counted once";
  EXPECT_EQ(driver->core.view().used(), schedulers::Resources());
}

TEST_F(SpeculativeAttempts, AreNotGivenToTasksOfAJobThatWantsNone) {
  start("on(slower=2, shortest=5s)");
  JobSubmitted quiet{JobId(2), "quiet", {}, {}, {}};
  quiet.options.speculate = Switch::off;
  ASSERT_TRUE(driver->apply(std::move(quiet)));
  ASSERT_TRUE(driver->extend(2, part(0, {result(source(0, 8, 0))})));
  finish_all_but({3});
  pass_to(seconds(20));
  EXPECT_TRUE(seconds_launched().empty());
  EXPECT_EQ(driver->running.size(), 1u) << "the slow task goes on";
}

TEST_F(SpeculativeAttempts, AreKilledWhenTheFirstFinishesAfterAll) {
  start();
  ASSERT_TRUE(driver->extend(1, part(0, {source(0, 4, 2), result(reader(1, {0}, 2, 0))})));
  finish_all_but({0});
  pass_to(seconds(7));
  ASSERT_EQ(seconds_launched().size(), 1u);
  ASSERT_TRUE(driver->finish(attempt(0, 0)));
  EXPECT_EQ(driver->last<KillTask>()->attempt, attempt(0, 1));
  EXPECT_EQ(stage().speculative_won, 0u);
  // Readers are told of the attempt that counts, although a later one was started.
  ASSERT_NE(driver->last<ShuffleLocations>(), nullptr);
  EXPECT_EQ(driver->last<ShuffleLocations>()->outputs->at(0).attempt, 0u);
  EXPECT_EQ(driver->drain(), 2u);
  EXPECT_NE(driver->last<ActionFinished>(), nullptr);
}

TEST_F(SpeculativeAttempts, TakeOverWhenTheFirstIsLostAndTheTaskIsNotStartedAThirdTime) {
  start();
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 8, 0))})));
  finish_all_but({5});
  pass_to(seconds(7));
  ASSERT_EQ(seconds_launched().size(), 1u);
  const std::size_t launches = driver->launches(0);
  ASSERT_TRUE(driver->lose(driver->running.at(attempt(5, 0)).value()));
  driver->running.erase(attempt(5, 0));
  EXPECT_EQ(driver->launches(0), launches);
  EXPECT_EQ(stage().speculating, 0u);
  EXPECT_EQ(stage().running, 1u);
  ASSERT_TRUE(driver->finish(attempt(5, 1)));
  EXPECT_NE(driver->last<ActionFinished>(), nullptr);
}

TEST_F(SpeculativeAttempts, ThatFailCountAsFailuresAndLeaveTheFirstRunning) {
  start();
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 8, 0))})));
  finish_all_but({5});
  pass_to(seconds(7));
  ASSERT_EQ(seconds_launched().size(), 1u);
  const NodeId failed_on = driver->running.at(attempt(5, 1));
  ASSERT_TRUE(driver->fail_task(attempt(5, 1)));
  EXPECT_EQ(stage().failed_attempts, 1u);
  EXPECT_EQ(stage().running, 1u);
  EXPECT_EQ(driver->core.view().stage(JobId(1), StageId(0))->tasks[5].ended, Time(0)) << "the task has not";
  pass_to(seconds(9));
  ASSERT_EQ(seconds_launched().size(), 2u) << "it still takes long";
  EXPECT_NE(seconds_launched()[1]->node, failed_on);
  EXPECT_NE(seconds_launched()[1]->node, driver->running.at(attempt(5, 0)));
  ASSERT_TRUE(driver->finish(attempt(5, 0)));
  EXPECT_NE(driver->last<ActionFinished>(), nullptr);
}

TEST_F(SpeculativeAttempts, WaitUntilNothingElseHasAUseForTheRoom) {
  start("on", 2, 1);
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 5, 0))})));
  const AttemptId slow = driver->running.begin()->first;
  driver->submit(2);
  ASSERT_TRUE(driver->extend(2, part(0, {result(source(0, 1, 0))})));  // gets the slot of the last task of job 1 but the slow one
  for (int i = 0; i < 4; ++i) {
    pass_to(driver->now + seconds(1));
    for (const auto& [attempt, node] : std::map(driver->running)) {
      if (attempt == slow) continue;
      ASSERT_TRUE(driver->finish(attempt));
    }
  }
  ASSERT_EQ(driver->running.size(), 2u);
  ASSERT_TRUE(driver->is_running(2, 0, 0)) << "job 2 goes first";
  pass_to(seconds(60));
  EXPECT_TRUE(seconds_launched().empty()) << "there is no slot";
  EXPECT_TRUE(has(driver->core.explain(JobId(1))->summary, "until another worker has room"))
      << driver->core.explain(JobId(1))->summary;
  ASSERT_TRUE(driver->finish(driver->running_attempt(2, 0, 0)));
  EXPECT_EQ(seconds_launched().size(), 1u);
}

TEST_F(SpeculativeAttempts, AreAsManyAsTheCapsAllow) {
  start("on(per_cluster=0.25)", 4, 5);
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 20, 0))})));
  std::set<std::uint32_t> slow;
  for (const auto& [attempt, node] : driver->running) {
    if (node.value() == 1) slow.insert(attempt.task.index);
  }
  ASSERT_EQ(slow.size(), 5u);
  finish_all_but(slow);
  pass_to(seconds(30));
  EXPECT_EQ(seconds_launched().size(), 5u) << "a quarter of 20 slots";
  start("on(per_cluster=0.1)", 4, 5);
  fired.clear();
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 20, 0))})));
  finish_all_but(slow);
  pass_to(seconds(30));
  EXPECT_EQ(seconds_launched().size(), 2u);
  ASSERT_TRUE(driver->finish(seconds_launched()[0]->attempt));
  pass_to(seconds(32));
  EXPECT_EQ(seconds_launched().size(), 3u) << "one has ended";
}

TEST_F(SpeculativeAttempts, NeverGoToANodeThatIsSlowOrExcluded) {
  start("on(per_cluster=1)", 3, 4);
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 12, 0))})));
  std::set<std::uint32_t> slow;
  for (const auto& [attempt, node] : driver->running) {
    if (node.value() == 2 && slow.size() < 3) slow.insert(attempt.task.index);
    if (node.value() == 1 && slow.empty()) slow.insert(attempt.task.index);
  }
  finish_all_but(slow);
  pass_to(seconds(60));
  ASSERT_FALSE(seconds_launched().empty());
  for (const auto* launch : seconds_launched()) EXPECT_EQ(launch->node, NodeId(3)) << "node 2 is slow";
}

TEST_F(SpeculativeAttempts, AreNotGivenToTasksThatReadSomuchMore) {
  start("on(slower=2, shortest=1s)");
  plan::Stage stage = source(0, 8, 0);
  for (std::uint32_t i = 0; i < 8; ++i) {
    storage::Split split;
    split.path = "input";
    split.length = i == 3 ? 10'000 : 1'000;
    stage.branches[0].splits.push_back({split});
  }
  ASSERT_TRUE(driver->extend(1, part(0, {result(std::move(stage))})));
  pass_to(seconds(1));
  for (const auto& [attempt, node] : std::map(driver->running)) {
    if (attempt.task.index == 3) continue;
    TaskFinished event;
    event.attempt = attempt;
    event.node = node;
    event.input_bytes = 1'000;
    ASSERT_TRUE(driver->apply(std::move(event)));
    driver->running.erase(attempt);
  }
  pass_to(seconds(19));
  EXPECT_TRUE(seconds_launched().empty()) << "ten times the bytes, ten times the time";
  pass_to(seconds(22));
  EXPECT_EQ(seconds_launched().size(), 1u);
}

TEST_F(SpeculativeAttempts, AreMeasuredAgainstEstimatesWhenNothingHasFinished) {
  start();
  plan::Stage stage = source(0, 1, 0);
  stage.estimated_task_duration = seconds(10);
  ASSERT_TRUE(driver->extend(1, part(0, {result(std::move(stage))})));
  pass_to(seconds(14));
  EXPECT_TRUE(seconds_launched().empty());
  pass_to(seconds(17));
  EXPECT_EQ(seconds_launched().size(), 1u);
}

TEST_F(SpeculativeAttempts, AreSwitchedOffAndOnByTheConfiguration) {
  driver = std::make_unique<Driver>(schedulers::make_scheduler("fifo").value(), options("off"),
                                    [](const std::string& spec, const auto&) -> Result<std::unique_ptr<schedulers::Scheduler>> {
                                      return schedulers::make_scheduler(spec);
                                    });
  for (std::uint32_t node = 1; node <= 4; ++node) driver->join(node, 2);
  driver->submit(1);
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 8, 0))})));
  finish_all_but({3});
  pass_to(seconds(60));
  EXPECT_TRUE(seconds_launched().empty());
  ASSERT_TRUE(driver->apply(SchedulerConfigured{"fifo", {}, parse_speculation("on").value()}));
  pass_to(seconds(62));
  EXPECT_EQ(seconds_launched().size(), 1u) << "tasks that ran before are looked at";
  ASSERT_TRUE(driver->apply(SchedulerConfigured{"fifo", {}}));
  EXPECT_TRUE(driver->core.configuration().speculation->on) << "as before";
}

/// Tries what must not be; then what may.
class Pushing final : public schedulers::Scheduler {
 public:
  explicit Pushing(std::vector<std::string>& refusals) : refusals_(refusals) {}
  std::string_view name() const override { return "pushing"; }
  void schedule(const schedulers::ClusterView& view, const schedulers::Trigger&, schedulers::Decisions& decisions) override {
    for (std::uint32_t i = 0; i < 4 && !view.runnable_jobs().empty(); ++i) {
      const auto launched = decisions.launch({JobId(1), StageId(0), i}, NodeId(1 + i % 2), "");
      if (!launched) refusals_.push_back(launched.error().to_string());
    }
  }
  void speculate(const schedulers::ClusterView& view, const schedulers::Trigger&, schedulers::Decisions& decisions) override {
    const TaskId task = *view.stragglers().begin();
    for (NodeId node : {view.task(task)->node, NodeId(77), NodeId(3)}) {
      const auto launched = decisions.launch(task, node, "");
      if (!launched) refusals_.push_back(launched.error().to_string());
    }
    const auto again = decisions.launch(task, NodeId(2), "");
    if (!again) refusals_.push_back(again.error().to_string());
  }

 private:
  std::vector<std::string>& refusals_;
};

TEST_F(SpeculativeAttempts, AreRefusedWhereTheyHaveNoPlace) {
  std::vector<std::string> refusals;
  driver = std::make_unique<Driver>(std::make_unique<Pushing>(refusals), options("on"));
  for (std::uint32_t node = 1; node <= 3; ++node) driver->join(node, 2);
  driver->submit(1);
  ASSERT_TRUE(driver->extend(1, part(0, {result(source(0, 4, 0))})));
  finish_all_but({0});
  pass_to(seconds(10));
  ASSERT_EQ(refusals.size(), 3u);
  EXPECT_TRUE(has(refusals[0], "runs there already")) << refusals[0];
  EXPECT_TRUE(has(refusals[1], "there is no node 77")) << refusals[1];
  EXPECT_TRUE(has(refusals[2], "is running already")) << refusals[2];
  EXPECT_EQ(seconds_launched().size(), 1u);
  EXPECT_EQ(driver->core.scheduler_faults().refused, 3u);
}

TEST(SpeculationText, IsReadAndWrittenAndRefusedWithAReason) {
  EXPECT_FALSE(parse_speculation("off").value().on);
  EXPECT_EQ(parse_speculation("on").value(), Speculation{.on = true});
  const auto made = parse_speculation("on(slower=2.5, shortest=3s, finished=0.3, every=250ms, per_job=0.3, per_cluster=0.7)");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->shortest, seconds(3));
  for (const std::string& text : std::vector<std::string>{"off", "on", to_string(*made)})
    EXPECT_EQ(parse_speculation(to_string(parse_speculation(text).value())).value(), parse_speculation(text).value()) << text;
  for (const auto& [text, part] : std::map<std::string, std::string>{{"maybe", "say on, off"},
                                                                     {"on(slower=0.5)", "slower"},
                                                                     {"on(finished=2)", "finished"},
                                                                     {"on(shortest=fast)", "shortest"},
                                                                     {"on(every=0s)", "every"},
                                                                     {"on(slwoer=2)", "slwoer"},
                                                                     {"on(slower=2", "("},
                                                                     {"off(slower=2)", "slower"}}) {
    const auto refused = parse_speculation(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_TRUE(has(refused.error().to_string(), part)) << refused.error().to_string();
  }
}

}  // namespace
}  // namespace weft::master
