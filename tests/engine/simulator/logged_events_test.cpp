// Events of nodes and of the scheduler in an event log, and which of them a replay of its jobs repeats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/simulator/log_text.hpp"

namespace weft::simulator::workloads {
namespace {

using namespace std::chrono_literals;

class LoggedEvents : public testing::Test {
 protected:
  /// A job of one task from then on, which lasts 20 ms.
  void job(int ms, int id, int node) {
    log_.job(ms, id);
    log_.add(ms, "plan_extended", fmt::format(R"("job":{},"stages":[{{"stage":0,"tasks":1}}],"targets":[0])", id));
    const std::string of = fmt::format(R"("job":{},"stage":0,"task":0,"attempt":0,"node":{})", id, node);
    log_.add(ms, "task_launched", of);
    log_.add(ms + 20, "task_finished", of);
  }
  void configured(int ms, const std::string& spec, const std::string& pools) {
    log_.add(ms, "scheduler_configured", fmt::format(R"("spec":"{}","files":["p"],"texts":{{"p":"{}"}})", spec, pools));
  }
  void about(int ms, const std::string& event, int node, const std::string& more = "") {
    log_.add(ms, event, fmt::format(R"("node":{}{})", node, more));
  }
  Recording read(Time last = Time(0)) const {
    auto recording = log_.read(false, last);
    EXPECT_TRUE(recording) << recording.error().to_string();
    return recording ? std::move(*recording) : Recording{};
  }

  LogText log_;
};

TEST_F(LoggedEvents, AreThoseThatTheMasterWasTold) {
  log_.add(1, "log_started", R"("version":1,"scheduler":"fair")");
  log_.add(1, "scheduler_configured",
           R"x("spec":"fair(pools=p)","files":["p"],"texts":{"p":"text"},"speculation":"on(slower=3)")x");
  log_.join(2, 1, "a");
  log_.job(5, 1);
  log_.plan(10, 1);
  log_.add(50, "job_submitted",
           R"("job":2,"name":"k","pool":"p","weight":3.5,"slow_start":0.25,"shuffle_mode":"pull","deadline_ns":250000000)");
  log_.plan(60, 2);
  for (int job : {1, 2}) {
    log_.task(70, "task_launched", job, 0, 0);
    log_.task(80, "task_finished", job, 0, 0);
  }
  log_.add(75, "worker_heartbeat", R"("node":1,"used":{"cpu":1.5},"capacity":{"cpu":3})");
  log_.add(85, "scheduler_configured", R"("spec":"drf","files":[])");
  log_.add(95, "capacity_changed",
           R"("node":1,"present":{"cpu":2},"reason":"by hand","forecast":[{"from_ns":95000000,"available":{"cpu":1}}])");
  const auto recording = log_.read();
  ASSERT_TRUE(recording) << recording.error().to_string();
  EXPECT_EQ(recording->scheduler, "fair(pools=p)") << "when the first job came";
  EXPECT_EQ(recording->scheduler_files.at("p"), "text");
  ASSERT_TRUE(recording->speculation);
  EXPECT_EQ(recording->speculation->slower, 3);
  ASSERT_EQ(recording->events.size(), 3u);
  const auto& change = std::get<master::CapacityChanged>(recording->events[2].event);
  EXPECT_EQ(recording->events[2].node, 0u);
  EXPECT_EQ(change.capacity->cpu, 2);
  EXPECT_EQ(change.why, "by hand");
  EXPECT_EQ(change.forecast, (std::vector<schedulers::CapacityStep>{{90ms, {.cpu = 1}}})) << "on the clock of the replay";
  EXPECT_EQ(recording->events[0].at, 70ms);
  EXPECT_EQ(recording->events[0].node, 0u);
  EXPECT_EQ(std::get<master::WorkerHeartbeat>(recording->events[0].event).used.cpu, 1.5);
  EXPECT_EQ(std::get<master::WorkerHeartbeat>(recording->events[0].event).capacity->cpu, 3);
  EXPECT_EQ(std::get<master::SchedulerConfigured>(recording->events[1].event).spec, "drf");
  ASSERT_EQ(recording->workload.jobs.size(), 2u);
  const JobSpec& job = recording->workload.jobs[1];
  EXPECT_EQ(job.options.pool, "p");
  EXPECT_EQ(job.hints.weight, 3.5);
  EXPECT_EQ(job.arrival, 45ms);
  EXPECT_EQ(job.stages.at(0).planned, 10ms);
  EXPECT_EQ(job.deadline, 200ms) << "since its arrival";
  EXPECT_EQ(job.options.slow_start, 0.25);
  EXPECT_EQ(job.options.shuffle_mode, shuffle::Mode::pull);
}

TEST_F(LoggedEvents, AWorkerThatCameBackIsNotToldWhatItWasBefore) {
  for (int node = 1; node <= 2; ++node) log_.join(0, node, fmt::format("w{}", node));
  for (int node = 1; node <= 2; ++node) {
    about(1, "worker_heartbeat", node, R"(,"used":{"cpu":1})");
    about(1, "capacity_changed", node, R"(,"present":{},"reason":"upgrade")");
    about(2, "worker_leaving", node);
  }
  about(3, "worker_lost", 1, R"(,"reason":"it left")");
  log_.join(4, 3, "w1");
  job(10, 1, 3);
  about(40, "worker_leaving", 3);
  about(42, "worker_lost", 3, R"(,"reason":"it left")");
  log_.join(45, 4, "w1");
  job(50, 2, 4);
  const Recording recording = read();
  std::vector<std::tuple<Time, std::uint32_t, bool>> told;
  for (const RecordedEvent& event : recording.events)
    told.emplace_back(event.at, event.node.value(), std::holds_alternative<master::WorkerLeaving>(event.event));
  EXPECT_THAT(told, testing::ElementsAre(std::tuple(0ms, 1u, false), std::tuple(0ms, 1u, false), std::tuple(0ms, 1u, true),
                                         std::tuple(30ms, 0u, true)))
      << "the other has not come back, and the first leaves once more during the replay";
}

TEST_F(LoggedEvents, TheReplayBeginsWithTheConfigurationOfItsFirstJob) {
  log_.add(0, "log_started", R"("version":1,"scheduler":"fifo")");
  configured(0, "fifo", "");
  log_.join(0, 1, "a");
  job(10, 1, 1);
  configured(40, "drf", "old");
  configured(50, "drf", "new");
  job(60, 2, 1);
  configured(90, "fsp", "new");
  job(100, 3, 1);
  const Recording all = read(), last = read(70ms);
  EXPECT_EQ(all.scheduler, "fifo");
  EXPECT_EQ(all.events.size(), 3u);
  EXPECT_EQ(last.workload.jobs.size(), 2u);
  EXPECT_EQ(last.scheduler, "drf");
  EXPECT_EQ(last.scheduler_files.at("p"), "new");
  ASSERT_EQ(last.events.size(), 1u);
  EXPECT_EQ(std::get<master::SchedulerConfigured>(last.events[0].event).spec, "fsp");
  EXPECT_EQ(last.events[0].at, 30ms);
}

TEST_F(LoggedEvents, ALaterPieceRepeatsTheConfiguration) {
  log_.add(100, "log_continued", R"("version":1,"scheduler":"")");
  configured(100, "drf", "p");
  log_.join(0, 1, "a");
  job(110, 1, 1);
  log_.add(200, "log_continued", R"("version":1,"scheduler":"")");
  configured(200, "drf", "p");
  job(210, 2, 1);
  const Recording recording = read();
  EXPECT_EQ(recording.scheduler, "drf");
  EXPECT_TRUE(recording.events.empty()) << "nothing was configured during the replay";
}

}  // namespace
}  // namespace weft::simulator::workloads
