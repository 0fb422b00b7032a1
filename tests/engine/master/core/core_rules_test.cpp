// Rules of the core that its parts' tests take for granted, from events to commands: what is observed, who is blamed, who is first,
// and when.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master::core_rules {
namespace {

using namespace test;
using std::chrono::seconds;

plan::PlanPart map_reduce(std::uint32_t maps, std::uint32_t reduces) {
  return part(0, {source(0, maps, reduces), result(reader(1, {0}, reduces, 0))});
}

TEST(CoreRules, ObservedDurationsAreFromLaunchToEnd) {
  Driver driver;
  driver.now = seconds(10);
  driver.join(1, 1);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 3, 0))})));
  driver.now = seconds(12);
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 0)));
  driver.now = seconds(16);
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 1)));
  EXPECT_EQ(driver.core.view().stage(JobId(1), StageId(0))->mean_duration(), seconds(3)) << "two and four";
}

TEST(CoreRules, ANodeIsBlamedForWhatFailsThereAndGoesWellElsewhere) {
  CoreOptions options;
  options.max_failures_per_node = 2;
  options.heartbeat_timeout = Time(0);
  Driver driver(options);
  driver.join(1, 4);
  driver.join(2, 4);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 4, 0))})));
  std::vector<AttemptId> there;
  for (const auto& [attempt, node] : driver.running) {
    if (node == NodeId(1)) there.push_back(attempt);
  }
  ASSERT_EQ(there.size(), 2u);
  for (const AttemptId& attempt : there) ASSERT_TRUE(driver.fail_task(attempt));
  const auto usable = [&] { return driver.core.view().node(NodeId(1))->usable(); };
  EXPECT_TRUE(usable()) << "the job may be to blame";
  for (const AttemptId& attempt : there) {
    EXPECT_TRUE(usable());
    const AttemptId again = driver.running_attempt(1, 0, attempt.task.index);
    ASSERT_EQ(driver.running.at(again), NodeId(2));
    ASSERT_TRUE(driver.finish(again));
  }
  EXPECT_FALSE(usable()) << "both went well on the other node";
}

TEST(CoreRules, WithSlowStartReadersStartWhenThatPartOfTheMapsHasEndedAndNotATaskEarlier) {
  CoreOptions options;
  options.slow_start = 0.5;
  Driver driver(options);
  driver.join(1, 8);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, map_reduce(5, 1)));
  for (std::uint32_t map : {0u, 1u}) ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, map)));
  EXPECT_EQ(driver.launches(1), 0u) << "two of five are less than a half";
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 2)));
  EXPECT_EQ(driver.launches(1), 1u);
}

/// Of a job of five maps and a reader: how many maps end before the reader is launched.
std::uint32_t maps_before_reader(std::unique_ptr<schedulers::Scheduler> scheduler, std::optional<double> cluster,
                                 std::optional<double> job, std::uint64_t* faults = nullptr) {
  CoreOptions options;
  options.slow_start = cluster;
  Driver driver(std::move(scheduler), options);
  driver.join(1, 8);
  JobSubmitted event;
  event.job = JobId(1);
  event.name = "job";
  event.options.slow_start = job;
  EXPECT_TRUE(driver.apply(std::move(event)));
  EXPECT_TRUE(driver.extend(1, map_reduce(5, 1)));
  std::uint32_t ended = 0;
  for (; ended < 5 && driver.launches(1) == 0; ++ended) EXPECT_TRUE(driver.finish(driver.running_attempt(1, 0, ended)));
  if (faults != nullptr) *faults = driver.core.scheduler_faults().faults;
  return ended;
}

struct SaysSlowStart final : schedulers::Scheduler {
  explicit SaysSlowStart(double part) : part_(part) {}
  std::string_view name() const override { return "says"; }
  void schedule(const schedulers::ClusterView& view, const schedulers::Trigger& trigger,
                schedulers::Decisions& decisions) override {
    inner_->schedule(view, trigger, decisions);
  }
  Result<void> start(const schedulers::ClusterView& view, schedulers::Scheduler*) override { return inner_->start(view, nullptr); }
  void on_event(const schedulers::ClusterView& view, const schedulers::Notice& notice) override { inner_->on_event(view, notice); }
  double slow_start(const schedulers::ClusterView&, const schedulers::JobInfo& job) const override {
    return job.name == "job" ? part_ : 1;
  }
  const double part_;
  std::unique_ptr<schedulers::Scheduler> inner_ = schedulers::make_scheduler("fifo").value();
};

TEST(CoreRules, TheSchedulerSaysWhenReadersStartWhereNeitherJobNorClusterDoes) {
  const auto fifo = [](const char* text) { return schedulers::make_scheduler(text).value(); };
  EXPECT_EQ(maps_before_reader(fifo("fifo"), {}, {}), 5u);
  EXPECT_EQ(maps_before_reader(fifo("fifo(slow_start=0.4)"), {}, {}), 2u);
  EXPECT_EQ(maps_before_reader(fifo("fifo(slow_start=0.4)"), 0.6, {}), 3u) << "the cluster goes before the scheduler";
  EXPECT_EQ(maps_before_reader(fifo("fifo(slow_start=0.4)"), 1, {}), 5u);
  EXPECT_EQ(maps_before_reader(fifo("fifo(slow_start=0.4)"), 0.6, 0.8), 4u) << "and the job before both";
  EXPECT_EQ(maps_before_reader(fifo("fifo(slow_start=0.4)"), {}, 1), 5u);
  EXPECT_FALSE(schedulers::make_scheduler("fifo(slow_start=1.5)"));
}

TEST(CoreRules, ASlowStartThatIsNoPartIsTheSchedulersFault) {
  std::uint64_t faults = 0;
  EXPECT_EQ(maps_before_reader(std::make_unique<SaysSlowStart>(0.2), {}, {}, &faults), 1u);
  EXPECT_EQ(faults, 0u);
  for (const double wrong : {-0.5, 2.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(maps_before_reader(std::make_unique<SaysSlowStart>(wrong), {}, {}, &faults), 5u) << wrong;
    EXPECT_EQ(faults, 1u) << wrong;
  }
}

TEST(CoreRules, TheNewestOfTheWaitingReadersMakesWay) {
  CoreOptions options;
  options.slow_start = 0.25;
  options.heartbeat_timeout = Time(0);
  Driver driver(options);
  for (std::uint32_t node = 1; node <= 4; ++node) driver.join(node, 1);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, map_reduce(4, 3)));
  std::vector<std::uint32_t> readers;  // in the order of their launches
  for (std::uint32_t map : {0u, 1u, 2u}) {
    driver.now += seconds(1);
    ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, map)));
    ASSERT_EQ(driver.launches(1), map + 1);
    readers.push_back(driver.all<LaunchTask>().back()->attempt.task.index);
  }
  driver.now += seconds(1);
  const AttemptId last = driver.running_attempt(1, 0, 3);
  const NodeId lost = driver.running.at(last);
  driver.running.erase(last);
  ASSERT_TRUE(driver.lose(lost.value()));
  EXPECT_TRUE(driver.is_running(1, 0, 3)) << "all the other nodes held readers that waited for this map";
  EXPECT_TRUE(driver.is_running(1, 1, readers[0]));
  EXPECT_TRUE(driver.is_running(1, 1, readers[1]));
  EXPECT_FALSE(driver.is_running(1, 1, readers[2]));
  driver.drain();
  EXPECT_NE(driver.last<ActionFinished>(), nullptr);
}

TEST(CoreRules, TheMostOverdueTaskIsSpeculatedFirst) {
  CoreOptions options;
  options.heartbeat_timeout = Time(0);
  options.speculation = parse_speculation("on(slower=1.5, shortest=20s, finished=0.5, per_cluster=0.01)").value();  // one at a time
  Driver driver(options);
  for (std::uint32_t node = 1; node <= 4; ++node) driver.join(node, 2);
  for (std::uint64_t job : {1u, 2u}) {
    driver.submit(job);
    ASSERT_TRUE(driver.extend(job, part(0, {result(source(0, 3, 0))})));
  }
  driver.now = seconds(1);
  for (std::uint32_t task : {0u, 1u}) ASSERT_TRUE(driver.finish(driver.running_attempt(2, 0, task)));
  driver.now = seconds(4);
  for (std::uint32_t task : {0u, 1u}) ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, task)));
  std::set<std::uint64_t> fired;
  for (; driver.now < seconds(25); driver.now += seconds(1)) {
    for (const SetTimer* timer : driver.all<SetTimer>()) {
      const SetTimer due = *timer;
      if (due.at > driver.now || !fired.insert(due.timer).second) continue;
      ASSERT_TRUE(driver.apply(TimerFired{due.timer}));
      break;
    }
  }
  std::vector<TaskId> speculated;
  for (const auto* launch : driver.all<LaunchTask>()) {
    if (launch->attempt.attempt > 0) speculated.push_back(launch->attempt.task);
  }
  ASSERT_EQ(speculated.size(), 1u);
  EXPECT_EQ(speculated[0], (TaskId{JobId(2), StageId(0), 2})) << "twenty times its second, against five times four seconds";
}

/// Of each task: records that it read, and bad ones among them.
using Records = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

/// How a job ends whose tasks end in this order, the last first: its error, or nothing when it goes on. No earlier end of a task
/// ends the job.
std::string end_of_job(const Records& tasks, const std::vector<std::uint32_t>& order, std::uint32_t first_source) {
  Driver driver;
  driver.join(1, static_cast<double>(tasks.size()));
  driver.submit(1);
  plan::Stage stage = result(source(0, first_source, 0));
  stage.branches.push_back(stage.branches[0]);
  stage.branches[1].tasks = static_cast<std::uint32_t>(tasks.size()) - first_source;
  EXPECT_TRUE(driver.extend(1, part(0, {stage})));
  std::string error;
  for (const std::uint32_t task : order) {
    EXPECT_EQ(error, "") << "before task " << task << " had ended";
    TaskFinished event;
    event.attempt = driver.running_attempt(1, 0, task);
    event.node = driver.running.at(event.attempt);
    driver.running.erase(event.attempt);
    event.input_records = tasks[task].first;
    event.usage.bad_records.count = 3 * tasks[task].second;  // whatever was said of them
    event.usage.bad_records.inputs = tasks[task].second;
    if (tasks[task].second > 0) event.usage.bad_records.examples = {fmt::format("first of task {}", task), "another"};
    EXPECT_TRUE(driver.apply(std::move(event)));
    for (const JobFailed* failed : driver.all<JobFailed>()) error = failed->error.to_string();
  }
  return error;
}

TEST(CoreRules, ASourceIsJudgedByAllItsTasksAndInNoOrder) {
  const Records half = {{10, 10}, {0, 0}, {10, 0}, {4, 2}};
  Records more = half;
  more[2].second = 1;  // 11 of 20, of the first three tasks
  Records other = half;
  other[3].second = 3;  // of the second source, 3 of 4; of both together 13 of 24
  Records alone = {{1000, 0}, {0, 0}, {0, 0}, {1, 1}};
  std::vector<std::uint32_t> order = {0, 1, 2, 3};
  do {
    EXPECT_EQ(end_of_job(half, order, 3), "");
    const std::string error = end_of_job(more, order, 3);
    EXPECT_NE(error.find("11 of 20 records"), std::string::npos) << error;
    EXPECT_NE(error.find(": first of task 0;"), std::string::npos) << "of the first task with a bad record: " << error;
    EXPECT_NE(end_of_job(other, order, 3).find("3 of 4 records"), std::string::npos);
    const std::string hidden = end_of_job(alone, order, 3);
    EXPECT_NE(hidden.find("the only record of a source"), std::string::npos) << hidden;
    EXPECT_NE(hidden.find(": first of task 3;"), std::string::npos) << hidden;
  } while (std::next_permutation(order.begin(), order.end()));
}

}  // namespace
}  // namespace weft::master::core_rules
