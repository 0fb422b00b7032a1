#include "runtime/worker/kept_logs.hpp"

#include <chrono>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "base/file.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;

class KeptLogsTest : public testing::Test {
 protected:
  KeptLogsTest() {
    context.directory = directory.path();
    std::filesystem::create_directory(directory.path() / "logs");
  }
  ~KeptLogsTest() override {
    reactor->stop();
    background->stop();
  }
  void write(const std::string& path, std::chrono::hours ago = 0h) const {
    ASSERT_TRUE(write_file(path, std::string("a line\n")));
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - ago);
  }
  void write(std::uint64_t job, std::chrono::hours ago = 0h) const { write(context.log_path(JobId(job)), ago); }
  /// Whose logs are there, in order.
  std::string jobs() const {
    std::string text;
    for (std::uint64_t job = 0; job < 20; ++job) {
      if (std::filesystem::exists(context.log_path(JobId(job)))) text += std::to_string(job) + " ";
      if (std::filesystem::exists(context.driver_log_path(JobId(job)))) text += std::to_string(job) + "d ";
    }
    return text;
  }

  TempDir directory = TempDir::create().value();
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("test"), background = rpc::Reactor::start("background");
  WorkerContext context{*reactor, *background, *background, {}, {}};
};

TEST_F(KeptLogsTest, ThoseOfEarlierWorkersCountByTheTimeOfTheirLastLine) {
  write(12, 5h);
  write(3, 9h);
  write(context.driver_log_path(JobId(3)), 1h);
  write(4, 3h);
  write(5, 2h);
  write(directory.path() / "logs/notes.txt", 99h);
  KeptLogs logs(context, 3);
  EXPECT_EQ(jobs(), "3 3d 4 5 ");
  write(9);
  logs.ended(JobId(9));
  EXPECT_EQ(jobs(), "3 3d 5 9 ");
  logs.ended(JobId(9));
  EXPECT_EQ(jobs(), "3 3d 5 9 ") << "it is one job";
  write(10);
  write(11);
  logs.ended(JobId(10));
  logs.ended(JobId(11));
  EXPECT_EQ(jobs(), "9 10 11 ") << "both logs of a job go";
  EXPECT_TRUE(std::filesystem::exists(directory.path() / "logs/notes.txt"));
}

TEST_F(KeptLogsTest, WhenAMasterBeginsItsIdsAgainTheLogsSoFarAreOutOfTheWay) {
  const auto earlier = [&](const char* name) { return std::filesystem::exists(directory.path() / "logs" / name); };
  write(1);
  write(context.driver_log_path(JobId(1)));
  KeptLogs logs(context, 2);
  logs.numbered(77);
  EXPECT_EQ(jobs(), "") << "whose they are is not known";
  EXPECT_TRUE(earlier("earlier-job-1.log") && earlier("earlier-job-1.driver.log"));
  write(2);
  logs.ended(JobId(2));
  logs.numbered(0);
  logs.numbered(77);
  EXPECT_EQ(jobs(), "2 ") << "the same master";
  KeptLogs(context, 2).numbered(77);
  EXPECT_EQ(jobs(), "2 ") << "and another worker";
  logs.numbered(78);
  EXPECT_EQ(jobs(), "");
  EXPECT_TRUE(earlier("earlier-job-2.log"));
  EXPECT_FALSE(earlier("earlier-job-1.log")) << "they are not gathered without end";
}

TEST_F(KeptLogsTest, LogsOfAJournalOfAnEarlierReleaseStay) {
  write(1);
  KeptLogs logs(context, 2);
  logs.numbered(protocol::kKeptNumbering);
  EXPECT_EQ(jobs(), "1 ") << "an earlier release has written them";
  logs.numbered(protocol::kKeptNumbering);
  EXPECT_EQ(jobs(), "1 ");
  logs.numbered(77);
  EXPECT_EQ(jobs(), "");
}

TEST_F(KeptLogsTest, AJobThatRunsKeepsTheLogOfAnEarlierOneWithItsId) {
  write(1, 2h);
  write(2, 1h);
  KeptLogs logs(context, 2);
  logs.begun(JobId(1));
  for (std::uint64_t job : {3, 4}) {
    write(job);
    logs.ended(JobId(job));
  }
  EXPECT_EQ(jobs(), "1 3 4 ");
  logs.ended(JobId(1));
  EXPECT_EQ(jobs(), "1 4 ");
}

}  // namespace
}  // namespace weft::runtime
