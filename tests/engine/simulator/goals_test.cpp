// Jobs with deadlines in the simulator: what is expected of them while they run, and what the Adaptive scheduler does when what it
// was told is wrong or nodes are lost.
#include <algorithm>
#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "schedulers/prediction/job_ends.hpp"
#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator::test {
namespace {

double seconds_of(Time time) { return std::chrono::duration<double>(time).count(); }

/// Asks now and then when the jobs are expected to end, and passes everything on.
class Asking final : public schedulers::Scheduler {
 public:
  struct Answer {
    Time at;
    JobId job;
    Time end;
  };
  Asking(std::unique_ptr<schedulers::Scheduler> inner, std::vector<Answer>& answers)
      : inner_(std::move(inner)), answers_(answers) {}

  std::string_view name() const override { return inner_->name(); }
  Result<void> start(const schedulers::ClusterView& view, schedulers::Scheduler*) override { return inner_->start(view, nullptr); }
  void on_event(const schedulers::ClusterView& view, const schedulers::Notice& notice) override { inner_->on_event(view, notice); }
  void schedule(const schedulers::ClusterView& view, const schedulers::Trigger& trigger,
                schedulers::Decisions& decisions) override {
    inner_->schedule(view, trigger, decisions);
    if (view.now() < next_) return;
    next_ = view.now() + seconds(5);
    for (const auto& [job, expected] : schedulers::expected_ends(view, inner_->sharing(view)))
      if (expected.end) answers_.push_back({view.now(), job, *expected.end});
  }
  schedulers::Sharing sharing(const schedulers::ClusterView& view) const override { return inner_->sharing(view); }

 private:
  std::unique_ptr<schedulers::Scheduler> inner_;
  std::vector<Answer>& answers_;
  Time next_{0};
};

StageSpec untold(std::uint32_t tasks, double length, double spread, Random& random, std::vector<std::uint32_t> parents = {}) {
  StageSpec spec = stage(tasks, Time(0), std::move(parents));
  for (std::uint32_t i = 0; i < tasks; ++i)
    spec.durations.push_back(milliseconds(std::lround(1000 * length * (1 + spread * (2 * random.uniform() - 1)))));
  spec.estimate = Time(0);
  return spec;
}

/// Five jobs on twelve slots, whose work would take 415 s of all of them.
Workload five_jobs(std::uint64_t seed, double tightness) {
  Random random(seed, 1);
  const auto add = [&](double arrival, std::vector<StageSpec> stages, double goal) {
    JobSpec spec = job(milliseconds(std::lround(1000 * arrival)), std::move(stages));
    spec.deadline = milliseconds(std::lround(1000 * goal * tightness));
    return spec;
  };
  return jobs(
      {add(0, {untold(240, 8, 0.5, random)}, 420), add(20, {untold(60, 8, 0.3, random), untold(12, 12, 0.2, random, {0})}, 200),
       add(60, {untold(96, 5, 0.2, random)}, 250), add(100, {untold(40, 6, 0.3, random), untold(6, 8, 0, random, {0})}, 120),
       add(150, {untold(120, 6, 0.2, random)}, 280)});
}

std::size_t met(const RunResult& result) {
  return static_cast<std::size_t>(
      std::count_if(result.jobs.begin(), result.jobs.end(), [](const JobResult& one) { return !one.missed_deadline(); }));
}

/// The largest error of what was expected of a job from half of it on, as a part of its time; once all jobs are there, because
/// nobody knows of those to come.
double worst_error(const RunResult& result, const std::vector<Asking::Answer>& answers) {
  double worst = 0;
  for (const Asking::Answer& answer : answers) {
    const JobResult& one = result.jobs[answer.job.value() - 1];
    const double took = seconds_of(*one.completion_time());
    if (seconds_of(answer.at - one.submitted) < took / 2 || answer.at < seconds(155)) continue;
    worst = std::max(worst, std::abs(seconds_of(answer.end - *one.ended)) / took);
  }
  return worst;
}

TEST(Goals, LooseOnesAreAllMetAndTightOnesAtLeastAsOftenAsElsewhere) {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    EXPECT_EQ(met(run(five_jobs(seed, 1.3), cluster(6, 2), "adaptive")), 5u) << seed;
    for (const double tightness : {0.7, 0.8, 0.9}) {
      const std::size_t ours = met(run(five_jobs(seed, tightness), cluster(6, 2), "adaptive"));
      for (const char* other : {"fair", "drf", "srtf"})
        EXPECT_GE(ours, met(run(five_jobs(seed, tightness), cluster(6, 2), other))) << other << " " << seed << " " << tightness;
    }
  }
}

TEST(Goals, ExpectedEndsAreRightWithinAFewPercentFromHalfOfTheJobOn) {
  for (const char* scheduler : {"adaptive", "fair"}) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      std::vector<Asking::Answer> answers;
      auto asking = std::make_unique<Asking>(schedulers::make_scheduler(scheduler).value(), answers);
      const Workload workload = five_jobs(seed, 1.3);
      const RunResult result = simulate(workload, cluster(6, 2), std::move(asking)).value();
      ASSERT_GT(answers.size(), 50u);
      EXPECT_LT(worst_error(result, answers), 0.15) << scheduler << " " << seed;
    }
  }
}

TEST(Goals, AreMetThoughLengthsThatAreToldAreWrongByThreeTimes) {
  for (const double factor : {1.0 / 3, 3.0}) {
    Workload workload = five_jobs(1, 1.3);
    for (JobSpec& one : workload.jobs)
      for (StageSpec& each : one.stages) each.estimate.reset();
    ClusterModel model = cluster(6, 2);
    model.estimates.duration_bias = factor - 1;
    EXPECT_EQ(met(run(workload, model, "adaptive")), 5u) << factor;
  }
}

TEST(Goals, AreKeptToWhenTasksTakeTwiceAsLongInMidRun) {
  Workload workload = five_jobs(1, 1.7);
  for (JobSpec& one : workload.jobs)
    for (StageSpec& each : one.stages)
      for (std::size_t i = each.durations.size() / 2; i < each.durations.size(); i += 2) each.durations[i] *= 2;
  EXPECT_EQ(met(run(workload, cluster(6, 2), "adaptive")), 5u);
}

TEST(Goals, AreKeptToWhenANodeBecomesHalfAsFastInMidRun) {
  ClusterModel model = cluster(6, 2);
  model.faults.nodes = {{.at = seconds(100), .node = 2, .speed = 0.5}};
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    std::vector<Asking::Answer> answers;
    auto asking = std::make_unique<Asking>(schedulers::make_scheduler("adaptive").value(), answers);
    const RunResult result = simulate(five_jobs(seed, 1.4), model, std::move(asking)).value();
    EXPECT_EQ(met(result), 5u) << seed;
    EXPECT_LT(worst_error(result, answers), 0.25) << seed << ", as what was measured before the node became slow counts, too";
  }
}

TEST(Goals, ThatCannotBeMetAreRunAllTheSame) {
  const RunResult result = run(five_jobs(1, 0.05), cluster(6, 2), "adaptive");
  EXPECT_EQ(met(result), 0u);
  for (const JobResult& one : result.jobs) EXPECT_EQ(one.outcome, Outcome::finished);
}

TEST(Goals, AreMetWhenAllAcceleratedNodesAreLostWhereTheOthersCanDoTheWork) {
  Random random(1, 1);
  JobSpec quick = job(Time(0), {untold(60, 10, 0.1, random)});
  quick.stages[0].speedups = {{"accelerator", "gpu", 5}};
  quick.deadline = seconds(200);
  ClusterModel model = cluster(8, 1);
  model.groups.push_back(model.groups[0]);
  model.groups[1].count = 2;
  model.groups[1].attributes = {{"accelerator", "gpu"}};
  EXPECT_EQ(met(run(jobs({quick}), model, "adaptive")), 1u);
  model.faults.nodes = {{seconds(20), 8, false, Time(0)}, {seconds(25), 9, false, Time(0)}};
  EXPECT_EQ(met(run(jobs({quick}), model, "adaptive")), 1u);
}

TEST(Goals, DecisionsAreTheSameForTheSameSeed) {
  ClusterModel model = cluster(6, 2);
  model.faults.stragglers = 0.1;
  EXPECT_EQ(run(five_jobs(2, 1), model, "adaptive(delays=2)").event_digest,
            run(five_jobs(2, 1), model, "adaptive(delays=2)").event_digest);
}

}  // namespace
}  // namespace weft::simulator::test
