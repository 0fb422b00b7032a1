// weft's own event logs, read back as workloads.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/simulator/workloads/recording.hpp"
#include "tests/engine/simulator/log_text.hpp"

namespace weft::simulator::workloads {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(EventLogLoader, ReplaysWhatHappened) {
  const auto recording = read_event_log(sample("event_log.jsonl"));
  ASSERT_TRUE(recording.has_value()) << recording.error().to_string();
  ASSERT_EQ(recording->nodes.size(), 2u);
  EXPECT_EQ(recording->nodes[0].capacity.cpu, 2);
  EXPECT_EQ(recording->nodes[0].attributes.at("gpu"), "1");
  const Workload& workload = recording->workload;
  ASSERT_EQ(workload.jobs.size(), 2u);
  const JobSpec& job = workload.jobs[0];
  EXPECT_EQ(job.name, "1 count");
  EXPECT_EQ(job.arrival, 0s) << "since the first submission";
  EXPECT_EQ(*job.deadline, 60s);
  EXPECT_EQ(job.stages.at(0).planned, 1s);
  EXPECT_EQ(job.options.user, "ann");
  EXPECT_EQ(job.options.priority, 2);
  ASSERT_EQ(job.stages.size(), 3u);
  EXPECT_THAT(job.stages[0].durations, ElementsAre(2s, 1s)) << "the speculative attempt of the task that failed";
  EXPECT_THAT(job.stages[0].hosts, ElementsAre(ElementsAre("h1"), ElementsAre("h2")));
  EXPECT_EQ(job.stages[0].input_bytes, 33u);
  EXPECT_EQ(job.stages[0].shuffle_bytes, 100u);
  EXPECT_EQ(job.stages[0].demand, (schedulers::Resources{1, 5}));
  EXPECT_EQ(job.stages[0].estimate, 7ns);
  EXPECT_EQ(job.stages[1].estimate, 0ns) << "schedulers were told nothing then, and are told nothing now";
  EXPECT_THAT(job.stages[1].parents, ElementsAre(0u));
  EXPECT_EQ(job.stages[1].demand, (schedulers::Resources{1})) << "the job's";
  EXPECT_THAT(job.stages[2].parents, IsEmpty());
  EXPECT_TRUE(job.stages[2].planned) << "when the first action was over";
  EXPECT_FALSE(job.stages[1].planned);
  EXPECT_EQ(recording->jobs[0].ended, 5100ms);
  EXPECT_EQ(recording->jobs[1].ended, std::nullopt) << "killed before its last task ended";
  EXPECT_EQ(recording->makespan(), 5100ms);
  EXPECT_THAT(workload.jobs[1].stages[0].durations, ElementsAre(300ms, 300ms));
  EXPECT_THAT(workload.notes, ElementsAre("1 jobs without a finished task are left out",
                                          "1 tasks without a known time take the mean of their stage"));
}

TEST(EventLogLoader, InputThatLayNowhereHasNoPlaceInTheReplayEither) {
  std::string text = read_file(sample("event_log.jsonl")).value();
  for (const std::string host : {"h1", "h2"}) {
    const std::string split = "\"hosts\":[\"" + host + "\"]";
    text.replace(text.find(split), split.size(), "\"hosts\":[]");
  }
  const auto workload = load_text("log", text);
  ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
  EXPECT_THAT(workload->jobs[0].stages[0].hosts, ElementsAre(IsEmpty(), IsEmpty())) << "no hosts at all would be drawn";
  EXPECT_EQ(workload->jobs[0].stages[0].input_bytes, 33u);
  EXPECT_THAT(workload->jobs[0].stages[1].hosts, IsEmpty()) << "it reads no input";
}

TEST(EventLogLoader, TakesTheLastRunOfTheMasterAndLaunches) {
  const std::string run = R"x({"time_ns":5,"event":"log_started","version":1,"scheduler":"fair(weight=2)","unix_ns":9})x"
                          "\n"
                          R"({"time_ns":6,"event":"worker_joined","node":1,"name":"w","host":"h","rack":"","capacity":{"cpu":1}})"
                          "\n"
                          R"({"time_ns":7,"event":"job_submitted","job":1,"name":"a"})"
                          "\n"
                          R"({"time_ns":8,"event":"plan_extended","job":1,"stages":[{"stage":0,"tasks":1}],"targets":[0]})"
                          "\n"
                          R"({"time_ns":10,"event":"task_launched","job":1,"stage":0,"task":0,"attempt":0,"node":1,"reason":"r"})"
                          "\n"
                          R"({"time_ns":12,"event":"task_started","job":1,"stage":0,"task":0,"attempt":0,"node":1})"
                          "\n"
                          R"({"time_ns":20,"event":"task_finished","job":1,"stage":0,"task":0,"attempt":0,"node":1})"
                          "\n";
  auto directory = TempDir::create();
  ASSERT_TRUE(directory.has_value());
  const std::string path = directory->path() / "log";
  std::string before = run;
  before.replace(before.find(R"("name":"w")"), 10, R"("name":"x")");
  ASSERT_TRUE(write_file(path, before + run).has_value());
  const auto recording = read_event_log(path);
  ASSERT_TRUE(recording.has_value()) << recording.error().to_string();
  EXPECT_EQ(recording->scheduler, "fair(weight=2)");
  ASSERT_EQ(recording->nodes.size(), 1u) << "of the last run";
  EXPECT_EQ(recording->nodes[0].name, "w");
  ASSERT_EQ(recording->workload.jobs.size(), 1u);
  EXPECT_THAT(recording->workload.jobs[0].stages[0].durations, ElementsAre(10ns)) << "from the launch on it had the slot";
  EXPECT_EQ(recording->jobs[0].ended, 13ns);
  EXPECT_THAT(recording->workload.notes, ElementsAre("1 jobs of earlier runs of the master are left out"));

  // A restart behind the last job, and one while a job was there of which no task had ended yet.
  const std::string restart = R"({"time_ns":1,"event":"log_started","version":1,"scheduler":"fifo"})"
                              "\n";
  const std::string unlucky = run.substr(0, run.find(R"({"time_ns":10,)"));
  ASSERT_TRUE(write_file(path, before + run + restart + unlucky + restart).has_value());
  const auto before_restarts = read_event_log(path);
  ASSERT_TRUE(before_restarts.has_value()) << before_restarts.error().to_string();
  EXPECT_EQ(before_restarts->scheduler, "fair(weight=2)");
  ASSERT_EQ(before_restarts->nodes.size(), 1u);
  EXPECT_EQ(before_restarts->nodes[0].name, "w");
  EXPECT_EQ(before_restarts->workload.jobs.size(), 1u);
  EXPECT_THAT(before_restarts->workload.notes,
              ElementsAre("1 jobs of earlier runs of the master are left out",
                          "this is the last run of the master in which tasks ended; later ones, with 1 jobs, are left out"));
}

TEST(EventLogLoader, KeepsTheCopiesOfMapOutputs) {
  for (const bool two : {true, false}) {
    LogText log;
    log.add(0, "job_submitted", std::string(R"("job":1,"name":"j")") + (two ? R"(,"shuffle_replicas":2)" : ""));
    log.plan(0, 1);
    log.ran(0, 1, 0, 0);
    log.ran(0, 1, 0, 1);
    const auto recording = log.read();
    ASSERT_TRUE(recording) << recording.error().to_string();
    EXPECT_EQ(recording->workload.jobs.at(0).options.shuffle_replicas.value_or(0), two ? 2u : 0u)
        << "0: as the simulated cluster has them";
  }
}

/// A job each second, whose two tasks take 100 ms; a heartbeat each 10 ms.
LogText seconds_of_jobs(int jobs) {
  LogText log;
  log.join(0, 1, "a");
  for (int id = 1; id <= jobs; ++id) {
    const int at = 1000 * id;
    log.job(at, id);
    log.plan(at, id);
    for (const int task : {0, 1}) log.task(at, "task_launched", id, task, 0);
    for (const int task : {0, 1}) log.task(at + 100, "task_finished", id, task, 0);
    for (int beat = 0; beat < 1000; beat += 10) log.add(at + beat, "worker_heartbeat", R"("node":1,"used":{"cpu":1})");
  }
  return log;
}

TEST(EventLogLoader, KeepsTheLastJobsOnly) {
  const LogText log = seconds_of_jobs(40);  // until 40.99 s
  const auto all = log.read();
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(all->workload.jobs.size(), 40u);
  const auto last = log.read(false, std::chrono::milliseconds(3500));
  ASSERT_TRUE(last) << last.error().to_string();
  ASSERT_EQ(last->workload.jobs.size(), 3u);
  EXPECT_EQ(last->workload.jobs[0].name, "38 j");
  EXPECT_EQ(last->workload.jobs[0].arrival, Time(0));
  EXPECT_EQ(last->workload.jobs[2].arrival, std::chrono::seconds(2));
  EXPECT_EQ(last->launches.size(), 6u);
  EXPECT_THAT(last->workload.notes, Contains(HasSubstr("37 jobs that were submitted before")));
  EXPECT_LT(last->events.size(), 2000u) << "measurements of long ago are forgotten";
  EXPECT_EQ(last->nodes.size(), 1u) << "it joined long before";
  const auto none = log.read(false, std::chrono::milliseconds(100));
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().to_string(), HasSubstr("no job of its last 100 ms"));
}

TEST(EventLogLoader, DoesNotReadFilesOfLongAgo) {
  auto directory = TempDir::create();
  const std::string path = directory->path() / "log";
  const std::string text = seconds_of_jobs(9).text(), mark = R"({"time_ns":8000000000,"event":"job_submitted")";
  const std::size_t cut = text.find(mark);
  ASSERT_NE(cut, std::string::npos);
  ASSERT_TRUE(write_file(path + ".000001", "damage\n"));
  const auto continued = [](int second) {
    return fmt::format(R"({{"time_ns":{}000000000,"event":"log_continued","version":1}})", second) + "\n";
  };
  ASSERT_TRUE(write_file(path + ".000002", continued(5)));
  ASSERT_TRUE(write_file(path, continued(8) + text.substr(0, text.find('\n') + 1) + text.substr(cut)));
  EXPECT_FALSE(read_event_log(path)) << "the first file is damaged";
  const auto last = read_event_log(path, false, std::chrono::seconds(2));
  ASSERT_TRUE(last) << last.error().to_string();
  EXPECT_EQ(last->workload.jobs.size(), 2u);
}

TEST(EventLogLoader, KeepsFailedAttemptsAndLostNodes) {
  LogText log;
  log.join(0, 1, "a");
  log.job(5, 1);
  log.plan(10, 1);
  log.task(20, "task_launched", 1, 0, 0);
  log.task(20, "task_launched", 1, 1, 0);
  log.join(30, 2, "late");
  log.task(50, "task_failed", 1, 0, 0, R"(,"kind":"crashed","message":"m")");
  log.task(50, "task_launched", 1, 0, 1);
  log.task(55, "task_failed", 1, 1, 0, R"(,"kind":"killed","message":"preempted")");
  log.task(55, "task_launched", 1, 1, 1);
  log.task(70, "task_failed", 1, 0, 1, R"(,"kind":"environment","message":"disk full")");
  log.task(70, "task_launched", 1, 0, 2);
  log.add(80, "worker_lost", R"("node":1,"reason":"gone")");
  log.join(100, 3, "a");
  log.task(110, "task_finished", 1, 1, 1);
  log.add(120, "worker_lost", R"("node":2,"reason":"gone")");
  log.task(210, "task_finished", 1, 0, 2);
  log.add(300, "worker_lost", R"("node":3,"reason":"the cluster is taken down")");
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  const JobSpec& job = recording->workload.jobs.at(0);
  EXPECT_EQ(job.options.max_attempts, 6u);
  EXPECT_THAT(job.stages.at(0).durations, ElementsAre(140ms, 55ms));
  ASSERT_EQ(job.stages.at(0).failures.size(), 1u) << "what was killed did not fail";
  EXPECT_THAT(job.stages.at(0).failures.at(0), ElementsAre(StageSpec::Failure{30ms, false}, StageSpec::Failure{20ms, true}));
  ASSERT_EQ(recording->nodes.size(), 2u);
  ASSERT_EQ(recording->nodes[0].absences.size(), 1u);
  EXPECT_EQ(recording->nodes[0].absences[0].from, 75ms) << "since the submission";
  EXPECT_EQ(recording->nodes[0].absences[0].until, 95ms);
  ASSERT_EQ(recording->nodes[1].absences.size(), 2u);
  EXPECT_EQ(recording->nodes[1].absences[0].from, 0ms);
  EXPECT_EQ(recording->nodes[1].absences[0].until, 25ms) << "it came late";
  EXPECT_EQ(recording->nodes[1].absences[1].from, 115ms);
  EXPECT_EQ(recording->nodes[1].absences[1].until, std::nullopt);
}

TEST(EventLogLoader, AWorkerThatBecameSilentIsLost) {
  for (const auto& [first, second] : {std::pair("worker_silent", "worker_lost"), std::pair("worker_lost", "worker_silent")}) {
    SCOPED_TRACE(first);
    LogText log;
    log.join(0, 1, "a");
    log.join(0, 2, "b");
    log.job(10, 1);
    log.plan(10, 1);
    log.task(20, "task_launched", 1, 0, 0);
    log.task(20, "task_launched", 1, 1, 0);
    log.add(40, first, R"("node":1,"reason":"no message came for ten seconds")");
    log.add(60, second, R"("node":1,"reason":"its connection is closed")");
    log.join(80, 3, "a");
    log.task(90, "task_finished", 1, 0, 0);
    log.task(90, "task_finished", 1, 1, 0);
    const auto recording = log.read();
    ASSERT_TRUE(recording) << recording.error().to_string();
    ASSERT_EQ(recording->nodes.size(), 2u);
    ASSERT_EQ(recording->nodes[0].absences.size(), 1u) << "the second line about it says nothing new";
    EXPECT_EQ(recording->nodes[0].absences[0].from, 30ms);
    EXPECT_EQ(recording->nodes[0].absences[0].until, 70ms);
    EXPECT_TRUE(recording->nodes[1].absences.empty());
  }
}

TEST(EventLogLoader, KeepsTheSkewOfPartitions) {
  LogText log;
  log.job(5, 1);
  log.add(10, "plan_extended",
          R"("job":1,"targets":[2],"stages":[{"stage":0,"tasks":2,"splits":[{"task":0,"bytes":10},{"task":1,"bytes":20}]},)"
          R"({"stage":1,"tasks":3,"inputs":[0]},{"stage":2,"tasks":1,"inputs":[1]}])");
  log.ran(20, 30, 0, 0, 0, R"(,"partition_bytes":[10,0,30])");
  log.ran(20, 30, 0, 1, 0, R"(,"partition_bytes":[1,2,0])");
  for (int task : {0, 1, 2}) log.ran(40, 50, 1, task, 0, R"(,"partition_bytes":[2,1])");
  log.ran(60, 70, 2, 0);
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  const auto& stages = recording->workload.jobs.at(0).stages;
  ASSERT_EQ(stages.size(), 3u);
  EXPECT_EQ(stages[0].input_bytes, 30u) << "as planned, for the tasks did not tell";
  EXPECT_EQ(stages[0].shuffle_bytes, 43u);
  EXPECT_THAT(stages[0].partition_weights, ElementsAre(11, 2, 30));
  EXPECT_EQ(stages[1].shuffle_bytes, 9u);
  EXPECT_THAT(stages[1].partition_weights, IsEmpty()) << "two partitions, but one reader";
  EXPECT_THAT(stages[2].partition_weights, IsEmpty());
}

TEST(EventLogLoader, StagesWaitForWhatTheyWaitedForThen) {
  LogText log;
  log.job(5, 1);
  log.add(10, "plan_extended",
          R"("job":1,"targets":[2],"stages":[{"stage":0,"tasks":1},{"stage":1,"tasks":1,"inputs":[0]},)"
          R"({"stage":2,"tasks":1,"inputs":[1]}])");
  log.ran(20, 30, 0, 0);
  log.add(35, "plan_extended", R"("job":1,"targets":[3],"stages":[{"stage":3,"tasks":1}])");
  log.ran(40, 50, 2, 0);
  log.ran(40, 50, 3, 0);
  log.add(55, "plan_extended", R"("job":1,"targets":[4],"stages":[{"stage":4,"tasks":1}])");
  log.ran(60, 70, 4, 0);
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  const auto& stages = recording->workload.jobs.at(0).stages;
  ASSERT_EQ(stages.size(), 4u);
  EXPECT_THAT(stages[1].parents, ElementsAre(0u)) << "of its parent no task ran, but what that waited for did";
  EXPECT_THAT(stages[2].parents, IsEmpty()) << "planned while the action before still ran";
  EXPECT_THAT(stages[3].parents, IsEmpty());
  EXPECT_FALSE(stages[2].planned);
  EXPECT_EQ(stages[3].planned, 5ms) << "planned when the action before was over";
}

TEST(EventLogLoader, CountsOutputsOnceThatWereLostAndMadeAgain) {
  LogText log;
  log.job(5, 1);
  log.add(10, "plan_extended", R"("job":1,"targets":[1],"stages":[{"stage":0,"tasks":1},{"stage":1,"tasks":1,"inputs":[0]}])");
  log.ran(20, 30, 0, 0, 0, R"(,"input_bytes":7,"partition_bytes":[5])");
  log.add(32, "task_launched", R"("job":1,"stage":1,"task":0,"attempt":0,"node":1)");
  log.add(35, "task_failed", R"("job":1,"stage":1,"task":0,"attempt":0,"node":1,"kind":"fetch_failed","message":"gone")");
  log.ran(36, 90, 0, 0, 1, R"(,"input_bytes":7,"partition_bytes":[5])");
  log.ran(92, 95, 1, 0, 1);
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  const auto& stages = recording->workload.jobs.at(0).stages;
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_THAT(stages[0].durations, ElementsAre(10ms));
  EXPECT_EQ(stages[0].shuffle_bytes, 5u);
  EXPECT_EQ(stages[0].input_bytes, 0u) << "it reads no files";
  EXPECT_THAT(stages[1].durations, ElementsAre(3ms));
  EXPECT_TRUE(stages[1].failures.empty()) << "it did not fail by itself";
}

TEST(EventLogLoader, AWorkerThatWasStartedAgainUnderAnotherNameIsTheMachineThatItWas) {
  LogText log;
  const std::string of = R"("host":"h9","rack":"r","capacity":{"cpu":1})";
  log.add(1, "worker_joined", R"("node":8,"name":"h9-100",)" + of);
  log.add(2, "worker_joined", R"("node":9,"name":"h9-101",)" + of);
  log.add(3, "worker_lost", R"("node":8,"reason":"gone")");
  log.add(4, "worker_joined", R"("node":10,"name":"h9-200",)" + of);
  log.job(5, 1);
  log.add(10, "plan_extended", R"("job":1,"targets":[0],"stages":[{"stage":0,"tasks":1}])");
  log.ran(20, 30, 0, 0);
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  const auto on_host =
      std::count_if(recording->nodes.begin(), recording->nodes.end(), [](const auto& node) { return node.host == "h9"; });
  EXPECT_EQ(on_host, 2) << "the second one was there all the time";
}

TEST(EventLogLoader, AnEarlyReaderThatFailsHasNotWorkedWhileItWaited) {
  LogText log;
  log.job(5, 1);
  log.add(10, "plan_extended", R"("job":1,"targets":[1],"stages":[{"stage":0,"tasks":1},{"stage":1,"tasks":1,"inputs":[0]}])");
  log.add(20, "task_launched", R"("job":1,"stage":1,"task":0,"attempt":0,"node":1)");
  log.ran(20, 100, 0, 0, 0, R"(,"partition_bytes":[5])");
  log.add(110, "task_failed", R"("job":1,"stage":1,"task":0,"attempt":0,"node":1,"kind":"user_code","message":"no")");
  log.ran(120, 125, 1, 0, 1);
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  const auto& failures = recording->workload.jobs.at(0).stages.at(1).failures;
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures.at(0).at(0).after, 10ms);
}

TEST(EventLogLoader, TakesTheTimeThatATaskRanWhereItsLaunchIsMissing) {
  LogText log;
  log.job(5, 1);
  log.add(10, "plan_extended", R"("job":1,"targets":[0],"stages":[{"stage":0,"tasks":1}])");
  log.add(700, "task_finished", R"("job":1,"stage":0,"task":0,"attempt":0,"node":1,"run_ns":600000000)");
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  EXPECT_THAT(recording->workload.jobs.at(0).stages.at(0).durations, ElementsAre(600ms));
  EXPECT_THAT(recording->workload.notes, IsEmpty());
}

TEST(EventLogLoader, TakesPiecesOfHotPartitionsForTasks) {
  LogText log;
  log.job(5, 1);
  log.add(10, "plan_extended", R"("job":1,"targets":[0],"stages":[{"stage":0,"tasks":1}])");
  log.ran(20, 30, 0, 0);
  log.ran(20, 45, 0, 1);
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  EXPECT_EQ(recording->workload.jobs.at(0).stages.at(0).tasks, 2u);
  EXPECT_THAT(recording->workload.jobs[0].stages[0].durations, ElementsAre(10ms, 25ms));
  EXPECT_THAT(recording->workload.notes, ElementsAre("1 stages had hot partitions cut: replayed with as many tasks, cut evenly"));
}

TEST(EventLogLoader, AStageWhosePartitionsWereMergedHasAsManyTasksAsRan) {
  const auto launched = [](int task, int attempt, int partitions) {
    return R"("job":1,"stage":0,"node":1,"task":)" + std::to_string(task) + R"(,"attempt":)" + std::to_string(attempt) +
           R"(,"partitions":)" + std::to_string(partitions);
  };
  const std::string plan = R"("job":1,"targets":[0],"stages":[{"stage":0,"tasks":5}])";
  LogText log;
  log.job(5, 1);
  log.add(10, "plan_extended", plan);
  log.add(20, "task_launched", launched(0, 0, 3));
  log.add(21, "task_failed", R"("job":1,"stage":0,"task":0,"attempt":0,"node":1,"kind":"fetch_failed","message":"gone")");
  log.add(22, "task_launched", launched(0, 1, 3));
  log.add(23, "task_launched", launched(1, 0, 2));
  log.add(30, "task_finished", R"("job":1,"stage":0,"task":0,"attempt":1,"node":1)");
  log.add(40, "task_finished", R"("job":1,"stage":0,"task":1,"attempt":0,"node":1)");
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  EXPECT_THAT(recording->workload.jobs.at(0).stages.at(0).durations, ElementsAre(8ms, 17ms));
  EXPECT_TRUE(recording->jobs.at(0).ended);
  EXPECT_THAT(recording->workload.notes,
              ElementsAre("1 stages had small partitions merged: replayed with as many tasks, their input cut evenly"));
  LogText wrong;
  wrong.job(5, 1);
  wrong.add(10, "plan_extended", plan);
  wrong.add(20, "task_launched", launched(3, 0, 3));
  const auto refused = wrong.read();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("task 3 reads more partitions than there are"), std::string::npos);
}

TEST(EventLogLoader, JobsArriveWhenTheyWereSubmittedAndPlanWhenTheyPlanned) {
  LogText log;
  log.join(0, 1, "a");
  for (int id : {1, 2, 3}) log.job(id == 3 ? 9 : 5, id);
  log.plan(12, 2);
  log.plan(14, 3);
  log.plan(15, 1);
  for (int id : {1, 2, 3}) {
    for (int task : {0, 1}) {
      log.task(20, "task_launched", id, task, 0);
      log.task(30, "task_finished", id, task, 0);
    }
  }
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  ASSERT_EQ(recording->workload.jobs.size(), 3u);
  for (std::size_t id : {1u, 2u, 3u}) EXPECT_EQ(recording->workload.jobs[id - 1].name, fmt::format("{} j", id));
  EXPECT_EQ(recording->workload.jobs[2].arrival, 4ms);
  EXPECT_EQ(recording->workload.jobs[0].stages.at(0).planned, 10ms);
  EXPECT_EQ(recording->workload.jobs[1].stages.at(0).planned, 7ms);
  EXPECT_EQ(recording->workload.jobs[2].stages.at(0).planned, 5ms);
  ASSERT_EQ(recording->launches.size(), 6u);
  EXPECT_EQ(recording->launches[3].job, 1u);
  EXPECT_EQ(recording->launches[3].task, 1u);
  EXPECT_EQ(recording->launches[3].node, 0u);
}

TEST(EventLogLoader, KnowsWhatEachMapWroteForTasksThatReadSeveralPartitions) {
  LogText log;
  log.job(0, 1);
  log.add(0, "plan_extended",
          R"("job":1,"targets":[2],"stages":[{"stage":0,"tasks":1},{"stage":1,"tasks":2,"inputs":[0],"broadcast":[0]},)"
          R"({"stage":2,"tasks":3,"inputs":[1]}])");
  log.ran(0, 5, 0, 0, 0, R"(,"partition_bytes":[7])");
  log.ran(10, 20, 1, 0, 0, R"(,"input_bytes":4,"partition_bytes":[1,2,3],"sample_histogram":[5,6,7])");
  log.ran(10, 20, 1, 1, 0, R"(,"input_bytes":5,"partition_bytes":[10,20,30])");
  log.add(30, "task_launched", R"("job":1,"stage":2,"task":0,"attempt":0,"node":1,"partitions":2)");
  log.ran(30, 40, 2, 0);
  log.ran(30, 40, 2, 1);
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  const auto& stages = recording->workload.jobs.at(0).stages;
  EXPECT_EQ(stages.at(0).broadcast, 1u);
  EXPECT_EQ(stages[1].broadcast, 0u);
  EXPECT_THAT(stages[1].written, ElementsAre(ElementsAre(3u, 3u), ElementsAre(30u, 30u)));
  EXPECT_THAT(stages[1].partition_weights, ElementsAre(33, 33));
  EXPECT_THAT(stages[1].read, ElementsAre(4u, 5u));
  EXPECT_THAT(stages[1].sample_histogram, ElementsAre(5u, 6u, 7u));
  EXPECT_EQ(stages.at(2).merged, 1u);
}

TEST(EventLogLoader, EarlyReadersWorkFromWhenTheirInputsWereComplete) {
  for (const bool said : {true, false}) {  // or the scheduler let them
    LogText log;
    log.add(0, "job_submitted", std::string(R"("job":1,"name":"j")") + (said ? R"(,"slow_start":0.5)" : ""));
    log.add(0, "plan_extended", R"("job":1,"targets":[1],"stages":[{"stage":0,"tasks":2},{"stage":1,"tasks":1,"inputs":[0]}])");
    log.ran(0, 10, 0, 0);
    log.add(10, "task_launched", R"("job":1,"stage":1,"task":0,"attempt":0,"node":1)");
    log.ran(0, 50, 0, 1);
    log.add(65, "task_finished", R"("job":1,"stage":1,"task":0,"attempt":0,"node":1)");
    const auto recording = log.read();
    ASSERT_TRUE(recording) << recording.error().to_string();
    EXPECT_THAT(recording->workload.jobs.at(0).stages.at(1).durations, ElementsAre(15ms));
    EXPECT_EQ(recording->workload.jobs[0].options.slow_start, said ? std::optional(0.5) : std::nullopt)
        << "the replay's scheduler says";
  }
}

TEST(EventLogLoader, WorkIsWithoutWaitingForInputWhereTransfersAreSimulated) {
  LogText log;
  log.join(0, 1, "w1");
  log.job(0, 1);
  log.add(0, "plan_extended",
          R"("job":1,"targets":[0],"stages":[{"stage":0,"tasks":3,"splits":[{"task":2,"bytes":7,"hosts":["w2","w1"]}]}])");
  log.ran(0, 50, 0, 2, 0, R"(,"file_read_ns":20000000)");
  log.ran(0, 90, 0, 0, 0, R"(,"shuffle_read_ns":30000000,"file_read_ns":20000000,"shuffle_write_ns":5000000)");
  log.ran(0, 10, 0, 1, 0, R"(,"file_read_ns":20000000)");
  EXPECT_THAT(log.read()->workload.jobs.at(0).stages.at(0).durations, ElementsAre(90ms, 10ms, 50ms));
  EXPECT_THAT(log.read(true)->workload.jobs.at(0).stages.at(0).durations, ElementsAre(40ms, 0ms, 50ms))
      << "the last read what lay on its node";
}

TEST(EventLogLoader, KnowsHowMuchFasterNodesWithAnAttributeAre) {
  LogText log;
  log.add(0, "worker_joined",
          R"("node":7,"name":"w7","host":"h7","rack":"r","capacity":{"cpu":1},"attributes":{"accelerator":"gpu"})");
  log.add(0, "job_submitted", R"("job":1,"name":"j")");
  log.add(
      0, "plan_extended",
      R"("job":1,"targets":[0,1],"stages":[{"stage":0,"tasks":4,"variants":["accelerator"]},{"stage":1,"tasks":1,"variants":["accelerator"]}])");
  for (int task = 0; task < 2; ++task) {
    log.add(0, "task_launched", fmt::format(R"("job":1,"stage":0,"task":{},"attempt":0,"node":1)", task));
    log.add(30 + 20 * task, "task_finished", fmt::format(R"("job":1,"stage":0,"task":{},"attempt":0,"node":1)", task));
  }
  for (int task = 2; task < 4; ++task) {
    log.add(60, "task_launched",
            fmt::format(R"("job":1,"stage":0,"task":{},"attempt":0,"node":7,"variants":["accelerator"])", task));
    log.add(70, "task_finished", fmt::format(R"("job":1,"stage":0,"task":{},"attempt":0,"node":7)", task));
  }
  log.add(80, "task_launched", R"("job":1,"stage":1,"task":0,"attempt":0,"node":7,"variants":["accelerator"])");
  log.add(90, "task_finished", R"("job":1,"stage":1,"task":0,"attempt":0,"node":7)");
  const auto recording = log.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  const auto& stages = recording->workload.jobs.at(0).stages;
  ASSERT_EQ(stages.at(0).speedups.size(), 1u);
  EXPECT_EQ(stages[0].speedups[0].attribute, "accelerator");
  EXPECT_EQ(stages[0].speedups[0].value, "gpu");
  EXPECT_DOUBLE_EQ(stages[0].speedups[0].factor, 4);
  EXPECT_THAT(stages[0].durations, ElementsAre(30ms, 50ms, 40ms, 40ms)) << "as on other nodes";
  ASSERT_EQ(stages.at(1).speedups.size(), 1u) << "it has the function, whether it is known to be faster or not";
  EXPECT_DOUBLE_EQ(stages[1].speedups[0].factor, 1);
  EXPECT_THAT(stages[1].durations, ElementsAre(10ms));
  EXPECT_THAT(recording->workload.notes,
              ElementsAre("1 stages ran on one kind of node and have functions for others: these are taken to be as fast"));
}

TEST(EventLogLoader, NamesLineAndReason) {
  const std::string submitted = R"({"time_ns":1,"event":"job_submitted","job":1,"name":"a"})"
                                "\n";
  EXPECT_EQ(load_error("log", ""), "t: the log holds no job of which a task ended");
  EXPECT_EQ(load_error("log", submitted + submitted), "t:2: job 1 was submitted twice: the log holds two runs of a master");
  EXPECT_EQ(load_error("log", R"({"time_ns":1,"event":"task_started","job":1})"), "t:1: job 1 was not submitted before");
  EXPECT_EQ(load_error("log", submitted + R"({"time_ns":1,"event":"task_started","job":1,"stage":4})"),
            "t:2: stage 4 was not planned before");
  EXPECT_EQ(load_error("log", submitted +
                                  R"({"time_ns":1,"event":"plan_extended","job":1,"stages":[{"stage":0,"tasks":1,"inputs":[0]}]})"),
            "t:2: stage 0 reads a shuffle of stage 0, which is no earlier one");
  EXPECT_EQ(load_error("log", submitted + R"({"time_ns":1,"event":"plan_extended","job":1,"stages":[],"targets":[3]})"),
            "t:2: target 3 is no stage");
  EXPECT_EQ(load_error("log", R"({"time_ns":1,"event":"worker_lost","node":7})"), "t:1: node 7 did not join before");
  EXPECT_EQ(load_error("log", R"({"event":"job_closed"})"), "t:1: an event has time_ns and event");
  EXPECT_EQ(load_error("log", R"({"time_ns":1,"event":"x","job":-1})"), "t:1: -1 is not an integer from 0 of 64 bits");
  EXPECT_EQ(load_error("log", "no json\n"), "t:1: an object was expected");
}

}  // namespace
}  // namespace weft::simulator::workloads
