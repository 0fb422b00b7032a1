// What every scheduler must keep, over random clusters, workloads and failures, in the real core.
#include <algorithm>
#include <cstdlib>

#include "base/random.hpp"
#include "base/sanitized.hpp"
#include "schedulers/builtin.hpp"
#include "tests/engine/master/core/core_driver.hpp"
#include "tests/engine/master/core/simulated.hpp"

namespace weft::master {
namespace {

using namespace test;
using schedulers::ClusterView;
using schedulers::Notice;
using schedulers::Resources;
using schedulers::Trigger;

const std::map<std::string, std::string> kFiles{{"pools.toml", R"(
[[pool]]
name = "a"
weight = 2
min_share = 2
min_share_timeout = "100ms"
fair_share_timeout = "200ms"
[[pool]]
name = "b"
policy = "fifo"
max_running_jobs = 1
[[pool]]
name = "c"
parent = "a"
)"},
                                                {"queues.toml", R"(
[[queue]]
name = "a"
capacity = 50
user_limit_percent = 50
user_limit_factor = 2
[[queue]]
name = "b"
capacity = 20
max_capacity = 60
[[queue]]
name = "c"
capacity = 30
priorities = true
)"}};

const std::vector<std::string> kSpecs{
    "fifo",
    "fair",
    "fair(pools=pools.toml, preemption=true, interval=150ms, update=50ms)",
    "capacity",
    "capacity(queues=queues.toml)",
    "delay(inner=fair, node_wait=50ms, rack_wait=50ms)",
    "delay(inner=fifo, skips=3)",
    "drf",
    "drf(by=user)",
    "drf(form=closed)",
    "drf(form=closed, mean=all, leftover=furthest, digits=2)",
    "sjf",
    "srtf",
    "sjf(size=remaining_path)",
    "cpm",
    "bfs(inner=drf)",
    "tetris",
    "tetris(fairness=0.5, srtf=false)",
    "cogrs(wait=50ms)",
    "cogrs(inner=tetris, wait=50ms)",
    "delay(inner=tetris, skips=3)",
    "drf(form=closed, leftover=[srtf, packing])",
    "fifo(stages=packing)",
    "fsp",
    "fsp(mode=paper, wait=none, stages=cpm)",
    "shufflewatcher(interval=20ms, window=50ms)",
    "shufflewatcher(mode=paper, interval=20ms, window=50ms)",
    "shufflewatcher(mode=paper, users=delay(inner=fair(pools=pools.toml), node_wait=50ms, rack_wait=50ms), "
    "interval=20ms, relaxed=50ms, starvation=200ms)",
    "shufflewatcher(users=capacity(queues=queues.toml), interval=20ms)",
    "adaptive",
    "adaptive(delays=2)",
    "adaptive(attribute=kind, late=last, stages=cpm)",
    "carbyne",
    "carbyne(loan=share)",
    "carbyne(mode=safe)",
    "carbyne(leftover=[planned, srtf, packing])",
    "carbyne(inter=capacity, queues=queues.toml, mode=safe, intra=dagps, altruism=0.5)",
    "carbyne(inter=fair, pools=pools.toml, intra=critical-path, mean=remaining)",
    "dagps(inner=fair)",
    "ras(cycle=200ms, react=20ms)",
    "reverse_adaptive(cycle=200ms, react=20ms)",
    "cogrs(inner=delay(inner=fair(pools=pools.toml), skips=2), wait=50ms)"};

std::unique_ptr<schedulers::Scheduler> make(const std::string& spec) {
  return schedulers::make_scheduler(spec, schedulers::reader_of(kFiles)).value();
}

/// Passes everything on to a scheduler, and notes what it should not have done.
class Watched final : public schedulers::Scheduler {
 public:
  Watched(const std::string& spec, std::vector<std::string>& faults)
      : inner_(make(spec)), faults_(faults), may_preempt_(spec.find("preemption=true") != std::string::npos) {}

  std::string_view name() const override { return inner_->name(); }
  Result<void> start(const ClusterView& view, schedulers::Scheduler* before) override {
    auto* watched = dynamic_cast<Watched*>(before);
    return inner_->start(view, watched == nullptr ? nullptr : watched->inner_.get());
  }
  Result<void> admit(const ClusterView& view, const schedulers::JobInfo& job) const override { return inner_->admit(view, job); }
  void on_event(const ClusterView& view, const Notice& notice) override { inner_->on_event(view, notice); }

  void schedule(const ClusterView& view, const Trigger& trigger, schedulers::Decisions& decisions) override {
    Watch watch(*this, view, decisions);
    inner_->schedule(view, trigger, watch);
    for (const auto& [id, node] : view.nodes()) {
      if (!schedulers::fits(node.used, {}, node.capacity)) fault("a node has more than its capacity");
      if (inner_->work_conserving() && (trigger.kind != Trigger::Kind::node || trigger.node == id)) check_idle(view, node);
    }
  }
  void speculate(const ClusterView& view, const Trigger& trigger, schedulers::Decisions& decisions) override {
    Watch watch(*this, view, decisions);
    inner_->speculate(view, trigger, watch);
    for (const auto& [id, node] : view.nodes()) {
      if (!schedulers::fits(node.used, {}, node.capacity)) fault("a node has more than its capacity of speculative attempts");
    }
  }
  void preplace(const ClusterView& view, const schedulers::Preplaceable& what, schedulers::Decisions& decisions) override {
    Watch watch(*this, view, decisions);
    inner_->preplace(view, what, watch);
  }

 private:
  class Watch final : public schedulers::Decisions {
   public:
    Watch(Watched& owner, const ClusterView& view, schedulers::Decisions& to) : owner_(owner), view_(view), to_(to) {}
    Result<void> launch(const TaskId& task, NodeId node, std::string_view reason) override {
      return note(to_.launch(task, node, reason));
    }
    Result<void> preempt(const AttemptId& attempt, std::string_view reason) override {
      if (!owner_.may_preempt_) owner_.fault("it preempts");
      for (const auto& [id, node] : view_.nodes()) {
        if (node.running.contains(attempt)) check_newest(attempt, node);
      }
      return note(to_.preempt(attempt, reason));
    }
    Result<void> preplace(const TaskId& task, NodeId node, std::string_view reason) override {
      return note(to_.preplace(task, node, reason));
    }
    void hold(JobId job, std::optional<StageId> stage, std::string_view reason) override {
      if (view_.job(job) == nullptr) owner_.fault("a reason for a job that is not there");
      to_.hold(job, stage, reason);
    }
    void wake_at(Time at) override { to_.wake_at(at); }

   private:
    /// Of attempts that make the same room, the newest goes first.
    void check_newest(const AttemptId& attempt, const schedulers::NodeInfo& node) {
      for (const AttemptId& other : node.running) {
        if (other.task.job == attempt.task.job && demand(other) == demand(attempt) &&
            *view_.launched(other) > *view_.launched(attempt))
          owner_.fault("not the newest of its job, of those on its node that make the same room");
      }
    }
    Resources demand(const AttemptId& attempt) const { return view_.stage(attempt.task.job, attempt.task.stage)->demand; }

    Result<void> note(Result<void> done) {
      if (!done) owner_.fault("refused: " + done.error().to_string());
      return done;
    }
    Watched& owner_;
    const ClusterView& view_;
    schedulers::Decisions& to_;
  };

  void check_idle(const ClusterView& view, const schedulers::NodeInfo& node) {
    if (!node.usable()) return;
    for (const auto& [id, job] : view.jobs()) {
      for (StageId stage_id : job.runnable) {
        const schedulers::StageInfo& stage = *job.stage(stage_id);
        if (!schedulers::fits(stage.demand, node.used, node.capacity)) continue;
        if (stage.pending.pick(node.id, node.host, node.rack)) return fault("room is idle while a task fits");
      }
    }
  }
  void fault(std::string what) { faults_.push_back(std::move(what)); }

  std::unique_ptr<schedulers::Scheduler> inner_;
  std::vector<std::string>& faults_;
  bool may_preempt_;
};

SimulatedOptions random_cluster(std::uint64_t seed) {
  Random random(seed);
  SimulatedOptions options;
  options.seed = seed;
  options.nodes = 1 + static_cast<std::uint32_t>(random.below(5));
  options.slots = 1 + static_cast<std::uint32_t>(random.below(4));
  options.racks = 1 + static_cast<std::uint32_t>(random.below(3));
  if (random.chance(0.5)) options.memory = 8;
  options.failure_rate = random.chance(0.4) ? 0.05 : 0;
  options.loss_rate = random.chance(0.3) ? 0.05 : 0;
  if (random.chance(0.5)) options.between_deaths = std::chrono::milliseconds(random.between(500, 4000));
  options.core.heartbeat_timeout = std::chrono::seconds(2);
  if (random.chance(0.3)) options.core.slow_start = random.uniform();
  if (random.chance(0.3)) options.core.preplace_at = random.uniform();
  if (random.chance(0.2)) options.core.decide_every = std::chrono::milliseconds(random.between(1, 50));
  if (random.chance(0.4)) {
    options.straggler_rate = 0.2;
    options.core.speculation =
        parse_speculation("on(slower=1.5, shortest=30ms, finished=0.25, every=20ms, per_cluster=0.5)").value();
  }
  options.hot_bytes = random.chance(0.3) ? 1u << 20 : 0;
  options.core.split_bytes = 1u << 20;
  return options;
}

/// Sources with data somewhere, and readers of earlier stages.
plan::PlanPart random_plan(Random& random, std::uint32_t nodes) {
  const auto stages_count = static_cast<std::uint32_t>(1 + random.below(4));
  std::vector<plan::Stage> stages;
  for (std::uint32_t id = 0; id < stages_count; ++id) {
    plan::Stage stage;
    if (id == 0 || random.chance(0.4)) {
      stage = source(id, static_cast<std::uint32_t>(random.below(12)), 3);
      for (std::uint32_t i = 0; i < stage.branches[0].tasks; ++i) {
        storage::Split split;
        split.path = "input";
        split.length = 100;
        for (std::uint64_t r = random.below(3); r > 0; --r)
          split.hosts.push_back(fmt::format("host-{}", 1 + random.below(nodes + 1)));
        stage.branches[0].splits.push_back({split});
      }
    } else {
      stage = reader(id, {static_cast<std::uint32_t>(random.below(id))}, 3, 3);
    }
    if (random.chance(0.5)) stage.demand = Resources{.cpu = 1, .memory = static_cast<double>(random.below(8))};
    if (random.chance(0.5)) stage.estimated_task_duration = std::chrono::milliseconds(1 + random.below(200));
    stages.push_back(std::move(stage));
  }
  stages.push_back(result(reader(stages_count, {stages_count - 1}, 3, 0)));
  return part(0, std::move(stages));
}

struct Outcome {
  std::unique_ptr<SimulatedCluster> cluster;
  std::vector<std::string> faults;
  bool ended = false;
};

std::unique_ptr<Outcome> run(const std::string& spec, std::uint64_t seed) {
  auto outcome = std::make_unique<Outcome>();
  const SimulatedOptions options = random_cluster(seed);
  outcome->cluster = std::make_unique<SimulatedCluster>(options, std::make_unique<Watched>(spec, outcome->faults));
  SimulatedCluster& cluster = *outcome->cluster;
  Random random(seed + 1);
  std::vector<JobId> jobs;
  const std::uint64_t count = 1 + random.below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    JobSubmitted job;
    job.options.user = std::string(1, static_cast<char>('u' + random.below(3)));
    job.options.pool = std::string(1, static_cast<char>('a' + random.below(3)));
    job.options.priority = static_cast<int>(random.below(2));
    job.options.max_attempts = 8;
    job.hints.weight = 1 + static_cast<double>(random.below(3));
    jobs.push_back(cluster.submit(std::move(job)));
    cluster.extend(jobs.back(), random_plan(random, options.nodes));
    for (std::uint64_t steps = random.below(30); steps > 0; --steps) cluster.step();
    if (random.chance(0.05)) cluster.kill(jobs[random.below(jobs.size())], "test");
  }
  outcome->ended = cluster.run(std::chrono::hours(1));
  for (JobId job : jobs) cluster.close(job);
  return outcome;
}

std::uint64_t seeds() { return std::getenv("WEFT_LONG") != nullptr ? 3000 : kSanitized ? 50 : 150; }

class EveryScheduler : public testing::TestWithParam<std::string> {};

TEST_P(EveryScheduler, RunsEveryTaskOfRandomWorkloadsWithinItsPromises) {
  std::uint64_t second_attempts = 0;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    const auto outcome = run(GetParam(), seed);
    const SimulatedCluster& cluster = *outcome->cluster;
    ASSERT_TRUE(outcome->ended) << "seed " << seed << ": stuck";
    ASSERT_TRUE(outcome->faults.empty()) << "seed " << seed << ": " << outcome->faults.front();
    ASSERT_TRUE(cluster.violations().empty()) << "seed " << seed << ": " << cluster.violations().front();
    ASSERT_EQ(outcome->cluster->core().scheduler_faults().faults, 0u)
        << "seed " << seed << ": " << outcome->cluster->core().scheduler_faults().fault;
    ASSERT_EQ(outcome->cluster->core().view().used(), Resources()) << "seed " << seed;
    second_attempts += cluster.second_attempts();
  }
  EXPECT_GT(second_attempts, seeds() / 4);
}

/// Readers that started early fill what the scheduler lets their queue have; the tasks they wait for must run all the same.
TEST(Schedulers, LimitsNeverLeaveEarlyReadersWaitingForEver) {
  for (const auto& [spec, seed] :
       {std::pair("capacity(queues=queues.toml)", 324u), std::pair("tetris(fairness=0.5, srtf=false)", 231u)})
    EXPECT_TRUE(run(spec, seed)->ended) << spec;
}

TEST_P(EveryScheduler, RepeatsItselfByteForByte) {
  for (std::uint64_t seed = 1; seed <= seeds() / 10; ++seed) {
    const auto first = run(GetParam(), seed), second = run(GetParam(), seed);
    ASSERT_EQ(first->cluster->event_lines(), second->cluster->event_lines()) << "seed " << seed;
    ASSERT_EQ(first->cluster->command_log(), second->cluster->command_log()) << "seed " << seed;
    // The same events lead another core, another scheduler object, to the same commands.
    Core core(make(GetParam()), random_cluster(seed).core);
    std::vector<Command> commands;
    ASSERT_TRUE(replay(first->cluster->events(), core, commands)) << "seed " << seed;
    std::string log;
    for (const Command& command : commands) log += to_text(command) + '\n';
    ASSERT_EQ(log, first->cluster->command_log()) << "seed " << seed;
  }
}

/// Every task that waits is in the explanation of its job, with a reason; when it could run somewhere at once, with one that the
/// scheduler recorded.
void expect_explained(const Core& core, const std::string& where) {
  for (const auto& [id, job] : core.view().jobs()) {
    const auto explained = core.explain(id);
    ASSERT_TRUE(explained) << where;
    std::uint64_t pending = 0;
    for (const WaitingTasks& group : explained->waiting) {
      ASSERT_FALSE(group.reason.empty()) << where;
      if (group.why == WaitingTasks::Why::parents || group.why == WaitingTasks::Why::outputs) continue;
      pending += group.tasks;
      const schedulers::StageInfo& stage = *job.stage(group.stage);
      const bool could_run = std::any_of(core.view().nodes().begin(), core.view().nodes().end(), [&](const auto& entry) {
        const schedulers::NodeInfo& node = entry.second;
        return node.usable() && schedulers::fits(stage.demand, node.used, node.capacity) &&
               stage.pending.pick(node.id, node.host, node.rack).has_value();
      });
      ASSERT_TRUE(group.why != WaitingTasks::Why::held || !could_run || group.since)
          << where << ": stage " << group.stage.value() << " of job " << id.value() << " has room and waits: " << group.reason;
    }
    ASSERT_EQ(pending, job.pending) << where;
  }
}

TEST_P(EveryScheduler, SaysOfEveryWaitingTaskWhyItWaits) {
  std::uint64_t looks = 0;
  for (std::uint64_t seed = 1; seed <= seeds() / 3; ++seed) {
    SimulatedOptions options = random_cluster(seed);
    options.core.decide_every = Time(0);  // else it has not been asked yet
    SimulatedCluster cluster(options, make(GetParam()));
    Random random(seed + 1);
    for (std::uint64_t count = 2 + random.below(5); count > 0; --count) {
      JobSubmitted job;
      job.options.user = std::string(1, static_cast<char>('u' + random.below(3)));
      job.options.pool = std::string(1, static_cast<char>('a' + random.below(3)));
      job.options.max_attempts = 8;
      cluster.extend(cluster.submit(std::move(job)), random_plan(random, options.nodes));
      for (std::uint64_t steps = random.below(20); steps > 0; --steps) {
        cluster.step();
        ASSERT_NO_FATAL_FAILURE(expect_explained(cluster.core(), fmt::format("seed {} at {} ns", seed, cluster.now().count())));
        ++looks;
      }
    }
  }
  EXPECT_GT(looks, seeds());
}

/// Another scheduler, or another configuration, may take over at any time: what is pending goes on, promises hold.
TEST(Schedulers, TakeOverFromEachOtherWhileJobsRun) {
  std::size_t changes = 0;
  for (std::uint64_t seed = 1; seed <= 4 * seeds(); ++seed) {
    std::vector<std::string> faults;
    auto watched = [&faults](const std::string& spec, const auto&) -> Result<std::unique_ptr<schedulers::Scheduler>> {
      return std::make_unique<Watched>(spec, faults);
    };
    Random random(seed);
    auto any = [&random] { return kSpecs[random.below(kSpecs.size())]; };
    const SimulatedOptions options = random_cluster(seed);
    SimulatedCluster cluster(options, *watched(any(), 0), watched);
    for (std::uint64_t jobs = 1 + random.below(4); jobs > 0; --jobs) {
      JobSubmitted job;
      job.options.user = std::string(1, static_cast<char>('u' + random.below(3)));
      job.options.pool = std::string(1, static_cast<char>('a' + random.below(3)));
      job.options.max_attempts = 8;
      cluster.extend(cluster.submit(std::move(job)), random_plan(random, options.nodes));
    }
    for (int change = 0; change < 6; ++change) {
      for (std::uint64_t steps = random.below(30); steps > 0; --steps) cluster.step();
      changes += cluster.configure(any()) ? 1u : 0u;
    }
    ASSERT_TRUE(cluster.run(std::chrono::hours(1))) << "seed " << seed << ": stuck";
    ASSERT_TRUE(faults.empty()) << "seed " << seed << ": " << faults.front();
    ASSERT_TRUE(cluster.violations().empty()) << "seed " << seed << ": " << cluster.violations().front();
    ASSERT_EQ(cluster.core().scheduler_faults().faults, 0u) << "seed " << seed << ": " << cluster.core().scheduler_faults().fault;
  }
  EXPECT_GT(changes, seeds());
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = fmt::format("{}_", info.index);
  for (char c : info.param) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, EveryScheduler, testing::ValuesIn(kSpecs), test_name);

}  // namespace
}  // namespace weft::master
