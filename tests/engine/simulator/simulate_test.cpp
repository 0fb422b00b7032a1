// Runs worked out by hand, and what holds in any run.
#include <set>

#include "base/sanitized.hpp"
#include "engine/simulator/placement.hpp"
#include "engine/simulator/watched.hpp"
#include "schedulers/view/state.hpp"
#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator {
namespace {

using namespace test;

TEST(Simulate, OneJobTakesItsWavesAndABarrierBetweenItsStages) {
  const Workload workload = jobs({job(seconds(10), {stage(5, seconds(4)), stage(2, seconds(3), {0})})});
  const RunResult result = run(workload, cluster(1, 2));
  EXPECT_EQ(result.jobs[0].completion_time(), seconds(3 * 4 + 3));
  EXPECT_EQ(result.jobs[0].started, seconds(10));
  EXPECT_EQ(result.makespan, seconds(15));
  EXPECT_EQ(result.jobs[0].work.useful, seconds(5 * 4 + 2 * 3));
  EXPECT_DOUBLE_EQ(result.utilisation.cpu, 26.0 / (2 * 15)) << "of the makespan, which begins with the first arrival";
  EXPECT_EQ(result.launches, 7u);
}

TEST(Simulate, ALongJobInFrontOfFifoMakesAShortOneWait) {
  const Workload workload = jobs({job(Time(0), {stage(4, seconds(100))}), job(seconds(1), {stage(1, seconds(5))})});
  EXPECT_EQ(run(workload, cluster(1, 2)).jobs[1].completion_time(), seconds(200 - 1 + 5));
  EXPECT_EQ(run(workload, cluster(1, 2), "srtf").jobs[1].completion_time(), seconds(100 - 1 + 5));
}

TEST(Simulate, TheOneMachineModelDecidesOnceASecond) {
  const Workload workload = jobs({job(milliseconds(300), {stage(1, milliseconds(1500)), stage(1, seconds(1), {0})})});
  ClusterModel model = ClusterModel::one_machine(1);
  const RunResult result = run(workload, model);
  EXPECT_EQ(result.jobs[0].started, seconds(1));
  EXPECT_EQ(result.jobs[0].ended, seconds(4)) << "ends at 2.5 s, goes on at 3 s";
}

TEST(Simulate, FasterNodesWorkFaster) {
  ClusterModel model = cluster(1, 1);
  model.groups[0].speed = 4;
  const Workload workload = jobs({job(Time(0), {stage(1, seconds(10))})});
  EXPECT_EQ(run(workload, model).makespan, milliseconds(2500));
}

TEST(Simulate, CapacitiesChangeAsALogSays) {
  const auto to = [](Time at, double slots) {
    master::CapacityChanged change;
    change.capacity = schedulers::Resources{.cpu = slots};
    return InjectedEvent{at, 0, std::move(change)};
  };
  RunOptions options;
  options.injected.push_back(to(seconds(1), 1));
  options.injected.push_back(to(seconds(2), 9));  // which cannot be
  options.injected.push_back(to(seconds(40), 2));
  const auto result =
      simulate(jobs({job(Time(0), {stage(8, seconds(10))})}), cluster(1, 2), schedulers::make_scheduler("fifo").value(), options);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->makespan, seconds(60)) << "two until 10 s, three until 40 s, and three in twos";
}

TEST(Simulate, TypedSlotsKeepReducesFromMapSlots) {
  ClusterModel model = cluster(1, 4);
  model.groups[0].capacity.map_slots = 3;
  model.groups[0].capacity.reduce_slots = 1;
  const Workload workload = jobs({job(Time(0), {stage(3, seconds(10)), stage(2, seconds(10), {0})})});
  EXPECT_EQ(run(workload, model).makespan, seconds(30));
}

TEST(Simulate, ATaskLargerThanAnyNodeIsRefusedAndTheLargestNamed) {
  Workload workload = jobs({job(Time(0), {stage(1, seconds(1))}), job(Time(0), {stage(1, seconds(1))})});
  workload.jobs[0].stages[0].demand.cpu = 9;
  ClusterModel model = cluster(2, 2);
  NodeGroup large;
  large.capacity.cpu = 8;
  large.hosts = {"big"};
  model.groups.push_back(large);
  const RunResult result = run(workload, model);
  EXPECT_EQ(result.jobs[0].outcome, Outcome::refused);
  EXPECT_NE(result.jobs[0].error.find("big"), std::string::npos) << result.jobs[0].error;
  EXPECT_EQ(result.jobs[1].outcome, Outcome::finished);
}

TEST(Simulate, NonsenseIsRefusedWithItsReason) {
  const auto refusal = [](const Workload& workload, const ClusterModel& model) {
    auto result = simulate(workload, model, schedulers::make_scheduler("fifo").value());
    return result ? std::string("accepted") : result.error().to_string();
  };
  const Workload fine = jobs({job(Time(0), {stage(1, seconds(1))})});
  EXPECT_NE(refusal(fine, ClusterModel()).find("at least one node"), std::string::npos);
  ClusterModel model = cluster(2, 1);
  model.faults.nodes.push_back({seconds(1), 2, false, Time(0)});
  EXPECT_NE(refusal(fine, model).find("node 2 is to die, but there are 2"), std::string::npos);
  model = cluster(1, 0);
  EXPECT_NE(refusal(fine, model).find("needs cpu"), std::string::npos);
  model = cluster(1, 1);
  model.slow_start = 1.5;
  EXPECT_NE(refusal(fine, model).find("slow start"), std::string::npos);
  const Workload empty = jobs({job(Time(0), {})});
  EXPECT_NE(refusal(empty, cluster(1, 1)).find("no stages"), std::string::npos);
  Workload backwards = jobs({job(Time(0), {stage(1, seconds(1), {0})})});
  EXPECT_NE(refusal(backwards, cluster(1, 1)).find("parent"), std::string::npos);
}

TEST(Simulate, HeartbeatsDelayBothTheReportAndTheNextTask) {
  ClusterModel model = cluster(1, 1);
  model.heartbeat = seconds(10);
  const Workload workload = jobs({job(Time(0), {stage(3, seconds(3))})});
  const RunResult result = run(workload, model);
  EXPECT_EQ((*result.jobs[0].ended - *result.jobs[0].started), seconds(30)) << "a task per heartbeat";
  EXPECT_EQ(result.jobs[0].work.useful, seconds(30));
}

TEST(Simulate, AWatchedSchedulerAnswersAsItDoesAlone) {
  Watch watch;
  for (const char* spec : {"fifo(slow_start=0.25)", "fair", "adaptive"}) {
    const auto alone = schedulers::make_scheduler(spec).value();
    const WatchedScheduler watched(schedulers::make_scheduler(spec).value(), watch);
    const schedulers::ClusterState view;
    EXPECT_EQ(watched.name(), alone->name());
    EXPECT_EQ(watched.round_order(), alone->round_order()) << spec;
    EXPECT_EQ(watched.sharing(view), alone->sharing(view)) << spec;
    EXPECT_EQ(watched.work_conserving(), alone->work_conserving()) << spec;
    EXPECT_EQ(watched.slow_start(view, {}), alone->slow_start(view, {})) << spec;
  }
}

TEST(Simulate, SlowStartLetsReducesFetchWhileMapsRun) {
  ClusterModel model = cluster(4, 2);
  model.network.flows = true;
  model.network.nic = 10e6;
  Workload workload = jobs({job(Time(0), {stage(8, seconds(20)), stage(2, seconds(1), {0})})});
  workload.jobs[0].stages[0].durations.assign(8, seconds(10));
  workload.jobs[0].stages[0].durations[7] = seconds(60);
  workload.jobs[0].stages[0].shuffle_bytes = 1'600'000'000;
  const Time late = run(workload, model).makespan;
  const Time by_scheduler = run(workload, model, "fifo(slow_start=0.5)").makespan;
  model.slow_start = 0.5;
  const Time early = run(workload, model).makespan;
  EXPECT_LT(early + seconds(10), late);
  EXPECT_GT(early, seconds(61));
  EXPECT_EQ(by_scheduler, early);
  workload.jobs[0].options.slow_start = 1;
  EXPECT_EQ(run(workload, model, "fifo(slow_start=0)").makespan, late) << "what the job says goes first";
}

TEST(Simulate, OfAWholeFetchOnlyWhatADeadNodeHeldIsFetchedAgain) {
  ClusterModel model = cluster(4, 1);
  model.network.flows = true;
  model.network.nic = 10e6;
  model.slow_start = 0.99;
  Workload workload = jobs({job(Time(0), {stage(4, seconds(10)), stage(1, seconds(1), {0})})});
  workload.jobs[0].stages[0].shuffle_bytes = 400'000'000;  // a fourth of it where the reader runs
  const Time undisturbed = run(workload, model).makespan;
  EXPECT_NEAR(std::chrono::duration<double>(undisturbed).count(), 41, 0.1);
  int sources = 0;
  for (std::uint32_t node = 0; node < 4; ++node) {
    model.faults.nodes = {{seconds(20), node, false, Time(0)}};
    const RunResult result = run(workload, model);
    if (result.failed_attempts > 0) continue;  // the reader's own node
    ++sources;
    // A third has come. Two thirds of what two sources hold are left, and all of the map that is done again: 23 s instead of 20.
    EXPECT_GT(result.makespan, undisturbed + seconds(2)) << "node " << node;
    EXPECT_LT(result.makespan, undisturbed + seconds(8)) << "node " << node;
  }
  EXPECT_EQ(sources, 3);
}

TEST(Simulate, ReducesPlacedBySizeBalanceWhatTheyRead) {
  ClusterModel model = cluster(2, 1);
  model.network.flows = true;
  model.network.nic = 10e6;
  Workload workload = jobs({job(Time(0), {stage(4, seconds(10)), stage(4, seconds(1), {0})})});
  workload.jobs[0].stages[0].shuffle_bytes = 1'200'000'000;
  workload.jobs[0].stages[0].partition_weights = {1, 1, 1, 3};
  const Time by_order = run(workload, model).makespan;
  model.preplace = 0.25;
  const Time by_size = run(workload, model).makespan;
  EXPECT_LT(by_size, by_order - seconds(5));
}

TEST(Simulate, AReadFromAnotherNodeTakesWhatTheLinksAllow) {
  ClusterModel model = cluster(2, 1, 2);
  model.network.flows = true;
  model.network.nic = 100e6;
  model.network.uplink = 10e6;
  Workload workload = jobs({job(Time(0), {stage(1, seconds(5))})});
  workload.jobs[0].stages[0].input_bytes = 100'000'000;
  workload.jobs[0].stages[0].hosts = {{"elsewhere"}};
  const RunResult result = run(workload, model);
  EXPECT_EQ(result.makespan, seconds(15));
  EXPECT_DOUBLE_EQ(result.traffic[0].cross_rack, 100e6);
  EXPECT_EQ(result.locality.any, 1u);
  model.network.uplink = 0;
  model.network.oversubscription = 20;
  EXPECT_EQ(run(workload, model).makespan, seconds(25)) << "a twentieth of the rack's one NIC";
  workload.jobs[0].stages[0].hosts = {{"node-1"}};
  const RunResult local = run(workload, model);
  EXPECT_EQ(local.makespan, seconds(5));
  EXPECT_EQ(local.locality.node, 1u);
  EXPECT_DOUBLE_EQ(local.traffic[0].remote, 0);
}

TEST(Simulate, AReduceWithALargerPartitionFetchesLonger) {
  ClusterModel model = cluster(2, 1);
  model.network.flows = true;
  model.network.nic = 10e6;
  Workload workload = jobs({job(Time(0), {stage(1, seconds(5)), stage(2, seconds(1), {0})})});
  StageSpec& map = workload.jobs[0].stages[0];
  map.shuffle_bytes = 100'000'000;
  const auto fetch = [&](std::vector<double> weights) {
    map.partition_weights = std::move(weights);
    return run(workload, model).makespan - seconds(6);
  };
  EXPECT_EQ(fetch({}), seconds(5)) << "of two halves one comes from another node";
  std::vector<Time> skewed{fetch({3, 1}), fetch({1, 3})};
  std::sort(skewed.begin(), skewed.end());
  EXPECT_EQ(skewed, (std::vector<Time>{milliseconds(2500), milliseconds(7500)}));
}

TEST(Simulate, TheNicsOfFewSendersLimitWhatManyFetch) {
  // Ten of forty nodes hold the outputs, 100 MB each, and all forty fetch: 97.5 MB leave each of the ten at 10 MB a second. Each
  // reduce alone could fetch its 25 MB, a tenth from each, in 2.5 s.
  ClusterModel model = cluster(40, 1);
  model.network.flows = true;
  model.network.nic = 10e6;
  Workload workload = jobs({job(Time(0), {stage(10, seconds(5)), stage(40, seconds(1), {0})})});
  workload.jobs[0].stages[0].shuffle_bytes = 1'000'000'000;
  EXPECT_NEAR(std::chrono::duration<double>(run(workload, model).makespan).count(), 6 + 9.75, 0.01);
  model.network.sender_parts = 0;
  EXPECT_NEAR(std::chrono::duration<double>(run(workload, model).makespan).count(), 6 + 9.75, 0.01);
  model.network.sender_parts = 5;
  EXPECT_NEAR(std::chrono::duration<double>(run(workload, model).makespan).count(), 6 + 2.5, 0.1) << "a tenth does not count";
}

TEST(Simulate, StragglersTakeAsManyTimesAsLongAsTheModelSays) {
  ClusterModel model = cluster(1, 1000);
  model.faults.straggler_factor = 4;
  const Workload workload = jobs({job(Time(0), {stage(1000, seconds(10))})});
  for (const double part : {0.0, 0.25, 1.0}) {
    model.faults.stragglers = part;
    const RunResult result = run(workload, model);
    const double mean = std::chrono::duration<double>(result.work.useful).count() / 1000;
    EXPECT_NEAR(mean, 10 + part * 30, part * 4) << part;  // from 1 to 7 times as long
    EXPECT_LE(result.makespan, seconds(70)) << part;
  }
}

TEST(Simulate, ConcentratedInputsHaveAReplicaInOneRack) {
  Machines machines(cluster(40, 1, 8), *std::make_unique<FlowNetwork>());
  StorageModel storage;
  for (double wanted : {0.0, 0.5, 1.0}) {
    storage.concentration = wanted;
    Placement placement(machines, storage, Random(7));
    int home = 0, rule = 0;
    for (int i = 0; i < 2000; ++i) {
      const auto replicas = placement.block();
      ASSERT_EQ(std::set<std::uint32_t>(replicas.begin(), replicas.end()).size(), 3u);
      const std::uint32_t first = machines[replicas[0]].rack, second = machines[replicas[1]].rack,
                          third = machines[replicas[2]].rack;
      rule += first != second && second == third;
      home += first == placement.home_rack() || second == placement.home_rack();
    }
    EXPECT_EQ(rule, 2000);
    EXPECT_NEAR(home / 2000.0, wanted + (1 - wanted) * 0.25, 0.04);
  }
}

TEST(Simulate, ADeadNodesWorkIsLostAndDoneAgain) {
  ClusterModel model = cluster(2, 1);
  model.faults.nodes.push_back({seconds(5), 0, false, Time(0)});
  const Workload workload = jobs({job(Time(0), {stage(2, seconds(10))})});
  const RunResult result = run(workload, model);
  EXPECT_EQ(result.makespan, seconds(20));
  EXPECT_EQ(result.work.useful, seconds(20));
  EXPECT_EQ(result.work.lost, seconds(5));
  EXPECT_EQ(result.failed_attempts, 1u);
  EXPECT_EQ(result.node_deaths, 1u);
}

TEST(Simulate, ASilentDeathIsNoticedLaterAndARepairedNodeComesBack) {
  ClusterModel model = cluster(1, 1);
  model.faults.detection = seconds(30);
  model.faults.nodes.push_back({seconds(5), 0, true, seconds(100)});
  const Workload workload = jobs({job(Time(0), {stage(1, seconds(10))})});
  const RunResult result = run(workload, model);
  EXPECT_EQ(result.makespan, seconds(115));
  EXPECT_EQ(result.work.lost, seconds(35)) << "the slot was blocked until the silence was noticed";
}

TEST(Simulate, WithoutAnyNodeLeftTheRunEndsUnfinished) {
  ClusterModel model = cluster(1, 1);
  model.faults.nodes.push_back({seconds(5), 0, false, Time(0)});
  const RunResult result = run(jobs({job(Time(0), {stage(1, seconds(10))})}), model);
  EXPECT_EQ(result.jobs[0].outcome, Outcome::unfinished);
}

TEST(Simulate, FewerNodesAreAvailableForAWhile) {
  ClusterModel model = cluster(2, 1);
  model.availability = {{Time(0), 1}, {seconds(20), 2}};
  const RunResult result = run(jobs({job(Time(0), {stage(6, seconds(10))})}), model);
  EXPECT_EQ(result.makespan, seconds(40));
}

TEST(Simulate, EstimatesErrButExecutionDoesNot) {
  Workload workload = jobs({job(Time(0), {stage(1, seconds(10))}), job(Time(0), {stage(1, seconds(9))})});
  ClusterModel model = cluster(1, 1);
  model.step = seconds(1);
  EXPECT_LT(*run(workload, model, "sjf").jobs[1].ended, *run(workload, model, "sjf").jobs[0].ended);
  workload.jobs[1].stages[0].estimate = seconds(11);
  const RunResult wrong = run(workload, model, "sjf");
  EXPECT_EQ(wrong.jobs[0].ended, seconds(10)) << "told that the other is longer";
  EXPECT_EQ(wrong.jobs[1].ended, seconds(19));
}

TEST(Simulate, EqualJobsShareEquallyAndTheJainIndexSaysSo) {
  const Workload workload = jobs({job(Time(0), {stage(200, seconds(10))}), job(Time(0), {stage(200, seconds(10))})});
  RunOptions options;
  options.fairness_window = seconds(50);
  options.series_step = seconds(100);
  ClusterModel model = cluster(2, 4);
  model.step = seconds(1);
  const RunResult fair = run(workload, model, "drf", options);
  EXPECT_NEAR(fair.fairness.mean_jobs, 1, 1e-9);
  const RunResult fifo = run(workload, model, "fifo", options);
  EXPECT_NEAR(fifo.fairness.jobs[0], 0.5, 1e-9) << "one has all of it";
  ASSERT_EQ(fifo.series.samples.size(), 5u);
  EXPECT_DOUBLE_EQ(fifo.series.samples[0].used.cpu, 8);
  EXPECT_EQ(fifo.series.samples[0].tasks_finished, 72u) << "the tasks that end at 100 s belong to the next sample";
}

/// Checks at each launch that all parents of the stage are finished, and at each call that no node is overcommitted.
/// One node of ten is ten times slower. Without speculative attempts every job waits for it.
TEST(Simulate, SecondAttemptsMakeUpForASlowNode) {
  ClusterModel model = cluster(9, 4);
  model.groups.push_back(model.groups[0]);
  model.groups[1].count = 1;
  model.groups[1].speed = 0.1;
  std::vector<JobSpec> list;
  for (int i = 0; i < 20; ++i) list.push_back(job(seconds(200 * i), {stage(60, seconds(10)), stage(10, seconds(5), {0})}));
  const Workload workload = jobs(std::move(list));
  const auto mean = [&](const RunResult& result) {
    double sum = 0;
    for (const JobResult& one : result.jobs) sum += std::chrono::duration<double>(*one.completion_time()).count();
    return sum / static_cast<double>(result.jobs.size());
  };
  const RunResult without = run(workload, model);
  EXPECT_EQ(without.speculative, 0u);
  for (const Time heartbeat : {Time(0), Time(seconds(1))}) {
    model.heartbeat = heartbeat;
    model.speculation.on = true;
    const RunResult with = run(workload, model);
    EXPECT_GT(with.speculative, 40u);
    EXPECT_GT(with.work.redundant, Time(0));
    EXPECT_LT(mean(with), 0.4 * mean(without));
    EXPECT_EQ(with.launches, with.tasks + with.speculative) << "each attempt more than the tasks was a second one";
  }
}

TEST(Simulate, PreemptedTasksMakeWayAndRunAgain) {
  JobSpec large = job(Time(0), {stage(4, seconds(100))}), small = job(seconds(20), {stage(2, seconds(10))});
  large.options.pool = "a", small.options.pool = "b";
  const auto files = schedulers::reader_of({{"p.toml", "[[pool]]\nname='b'\nmin_share=2\nmin_share_timeout='2s'"}});
  const auto under = [&](const std::string& scheduler) {
    return simulate(jobs({large, small}), cluster(1, 4), schedulers::make_scheduler(scheduler, files).value(), {}).value();
  };
  const RunResult patient = under("fair(pools=p.toml)");
  EXPECT_EQ(patient.preemptions, 0u);
  EXPECT_EQ(patient.jobs[1].ended, seconds(110));
  const RunResult result = under("fair(pools=p.toml, preemption=true, interval=1s, update=500ms)");
  EXPECT_EQ(result.preemptions, 2u);
  EXPECT_EQ(result.jobs[0].preemptions, 2u);
  const Time killed = *result.jobs[1].ended - seconds(10);  // when the small job began
  EXPECT_GE(killed, seconds(22));
  EXPECT_LE(killed, seconds(24));
  EXPECT_EQ(result.work.preempted, 2 * killed);
  EXPECT_EQ(result.work.useful, seconds(420));
  EXPECT_EQ(result.jobs[0].ended, *result.jobs[1].ended + seconds(100)) << "what was killed begins again";
}

class BarrierWatch final : public schedulers::Scheduler {
 public:
  BarrierWatch(std::unique_ptr<schedulers::Scheduler> inner, std::uint64_t& wrong) : inner_(std::move(inner)), wrong_(wrong) {}
  std::string_view name() const override { return inner_->name(); }
  Result<void> start(const schedulers::ClusterView& view, schedulers::Scheduler*) override { return inner_->start(view, nullptr); }
  void on_event(const schedulers::ClusterView& view, const schedulers::Notice& notice) override {
    inner_->on_event(view, notice);
    if (notice.kind != schedulers::Notice::Kind::task_launched) return;
    for (StageId parent : view.stage(notice.job, notice.stage)->parents)
      wrong_ += view.stage(notice.job, parent)->complete() ? 0 : 1;
  }
  void schedule(const schedulers::ClusterView& view, const schedulers::Trigger& trigger,
                schedulers::Decisions& decisions) override {
    inner_->schedule(view, trigger, decisions);
    for (const auto& [id, node] : view.nodes()) {
      for (const auto& kind : schedulers::kResourceKinds) {
        const bool accounted = kind.amount == &schedulers::Resources::cpu || node.nominal.*kind.amount > 0;
        wrong_ += accounted && node.used.*kind.amount > node.nominal.*kind.amount * (1 + 1e-9) ? 1 : 0;
      }
    }
  }

 private:
  std::unique_ptr<schedulers::Scheduler> inner_;
  std::uint64_t& wrong_;
};

constexpr unsigned kShare = kSanitized ? 10 : 1;  // of the seeds: sanitizers take so many times as long

TEST(SimulateProperties, NoStageStartsBeforeItsParentsAndNoNodeIsOvercommitted) {
  for (std::uint64_t seed = 1; seed <= 100 / kShare; ++seed) {
    Random random(seed);
    const Workload workload = random_workload(random, 6);
    ClusterModel model = random_model(random, seed);
    model.slow_start = 1;
    std::uint64_t wrong = 0;
    auto result = simulate(workload, model, std::make_unique<BarrierWatch>(schedulers::make_scheduler("drf").value(), wrong));
    ASSERT_TRUE(result) << "seed " << seed;
    ASSERT_EQ(wrong, 0u) << "seed " << seed;
  }
}

TEST(SimulateProperties, EveryJobEndsAndTheAccountsAddUpWhateverFails) {
  std::uint64_t deaths = 0, lost = 0, preempted = 0, speculative = 0, redundant = 0, unfinished = 0;
  for (std::uint64_t seed = 1; seed <= 400 / kShare; ++seed) {
    Random random(seed);
    const Workload workload = random_workload(random, 8);
    ClusterModel model = random_model(random, seed);
    model.shuffle_replicas = seed % 3 == 0 ? 2 : 1;
    RunOptions options;
    options.series_step = seconds(10);
    const RunResult result = run(workload, model, random.chance(0.5) ? "fifo" : "drf", options);
    double busy = 0;
    for (const Sample& sample : result.series.samples) {
      ASSERT_GE(sample.running_tasks, -1e-9) << "seed " << seed;
      ASSERT_GE(sample.pending_tasks, -1e-9) << "seed " << seed;
      busy += sample.running_tasks;
    }
    for (const JobResult& one : result.jobs) {
      ASSERT_NE(one.outcome, Outcome::refused) << "seed " << seed << " job " << one.index << " " << one.error;
      if (one.outcome == Outcome::unfinished) {  // all workers die within a minute of each start, and none is offered tasks
        ++unfinished;
        continue;
      }
      if (one.outcome == Outcome::failed) {  // a task that failed four times, or was lost twenty times
        ASSERT_NE(one.error.find("times"), std::string::npos) << "seed " << seed << ": " << one.error;
        continue;
      }
      ASSERT_GE(one.attempts, one.tasks) << "seed " << seed;
      ASSERT_GE(one.work.useful, Time(0)) << "seed " << seed;
      ASSERT_GE(one.work.lost, Time(0)) << "seed " << seed;
      ASSERT_GE(*one.ended, *one.started) << "seed " << seed;
    }
    const Time spent = result.work.useful + result.work.lost + result.work.preempted + result.work.redundant;
    const Time last(result.end - seconds(10) * (static_cast<std::int64_t>(result.series.samples.size()) - 1));
    const double whole = (busy - result.series.samples.back().running_tasks) * 10 +
                         result.series.samples.back().running_tasks * std::chrono::duration<double>(last).count();
    ASSERT_NEAR(std::chrono::duration<double>(spent).count(), whole, 1e-6 * whole + 1e-3) << "seed " << seed;
    deaths += result.node_deaths;
    lost += result.work.lost > Time(0) ? 1 : 0;
    preempted += result.preemptions;
    speculative += result.speculative;
    redundant += result.work.redundant > Time(0) ? 1 : 0;
  }
  EXPECT_GT(speculative, 100u / kShare);
  EXPECT_GT(redundant, 50u / kShare);
  EXPECT_GT(deaths, 100u / kShare);
  EXPECT_GT(lost, 100u / kShare);
  EXPECT_GE(preempted, kSanitized ? 0u : 1u) << "early readers never had to make way";
  EXPECT_LE(unfinished, 2u);
}

TEST(SimulateProperties, WithoutFailuresExactlyTheBytesOfTheWorkloadAreMoved) {
  for (std::uint64_t seed = 1; seed <= 100 / kShare; ++seed) {
    Random random(seed);
    const Workload workload = random_workload(random, 6);
    ClusterModel model = random_model(random, seed);
    model.faults = FaultModel();
    model.speculation = {};
    model.storage.replicas = 2;
    model.shuffle_replicas = 1;
    RunOptions options;
    options.series_step = seconds(7);
    const RunResult result = run(workload, model, "fifo", options);
    const bool prefetches = model.shuffle.mode == shuffle::Mode::memory;
    double read = 0, shuffled = 0, copied = 0;
    const auto copies = std::min(model.storage.output_replicas, model.node_count()) - 1;
    for (const JobSpec& spec : workload.jobs) {
      for (std::size_t i = 0; i < spec.stages.size(); ++i) {
        const StageSpec& from = spec.stages[i];
        read += static_cast<double>(from.input_bytes / from.tasks * from.tasks);
        copied += static_cast<double>(from.output_bytes * copies);
        for (const StageSpec& to : spec.stages) {
          if (std::find(to.parents.begin(), to.parents.end(), i) != to.parents.end())
            shuffled += static_cast<double>(from.shuffle_bytes);
        }
      }
    }
    ASSERT_NEAR(result.traffic[0].total, read, 1e-6 * read + 10) << "seed " << seed;
    if (prefetches) {  // in whole bytes of each block; what was not read is fetched again elsewhere
      const double wasted = static_cast<double>(result.prefetched.wasted_bytes);
      ASSERT_GE(result.traffic[1].total, shuffled - 1e-6 * shuffled - 1000) << "seed " << seed;
      if (result.preemptions == 0) {
        ASSERT_NEAR(result.traffic[1].total, shuffled + wasted, 1e-6 * shuffled + 1000) << "seed " << seed;
      }
    } else {
      ASSERT_NEAR(result.traffic[1].total, shuffled, 1e-6 * shuffled + 10) << "seed " << seed;
    }
    if (result.preemptions == 0) {
      ASSERT_NEAR(result.traffic[2].total, copied, 1e-6 * copied + 10) << "seed " << seed;
    }
    TrafficByKind by_job, by_sample;
    const auto add = [](TrafficByKind& sum, const TrafficByKind& part) {
      for (std::size_t i = 0; i < kTrafficKinds; ++i) {
        sum[i].total += part[i].total, sum[i].remote += part[i].remote, sum[i].cross_rack += part[i].cross_rack;
      }
    };
    for (const JobResult& one : result.jobs) add(by_job, one.traffic);
    for (const Sample& sample : result.series.samples) add(by_sample, sample.traffic);
    for (std::size_t i = 0; i < kTrafficKinds; ++i) {
      for (const TrafficByKind* sum : {&by_job, &by_sample}) {
        ASSERT_NEAR((*sum)[i].total, result.traffic[i].total, 1e-5 * result.traffic[i].total + 10) << "seed " << seed;
        ASSERT_NEAR((*sum)[i].cross_rack, result.traffic[i].cross_rack, 1e-5 * result.traffic[i].total + 10) << "seed " << seed;
      }
      ASSERT_LE(result.traffic[i].cross_rack, result.traffic[i].remote * (1 + 1e-9) + 1);
      ASSERT_LE(result.traffic[i].remote, result.traffic[i].total * (1 + 1e-9) + 1);
    }
    if (model.racks == 1) {
      ASSERT_EQ(result.traffic[1].cross_rack, 0) << "seed " << seed;
    }
  }
}

TEST(SimulateProperties, TheSameSeedGivesTheSameEventLogByteForByte) {
  std::set<std::string> logs;
  for (std::uint64_t seed = 1; seed <= 60 / kShare; ++seed) {
    Random random(seed);
    const Workload workload = random_workload(random, 6);
    ClusterModel model = random_model(random, seed);
    model.shuffle_replicas = seed % 3 == 0 ? 2 : 1;
    const std::string log = log_of(workload, model, "drf");
    ASSERT_EQ(log, log_of(workload, model, "drf")) << "seed " << seed;
    ASSERT_EQ(run(workload, model, "drf").event_digest, run(workload, model, "drf").event_digest) << "seed " << seed;
    logs.insert(log);
  }
  EXPECT_EQ(logs.size(), 60u / kShare);
}

}  // namespace
}  // namespace weft::simulator
