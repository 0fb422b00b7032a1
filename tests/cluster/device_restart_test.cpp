// A device that a task held before the master was killed.
#include <gtest/gtest.h>

#include "tests/cluster/fake_device.hpp"
#include "tests/cluster/kept_cluster.hpp"
#include "tests/cluster/programs.hpp"

namespace weft::test {
namespace {

TEST(MasterRestartUnderDevices, TheTaskThatHoldsTheDeviceHoldsItStill) {
  ScratchDirectory files;
  const std::string holds = files / "holds";
  write_file(holds, "");
  KeptCluster cluster;
  cluster.start_master();
  auto environment = fake_device("restarted", {{"FAKE_OPENCL_HOLDS", holds}});
  environment.emplace("WEFT_TEST_TAG", cluster.tag());
  Process worker({program("weft"), "worker", "--master", cluster.address(), "--name", "w1", "--slots", "2", "--devices", "auto"},
                 {.environment = environment, .deadline = std::chrono::seconds(300), .daemon = true});
  ASSERT_TRUE(cluster.has_nodes(1));
  const auto has_device = [&](const char* of) {
    return eventually([&] { return has(cluster.admin({"node", "list", "--json"}).out, of); });
  };

  Process first(cluster.job("cluster_probe", {"kernel_held", "--records", "4000", "--tasks", "3"}), cluster.options());
  ASSERT_TRUE(eventually([&] { return cluster.count("task_finished") == 2; })) << "of those that run the function";
  EXPECT_TRUE(has_device(R"("devices":{"lent":1,"held":1,"excluded":0})"));
  cluster.end_master();
  cluster.start_master();
  ASSERT_TRUE(eventually([&] { return cluster.count("worker_rejoined") == 1; }));
  EXPECT_TRUE(has_device(R"("devices":{"lent":1,"held":1,"excluded":0})"));

  Process second(cluster.job("cluster_probe", {"kernel_held", "--records", "4000", "--tasks", "3", "--demand", "accelerator=1"}),
                 cluster.options());
  ASSERT_TRUE(eventually([&] {
    return has(cluster.admin({"job", "explain", "2"}).out, "accelerator");
  })) << cluster.admin({"job", "explain", "2"}).out;
  EXPECT_EQ(cluster.count("task_launched", {R"("job":2,)"}), 0u) << "the only device is held";
  unlink(holds.c_str());
  for (Process* job : {&first, &second}) {
    const ProcessResult done = job->wait();
    EXPECT_EQ(done.out, expected_sums(4000)) << done.err;
  }
  EXPECT_EQ(cluster.count("task_failed"), 0u);
  EXPECT_TRUE(has_device(R"("devices":{"lent":1,"held":0,"excluded":0})"));
}

}  // namespace
}  // namespace weft::test
