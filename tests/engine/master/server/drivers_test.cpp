// Which worker has which driver, when one is started elsewhere, and when its job fails for it.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/engine/master/server/driver_hosts.hpp"

namespace weft::master {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(DriversTest, OneIsStartedWhereThereIsMostRoomAndManySpread) {
  make();
  const auto small = join(1, 2), large = join(2, 4);
  EXPECT_TRUE(detach(1)->has_value());
  ASSERT_EQ(large->starts.size(), 1u);
  const protocol::StartDriver& start = large->starts[0];
  EXPECT_EQ(start.job, JobId(1));
  EXPECT_NE(start.key, 0u);
  EXPECT_EQ(start.key, jobs[JobId(1)].key) << "with which it attaches";
  EXPECT_EQ(start.name, "count");
  EXPECT_EQ(start.directory, "/d");
  EXPECT_THAT(start.arguments, ElementsAre("in.txt"));
  EXPECT_TRUE(states[JobId(1)].wanted && states[JobId(1)].running);
  EXPECT_EQ(states[JobId(1)].node, NodeId(2));
  EXPECT_EQ(states[JobId(1)].key, start.key);
  for (std::uint64_t id = 2; id <= 4; ++id) detach(id);
  EXPECT_EQ(large->starts.size(), 3u);
  EXPECT_EQ(small->starts.size(), 1u);
}

TEST_F(DriversTest, OneThatNamesFilesIsStartedWhereTheyAre) {
  make();
  const auto with = join(1, 1), without = join(2, 4), silent = join(3, 8);
  with->files = {"/d/in.txt", "/d/more"};
  without->files = {"/d/more"};
  silent->silent = true;
  EXPECT_TRUE(detach(1, {"/d/in.txt", "/d/more"})->has_value());
  EXPECT_EQ(with->starts.size(), 1u);
  EXPECT_THAT(without->starts, IsEmpty());
}

TEST_F(DriversTest, AFileThatNoWorkerHasIsNamedAndTheJobFails) {
  make();
  const auto worker = join(1, 2);
  worker->files = {"/d/in.txt"};
  const auto started = detach(1, {"/d/in.txt", "/d/only\nhere"});
  ASSERT_TRUE(started);
  ASSERT_FALSE(*started);
  EXPECT_THAT(started->error().to_string(), HasSubstr("no worker has /d/only\\nhere, which"));
  EXPECT_THAT(started->error().to_string(), HasSubstr("weft://"));
  EXPECT_THAT(worker->starts, IsEmpty());
  EXPECT_EQ(status(JobId(1)).state, JobState::failed);
  EXPECT_THAT(status(JobId(1)).error, HasSubstr("no worker has"));
}

TEST_F(DriversTest, AWorkerWithTheDirectoryOfTheSubmissionIsPreferredAndNeedNotBe) {
  make();
  const auto roomy = join(1, 8), home = join(2, 1);
  home->files = {"/d"};
  EXPECT_TRUE(detach(1)->has_value());
  EXPECT_EQ(home->starts.size(), 1u);
  lose(2);
  EXPECT_TRUE(eventually([&] { return roomy->starts.size() == 1; }));
  on_reactor([&] { roomy->files = {"/e/in.txt"}; });
  EXPECT_TRUE(detach(2, {"/e/in.txt"})->has_value()) << "its files are there";
  EXPECT_EQ(roomy->starts.size(), 2u);
}

TEST_F(DriversTest, AWorkerThatDoesNotAnswerWillDoForADriverThatNeedsNoFiles) {
  make();
  const auto silent = join(1, 8), other = join(2, 1);
  silent->silent = true;
  EXPECT_TRUE(detach(1)->has_value());
  EXPECT_EQ(other->starts.size(), 1u) << "which answers";
  lose(2);
  EXPECT_TRUE(detach(2)->has_value());
  EXPECT_TRUE(eventually([&] { return silent->starts.size() == 2; }));
}

TEST_F(DriversTest, ADirectoryThatPathsAreRelativeToIsNamedAsThat) {
  make();
  const auto worker = join(1, 2);
  const auto started = detach(1, {"/d"});
  ASSERT_TRUE(started);
  ASSERT_FALSE(*started);
  EXPECT_THAT(started->error().to_string(), HasSubstr("no worker has /d, the directory of the submission"));
  EXPECT_THAT(worker->starts, IsEmpty());
}

TEST_F(DriversTest, AWorkerThatDoesNotSayWhatItHasIsAskedAgainForAWhile) {
  make();
  on_reactor([&] { at += 1s; });
  const auto without = join(1, 8), silent = join(2, 1);
  silent->silent = true;
  EXPECT_TRUE(detach(1, {"/d/in.txt"})->has_value()) << "it waits";
  on_reactor([&] {
    silent->silent = false;
    silent->files = {"/d/in.txt"};
  });
  EXPECT_TRUE(eventually([&] { return silent->starts.size() == 1; }));
  on_reactor([&] { silent->silent = true; });
  EXPECT_TRUE(detach(2, {"/d/none"})->has_value());
  EXPECT_EQ(status(JobId(2)).state, JobState::running);
  on_reactor([&] { at += 2min; });
  EXPECT_TRUE(eventually([&] { return core_.job(JobId(2))->state == JobState::failed; }));
  EXPECT_THAT(status(JobId(2)).error, HasSubstr("no worker has /d/none"));
  EXPECT_THAT(without->starts, IsEmpty());
}

TEST_F(DriversTest, WithoutAnyWorkerItWaitsForOne) {
  make();
  EXPECT_TRUE(detach(1, {"/d/in.txt"})->has_value());
  const auto worker = join(1, 2);
  on_reactor([&] { worker->files = {"/d/in.txt"}; });
  EXPECT_TRUE(eventually([&] { return worker->starts.size() == 1; }) || status(JobId(1)).state == JobState::failed)
      << "or it was asked before it had the file";
}

TEST_F(DriversTest, AProcessThatDiesIsStartedElsewhereWithAnotherKeyAndNotForEver) {
  make();
  const std::map<std::uint32_t, std::shared_ptr<DriverHost>> workers{{1, join(1, 2)}, {2, join(2, 2)}};
  detach(1);
  std::set<std::uint64_t> keys;
  for (std::uint32_t death = 0; death <= kMostDriverDeaths; ++death) {
    const std::uint32_t node = 1 + death % 2;
    ASSERT_TRUE(eventually([&] { return workers.at(node)->starts.size() == 1 + death / 2; })) << death;
    const std::uint64_t key = workers.at(node)->starts.back().key;
    keys.insert(key);
    EXPECT_EQ(client::key_of_job(key), client::key_of_job(*keys.begin())) << "by which drivers of the job know each other";
    EXPECT_EQ(status(JobId(1)).state, JobState::running);
    end(node, JobId(1), SIGKILL, "signal 9 (SIGKILL)");
  }
  EXPECT_EQ(keys.size(), kMostDriverDeaths + 1);
  EXPECT_EQ(status(JobId(1)).state, JobState::failed);
  EXPECT_EQ(status(JobId(1)).error, "its driver died 4 times within 1 h 00 min, the last time so: signal 9 (SIGKILL)");
}

TEST_F(DriversTest, OneThatDiesNowAndThenIsStartedAgainForAsLongAsItsJobTakes) {
  make();
  const auto worker = join(1, 2);
  detach(1);
  std::size_t starts = 0;
  const auto dies = [&] {
    ASSERT_TRUE(eventually([&] { return worker->starts.size() == starts + 1; })) << starts;
    ++starts;
    end(1, JobId(1), SIGKILL, "signal 9 (SIGKILL)");
  };
  for (std::uint32_t death = 0; death < 3 * kMostDriverDeaths; ++death, at += times.deaths / kMostDriverDeaths + 1ns) dies();
  EXPECT_EQ(status(JobId(1)).state, JobState::running);
  EXPECT_LE(states[JobId(1)].died.size(), kMostDriverDeaths) << "what does not count is forgotten";
  ASSERT_TRUE(eventually([&] { return worker->starts.size() == starts + 1; }));
  ++starts;
  const DriverState state = state_of(JobId(1), fact_of(states[JobId(1)]));
  EXPECT_EQ(state, states[JobId(1)]);
  make();  // a restarted master, whose clock goes on
  on_reactor([&] { EXPECT_TRUE(drivers->restore(state)); });
  dies();
  EXPECT_EQ(status(JobId(1)).state, JobState::running);
  dies();
  EXPECT_EQ(status(JobId(1)).state, JobState::failed) << "what counted before the restart does so behind it";
}

TEST_F(DriversTest, AnotherWorkerIsTriedWhereItCannotBeStarted) {
  make();
  const auto first = join(1, 4), second = join(2, 2);
  detach(1);
  ASSERT_EQ(first->starts.size(), 1u);
  end(1, JobId(1), -1, "cannot execute it");
  EXPECT_TRUE(eventually([&] { return second->starts.size() == 1; }));
  EXPECT_THAT(states[JobId(1)].died, IsEmpty());
}

TEST_F(DriversTest, WorkersThatCannotStartItAreTriedInTurn) {
  make();
  std::vector<std::shared_ptr<DriverHost>> workers{nullptr, join(1, 4), join(2, 2), join(3, 1)};
  detach(1);
  for (std::uint32_t start = 0; start < 12; ++start) {
    const std::uint32_t node = 1 + start % 3;
    ASSERT_TRUE(eventually([&] { return workers[node]->starts.size() == 1 + start / 3; })) << start;
    end(node, JobId(1), -1, "cannot execute it");
  }
  EXPECT_EQ(status(JobId(1)).state, JobState::running);
}

TEST_F(DriversTest, OneThatNoWorkerCanStartForMinutesIsTheJobsError) {
  make();
  const auto worker = join(1, 2);
  detach(1), detach(2);
  end(1, JobId(1), -1, "cannot execute it");
  end(1, JobId(2), -1, "cannot execute it");
  ASSERT_TRUE(eventually([&] { return worker->starts.size() == 4; }));
  at += times.starts - 1ns;
  on_reactor([&] { drivers->attached(JobId(2)); });
  for (std::size_t starts = 5; starts < 9; ++starts) {
    end(1, JobId(1), -1, "cannot execute it");
    EXPECT_EQ(status(JobId(1)).state, JobState::running);
    ASSERT_TRUE(eventually([&] { return worker->starts.size() == starts; }));
  }
  at += 1ns;
  end(1, JobId(1), -1, "cannot execute it");
  EXPECT_EQ(status(JobId(1)).state, JobState::failed);
  EXPECT_EQ(status(JobId(1)).error, "no worker could start its driver for 2 min 00 s, the last time because: cannot execute it");
  end(1, JobId(2), -1, "cannot execute it");
  EXPECT_EQ(status(JobId(2)).state, JobState::running) << "it had been started meanwhile";
}

TEST_F(DriversTest, FewStartsThatFailLongApartAreNotTheJobsError) {
  make();
  const auto worker = join(1, 2);
  detach(1);
  for (std::size_t starts = 2; starts < 5; ++starts) {
    at += times.starts;
    end(1, JobId(1), -1, "cannot execute it");
    ASSERT_TRUE(eventually([&] { return worker->starts.size() == starts; }));
  }
  EXPECT_EQ(status(JobId(1)).state, JobState::running);
}

TEST_F(DriversTest, OneThatNeverAttachesIsStartedElsewhere) {
  times.first_attach = kAtOnce;
  make();
  const auto first = join(1, 4), second = join(2, 2);
  detach(1);
  EXPECT_TRUE(eventually([&] { return !first->stops.empty() && !second->starts.empty(); }));
  EXPECT_THAT(states[JobId(1)].died, IsEmpty());
}

TEST_F(DriversTest, AWorkerThatHasTheFilesMayComeBackAfterItCouldNotStartIt) {
  make();
  const auto with = join(1, 2), without = join(2, 2);
  on_reactor([&] { with->files = {"/d/in.txt"}; });
  detach(1, {"/d/in.txt"});
  ASSERT_TRUE(eventually([&] { return with->starts.size() == 1; }));
  end(1, JobId(1), -1, "the disk is full");
  lose(1);
  on_reactor([] {});
  EXPECT_EQ(status(JobId(1)).state, JobState::running);
  at += times.lost_files;
  EXPECT_TRUE(eventually([&] { return core_.job(JobId(1)).value().state == JobState::failed; }));
}

TEST_F(DriversTest, OneThatWasStoppedIsStartedElsewhere) {
  make();
  const auto first = join(1, 4), second = join(2, 2);
  detach(1);
  end(1, JobId(1), protocol::kDriverGaveWay << 8, "exit code 75: stopped by a signal");
  EXPECT_TRUE(eventually([&] { return second->starts.size() == 1; }));
  EXPECT_EQ(first->starts.size(), 1u);
}

TEST_F(DriversTest, OneThatGivesUpIsTheJobsError) {
  make();
  const auto worker = join(1, 2);
  detach(1), detach(2);
  end(1, JobId(1), kExit3, "exit code 3: no such file");
  EXPECT_EQ(status(JobId(1)).state, JobState::failed);
  EXPECT_EQ(status(JobId(1)).error, "its driver failed: exit code 3: no such file");
  end(1, JobId(2), 0, "exit code 0");
  EXPECT_EQ(status(JobId(2)).state, JobState::failed);
  EXPECT_THAT(status(JobId(2)).error, HasSubstr("without having run the job"));
  EXPECT_EQ(worker->starts.size(), 2u);
}

TEST_F(DriversTest, ItMovesWhenItsWorkerIsLostHoweverOften) {
  make();
  for (std::uint32_t node = 1; node <= 6; ++node) {
    const auto worker = join(node, 2);
    if (node == 1) detach(1);
    ASSERT_TRUE(eventually([&] { return worker->starts.size() == 1; })) << node;
    lose(node);
  }
  EXPECT_THAT(states[JobId(1)].died, IsEmpty());
  EXPECT_FALSE(states[JobId(1)].running);
  EXPECT_EQ(status(JobId(1)).state, JobState::running);
}

TEST_F(DriversTest, FilesThatWentWithTheirWorkerAreWaitedForAWhile) {
  make();
  const auto first = join(1, 2);
  first->files = {"/d/in.txt"};
  detach(1, {"/d/in.txt"});
  ASSERT_EQ(first->starts.size(), 1u);
  const auto other = join(2, 2);
  lose(1);
  const auto again = join(3, 2);
  on_reactor([&] { again->files = {"/d/in.txt"}; });
  EXPECT_TRUE(eventually([&] { return again->starts.size() == 1; }));
  lose(3);
  on_reactor([&] { at += 2min; });
  EXPECT_TRUE(eventually([&] { return core_.job(JobId(1))->state == JobState::failed; }));
  EXPECT_THAT(status(JobId(1)).error, HasSubstr("no worker has /d/in.txt"));
  EXPECT_THAT(other->starts, IsEmpty());
}

TEST_F(DriversTest, TheEndOfAnEarlierStartCountsForNothing) {
  make();
  const auto first = join(1, 4);
  detach(1);
  const std::uint64_t key = first->starts.at(0).key;
  end(1, JobId(1), SIGSEGV, "signal 11 (SIGSEGV)");
  ASSERT_TRUE(eventually([&] { return first->starts.size() == 2; }));
  end(1, JobId(1), kExit3, "exit code 3", key);
  end(2, JobId(1), kExit3, "exit code 3");
  EXPECT_EQ(status(JobId(1)).state, JobState::running);
}

TEST_F(DriversTest, AnUnusableWorkerGetsNone) {
  make();
  const auto leaving = join(1, 8), other = join(2, 1);
  on_reactor([&] { ASSERT_TRUE(apply(WorkerLeaving{NodeId(1)})); });
  detach(1);
  EXPECT_THAT(leaving->starts, IsEmpty());
  EXPECT_EQ(other->starts.size(), 1u);
}

TEST_F(DriversTest, TheEndOfAJobEndsADriverThatDoesNotEndByItself) {
  times.fail = times.end = kAtOnce;
  make();
  const auto worker = join(1, 4);
  detach(1), detach(2);
  on_reactor([&] { ASSERT_TRUE(apply(JobKilled{JobId(1), "enough"})); });
  ASSERT_TRUE(eventually([&] { return worker->stops.size() == 1; }));
  EXPECT_EQ(worker->stops[0].job, JobId(1));
  on_reactor([&] { ASSERT_TRUE(apply(JobClosed{JobId(2)})); });
  EXPECT_TRUE(eventually([&] { return worker->stops.size() == 2; }));
}

TEST_F(DriversTest, OneThatEndsWithItsJobIsLeftAlone) {
  make();
  const auto worker = join(1, 4);
  detach(1);
  on_reactor([&] { ASSERT_TRUE(apply(JobClosed{JobId(1)})); });
  end(1, JobId(1), 0, "exit code 0");
  EXPECT_EQ(status(JobId(1)).state, JobState::finished);
  EXPECT_THAT(worker->stops, IsEmpty());
}

TEST_F(DriversTest, OneThatStaysAwayFromTheMasterIsStoppedAndStartedAgain) {
  times.attach = kAtOnce;
  make();
  const auto worker = join(1, 4);
  detach(1);
  on_reactor([&] {
    drivers->attached(JobId(1));
    drivers->disconnected(JobId(1));
  });
  ASSERT_TRUE(eventually([&] { return worker->starts.size() == 2; }));
  EXPECT_EQ(worker->stops.at(0).job, JobId(1));
  EXPECT_EQ(states[JobId(1)].died.size(), 1u);
}

TEST_F(DriversTest, OneThatIsCutOffWithItsWorkerHasNotDied) {
  times.attach = kAtOnce;
  make();
  const auto cut_off = join(1, 4), other = join(2, 2);
  detach(1);
  on_reactor([&] {
    drivers->attached(JobId(1));
    at += times.heard + 1ns;
    drivers->disconnected(JobId(1));
  });
  ASSERT_TRUE(eventually([&] { return other->starts.size() == 1; }));
  EXPECT_EQ(cut_off->stops.at(0).job, JobId(1));
  EXPECT_THAT(states[JobId(1)].died, IsEmpty());
}

TEST_F(DriversTest, OneThatAttachesAgainIsNot) {
  times.attach = kAtOnce;
  make();
  const auto worker = join(1, 4);
  detach(1), detach(2);
  on_reactor([&] {
    drivers->disconnected(JobId(1));
    drivers->attached(JobId(1));
    drivers->disconnected(JobId(2));  // whose time is over after that of the first
  });
  ASSERT_TRUE(eventually([&] { return worker->stops.size() == 1; }));
  EXPECT_EQ(worker->stops[0].job, JobId(2));
  EXPECT_EQ(worker->starts.at(0).key, jobs[JobId(1)].key);
}

TEST_F(DriversTest, AJobWhoseOwnDriverStaysAwayGetsOneWhereMostOfItsFilesAre) {
  times.take_over = kAtOnce;
  make();
  const auto none = join(1, 8), most = join(2, 2);
  most->files = {"/d/in.txt"};
  submit(1, {"in.txt", "--output=/out", "-v"});
  on_reactor([&] { drivers->take_over(JobId(1)); });
  EXPECT_TRUE(eventually([&] { return most->starts.size() == 1; }));
  EXPECT_THAT(none->starts, IsEmpty());
  EXPECT_THAT(states[JobId(1)].files, ElementsAre("/d/in.txt", "/out"));
}

TEST_F(DriversTest, AJobWhoseOwnDriverComesBackKeepsIt) {
  make();
  const auto worker = join(1, 8);
  submit(1);
  on_reactor([&] {
    drivers->take_over(JobId(1));
    drivers->attached(JobId(1));
  });
  EXPECT_FALSE(drivers->knows(JobId(1)));
  EXPECT_FALSE(states[JobId(1)].wanted);
  times.attach = kAtOnce;
  make();  // a restarted master
  on_reactor([&] { EXPECT_FALSE(drivers->restore(states[JobId(1)])); });
  EXPECT_FALSE(drivers->knows(JobId(1))) << "a driver that attaches needs no timer that would kill the job";
}

TEST_F(DriversTest, ARestartedMasterGivesAJobsOwnDriverItsTimeToComeBack) {
  make();
  const auto worker = join(1, 8);
  submit(1), submit(2);
  on_reactor([&] { drivers->take_over(JobId(1)); });
  DriverState detached;
  detached.job = JobId(2);
  detached.wanted = detached.detached = true;
  make();
  on_reactor([&] {
    EXPECT_TRUE(drivers->restore(states[JobId(1)]));
    EXPECT_TRUE(drivers->restore(detached));
  });
  EXPECT_TRUE(eventually([&] { return worker->starts.size() == 1; }));
  EXPECT_EQ(worker->starts[0].job, JobId(2)) << "nobody but the cluster has a driver for it";
  on_reactor([&] { drivers->attached(JobId(1)); });
  EXPECT_FALSE(drivers->knows(JobId(1)));
  times.take_over = kAtOnce;
  make();
  states[JobId(1)].wanted = true;
  on_reactor([&] { EXPECT_TRUE(drivers->restore(states[JobId(1)])); });
  EXPECT_TRUE(eventually([&] { return worker->starts.size() == 2; }));
}

TEST_F(DriversTest, ADriverWhoseWorkerWasLostWithNothingMoreRecordedIsStartedElsewhere) {
  make();
  submit(1);
  DriverState state;
  state.job = JobId(1);
  state.node = NodeId(7);  // which the restarted master does not wait for
  state.wanted = state.running = true;
  on_reactor([&] { EXPECT_TRUE(drivers->restore(state)); });
  const auto other = join(8, 1);
  EXPECT_TRUE(eventually([&] { return other->starts.size() == 1; }));
}

TEST_F(DriversTest, ASubmissionThatGoesOnOverAnotherConnectionHasItsTimeAgain) {
  times.attach = 20ms;
  make();
  submit(1), submit(2);
  on_reactor([&] {
    drivers->add(JobId(1), {}), drivers->add(JobId(2), {});
    drivers->disconnected(JobId(1)), drivers->disconnected(JobId(2));
    drivers->goes_on(JobId(1));
  });
  ASSERT_TRUE(eventually([&] { return core_.job(JobId(2))->state == JobState::killed; }));
  EXPECT_EQ(core_.job(JobId(1))->state, JobState::running);
}

TEST_F(DriversTest, ASubmissionThatIsNotCompletedIsKilled) {
  times.attach = kAtOnce;
  make();
  submit(1);
  on_reactor([&] {
    drivers->add(JobId(1), {});
    EXPECT_FALSE(drivers->wanted(JobId(1)));
    drivers->disconnected(JobId(1));
  });
  ASSERT_TRUE(eventually([&] { return core_.job(JobId(1))->state == JobState::killed; }));
  EXPECT_EQ(status(JobId(1)).error, "its submission was not completed");
}

TEST_F(DriversTest, ARestartedMasterWaitsForTheWorkersThatHadThem) {
  make();
  submit(1), submit(2), submit(3);
  on_reactor([&] {
    context.away[NodeId(1)] = {};
    for (const std::uint64_t id : {1u, 2u, 3u}) {
      DriverState state;
      state.job = JobId(id);
      state.node = NodeId(1);
      state.key = 70 + id;
      state.wanted = true;
      state.running = id != 3;  // which was to be started again
      state.detached = true;
      EXPECT_TRUE(drivers->restore(state));
    }
  });
  EXPECT_EQ(jobs[JobId(2)].key, 72u);
  const auto back = join(1, 4);
  EXPECT_TRUE(eventually([&] { return back->starts.size() == 1; }));
  EXPECT_EQ(back->starts[0].job, JobId(3));
  on_reactor([&] { drivers->resumed(NodeId(1), {JobId(1), JobId(3), JobId(9)}); });
  EXPECT_TRUE(eventually([&] { return back->starts.size() == 2; }));
  EXPECT_EQ(back->starts[1].job, JobId(2)) << "it is not there any more";
  ASSERT_EQ(back->stops.size(), 1u);
  EXPECT_EQ(back->stops[0].job, JobId(9)) << "it is no business of this master";
  EXPECT_EQ(drivers->states().size(), 3u);
}

}  // namespace
}  // namespace weft::master
