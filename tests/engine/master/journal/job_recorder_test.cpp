// What a recorder remembers over restarts, and what it answers.
#include "engine/master/journal/job_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.hpp"
#include "runtime/protocol/worker.hpp"
#include "tests/engine/master/server/lone_core.hpp"

namespace weft::master {
namespace {

using test::LoneCore;
using testing::ElementsAre;

TEST(JobRecorder, GivesNoIdTwiceOverRestartsAndFailsWhatRan) {
  const TempDir directory = TempDir::create("weft-recorder-").value();
  const std::string path = (directory.path() / "journal").string();
  LoneCore shell;
  const auto status = [](JobId id) -> Result<JobStatus> {
    JobStatus job;
    job.id = id;
    job.name = "ran";
    return job;
  };
  std::vector<std::uint64_t> jobs;
  std::vector<std::uint32_t> nodes;
  for (int run = 0; run < 2; ++run) {
    const auto reactor = rpc::Reactor::start("recorder");
    JobRecorder recorder(shell, *reactor, status);
    bool told = false;
    reactor->run([&] {
      JournalHistory history = recorder.open(path, {}, [](const Error&) {}).value();
      ASSERT_EQ(history.running.size(), run == 0 ? 0u : 1u);
      EXPECT_EQ(history.masters, static_cast<std::uint32_t>(run + 1));
      if (run == 1) {
        JobStatus& ran = history.running[0].status;
        recorder.fail_orphan(ran, history.marks.at, "its submission is not recorded");
        EXPECT_EQ(ran.state, JobState::failed);
        EXPECT_EQ(ran.error, "its submission is not recorded");
      }
      jobs.push_back(recorder.new_job().value());
      EXPECT_TRUE(recorder.given(JobId(jobs.back())));
      EXPECT_FALSE(recorder.given(JobId(jobs.back() + 1)));
      nodes.push_back(recorder.new_node().value());
      if (run == 0) recorder.record(JobId(1));
      recorder.when_durable([&told](const Result<void>& kept) { told = !kept; });
      recorder.end(true);
    });
    EXPECT_TRUE(told) << "nobody waits for a master that has ended";
    reactor->stop();
    recorder.close();
  }
  EXPECT_THAT(jobs, ElementsAre(1u, 2u));
  EXPECT_THAT(nodes, ElementsAre(1u, 2u));
}

TEST(JobRecorder, ASeriesOfJobIdsIsKnownAgainAsLongAsMastersGoOnWithItsJournal) {
  const TempDir directory = TempDir::create("weft-recorder-").value();
  const std::string path = (directory.path() / "journal").string();
  LoneCore shell;
  const auto numbering = [&](bool takes_a_job) {
    const auto reactor = rpc::Reactor::start("recorder");
    JobRecorder recorder(shell, *reactor, [](JobId) -> Result<JobStatus> { return fail(Code::not_found, "none"); });
    reactor->run([&] {
      EXPECT_TRUE(recorder.open(path, {}, [](const Error&) {}));
      if (takes_a_job) recorder.record(recorder.new_job(), SubmissionFact{});
      recorder.end(true);
    });
    reactor->stop();
    recorder.close();
    return recorder.numbering();
  };
  const std::uint64_t first = numbering(false);
  EXPECT_GT(first, runtime::protocol::kKeptNumbering);
  EXPECT_EQ(numbering(true), first);
  ASSERT_TRUE(JournalFile::open(path, {})->checkpoint());
  EXPECT_EQ(numbering(false), first);
  ASSERT_TRUE(write_file(path, std::string()));
  const std::uint64_t emptied = numbering(false);
  EXPECT_GT(emptied, runtime::protocol::kKeptNumbering);
  EXPECT_NE(emptied, first);
  ASSERT_TRUE(write_file(path, std::string()));
  JournalRecord of_a_job;  // of a release that did not say
  of_a_job.marks.next_job = 2;
  ASSERT_TRUE(JournalFile::open(path, {})->commit({of_a_job}));
  EXPECT_EQ(numbering(false), runtime::protocol::kKeptNumbering) << "what workers know it by";
}

/// Its facts have the number of the master that recorded them: numbers of attempts depend on it.
TEST(JobRecorder, DatesFactsByTheNumberOfMasters) {
  const TempDir directory = TempDir::create("weft-recorder-").value();
  const std::string path = (directory.path() / "journal").string();
  LoneCore shell;
  for (std::uint32_t run = 1; run <= 3; ++run) {
    const auto reactor = rpc::Reactor::start("recorder");
    JobRecorder recorder(shell, *reactor, [](JobId) -> Result<JobStatus> { return fail(Code::not_found, "none"); });
    reactor->run([&] {
      const JournalHistory history = recorder.open(path, {}, [](const Error&) {}).value();
      EXPECT_TRUE(recorder.keeps_jobs());
      EXPECT_EQ(history.masters, run);
      ASSERT_EQ(history.running.size(), run == 1 ? 0u : 1u);
      if (run == 2) {
        EXPECT_EQ(history.running[0].submission->masters, 1u);
      } else if (run == 3) {
        EXPECT_EQ(history.running[0].launches.at(0).masters, 2u);
      }
      if (run == 1) recorder.record(JobId(1), SubmissionFact{});
      if (run == 2) recorder.record(JobId(1), LaunchFact{StageId(0), 1, 2, NodeId(3), Time(4)});
      recorder.end(true);
    });
    reactor->stop();
    recorder.close();
  }
}

}  // namespace
}  // namespace weft::master
