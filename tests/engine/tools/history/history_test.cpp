// What histories keep of the lines that they are told.
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
  Told told;
  told.worker(0, 1, "w1");
  told.worker(0, 2, "w2");
  told.job(10, 7);
  told.stage(11, 7, 0, 4);
  for (std::uint32_t task = 0; task < 4; ++task) told.launch(20, 7, 0, task, 0, 1 + task % 2);
  told.finish(30, 7, 0, 0, 0, 1);
  told.fail(31, 7, 0, 1, 0, 2, "user_code", "it threw");
  told.kill(32, 7, 0, 2, 0, 1);
  told.lost(33, 2, "SIGBUS");
  told.launch(40, 7, 0, 1, 1, 1);
  const LoggedJob& job = *told.history.job(7);
  ASSERT_EQ(job.attempts.size(), 5u);
  const Fate fates[] = {Fate::finished, Fate::failed, Fate::killed, Fate::lost, Fate::running};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(job.attempts[i].fate, fates[i]) << i;
  EXPECT_EQ(job.attempts[1].why, "it threw");
  EXPECT_EQ(job.attempts[3].why, "SIGBUS");
  EXPECT_EQ(job.attempts[0].ended - job.attempts[0].launched, milliseconds(10));
  told.end(50, 7);
  EXPECT_EQ(job.status.state, JobState::finished);
  EXPECT_EQ(job.attempts[4].fate, Fate::killed);  // nothing of a job runs on after it
  EXPECT_EQ(job.status.ended, milliseconds(50));
}

TEST(History, GivesEveryAttemptASlotOfItsOwn) {
  Told told;
  told.worker(0, 1, "w1");
  told.job(0, 1);
  told.job(0, 2);
  told.launch(1, 1, 0, 0, 0, 1);
  told.launch(1, 2, 0, 0, 0, 1);  // another job's: the slots of a job are the same whatever else is known
  told.finish(2, 1, 0, 0, 0, 1);
  told.launch(3, 1, 0, 1, 0, 1);
  told.launch(3, 1, 0, 2, 0, 1);
  const auto& attempts = told.history.job(1)->attempts;
  EXPECT_EQ(attempts[0].slot, 0u);
  EXPECT_EQ(told.history.job(2)->attempts[0].slot, 0u);
  EXPECT_EQ(attempts[1].slot, 0u);
  EXPECT_EQ(attempts[2].slot, 1u);
}

TEST(History, JobsAreKilledFailedOrFinished) {
  Told told;
  for (std::uint64_t id = 1; id <= 4; ++id) told.job(0, id);
  told.end(1, 1);
  told.end(2, 2, "job_failed");
  told.end(3, 3, "job_killed");
  told.end(3, 3, "job_failed");
  EXPECT_EQ(told.history.job(1)->status.state, JobState::finished);
  EXPECT_EQ(told.history.job(2)->status.state, JobState::failed);
  EXPECT_EQ(told.history.job(3)->status.state, JobState::killed);
  EXPECT_EQ(told.history.job(4)->status.state, JobState::running);
  told.started(0);
  EXPECT_EQ(told.history.job(4)->status.state, JobState::failed);
  EXPECT_EQ(told.history.job(5), nullptr);
}

TEST(History, LinesOutOfPlaceArePassedOver) {
  Told told;
  told.lost(0, 9, "who");
  told.finish(1, 9, 0, 0, 0, 9);
  told.job(2, 1);
  told.finish(3, 1, 0, 0, 0, 1);
  told.kill(3, 1, 0, 0, 0, 1);
  told.launch(4, 1, 0, 0, 0, 1);
  told.finish(5, 1, 0, 0, 0, 1);
  told.finish(6, 1, 0, 0, 0, 1);
  ASSERT_EQ(told.history.job(1)->attempts.size(), 1u);
  EXPECT_EQ(told.history.job(1)->attempts[0].ended, milliseconds(5));
}

TEST(History, ForgetsTheEarliestJobsThatHaveEnded) {
  Told told({}, 10);
  for (std::uint64_t id = 1; id <= 5; ++id) {
    told.job(0, id);
    for (std::uint32_t task = 0; task < 6; ++task) {
      told.launch(1, id, 0, task, 0, 1);
      told.finish(2, id, 0, task, 0, 1);
    }
    if (id != 2) told.end(3, id);
  }
  EXPECT_EQ(told.history.job(1), nullptr);
  EXPECT_NE(told.history.job(2), nullptr);  // it runs
  EXPECT_NE(told.history.job(5), nullptr);
}

TEST(History, OfOneJobPassesOverOthers) {
  Told told(2);
  told.job(0, 1);
  told.job(0, 2);
  told.launch(1, 1, 0, 0, 0, 1);
  told.launch(1, 2, 0, 0, 0, 1);
  told.finish(2, 1, 0, 0, 0, 1);
  EXPECT_EQ(told.history.job(1), nullptr);
  EXPECT_EQ(told.history.job(2)->attempts[0].slot, 0u);
}

TEST(History, KnowsWhoHadSlotsWhileAJobWaitedAloneOrAmongOthers) {
  Told among, alone(3);
  for (Told* told : {&among, &alone}) {
    told->worker(0, 1, "w1");
    for (std::uint64_t id = 1; id <= 2; ++id) told->job(0, id);
    told->launch(1, 1, 0, 0, 0, 1);
    told->launch(1, 2, 0, 0, 0, 1);
    told->finish(2, 2, 0, 0, 0, 1);
    told->job(10, 3);
    told->job(11, 4);  // has nothing either
    told->finish(20, 1, 0, 0, 0, 1);
    told->launch(21, 3, 0, 0, 0, 1);
    told->launch(22, 4, 0, 0, 0, 1);  // afterwards
    EXPECT_EQ(told->history.others(*told->history.job(3)), 1u) << (told == &alone ? "alone" : "among");
  }
}

TEST(History, AWorkerThatFellSilentIsLostOnce) {
  Told told;
  told.worker(0, 1, "w1");
  told.job(10, 1);
  told.launch(20, 1, 0, 0, 0, 1);
  auto line = told.line(30, "worker_silent");
  line.node = 1;
  line.reason = "not heard of for 10.0 s";
  told.history.apply(line);
  told.lost(40, 1, "the peer is gone");  // it is known no more, and this changes nothing
  const LoggedJob& job = *told.history.job(1);
  EXPECT_EQ(job.attempts[0].fate, Fate::lost);
  EXPECT_EQ(job.attempts[0].ended, milliseconds(30));
  EXPECT_EQ(job.status.workers_lost, 1u);
  EXPECT_EQ(job.status.lost_workers, std::vector<std::string>{"w1 (not heard of for 10.0 s)"});
}

TEST(History, AddsUpWhatWorkersSayOfPrefetchedBlocks) {
  Told told;
  told.job(100, 1);
  const auto say = [&](int at, std::uint32_t node, const shuffle::PrefetchStats& bytes) {
    auto line = told.line(at, "blocks_prefetched");
    line.job = 1;
    line.node = node;
    line.within = milliseconds(500);
    line.prefetch = bytes;
    told.history.apply(line);
  };
  say(200, 1, {.prefetched_bytes = 10});
  say(700, 1, {.prefetched_bytes = 30, .read_bytes = 5, .evicted_bytes = 8});
  say(800, 2, {.prefetched_bytes = 1});
  told.end(900, 1);
  say(1000, 1, {.prefetched_bytes = 30, .read_bytes = 25, .wasted_bytes = 5, .evicted_bytes = 8});  // once more after the end
  const LoggedJob& job = *told.history.job(1);
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
  Told told;
  told.worker(5, 1, "w1");
  told.job(10, 1);
  told.launch(20, 1, 0, 0, 0, 1);
  told.worker(5, 1, "w1");
  EXPECT_EQ(told.history.now(), std::chrono::milliseconds(20));
  told.finish(30, 1, 0, 0, 0, 1);
  EXPECT_EQ(told.history.job(1)->attempts[0].ended, std::chrono::milliseconds(30));
}

TEST(History, OfOneJobHasTheWorkersOfItsRun) {
  Told told(1);
  told.worker(0, 1, "first");
  told.job(1, 1);
  told.end(2, 1);
  told.started(0);
  told.worker(1, 1, "second");
  EXPECT_EQ(told.history.worker_name(1), "first");
  told.started(0);
  told.worker(1, 1, "third");
  EXPECT_EQ(told.history.worker_name(1), "first");
  told.job(2, 1);
  EXPECT_EQ(told.history.worker_name(1), "third") << "a master without a journal gives numbers of jobs again";
}

TEST(TasksJson, HasPagesOfWhatIsWanted) {
  Told told;
  told.worker(0, 1, "w1");
  told.job(0, 1);
  told.stage(0, 1, 0, 4);
  for (std::uint32_t task = 0; task < 4; ++task) told.launch(1, 1, 0, task, 0, 1);
  for (std::uint32_t task = 0; task < 3; ++task) told.finish(5, 1, 0, task, 0, 1, {10, 20});
  const LoggedJob& job = *told.history.job(1);
  const std::string page = tasks_json(told.history, job, {.fate = "finished", .from = 1, .count = 1});
  EXPECT_NE(page.find("\"total\":3,\"from\":1"), std::string::npos) << page;
  EXPECT_NE(page.find("\"stages\":[],"), std::string::npos) << page;
  const std::string first = tasks_json(told.history, job, {.count = 1});
  EXPECT_NE(first.find("\"partition_bytes\":[30,60]"), std::string::npos) << first;
  EXPECT_NE(page.find("\"task\":1,"), std::string::npos);
  EXPECT_EQ(page.find("\"task\":0,"), std::string::npos);
  EXPECT_EQ(page.find("\"task\":2,"), std::string::npos);
  EXPECT_NE(tasks_json(told.history, job, {.stage = 1}).find("\"total\":0"), std::string::npos);
  EXPECT_NE(tasks_json(told.history, job, {.from = 100}).find("\"tasks\":[]"), std::string::npos);
}

TEST(TasksJson, HasWhatChangedSinceItWasLastRead) {
  Told told;
  told.worker(0, 1, "w1");
  told.worker(0, 2, "w2");
  told.job(0, 1);
  told.stage(0, 1, 0, 3);
  for (std::uint32_t task = 0; task < 3; ++task) told.launch(1, 1, 0, task, 0, 1 + task % 2);
  const LoggedJob& job = *told.history.job(1);
  const std::uint64_t seen = told.history.changes();
  EXPECT_NE(tasks_json(told.history, job, {.since = seen}).find("\"tasks\":[]"), std::string::npos);
  told.finish(5, 1, 0, 1, 0, 2);
  const std::string changed = tasks_json(told.history, job, {.since = seen});
  EXPECT_NE(changed.find("\"total\":1,"), std::string::npos) << changed;
  EXPECT_NE(changed.find("\"task\":1,"), std::string::npos) << changed;
  EXPECT_NE(changed.find("\"w2\""), std::string::npos) << changed;
  EXPECT_EQ(changed.find("\"w1\""), std::string::npos) << "a worker of none of these attempts: " << changed;
  told.lost(6, 1, "gone");
  EXPECT_NE(tasks_json(told.history, job, {.since = seen}).find("\"total\":3,"), std::string::npos);
  EXPECT_NE(tasks_json(told.history, job, {.since = told.history.changes()}).find("\"total\":0,"), std::string::npos);
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
