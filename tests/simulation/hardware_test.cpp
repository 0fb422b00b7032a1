// Nodes that are not all alike: speeds by node and by job, parts of nodes over time, forecasts of them.
#include <gtest/gtest.h>

#include "tests/simulation/simulated.hpp"

namespace weft::simulator::test {
namespace {

/// One regular node and one with an accelerator of general speed 2.
ClusterModel accelerated() {
  ClusterModel model = cluster(1, 1);
  model.groups.push_back(model.groups[0]);
  model.groups[1].speed = 2;
  model.groups[1].attributes = {{"accelerator", "gpu"}, {"zone", "a"}};
  return model;
}

TEST(Hardware, AJobIsFasterOnTheNodesThatSuitIt) {
  StageSpec plain = stage(2, seconds(100)), fit = stage(2, seconds(100));
  fit.speedups = {{"accelerator", "fpga", 50}, {"accelerator", "gpu", 25}, {"zone", "a", 4}};
  EXPECT_EQ(run(jobs({job(Time(0), {plain})}), accelerated()).work.useful, seconds(150)) << "100 s and 50 s";
  const RunResult result = run(jobs({job(Time(0), {fit})}), accelerated());
  EXPECT_EQ(result.work.useful, seconds(102)) << "100 s, and 25 times the node's speed";
  ClusterModel other = accelerated();
  other.groups[1].attributes = {{"accelerator", "tpu"}};
  EXPECT_EQ(run(jobs({job(Time(0), {fit})}), other).work.useful, seconds(150)) << "no attribute fits";
  fit.speedups[1].factor = 0;
  EXPECT_FALSE(simulate(jobs({job(Time(0), {fit})}), accelerated(), schedulers::make_scheduler("fifo").value()));
}

}  // namespace
}  // namespace weft::simulator::test
