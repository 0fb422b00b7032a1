// The drivers of a worker: which run, and that each end is reported once, also to a master that was away.
#include "runtime/worker/worker_drivers.hpp"

#include <csignal>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/file.hpp"
#include "runtime/worker/binary_cache.hpp"
#include "runtime/worker/isolation.hpp"
#include "runtime/worker/job_accounts.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WorkerDriversTest : public testing::Test {
 protected:
  void SetUp() override {
    context.directory = directory.path();
    context.options.master = "master:7077";
    context.options.stop_grace = 50ms;
    context.options.cgroup = kNoCgroup;
    isolation = std::make_unique<WorkerIsolation>(context.options, *background, directory.path());
    EXPECT_TRUE(isolation->prepare());
    context.isolation = isolation.get();
    for (const char* name : {"jobs", "logs", "binaries"}) std::filesystem::create_directory(directory.path() / name);
    reactor->run([&] {
      binaries = std::make_unique<BinaryCache>(*reactor, *background, directory.path() / "binaries",
                                               []() -> rpc::ConnectionPtr { return nullptr; });
      context.binaries = binaries.get();
      accounts = std::make_unique<JobAccounts>(*reactor, context.options);
      context.accounts = accounts.get();
      drivers = std::make_unique<WorkerDrivers>(context, [this](const protocol::DriverEnded& how) {
        if (master) reports.push_back(how);
        return master;
      });
    });
  }
  void TearDown() override {
    reactor->run([&] {
      drivers.reset();
      accounts.reset();
      binaries.reset();
    });
    reactor->stop();
    background->stop();
  }
  /// A program that is here already, and was checked.
  ProgramId program(const std::string& script) const {
    const std::string text = "#!/bin/sh\n" + script;
    const std::string made = directory.path() / "script";
    EXPECT_TRUE(write_file(made, text));
    const ProgramId program{hash_file(made).value(), "ann"};
    const auto kept = directory.path() / "binaries" / file_name(program);
    std::filesystem::rename(made, kept);
    std::filesystem::permissions(kept, std::filesystem::perms::owner_all);
    std::promise<void> checked;
    reactor->run([&] { binaries->get(program, [&](const Result<std::string>&) { checked.set_value(); }); });
    checked.get_future().wait();
    return program;
  }
  void start(std::uint64_t job, std::uint64_t key, const ProgramId& program) {
    reactor->run([&] { drivers->start({JobId(job), key, "count", "count", {}, "/", program.hash, program.user}); });
  }
  bool eventually(const std::function<bool()>& holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    for (bool held = false; std::chrono::steady_clock::now() < end; std::this_thread::yield()) {
      reactor->run([&] { held = holds(); });
      if (held) return true;
    }
    return false;
  }

  TempDir directory = TempDir::create().value();
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("worker"), background = rpc::Reactor::start("background");
  WorkerContext context{*reactor, *background, *background, {}, {}};
  std::unique_ptr<WorkerIsolation> isolation;
  std::unique_ptr<BinaryCache> binaries;
  std::unique_ptr<JobAccounts> accounts;
  std::unique_ptr<WorkerDrivers> drivers;
  bool master = true;
  std::vector<protocol::DriverEnded> reports;
};

TEST_F(WorkerDriversTest, OneThatEndsIsReportedAndLeavesNothing) {
  start(7, 1, program("echo why; pwd; exit 3\n"));
  ASSERT_TRUE(eventually([&] { return reports.size() == 1; }));
  EXPECT_EQ(reports[0].job, JobId(7));
  EXPECT_EQ(reports[0].key, 1u);
  EXPECT_EQ(WEXITSTATUS(reports[0].status), 3);
  EXPECT_EQ(reports[0].message, "exit code 3: /");
  EXPECT_THAT(drivers->running_drivers(), IsEmpty());
  EXPECT_TRUE(eventually([&] { return std::filesystem::is_empty(directory.path() / "jobs"); })) << "its directory is gone";
}

TEST_F(WorkerDriversTest, AnEndWithoutAMasterIsReportedWhenThereIsOne) {
  master = false;
  const ProgramId ends = program("exit 3\n");
  start(7, 1, ends);
  ASSERT_TRUE(eventually([&] { return drivers->pids().empty(); }));
  EXPECT_THAT(drivers->running_drivers(), ElementsAre(JobId(7))) << "as far as the master has to know";
  reactor->run([&] { drivers->report_again(); });
  EXPECT_THAT(drivers->running_drivers(), ElementsAre(JobId(7))) << "there is still none";
  reactor->run([&] {
    master = true;
    drivers->report_again();
    drivers->report_again();
  });
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(WEXITSTATUS(reports[0].status), 3);
  EXPECT_THAT(drivers->running_drivers(), IsEmpty());
}

TEST_F(WorkerDriversTest, AnotherStartOfAJobEndsTheFirst) {
  const ProgramId sleeps = program("exec sleep 1000\n");
  start(7, 1, sleeps);
  start(7, 1, sleeps);  // the same once more
  EXPECT_EQ(drivers->pids().size(), 1u);
  start(7, 2, sleeps);
  ASSERT_TRUE(eventually([&] { return reports.size() == 1; }));
  EXPECT_EQ(reports[0].key, 1u);
  EXPECT_EQ(reports[0].message, "it was started again");
  EXPECT_EQ(drivers->pids().size(), 1u);
  reactor->run([&] {
    drivers->stop({JobId(8), "there is none"});
    drivers->stop({JobId(7), "its job is over"});
  });
  ASSERT_TRUE(eventually([&] { return reports.size() == 2; }));
  EXPECT_EQ(reports[1].key, 2u);
  EXPECT_TRUE(eventually([&] { return drivers->empty(); }));
}

TEST_F(WorkerDriversTest, OneThatWaitsForItsProgramCanBeStopped) {
  start(7, 1, {{1, 2}, "ann"});
  EXPECT_THAT(drivers->running_drivers(), ElementsAre(JobId(7)));
  reactor->run([&] { drivers->stop({JobId(7), "its job is over"}); });
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].status, -1);
}

TEST_F(WorkerDriversTest, OneWhoseUserIsLookedUpCanBeStopped) {
  reactor->run([&] {
    context.options.run_as = "root";
    accounts = std::make_unique<JobAccounts>(*reactor, context.options);
    context.accounts = accounts.get();
  });
  const ProgramId sleeps = program("exec sleep 1000\n");
  reactor->run([&] {
    drivers->start({JobId(7), 1, "count", "count", {}, "/", sleeps.hash, sleeps.user});
    EXPECT_THAT(drivers->pids(), IsEmpty());
    drivers->stop({JobId(7), "its job is over"});
  });
  ASSERT_EQ(reports.size(), 1u);
  start(8, 1, sleeps);  // looked up after it
  ASSERT_TRUE(eventually([&] { return drivers->pids().size() == 1 || reports.size() == 2; }));
  EXPECT_THAT(drivers->running_drivers(), testing::Not(testing::Contains(JobId(7))));
}

TEST_F(WorkerDriversTest, ForAMasterThatDoesNotWantThemTheyEndInSilence) {
  const ProgramId sleeps = program("exec sleep 1000\n");
  start(7, 1, sleeps);
  pid_t pid = 0;
  reactor->run([&] {
    pid = drivers->pids().at(0);
    drivers->end_all();
  });
  EXPECT_NE(::kill(pid, 0), 0);
  EXPECT_TRUE(drivers->empty());
  EXPECT_THAT(reports, IsEmpty());
  EXPECT_TRUE(eventually([&] { return std::filesystem::is_empty(directory.path() / "jobs"); })) << "their directories are gone";
}

}  // namespace
}  // namespace weft::runtime
