// Known causes are named, and healthy jobs are left alone.
#include "engine/tools/history/findings.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/engine/tools/history/lines.hpp"

namespace weft::history {
namespace {

constexpr std::uint64_t kMiB = 1u << 20;

std::set<std::string> kinds(const WrittenLog& written, std::uint64_t job = 1) {
  std::set<std::string> found;
  for (const Finding& finding : findings_of(written.history, *written.history.job(job))) {
    found.insert(finding.kind);
    EXPECT_FALSE(finding.text.empty() || finding.advice.empty() || finding.numbers.empty()) << finding.kind;
  }
  return found;
}
using Kinds = std::set<std::string>;

/// Two workers, eight tasks of about a second whose partitions are alike.
WrittenLog healthy(const std::string& pool = "", int first = 20) {
  WrittenLog written;
  written.worker(0, 1, "w1", "h1");
  written.worker(0, 2, "w2", "h2");
  written.job(10, 1, pool);
  written.stage(11, 1, 0, 8);
  for (std::uint32_t task = 0; task < 8; ++task) written.launch(first, 1, 0, task, 0, 1 + task % 2);
  for (std::uint32_t task = 0; task < 8; ++task)
    written.finish(first + 900 + 30 * static_cast<int>(task), 1, 0, task, 0, 1 + task % 2, {8 * kMiB, 9 * kMiB, 8 * kMiB});
  return written;
}

TEST(Findings, NoneOfAHealthyJob) {
  WrittenLog written = healthy();
  written.end(1500, 1);
  EXPECT_EQ(kinds(written), Kinds{});
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
    WrittenLog written = healthy();
    written.launch(1300, 1, 0, 9, 0, 1);
    written.fail(1350, 1, 0, 9, 0, 1, one.kind, one.message);
    written.end(1500, 1);
    EXPECT_EQ(kinds(written), Kinds{one.expected}) << one.message;
  }
}

TEST(Findings, AHotPartition) {
  WrittenLog written = healthy();
  written.launch(1300, 1, 0, 9, 0, 1);
  written.finish(2200, 1, 0, 9, 0, 1, {0, 900 * kMiB, 0});
  written.end(2300, 1);
  EXPECT_EQ(kinds(written), Kinds{"skew"});
  const auto findings = findings_of(written.history, *written.history.job(1));
  EXPECT_NE(findings[0].text.find("partition 1 of stage 0"), std::string::npos) << findings[0].text;
  EXPECT_EQ(findings[0].text.find("the key"), std::string::npos) << "none is known";
}

TEST(Findings, AHotPartitionWithItsKey) {
  WrittenLog written = healthy();
  for (const std::uint32_t task : {9u, 10u}) {
    written.launch(1300, 1, 0, task, 0, 1);
    written.finish(
        2200, 1, 0, task, 0, 1, {0, 450 * kMiB, 0},
        {{"other partition", 0, 1'000'000}, {"rare", 1, 5000}, {task == 9 ? "th\ne" : "rare", 1, 90'000}, {"th\ne", 1, 10}});
  }
  written.end(2300, 1);
  const auto findings = findings_of(written.history, *written.history.job(1));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_NE(findings[0].text.find(": about 100000 of its records have the key 'rare'"), std::string::npos) << findings[0].text;
}

TEST(Findings, ASlowNode) {
  WrittenLog written;
  for (std::uint32_t node = 1; node <= 3; ++node) written.worker(0, node, "w" + std::to_string(node));
  written.job(10, 1);
  written.stage(11, 1, 0, 9);
  for (std::uint32_t task = 0; task < 9; ++task) written.launch(20, 1, 0, task, 0, 1 + task % 3);
  for (std::uint32_t task = 0; task < 9; ++task) written.finish(task % 3 == 2 ? 3000 : 1000, 1, 0, task, 0, 1 + task % 3);
  written.end(3100, 1);
  EXPECT_EQ(kinds(written), Kinds{"slow_node"});
  EXPECT_NE(findings_of(written.history, *written.history.job(1))[0].text.find("w3"), std::string::npos);
}

TEST(Findings, ATaskThatReadsMoreIsNotASlowNodeButUnevenInput) {
  WrittenLog written;
  for (std::uint32_t node = 1; node <= 3; ++node) written.worker(0, node, "w" + std::to_string(node));
  written.job(10, 1);
  auto plan = written.line(11, "plan_extended");
  plan.job = 1;
  auto& stage = plan.stages.emplace_back();
  stage.tasks = 6;
  for (std::uint32_t task = 0; task < 6; ++task) stage.splits.push_back({task, task >= 4 ? 50 * kMiB : kMiB, {}});
  written.history.apply(plan);
  for (std::uint32_t task = 0; task < 6; ++task) written.launch(20, 1, 0, task, 0, 1 + task / 2);
  for (std::uint32_t task = 0; task < 6; ++task) {
    auto end = written.attempt(task >= 4 ? 9000 : 1000, "task_finished", 1, 0, task, 0, 1 + task / 2);
    end.input_bytes = task >= 4 ? 50 * kMiB : kMiB;
    written.history.apply(end);
  }
  written.end(9100, 1);
  EXPECT_EQ(kinds(written), Kinds{"uneven_input"});
}

TEST(Findings, ANodeThatIsSlowForAMomentOrByChanceIsNone) {
  for (const int slow : {1300, 1900}) {  // less than half as long again; much longer, once
    WrittenLog written;
    for (std::uint32_t node = 1; node <= 3; ++node) written.worker(0, node, "w" + std::to_string(node));
    written.job(10, 1);
    written.stage(11, 1, 0, 9);
    for (std::uint32_t task = 0; task < 9; ++task) written.launch(0, 1, 0, task, 0, 1 + task % 3);
    for (std::uint32_t task = 0; task < 9; ++task) {
      const bool chosen = slow == 1900 ? task == 2 : task % 3 == 2;
      written.finish((chosen ? slow : 1000) + static_cast<int>(task), 1, 0, task, 0, 1 + task % 3);
    }
    written.end(2000, 1);
    EXPECT_EQ(kinds(written), Kinds{}) << slow;
  }
}

TEST(Findings, ANodeOnWhichTasksFailThatFinishElsewhere) {
  for (const bool elsewhere : {false, true}) {
    WrittenLog written = healthy();
    for (std::uint32_t task = 10; task < 18; ++task) {
      const std::uint32_t node = elsewhere && task == 17 ? 1 : 2;
      written.launch(1300, 1, 0, task, 0, node);
      written.fail(1350, 1, 0, task, 0, node, "user_code", "no such library");
      written.launch(1360, 1, 0, task, 1, 3 - node);
      written.finish(2300, 1, 0, task, 1, 3 - node);
    }
    written.end(2500, 1);
    EXPECT_EQ(kinds(written), elsewhere ? Kinds{"user_code"} : (Kinds{"user_code", "failing_node"}));
    EXPECT_EQ(findings_of(written.history, *written.history.job(1))[0].kind, elsewhere ? "user_code" : "failing_node");
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
    WrittenLog written = healthy();
    auto end = written.line(1500, "job_failed");
    end.job = 1;
    end.error = one.error;
    written.history.apply(end);
    EXPECT_EQ(kinds(written), Kinds{one.expected}) << one.error;
  }
  for (const char* reason : {"wrong input", "its driver was lost"}) {
    WrittenLog written = healthy();
    for (const char* event : {"job_killed", "job_failed"}) {
      auto line = written.line(1500, event);
      line.job = 1;
      line.reason = line.error = reason;
      written.history.apply(line);
    }
    EXPECT_EQ(kinds(written), Kinds{reason == std::string("wrong input") ? "killed" : "lost_driver"});
  }
}

TEST(Findings, TasksThatAreMostlyStartedAndTasksThatWork) {
  for (const bool work : {false, true}) {
    WrittenLog written(std::nullopt, 10'000);
    written.worker(0, 1, "w1");
    written.job(10, 1);
    written.stage(11, 1, 0, 1200);
    for (std::uint32_t task = 0; task < 1200; ++task) {
      const int at = 20 + static_cast<int>(task) * 5;
      written.launch(at, 1, 0, task, 0, 1);
      auto end = written.attempt(at + 5, "task_finished", 1, 0, task, 0, 1);
      end.usage.run = std::chrono::milliseconds(work ? 4 : 1);
      written.history.apply(end);
    }
    written.end(7000, 1);
    EXPECT_EQ(kinds(written), work ? Kinds{} : Kinds{"tiny_tasks"});
  }
}

TEST(Findings, ALostWorkerButNotOneThatLeft) {
  WrittenLog written = healthy();
  written.launch(1300, 1, 0, 9, 0, 2);
  written.lost(1400, 2, "SIGBUS");
  written.end(1500, 1);
  EXPECT_EQ(kinds(written), Kinds{"lost_worker"});
  WrittenLog left = healthy();
  left.lost(1400, 2, "it left");
  left.end(1500, 1);
  EXPECT_EQ(kinds(left), Kinds{});
}

TEST(Findings, AStarvedPoolAndAWaitThatIsShort) {
  WrittenLog written = healthy("nightly", 20'000);
  written.end(21'500, 1);
  EXPECT_EQ(kinds(written), Kinds{"starved"});
  EXPECT_NE(findings_of(written.history, *written.history.job(1))[0].text.find("nightly"), std::string::npos);
  WrittenLog soon = healthy("nightly", 2'000);
  soon.end(4'000, 1);
  EXPECT_EQ(kinds(soon), Kinds{});
}

TEST(Findings, MoreMemoryDemandedThanHeldWhereItKeepsSlotsIdle) {
  for (const bool of_job : {false, true}) {
    for (const double memory : {6.0, 8.0}) {  // GiB of a worker with two slots
      WrittenLog written;
      auto joined = written.line(0, "worker_joined");
      joined.node = 1;
      joined.capacity.cpu = 2;
      joined.capacity.memory = memory * 1024 * kMiB;
      written.history.apply(joined);
      auto job = written.line(10, "job_submitted");
      job.job = 1;
      if (of_job) job.options.demand.memory = 4.0 * 1024 * kMiB;
      written.history.apply(job);
      written.stage(11, 1, 0, 4, {}, of_job ? 0 : 4.0 * 1024 * kMiB);
      for (std::uint32_t task = 0; task < 4; ++task) written.launch(20, 1, 0, task, 0, 1), written.finish(1020, 1, 0, task, 0, 1);
      written.end(1100, 1);
      EXPECT_EQ(kinds(written), memory < 8 ? Kinds{"wrong_demand"} : Kinds{}) << of_job;
    }
  }
}

TEST(Findings, InputOnOtherMachines) {
  for (const bool local : {true, false}) {
    WrittenLog written;
    written.worker(0, 1, "w1", "h1");
    written.job(10, 1);
    auto plan = written.line(11, "plan_extended");
    plan.job = 1;
    auto& stage = plan.stages.emplace_back();
    stage.tasks = 4;
    for (std::uint32_t task = 0; task < 4; ++task) stage.splits.push_back({task, 64 * kMiB, {local ? "h1" : "h9"}});
    written.history.apply(plan);
    for (std::uint32_t task = 0; task < 4; ++task) written.launch(20, 1, 0, task, 0, 1);
    for (std::uint32_t task = 0; task < 4; ++task) written.finish(1020, 1, 0, task, 0, 1);
    written.end(1100, 1);
    EXPECT_EQ(kinds(written), local ? Kinds{} : Kinds{"remote_input"});
  }
}

TEST(Findings, SpillsThatAreLarge) {
  for (const std::uint64_t spilled : {kMiB, 900 * kMiB}) {
    WrittenLog written = healthy();
    written.launch(1300, 1, 0, 9, 0, 1);
    auto end = written.attempt(2200, "task_finished", 1, 0, 9, 0, 1);
    end.usage.spilled_bytes = spilled;
    written.history.apply(end);
    written.end(2300, 1);
    EXPECT_EQ(kinds(written), spilled == kMiB ? Kinds{} : Kinds{"spill"});
  }
}

TEST(Findings, AMissedDeadline) {
  WrittenLog written;
  auto job = written.line(10, "job_submitted");
  job.job = 1;
  job.deadline = std::chrono::milliseconds(500);
  written.history.apply(job);
  written.end(900, 1);
  EXPECT_EQ(kinds(written), Kinds{"late"});
}

}  // namespace
}  // namespace weft::history
