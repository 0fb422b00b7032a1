// What histories keep of the lines that they are given.
#include "engine/tools/history/history.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "engine/tools/history/log_follower.hpp"
#include "engine/tools/history/status.hpp"
#include "engine/tools/history/tasks_json.hpp"
#include "tests/engine/tools/history/lines.hpp"

namespace weft::history {
namespace {

using std::chrono::milliseconds;

TEST(History, TellsTheFateOfEveryAttempt) {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.worker(0, 2, "w2");
  written.job(10, 7);
  written.stage(11, 7, 0, 4);
  for (std::uint32_t task = 0; task < 4; ++task) written.launch(20, 7, 0, task, 0, 1 + task % 2);
  written.finish(30, 7, 0, 0, 0, 1);
  written.fail(31, 7, 0, 1, 0, 2, "user_code", "it threw");
  written.kill(32, 7, 0, 2, 0, 1);
  written.lost(33, 2, "SIGBUS");
  written.launch(40, 7, 0, 1, 1, 1);
  const LoggedJob& job = *written.history.job(7);
  ASSERT_EQ(job.attempts.size(), 5u);
  const Fate fates[] = {Fate::finished, Fate::failed, Fate::killed, Fate::lost, Fate::running};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(job.attempts[i].fate, fates[i]) << i;
  EXPECT_EQ(job.attempts[1].why, "it threw");
  EXPECT_EQ(job.attempts[3].why, "SIGBUS");
  EXPECT_EQ(job.attempts[0].ended - job.attempts[0].launched, milliseconds(10));
  written.end(50, 7);
  EXPECT_EQ(job.status.state, JobState::finished);
  EXPECT_EQ(job.attempts[4].fate, Fate::killed);  // nothing of a job runs on after it
  EXPECT_EQ(job.status.ended, milliseconds(50));
}

TEST(History, ATaskThatRunsAgainCountsOnce) {
  WrittenLog written;
  for (std::uint32_t node = 1; node <= 2; ++node) written.worker(0, node, "w" + std::to_string(node));
  written.job(10, 7);
  written.stage(11, 7, 0, 1);
  const auto run = [&](int at, std::uint32_t attempt, std::uint32_t node) {
    written.launch(at, 7, 0, 0, attempt, node);
    auto finished = written.attempt(at + 5, "task_finished", 7, 0, 0, attempt, node);
    finished.counters["lines"] = 3;
    finished.input_records = 4;
    finished.partition_bytes = {10, 20};
    finished.usage.hot_keys = {{"the", 1, 5}};
    written.history.apply(finished);
  };
  run(20, 0, 1);
  written.lost(30, 1, "SIGBUS");
  run(40, 1, 2);
  const LoggedJob& job = *written.history.job(7);
  EXPECT_EQ(job.status.counters.at("lines"), 3);
  EXPECT_EQ(job.partition_bytes.at(0), (std::vector<std::uint64_t>{10, 20}));
  EXPECT_EQ(job.hot_keys.at({0, 1}).at("the"), 5u);
  EXPECT_EQ(status_of(job).input_records, 4u);
  EXPECT_FALSE(job.outputs.at(0).contains(1)) << "lost";
  EXPECT_EQ(job.outputs.at(0).at(2), (std::vector<std::uint64_t>{10, 20}));
}

TEST(History, CountsTheTasksOfStagesWithManyMergedPartitions) {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.job(10, 7);
  written.stage(11, 7, 0, 4'000'000);
  for (std::uint32_t task = 0; task < 2'000; ++task) {
    auto launched = written.attempt(20, "task_launched", 7, 0, task, 0, 1);
    launched.partitions = 2;
    written.history.apply(launched);
  }
  EXPECT_EQ(status_of(*written.history.job(7)).tasks.all, 2'000'000u);
}

TEST(History, GivesEveryAttemptASlotOfItsOwn) {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.job(0, 1);
  written.job(0, 2);
  written.launch(1, 1, 0, 0, 0, 1);
  written.launch(1, 2, 0, 0, 0, 1);  // another job's: the slots of a job are the same whatever else is known
  written.finish(2, 1, 0, 0, 0, 1);
  written.launch(3, 1, 0, 1, 0, 1);
  written.launch(3, 1, 0, 2, 0, 1);
  const auto& attempts = written.history.job(1)->attempts;
  EXPECT_EQ(attempts[0].slot, 0u);
  EXPECT_EQ(written.history.job(2)->attempts[0].slot, 0u);
  EXPECT_EQ(attempts[1].slot, 0u);
  EXPECT_EQ(attempts[2].slot, 1u);
}

TEST(History, JobsAreKilledFailedOrFinished) {
  WrittenLog written;
  for (std::uint64_t id = 1; id <= 4; ++id) written.job(0, id);
  written.end(1, 1);
  written.end(2, 2, "job_failed");
  written.end(3, 3, "job_killed");
  written.end(3, 3, "job_failed");
  EXPECT_EQ(written.history.job(1)->status.state, JobState::finished);
  EXPECT_EQ(written.history.job(2)->status.state, JobState::failed);
  EXPECT_EQ(written.history.job(3)->status.state, JobState::killed);
  EXPECT_EQ(written.history.job(4)->status.state, JobState::running);
  written.started(0);
  EXPECT_EQ(written.history.job(4)->status.state, JobState::failed);
  EXPECT_EQ(written.history.job(5), nullptr);
}

TEST(History, LinesOutOfPlaceArePassedOver) {
  WrittenLog written;
  written.lost(0, 9, "who");
  written.finish(1, 9, 0, 0, 0, 9);
  written.job(2, 1);
  written.finish(3, 1, 0, 0, 0, 1);
  written.kill(3, 1, 0, 0, 0, 1);
  written.launch(4, 1, 0, 0, 0, 1);
  written.finish(5, 1, 0, 0, 0, 1);
  written.finish(6, 1, 0, 0, 0, 1);
  ASSERT_EQ(written.history.job(1)->attempts.size(), 1u);
  EXPECT_EQ(written.history.job(1)->attempts[0].ended, milliseconds(5));
}

TEST(History, KnowsAttemptsWhoseLaunchesAreLostFromTheirEnds) {
  WrittenLog written({}, 6);
  written.worker(0, 1, "w1");
  written.job(10, 1);
  written.stage(25, 1, 0, 5);
  written.launch(30, 1, 0, 0, 0, 1);
  written.launch(30, 1, 0, 1, 0, 1);
  written.finish(45, 1, 0, 1, 0, 1);
  const auto finish = [&](int at, std::uint32_t task, int run) {
    auto line = written.attempt(at, "task_finished", 1, 0, task, 0, 1);
    line.usage.run = milliseconds(run);
    line.output_bytes = 7;
    written.history.apply(line);
  };
  finish(50, 2, 20);
  finish(60, 3, 100);                                                   // longer than there is the stage
  written.fail(70, 1, 0, 4, 0, 1, "user_code", "it threw");             // nobody says how long it ran
  for (std::uint32_t task = 1; task <= 3; ++task) finish(80, task, 1);  // a worker reports them to the next master as well
  written.fail(81, 1, 0, 4, 0, 1, "killed", "");
  finish(82, 4, 1);
  written.finish(83, 1, 7, 0, 0, 1);  // of a stage that is not known
  const LoggedJob& job = *written.history.job(1);
  ASSERT_EQ(job.attempts.size(), 5u);
  const int launched[] = {30, 30, 30, 25, 70}, ended[] = {0, 45, 50, 60, 70};
  const std::uint32_t slots[] = {0, 1, 2, 3, 1};  // in none of them at the same time
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(job.attempts[i].launched, milliseconds(launched[i])) << i;
    EXPECT_EQ(job.attempts[i].ended, milliseconds(ended[i])) << i;
    EXPECT_EQ(job.attempts[i].slot, slots[i]) << i;
  }
  EXPECT_EQ(job.attempts[2].fate, Fate::finished);
  EXPECT_EQ(job.attempts[2].output_bytes, 7u);
  EXPECT_EQ(job.attempts[4].fate, Fate::failed);
  EXPECT_EQ(job.attempts[4].why, "it threw");
  EXPECT_EQ(status_of(job).tasks.finished, 3u);
  EXPECT_EQ(status_of(job).stages[0].usage.began, milliseconds(25));
  written.end(90, 1);
  written.fail(91, 1, 0, 0, 1, 1, "killed", "the job is over");
  EXPECT_EQ(job.attempts.size(), 5u);
  written.job(100, 2);
  written.stage(100, 2, 0, 2);
  for (std::uint32_t task = 0; task < 2; ++task) written.finish(101, 2, 0, task, 0, 1);
  written.job(110, 3);
  EXPECT_EQ(written.history.job(1), nullptr) << "they count among those that histories may have";
}

TEST(History, ForgetsTheEarliestJobsThatHaveEnded) {
  WrittenLog written({}, 10);
  for (std::uint64_t id = 1; id <= 5; ++id) {
    written.job(0, id);
    for (std::uint32_t task = 0; task < 6; ++task) {
      written.launch(1, id, 0, task, 0, 1);
      written.finish(2, id, 0, task, 0, 1);
    }
    if (id != 2) written.end(3, id);
  }
  EXPECT_EQ(written.history.job(1), nullptr);
  EXPECT_NE(written.history.job(2), nullptr);  // it runs
  EXPECT_NE(written.history.job(5), nullptr);
}

TEST(History, OfOneJobPassesOverOthers) {
  WrittenLog written(2);
  written.job(0, 1);
  written.job(0, 2);
  written.launch(1, 1, 0, 0, 0, 1);
  written.launch(1, 2, 0, 0, 0, 1);
  written.finish(2, 1, 0, 0, 0, 1);
  EXPECT_EQ(written.history.job(1), nullptr);
  EXPECT_EQ(written.history.job(2)->attempts[0].slot, 0u);
}

TEST(History, KnowsWhoHadSlotsWhileAJobWaitedAloneOrAmongOthers) {
  WrittenLog among, alone(3);
  for (WrittenLog* written : {&among, &alone}) {
    written->worker(0, 1, "w1");
    for (std::uint64_t id = 1; id <= 2; ++id) written->job(0, id);
    written->launch(1, 1, 0, 0, 0, 1);
    written->launch(1, 2, 0, 0, 0, 1);
    written->finish(2, 2, 0, 0, 0, 1);
    written->job(10, 3);
    written->job(11, 4);  // has nothing either
    written->finish(20, 1, 0, 0, 0, 1);
    written->launch(21, 3, 0, 0, 0, 1);
    written->launch(22, 4, 0, 0, 0, 1);  // afterwards
    EXPECT_EQ(written->history.others(*written->history.job(3)), 1u) << (written == &alone ? "alone" : "among");
  }
}

TEST(History, AWorkerThatFellSilentIsLostOnce) {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.job(10, 1);
  written.launch(20, 1, 0, 0, 0, 1);
  auto line = written.line(30, "worker_silent");
  line.node = 1;
  line.reason = "not heard of for 10.0 s";
  written.history.apply(line);
  written.lost(40, 1, "the peer is gone");  // it is known no more, and this changes nothing
  const LoggedJob& job = *written.history.job(1);
  EXPECT_EQ(job.attempts[0].fate, Fate::lost);
  EXPECT_EQ(job.attempts[0].ended, milliseconds(30));
  EXPECT_EQ(job.status.workers_lost, 1u);
  EXPECT_EQ(job.status.lost_workers, std::vector<std::string>{"w1 (not heard of for 10.0 s)"});
}

TEST(History, AddsUpWhatWorkersSayOfPrefetchedBlocks) {
  WrittenLog written;
  written.job(100, 1);
  const auto say = [&](int at, std::uint32_t node, const shuffle::PrefetchStats& bytes) {
    auto line = written.line(at, "blocks_prefetched");
    line.job = 1;
    line.node = node;
    line.within = milliseconds(500);
    line.prefetch = bytes;
    written.history.apply(line);
  };
  say(200, 1, {.prefetched_bytes = 10});
  say(700, 1, {.prefetched_bytes = 30, .read_bytes = 5, .evicted_bytes = 8});
  say(800, 2, {.prefetched_bytes = 1});
  written.end(900, 1);
  say(1000, 1, {.prefetched_bytes = 30, .read_bytes = 25, .wasted_bytes = 5, .evicted_bytes = 8});  // once more after the end
  const LoggedJob& job = *written.history.job(1);
  EXPECT_EQ(job.status.prefetch,
            (shuffle::PrefetchStats{.prefetched_bytes = 31, .read_bytes = 25, .wasted_bytes = 5, .evicted_bytes = 8}));
  ASSERT_EQ(job.prefetched.size(), 4u);
  EXPECT_EQ(job.prefetched[0].from, milliseconds(100)) << "not before it was submitted";
  EXPECT_EQ(job.prefetched[1].from, milliseconds(200)) << "not before it was last said";
  EXPECT_EQ(job.prefetched[1].bytes.prefetched_bytes, 20u);
  EXPECT_EQ(job.prefetched[2].from, milliseconds(300));
  EXPECT_EQ(job.prefetched[3].bytes.prefetched_bytes, 0u);
  EXPECT_EQ(job.prefetched[3].to, milliseconds(900)) << "not after its end";
  EXPECT_EQ(status_of(job).prefetch, job.status.prefetch);
}

TEST(History, WhatARotatedLogRepeatsOfWorkersIsOfBefore) {
  WrittenLog written;
  written.worker(5, 1, "w1");
  written.job(10, 1);
  written.launch(20, 1, 0, 0, 0, 1);
  written.worker(5, 1, "w1");
  EXPECT_EQ(written.history.now(), std::chrono::milliseconds(20));
  written.finish(30, 1, 0, 0, 0, 1);
  EXPECT_EQ(written.history.job(1)->attempts[0].ended, std::chrono::milliseconds(30));
}

TEST(History, OfOneJobHasTheWorkersOfItsRun) {
  WrittenLog written(1);
  written.worker(0, 1, "first");
  written.job(1, 1);
  written.end(2, 1);
  written.started(0);
  written.worker(1, 1, "second");
  EXPECT_EQ(written.history.worker_name(1), "first");
  written.started(0);
  written.worker(1, 1, "third");
  EXPECT_EQ(written.history.worker_name(1), "first");
  written.job(2, 1);
  EXPECT_EQ(written.history.worker_name(1), "third") << "a master without a journal gives numbers of jobs again";
}

TEST(TasksJson, HasPagesOfWhatIsWanted) {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.job(0, 1);
  written.stage(0, 1, 0, 4);
  for (std::uint32_t task = 0; task < 4; ++task) written.launch(1, 1, 0, task, 0, 1);
  for (std::uint32_t task = 0; task < 3; ++task) written.finish(5, 1, 0, task, 0, 1, {10, 20});
  const LoggedJob& job = *written.history.job(1);
  const std::string page = tasks_json(written.history, job, {.fate = "finished", .from = 1, .count = 1});
  EXPECT_NE(page.find("\"total\":3,\"from\":1"), std::string::npos) << page;
  EXPECT_NE(page.find("\"stages\":[],"), std::string::npos) << page;
  const std::string first = tasks_json(written.history, job, {.count = 1});
  EXPECT_NE(first.find("\"partition_bytes\":[30,60]"), std::string::npos) << first;
  EXPECT_NE(page.find("\"task\":1,"), std::string::npos);
  EXPECT_EQ(page.find("\"task\":0,"), std::string::npos);
  EXPECT_EQ(page.find("\"task\":2,"), std::string::npos);
  EXPECT_NE(tasks_json(written.history, job, {.stage = 1}).find("\"total\":0"), std::string::npos);
  EXPECT_NE(tasks_json(written.history, job, {.from = 100}).find("\"tasks\":[]"), std::string::npos);
}

TEST(TasksJson, HasWhatChangedSinceItWasLastRead) {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.worker(0, 2, "w2");
  written.job(0, 1);
  written.stage(0, 1, 0, 3);
  for (std::uint32_t task = 0; task < 3; ++task) written.launch(1, 1, 0, task, 0, 1 + task % 2);
  const LoggedJob& job = *written.history.job(1);
  const std::uint64_t seen = written.history.changes();
  EXPECT_NE(tasks_json(written.history, job, {.since = seen}).find("\"tasks\":[]"), std::string::npos);
  written.finish(5, 1, 0, 1, 0, 2);
  const std::string changed = tasks_json(written.history, job, {.since = seen});
  EXPECT_NE(changed.find("\"total\":1,"), std::string::npos) << changed;
  EXPECT_NE(changed.find("\"task\":1,"), std::string::npos) << changed;
  EXPECT_NE(changed.find("\"w2\""), std::string::npos) << changed;
  EXPECT_EQ(changed.find("\"w1\""), std::string::npos) << "a worker of none of these attempts: " << changed;
  written.lost(6, 1, "gone");
  EXPECT_NE(tasks_json(written.history, job, {.since = seen}).find("\"total\":3,"), std::string::npos);
  EXPECT_NE(tasks_json(written.history, job, {.since = written.history.changes()}).find("\"total\":0,"), std::string::npos);
}

TEST(LogFollower, ReadsOnWhereItStoppedAndNamesWhatIsWrong) {
  const std::string path = testing::TempDir() + "weft-follower-" + std::to_string(getpid());
  std::ofstream file(path);
  file << "{\"time_ns\":1,\"event\":\"job_submitted\",\"job\":3,\"name\":\"a\"}\n{\"time_ns\":2,\"event\":\"job_fin" << std::flush;
  LogFollower follower(path, EventHistory());
  ASSERT_TRUE(follower.read());
  EXPECT_EQ(follower.history().job(3)->status.state, JobState::running);
  file << "ished\",\"job\":3}\n" << std::flush;
  ASSERT_TRUE(follower.read());
  EXPECT_EQ(follower.history().job(3)->status.state, JobState::finished);
  EXPECT_FALSE(read_job(path, 4));
  file << "nonsense\n" << std::flush;
  const auto wrong = follower.read();
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().to_string().find(path + ":3"), std::string::npos) << wrong.error().to_string();
  EXPECT_FALSE(LogFollower("/nonexistent/log", EventHistory()).read());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace weft::history
