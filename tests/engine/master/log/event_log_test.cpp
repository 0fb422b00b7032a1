#include "engine/master/log/event_log.hpp"

#include <gtest/gtest.h>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

/// One event of each kind, with every field set.
std::vector<Event> all_events() {
  std::vector<Event> events;
  JobSubmitted job;
  job.job = JobId(7);
  job.name = "n";
  job.options.user = "u";
  job.options.pool = "p";
  job.options.priority = -3;
  job.deadline = Time(99);
  job.options.demand = {1, 2, 3, 4, 5, 6, 7, 8};
  job.options.max_attempts = 9;
  job.options.task_timeout = Time(5);
  job.options.shuffle_replicas = 2;
  job.hints = {2, 3, 4, schedulers::Resources{1, 1, 1, 1}, std::nullopt, schedulers::Resources{2, 2, 2, 2}};
  events.emplace_back(job);
  events.emplace_back(PlanExtended{JobId(7), part(1, {source(0, 2, 3), result(reader(1, {0}, 3, 0))}, {0})});
  events.emplace_back(JobClosed{JobId(7)});
  events.emplace_back(JobKilled{JobId(7), "by \"alice\""});
  events.emplace_back(WorkerJoined{NodeId(3), "w", "h", "r", "h:1", {4, 5, 6, 7}, {{"gpu", "1"}}, {{Time(3), {1, 0, 0, 0}}}, 77});
  events.emplace_back(WorkerHeartbeat{NodeId(3), {1, 2, 3, 4, 5, 6, 7, 8}, {8, 9}, {{Time(4), {2, 0, 0, 0}}}});
  events.emplace_back(WorkerLost{NodeId(3), "gone"});
  const AttemptId attempt{TaskId{JobId(7), StageId(1), 2}, 3};
  TaskFinished finished;
  finished.attempt = attempt;
  finished.node = NodeId(3);
  finished.output = {{1, 2}, {3, 4}};
  finished.result = Buffer::copy_of(as_bytes("result"));
  finished.counters = {{"a", -1}, {"b", 2}};
  finished.input_bytes = 11;
  finished.input_records = 12;
  finished.shuffle_times = {Time(13), Time(14)};
  finished.sample_histogram = {1, 0, 7};
  finished.usage = {Time(15), Time(16), Time(17), Time(18), 19, {}, {}, 0, 20, 21, 22};
  events.emplace_back(std::move(finished));
  TaskFailed failed;
  failed.attempt = attempt;
  failed.node = NodeId(3);
  failed.kind = FailureKind::fetch_failed;
  failed.message = "m\n";
  failed.fetch = shuffle::FetchFailure{ShuffleId(1), 2, 3, NodeId(4)};
  events.emplace_back(std::move(failed));
  events.emplace_back(TimerFired{5});
  events.emplace_back(SchedulerConfigured{"fair(pools=p)", {{"p", "[pool]\n"}, {"q", ""}}});
  events.emplace_back(OutputReplicated{{NodeId(3), JobId(7), ShuffleId(1), 2, 4}});
  events.emplace_back(ReplicaFailed{{NodeId(3), JobId(7), ShuffleId(1), 2, 4}, "disk full"});
  events.emplace_back(WorkerLeaving{NodeId(3)});
  events.emplace_back(WorkerRejoined{NodeId(3), {AttemptId{}}, {{JobId(7), ShuffleId(1), 2, 4}, {JobId(7), ShuffleId(1), 3, 0}}});
  events.emplace_back(DriverFailed{JobId(7), "exit code 3"});
  events.emplace_back(CapacityChanged{NodeId(3), schedulers::Resources{}, {{Time(4), {2, 0, 0, 0}}}, "by hand"});
  return events;
}

TEST(Events, ACopyIsTheSame) {
  ASSERT_EQ(all_events().size(), std::variant_size_v<Event>);
  for (const auto& event : all_events()) {
    const Event copy = copy_of(event);
    EXPECT_EQ(copy.index(), event.index());
    EXPECT_EQ(event_json(Time(17), copy), event_json(Time(17), event));
  }
  const Event finished = copy_of(all_events()[7]);
  EXPECT_EQ(as_chars(std::get<TaskFinished>(finished).result.view()), "result");
}

TEST(EventLog, TellsWhatATaskSpentOnItsShuffles) {
  TaskFinished finished;
  finished.shuffle_times = {Time(13), Time(14)};
  EXPECT_NE(event_json(Time(17), std::move(finished)).find(R"("shuffle_read_ns":13,"shuffle_write_ns":14)"), std::string::npos);
  EXPECT_EQ(event_json(Time(17), Event(TaskFinished{})).find("shuffle_"), std::string::npos);
}

TEST(EventLog, TellsWhatATaskUsed) {
  EXPECT_NE(event_json(Time(17), all_events()[7])
                .find(R"("run_ns":15,"file_read_ns":16,"file_write_ns":17,"cpu_ns":18,"peak_memory_bytes":19,)"
                      R"("shuffle_read_bytes":20,"file_output_bytes":21,"spilled_bytes":22)"),
            std::string::npos);
  TaskFinished waited;
  waited.usage.ready = Time(20);
  waited.usage.disk_written = 21;
  EXPECT_NE(event_json(Time(17), std::move(waited)).find(R"("ready_ns":20,"disk_written_bytes":21)"), std::string::npos);
  EXPECT_EQ(event_json(Time(17), Event(TaskFinished{})).find("cpu_ns"), std::string::npos) << "not known";
}

TEST(EventLog, TellsWhatANodeHas) {
  EXPECT_EQ(event_json(Time(5), all_events().back()),
            R"({"time_ns":5,"event":"capacity_changed","node":3,"present":{},"reason":"by hand",)"
            R"("forecast":[{"from_ns":4,"available":{"cpu":2}}]})");
  EXPECT_EQ(event_json(Time(5), CapacityChanged{NodeId(3), {}, {}, ""}).find("present"), std::string::npos);
}

TEST(EventLog, TellsThatAWorkerIsLeaving) {
  EXPECT_EQ(event_json(Time(5), WorkerLeaving{NodeId(3)}), R"({"time_ns":5,"event":"worker_leaving","node":3})");
}

TEST(EventLog, TellsThatAWorkerIsBack) {
  EXPECT_EQ(event_json(Time(5), WorkerRejoined{NodeId(3), {AttemptId{}}, {}}),
            R"({"time_ns":5,"event":"worker_rejoined","node":3,"attempts":1,"outputs":0})");
}

TEST(EventLog, GivesEventsAsJsonLines) {
  const auto events = all_events();
  EXPECT_EQ(event_json(Time(5), events[3]), R"({"time_ns":5,"event":"job_killed","job":7,"reason":"by \"alice\""})");
  EXPECT_EQ(event_json(Time(5), events[events.size() - 2]),
            R"({"time_ns":5,"event":"driver_failed","job":7,"reason":"exit code 3"})");
  for (const auto& event : events) EXPECT_EQ(event_json(Time(0), event).find('\n'), std::string::npos);
}

TEST(EventLog, TellsHowManyBadRecordsAJobBears) {
  JobSubmitted job;
  job.job = JobId(1);
  const auto line = [&](std::optional<runtime::BadRecordLimit> limit) {
    job.options.max_bad_records = limit;
    return event_json(Time(5), job);
  };
  EXPECT_EQ(line(std::nullopt).find("max_bad_records"), std::string::npos);
  EXPECT_NE(line(runtime::BadRecordLimit{.count = 0}).find(R"("max_bad_records":"0")"), std::string::npos);
  EXPECT_NE(line(runtime::BadRecordLimit{.count = 12}).find(R"("max_bad_records":"12")"), std::string::npos);
  EXPECT_NE(line(runtime::BadRecordLimit{.percent = 0.5}).find(R"("max_bad_records":"0.5%")"), std::string::npos);
}

TEST(EventLog, TellsWhatAReplayNeeds) {
  EXPECT_NE(event_json(Time(5), all_events()[7]).find(R"("partition_bytes":[1,3])"), std::string::npos);
  plan::Stage stage = source(0, 2, 3);
  stage.demand.cpu = 2;
  stage.estimated_task_duration = Time(7);
  stage.branches[0].splits = {{{"a", 0, 10, {"h1"}}, {"b", 0, 5, {"h2", "h1"}}}, {{"c", 0, 1, {}}}};
  const std::string line = event_json(Time(5), PlanExtended{JobId(7), part(1, {stage}, {})});
  EXPECT_NE(line.find(R"("demand":{"cpu":2},"estimated_task_ns":7,"splits":[{"task":0,"bytes":15,"hosts":["h1","h2"]},)"
                      R"({"task":1,"bytes":1,"hosts":[]}])"),
            std::string::npos)
      << line;
}

}  // namespace
}  // namespace weft::master
