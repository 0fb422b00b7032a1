// Known causes are named, and healthy jobs are left alone.
#include "engine/tools/history/findings.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/engine/tools/history/lines.hpp"

namespace weft::history {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

std::set<std::string> kinds(const Told& told, std::uint64_t job = 1) {
  std::set<std::string> found;
  for (const Finding& finding : findings_of(told.history, *told.history.job(job))) {
    found.insert(finding.kind);
    EXPECT_FALSE(finding.text.empty() || finding.advice.empty() || finding.numbers.empty()) << finding.kind;
  }
  return found;
}
using Kinds = std::set<std::string>;

/// Two workers, eight tasks of about a second whose partitions are alike.
Told healthy(const std::string& pool = "", int first = 20) {
  Told told;
  told.worker(0, 1, "w1", "h1");
  told.worker(0, 2, "w2", "h2");
  told.job(10, 1, pool);
  told.stage(11, 1, 0, 8);
  for (std::uint32_t task = 0; task < 8; ++task) told.launch(first, 1, 0, task, 0, 1 + task % 2);
  for (std::uint32_t task = 0; task < 8; ++task)
    told.finish(first + 900 + 30 * static_cast<int>(task), 1, 0, task, 0, 1 + task % 2, {8 * kMiB, 9 * kMiB, 8 * kMiB});
  return told;
}

TEST(Findings, NoneOfAHealthyJob) {
  Told told = healthy();
  told.end(1500, 1);
  EXPECT_EQ(kinds(told), Kinds{});
  EXPECT_TRUE(findings_text({}).starts_with("no finding"));
}

TEST(Findings, FailuresByTheirCause) {
  const struct {
    const char *kind, *message, *expected;
  } cases[] = {{"crashed", "the executor was killed by the kernel: out of memory (limit 1 GiB)", "out_of_memory"},
               {"crashed", "the executor died of signal 9 (SIGKILL)", "crash"},
               {"crashed", "the executor gave up; its last line of output: out of memory? no", "crash"},
               {"user_code", "std::bad_alloc", "out_of_memory"},
               {"user_code", "read_text: cannot read input /x: No such file or directory", "unreadable_input"},
               {"plan_mismatch", "stage 0 is another one", "plan_mismatch"},
               {"crashed", "the executor ended by SIGSEGV", "crash"},
               {"user_code", "no such column", "user_code"},
               {"environment", "cannot write /x: No space left on device", "disk_full"},
               {"timed_out", "after 5 s", "timeout"},
               {"fetch_failed", "checksum", "lost_output"},
               {"user_code", "bad record in line 7", "bad_record"},
               {"environment", "cannot start", "environment"}};
  for (const auto& one : cases) {
    Told told = healthy();
    told.launch(1300, 1, 0, 9, 0, 1);
    told.fail(1350, 1, 0, 9, 0, 1, one.kind, one.message);
    told.end(1500, 1);
    EXPECT_EQ(kinds(told), Kinds{one.expected}) << one.message;
  }
}

TEST(Findings, AHotPartition) {
  Told told = healthy();
  told.launch(1300, 1, 0, 9, 0, 1);
  told.finish(2200, 1, 0, 9, 0, 1, {0, 900 * kMiB, 0});
  told.end(2300, 1);
  EXPECT_EQ(kinds(told), Kinds{"skew"});
  const auto findings = findings_of(told.history, *told.history.job(1));
  EXPECT_NE(findings[0].text.find("partition 1 of stage 0"), std::string::npos) << findings[0].text;
}

TEST(Findings, ASlowNode) {
  Told told;
  for (std::uint32_t node = 1; node <= 3; ++node) told.worker(0, node, "w" + std::to_string(node));
  told.job(10, 1);
  told.stage(11, 1, 0, 9);
  for (std::uint32_t task = 0; task < 9; ++task) told.launch(20, 1, 0, task, 0, 1 + task % 3);
  for (std::uint32_t task = 0; task < 9; ++task) told.finish(task % 3 == 2 ? 3000 : 1000, 1, 0, task, 0, 1 + task % 3);
  told.end(3100, 1);
  EXPECT_EQ(kinds(told), Kinds{"slow_node"});
  EXPECT_NE(findings_of(told.history, *told.history.job(1))[0].text.find("w3"), std::string::npos);
}

TEST(Findings, ATaskThatReadsMoreIsNotASlowNodeButUnevenInput) {
  Told told;
  for (std::uint32_t node = 1; node <= 3; ++node) told.worker(0, node, "w" + std::to_string(node));
  told.job(10, 1);
  auto plan = told.line(11, "plan_extended");
  plan.job = 1;
  auto& stage = plan.stages.emplace_back();
  stage.tasks = 6;
  for (std::uint32_t task = 0; task < 6; ++task) stage.splits.push_back({task, task >= 4 ? 50 * kMiB : kMiB, {}});
  told.history.apply(plan);
  for (std::uint32_t task = 0; task < 6; ++task) told.launch(20, 1, 0, task, 0, 1 + task / 2);
  for (std::uint32_t task = 0; task < 6; ++task) {
    auto end = told.attempt(task >= 4 ? 9000 : 1000, "task_finished", 1, 0, task, 0, 1 + task / 2);
    end.input_bytes = task >= 4 ? 50 * kMiB : kMiB;
    told.history.apply(end);
  }
  told.end(9100, 1);
  EXPECT_EQ(kinds(told), Kinds{"uneven_input"});
}

TEST(Findings, ANodeThatIsSlowForAMomentOrByChanceIsNone) {
  for (const int slow : {1300, 1900}) {  // less than half as long again; much longer, once
    Told told;
    for (std::uint32_t node = 1; node <= 3; ++node) told.worker(0, node, "w" + std::to_string(node));
    told.job(10, 1);
    told.stage(11, 1, 0, 9);
    for (std::uint32_t task = 0; task < 9; ++task) told.launch(0, 1, 0, task, 0, 1 + task % 3);
    for (std::uint32_t task = 0; task < 9; ++task) {
      const bool chosen = slow == 1900 ? task == 2 : task % 3 == 2;
      told.finish((chosen ? slow : 1000) + static_cast<int>(task), 1, 0, task, 0, 1 + task % 3);
    }
    told.end(2000, 1);
    EXPECT_EQ(kinds(told), Kinds{}) << slow;
  }
}

TEST(Findings, ANodeOnWhichTasksFailThatFinishElsewhere) {
  for (const bool elsewhere : {false, true}) {
    Told told = healthy();
    for (std::uint32_t task = 10; task < 18; ++task) {
      const std::uint32_t node = elsewhere && task == 17 ? 1 : 2;
      told.launch(1300, 1, 0, task, 0, node);
      told.fail(1350, 1, 0, task, 0, node, "user_code", "no such library");
      told.launch(1360, 1, 0, task, 1, 3 - node);
      told.finish(2300, 1, 0, task, 1, 3 - node);
    }
    told.end(2500, 1);
    EXPECT_EQ(kinds(told), elsewhere ? Kinds{"user_code"} : (Kinds{"user_code", "failing_node"}));
    EXPECT_EQ(findings_of(told.history, *told.history.job(1))[0].kind, elsewhere ? "user_code" : "failing_node");
  }
}

TEST(Findings, WhyAJobEndedThoughNoAttemptFailed) {
  const struct {
    const char *error, *expected;
  } cases[] = {{"stage 0: each task wants cpu=1,memory=64GiB; the largest worker, w1, has cpu=2", "wrong_demand"},
               {"the master was restarted", "lost_master"},
               {"2500 bad records so far, more than --max-bad-records 5 allows", "bad_record"},
               {"all 12 records of a source are bad; the first, in stage 0: no JSON; say with --max-bad-records how many may be",
                "bad_record"},
               {"nobody knows", "failed"}};
  for (const auto& one : cases) {
    Told told = healthy();
    auto end = told.line(1500, "job_failed");
    end.job = 1;
    end.error = one.error;
    told.history.apply(end);
    EXPECT_EQ(kinds(told), Kinds{one.expected}) << one.error;
  }
  for (const char* reason : {"wrong input", "its driver was lost"}) {
    Told told = healthy();
    for (const char* event : {"job_killed", "job_failed"}) {
      auto line = told.line(1500, event);
      line.job = 1;
      line.reason = line.error = reason;
      told.history.apply(line);
    }
    EXPECT_EQ(kinds(told), Kinds{reason == std::string("wrong input") ? "killed" : "lost_driver"});
  }
}

TEST(Findings, TasksThatAreMostlyStartedAndTasksThatWork) {
  for (const bool work : {false, true}) {
    Told told(std::nullopt, 10'000);
    told.worker(0, 1, "w1");
    told.job(10, 1);
    told.stage(11, 1, 0, 1200);
    for (std::uint32_t task = 0; task < 1200; ++task) {
      const int at = 20 + static_cast<int>(task) * 5;
      told.launch(at, 1, 0, task, 0, 1);
      auto end = told.attempt(at + 5, "task_finished", 1, 0, task, 0, 1);
      end.usage.run = std::chrono::milliseconds(work ? 4 : 1);
      told.history.apply(end);
    }
    told.end(7000, 1);
    EXPECT_EQ(kinds(told), work ? Kinds{} : Kinds{"tiny_tasks"});
  }
}

TEST(Findings, ALostWorkerButNotOneThatLeft) {
  Told told = healthy();
  told.launch(1300, 1, 0, 9, 0, 2);
  told.lost(1400, 2, "SIGBUS");
  told.end(1500, 1);
  EXPECT_EQ(kinds(told), Kinds{"lost_worker"});
  Told left = healthy();
  left.lost(1400, 2, "it left");
  left.end(1500, 1);
  EXPECT_EQ(kinds(left), Kinds{});
}

TEST(Findings, AStarvedPoolAndAWaitThatIsShort) {
  Told told = healthy("nightly", 20'000);
  told.end(21'500, 1);
  EXPECT_EQ(kinds(told), Kinds{"starved"});
  EXPECT_NE(findings_of(told.history, *told.history.job(1))[0].text.find("nightly"), std::string::npos);
  Told soon = healthy("nightly", 2'000);
  soon.end(4'000, 1);
  EXPECT_EQ(kinds(soon), Kinds{});
}

TEST(Findings, MoreMemoryDemandedThanHeldWhereItKeepsSlotsIdle) {
  for (const bool of_job : {false, true}) {
    for (const double memory : {6.0, 8.0}) {  // GiB of a worker with two slots
      Told told;
      auto joined = told.line(0, "worker_joined");
      joined.node = 1;
      joined.capacity.cpu = 2;
      joined.capacity.memory = memory * 1024 * kMiB;
      told.history.apply(joined);
      auto job = told.line(10, "job_submitted");
      job.job = 1;
      if (of_job) job.options.demand.memory = 4.0 * 1024 * kMiB;
      told.history.apply(job);
      told.stage(11, 1, 0, 4, {}, of_job ? 0 : 4.0 * 1024 * kMiB);
      for (std::uint32_t task = 0; task < 4; ++task) told.launch(20, 1, 0, task, 0, 1), told.finish(1020, 1, 0, task, 0, 1);
      told.end(1100, 1);
      EXPECT_EQ(kinds(told), memory < 8 ? Kinds{"wrong_demand"} : Kinds{}) << of_job;
    }
  }
}

TEST(Findings, InputOnOtherMachines) {
  for (const bool local : {true, false}) {
    Told told;
    told.worker(0, 1, "w1", "h1");
    told.job(10, 1);
    auto plan = told.line(11, "plan_extended");
    plan.job = 1;
    auto& stage = plan.stages.emplace_back();
    stage.tasks = 4;
    for (std::uint32_t task = 0; task < 4; ++task) stage.splits.push_back({task, 64 * kMiB, {local ? "h1" : "h9"}});
    told.history.apply(plan);
    for (std::uint32_t task = 0; task < 4; ++task) told.launch(20, 1, 0, task, 0, 1);
    for (std::uint32_t task = 0; task < 4; ++task) told.finish(1020, 1, 0, task, 0, 1);
    told.end(1100, 1);
    EXPECT_EQ(kinds(told), local ? Kinds{} : Kinds{"remote_input"});
  }
}

TEST(Findings, SpillsThatAreLarge) {
  for (const std::uint64_t spilled : {kMiB, 900 * kMiB}) {
    Told told = healthy();
    told.launch(1300, 1, 0, 9, 0, 1);
    auto end = told.attempt(2200, "task_finished", 1, 0, 9, 0, 1);
    end.usage.spilled_bytes = spilled;
    told.history.apply(end);
    told.end(2300, 1);
    EXPECT_EQ(kinds(told), spilled == kMiB ? Kinds{} : Kinds{"spill"});
  }
}

TEST(Findings, AMissedDeadline) {
  Told told;
  auto job = told.line(10, "job_submitted");
  job.job = 1;
  job.deadline = std::chrono::milliseconds(500);
  told.history.apply(job);
  told.end(900, 1);
  EXPECT_EQ(kinds(told), Kinds{"late"});
}

}  // namespace
}  // namespace weft::history
