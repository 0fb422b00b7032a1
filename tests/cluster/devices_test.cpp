// Devices on real workers: POCL's, which is the processor. One test, because a device is one worker's at a time.
#include <gmock/gmock.h>

#include "base/sanitized.hpp"
#include "tests/cluster/cluster.hpp"
#include "tests/support/event_lines.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

TEST(DevicesOnWorkers, AreHeldByOneTaskAtATimeAndComeBackWhenItDies) {
  if (kSanitized) GTEST_SKIP() << "the driver is not built for sanitizers";
  if (run({program("weft"), "worker", "--list-devices"}).out.rfind("0.0 ", 0) != 0) GTEST_SKIP() << "there is no OpenCL device";
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

}  // namespace
}  // namespace weft::test
