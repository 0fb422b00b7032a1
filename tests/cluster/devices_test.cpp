// Devices on real workers: the processor, as POCL has it, and a device whose driver fails in the way that a test chooses
// (fake_opencl.cpp).
#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <sys/file.h>

#include "base/fd.hpp"
#include "base/sanitized.hpp"
#include "tests/cluster/cluster.hpp"
#include "tests/cluster/fake_device.hpp"
#include "tests/support/event_lines.hpp"

namespace weft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A device is one worker's at a time, and tests run beside each other.
class DevicesOnWorkers : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "the driver is not built for sanitizers";
    if (const auto listed = run({program("weft"), "worker", "--list-devices"}); listed.out.rfind("0.0 ", 0) != 0) {
      ASSERT_EQ(std::getenv("CI"), nullptr) << "scripts/setup installs one: " << listed.out;
      GTEST_SKIP() << "there is no OpenCL device: " << listed.out;
    }
    turn_ = Fd(open("/tmp/weft-test-devices.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    ASSERT_EQ(flock(turn_.get(), LOCK_EX), 0);
  }

 private:
  Fd turn_;
};

std::uint64_t number_of(const std::string& line, const std::string& member) {
  const auto at = line.find("\"" + member + "\":");
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + member.size() + 3, nullptr, 10);
}

/// How many tasks held a device at the same time, at most, and of how many jobs.
std::pair<std::size_t, std::size_t> most_holders(const std::vector<std::string>& events) {
  std::set<std::vector<std::uint64_t>> holders;
  std::set<std::uint64_t> jobs;
  std::size_t most = 0;
  for (const std::string& line : events) {
    std::vector<std::uint64_t> attempt;
    for (const char* member : {"job", "stage", "task", "attempt"}) attempt.push_back(number_of(line, member));
    if (has(line, R"("event":"task_launched")") && has(line, R"("variants":["accelerator"])")) {
      holders.insert(attempt);
      jobs.insert(attempt[0]);
    }
    if (has(line, R"("event":"task_finished")") || has(line, R"("event":"task_failed")")) holders.erase(attempt);
    most = std::max(most, holders.size());
  }
  return {most, jobs.size()};
}

TEST_F(DevicesOnWorkers, AreHeldByOneTaskAtATimeAndComeBackWhenItDies) {
  ScratchDirectory files;
  Cluster cluster(0, {"--event-log", files / "events"});
  cluster.add_worker({"--slots", "2", "--devices", "0.0"});
  ASSERT_TRUE(cluster.has_nodes(1));
  const std::string nodes = cluster.admin({"node", "list", "--json"}).out;
  EXPECT_THAT(nodes, HasSubstr("\"accelerator\":\"cpu\""));
  EXPECT_THAT(nodes, HasSubstr("\"accelerator\":1")) << "the capacity";

  const auto refused = run({program("weft"), "worker", "--master", cluster.address(), "--devices", "0.0"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("another worker of this machine has device 0.0"));

  const auto count = [](const std::vector<std::string>& more) {
    std::vector<std::string> command{program("montecarlo"), "--quiet", "--points", "30000000", "--tasks", "12"};
    command.insert(command.end(), more.begin(), more.end());
    return run(command);
  };
  const std::string alone = count({}).out;
  const auto there = count({"--cluster", cluster.address(), "--check-variants"});
  EXPECT_EQ(there.out, alone) << there.err;
  EventLines events(files / "events");
  ASSERT_TRUE(eventually([&] { return events.count("job_closed") == 1; }));
  const auto with_device = events.count("task_launched", {R"("variants":["accelerator"])"});
  EXPECT_GT(with_device, 0u);
  EXPECT_LT(with_device, 12u) << "the other slot does not wait for the device";

  Process job({program("montecarlo"), "--quiet", "--points", "1000000000", "--tasks", "6", "--cluster", cluster.address()},
              cluster.options());
  const auto holders = [&] { return processes_with({{"WEFT_TEST_TAG", std::to_string(getpid())}, {"WEFT_DEVICE", "0.0"}}); };
  ASSERT_TRUE(eventually([&] { return !holders().empty(); }));
  ::kill(holders().front(), SIGKILL);
  const auto done = job.wait();
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, run({program("montecarlo"), "--quiet", "--points", "1000000000"}).out);
  EXPECT_EQ(count({"--cluster", cluster.address()}).out, alone);
  ASSERT_TRUE(eventually([&] { return events.count("job_closed") == 3; }));
  EXPECT_GT(events.count("task_launched", {R"("job":3,)", R"("variants":["accelerator"])"}), 0u) << "the device is lent again";
  EXPECT_THAT(cluster.admin({"node", "list", "--json"}).out, HasSubstr(R"("capacity_why":"")")) << "it has not failed";
}

TEST_F(DevicesOnWorkers, AreNotSharedByJobsAndSurviveKernelsThatFail) {
  ScratchDirectory files;
  Cluster cluster(0, {"--event-log", files / "events", "--scheduler", "fair"});
  Process& worker = cluster.add_worker({"--slots", "3", "--devices", "0.0"});
  ASSERT_TRUE(cluster.has_nodes(1));
  EventLines events(files / "events");
  {
    std::vector<std::unique_ptr<Process>> jobs;  // all of whose tasks need a device
    for (int i = 0; i < 2; ++i)
      jobs.push_back(std::make_unique<Process>(
          cluster.job({"kernel", "--records", "400000", "--tasks", "6", "--demand", "accelerator=1"}), cluster.options()));
    for (const auto& job : jobs) {
      const auto done = job->wait();
      EXPECT_EQ(done.out, expected_sums(400'000)) << done.err;
    }
    ASSERT_TRUE(eventually([&] { return events.count("job_closed") == 2; }));
    EXPECT_EQ(most_holders(events.read()), std::pair(std::size_t{1}, std::size_t{2})) << "tasks at a time, and jobs";
  }

  const auto wrong = run(cluster.job({"kernel_wrong", "--records", "100", "--tasks", "1"}));
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_TRUE(one_line(wrong.err)) << wrong.err;
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("kernel 'numbers' (probe.cpp:"), HasSubstr("does not compile"), HasSubstr("nothing")));

  worker.expect_death();  // of its executors
  for (const std::string mode : {"kernel_never_ends", "kernel_crashes"}) {
    const auto failures = events.count("task_failed");
    const auto done = run(cluster.job({mode, "--records", "4000", "--tasks", "6"}));
    EXPECT_EQ(done.out, expected_sums(4000)) << mode << ": " << done.err;
    EXPECT_GT(events.count("task_failed"), failures) << mode;
    EXPECT_LE(events.count("task_failed"), failures + 3) << mode << ": then the stage uses no devices any more";
  }
  EXPECT_GT(events.count("task_failed", {"did not end within 500"}), 0u);
  EXPECT_GT(events.count("task_failed", {"SIGSEGV"}), 0u);
  EXPECT_THAT(cluster.admin({"node", "list", "--json"}).out, HasSubstr(R"("capacity_why":"")")) << "the device works";
}

TEST_F(DevicesOnWorkers, AreLeftAsTheyWereByAThousandTasks) {
  Cluster cluster(0);
  cluster.add_worker({"--slots", "1", "--devices", "0.0"});
  ASSERT_TRUE(cluster.has_nodes(1));
  const auto done = run(cluster.job({"kernel_usage", "--tasks", "1000", "--demand", "accelerator=1"}));
  std::istringstream lines(done.out);
  std::vector<std::uint64_t> files, pages;
  for (std::uint64_t open = 0, resident = 0; lines >> open >> resident;) files.push_back(open), pages.push_back(resident);
  ASSERT_EQ(files.size(), 1000u) << done.err;
  const auto most = [](const std::vector<std::uint64_t>& of, std::ptrdiff_t from) {
    return *std::max_element(of.begin() + from, of.begin() + from + 100);
  };
  EXPECT_LE(most(files, 900), most(files, 100));
  EXPECT_LT(most(pages, 900), most(pages, 100) + (8u << 20) / 4096) << "of eight buffers each";
}

TEST(DevicesThatFail, HaveTooLittleMemoryForBatchesOrForAny) {
  ScratchDirectory files;
  const auto copied = [&](const std::string& largest) {
    const std::string runs = files / largest;
    const auto environment =
        fake_device("small", {{"WEFT_DEVICE", "0.0"}, {"FAKE_OPENCL_LARGEST", largest}, {"FAKE_OPENCL_RUNS", runs}});
    const auto done = run({program("cluster_probe"), "kernel", "--quiet", "--records", "200000", "--tasks", "1", "--threads", "1"},
                          {.environment = environment});
    EXPECT_EQ(done.out, expected_sums(200'000)) << done.err;
    EXPECT_EQ(has(done.err, "is too small for a batch"), read_file(runs).empty()) << done.err;
    return read_file(runs);
  };
  EXPECT_EQ(copied("100000000"), "4194304\n");
  EXPECT_EQ(copied("1500000"), "1048576\n1048576\n") << "a batch is halved twice";
  EXPECT_EQ(copied("60000"), "") << "the function runs";
}

TEST(DevicesThatFail, AreExcludedAndTheNodesListSaysWhy) {
  ScratchDirectory files;
  Cluster cluster(0, {"--event-log", files / "events"});
  Process& worker =
      cluster.add_worker({"--slots", "2", "--devices", "auto"}, fake_device("broken", {{"FAKE_OPENCL_BREAKS", files / "broken"}}));
  ASSERT_TRUE(cluster.has_nodes(1));
  EXPECT_THAT(cluster.admin({"node", "list"}).out, HasSubstr("0 of 1 held"));
  worker.expect_death();  // of its executors, and of the process that tries the device
  const auto done = run(cluster.job({"kernel", "--records", "4000", "--tasks", "6"}));
  EXPECT_EQ(done.out, expected_sums(4000)) << done.err;
  std::string nodes;
  EXPECT_TRUE(eventually([&] {
    nodes = cluster.admin({"node", "list"}).out;
    return has(nodes, "failed: its driver ended a process that tried it by signal 6 (SIGABRT)");
  })) << nodes;
  EXPECT_THAT(nodes, AllOf(HasSubstr("device 0.0 (fake broken"), HasSubstr("0 of 0 held, 1 excluded")));
  EXPECT_THAT(read_file(files / "events"), Not(HasSubstr("job_failed")));
  EXPECT_THAT(cluster.admin({"node", "list", "--json"}).out, HasSubstr(R"("devices":{"lent":1,"held":0,"excluded":1})"));
  EventLines events(files / "events");
  const auto launched = events.count("task_launched", {R"("variants":["accelerator"])"});
  EXPECT_EQ(run(cluster.job({"kernel", "--records", "4000", "--tasks", "6"})).out, expected_sums(4000));
  EXPECT_EQ(events.count("task_launched", {R"("variants":["accelerator"])"}), launched) << "no task gets it any more";
}

TEST(DevicesThatFail, AreLentAgainWhenAKilledTaskHasLeftThem) {
  ScratchDirectory files;
  const std::string holds = files / "holds";
  write_file(holds, "");
  Cluster cluster(0, {"--event-log", files / "events"});
  cluster.add_worker({"--slots", "2", "--devices", "auto"}, fake_device("left", {{"FAKE_OPENCL_HOLDS", holds}}));
  ASSERT_TRUE(cluster.has_nodes(1));
  EventLines events(files / "events");
  const auto job = cluster.job({"kernel_held", "--records", "4000", "--tasks", "1", "--demand", "accelerator=1"});
  Process first(job, cluster.options());
  ASSERT_TRUE(eventually([&] { return events.count("task_launched", {R"("job":1,)"}) == 1; }));
  const auto holders = [&] { return processes_with({{"WEFT_TEST_TAG", std::to_string(getpid())}, {"WEFT_DEVICE", "0.0"}}); };
  ASSERT_TRUE(eventually([&] { return holders().size() == 1; }));
  const int holder = holders()[0];
  ASSERT_EQ(cluster.admin({"job", "kill", "1"}).exit_code, 0);
  EXPECT_NE(first.wait().exit_code, 0);

  Process second(job, cluster.options());
  ASSERT_TRUE(eventually([&] { return holders().size() == 1 && holders()[0] != holder; }))
      << "the kernel of the job that was killed goes on, so that its executor has to end";
  unlink(holds.c_str());
  const auto done = second.wait();
  EXPECT_EQ(done.out, expected_sums(4000)) << done.err;
  EXPECT_EQ(events.count("task_failed", {R"("job":2,)"}), 0u) << "the second job has waited for the device";
  EXPECT_EQ(events.count("task_launched", {R"("job":2,)", R"("variants":["accelerator"])"}), 1u);
}

}  // namespace
}  // namespace weft::test
