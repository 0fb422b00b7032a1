// Replicas of map outputs in simulated clusters: maps of dead nodes do not run again, and copies take the network's time.
#include "engine/simulator/plans.hpp"
#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator {
namespace {

using namespace test;

std::size_t count(const std::string& log, const std::string& event, const std::string& more = "") {
  std::size_t found = 0;
  for (std::size_t at = 0, end = 0; (end = log.find('\n', at)) != std::string::npos; at = end + 1) {
    const std::string line = log.substr(at, end - at);
    if (line.find("\"event\":\"" + event + "\"") != std::string::npos && line.find(more) != std::string::npos) ++found;
  }
  return found;
}
std::size_t maps_run(const std::string& log) { return count(log, "task_finished", "\"stage\":0,"); }

/// Three nodes of one slot, three maps of ten seconds and three reduces of a hundred; node 0 dies.
Workload workload(std::uint64_t shuffle_bytes = 0) {
  StageSpec maps = stage(3, seconds(10));
  maps.shuffle_bytes = shuffle_bytes;
  return jobs({job(Time(0), {maps, stage(3, seconds(100), {0})})});
}
ClusterModel dying(Time at, std::uint32_t replicas, bool silent = false) {
  ClusterModel model = cluster(3, 1);
  model.shuffle_replicas = replicas;
  model.faults.nodes.push_back({at, 0, silent, Time(0)});
  model.faults.detection = seconds(20);
  return model;
}

TEST(SimulatedCopies, TheMapsOfADeadNodeDoNotRunAgain) {
  EXPECT_EQ(maps_run(log_of(workload(), dying(seconds(50), 1))), 4u);
  const std::string log = log_of(workload(), dying(seconds(50), 2));
  EXPECT_EQ(maps_run(log), 3u);
  EXPECT_EQ(count(log, "output_copied"), 6u) << "of each map, of the one that moved, and of two whose copies were lost";
  EXPECT_EQ(run(workload(), dying(seconds(50), 2)).makespan, seconds(210));
  EXPECT_EQ(run(workload(), dying(seconds(50), 1)).makespan, seconds(220)) << "the map once more";
}

TEST(SimulatedCopies, NorWhenItDiesSilently) {
  const std::string log = log_of(workload(), dying(seconds(50), 2, true));
  EXPECT_EQ(maps_run(log), 3u);
  EXPECT_EQ(run(workload(), dying(seconds(50), 2, true)).jobs[0].outcome, Outcome::finished);
}

TEST(SimulatedCopies, TakeTheTimeOfTheNetwork) {
  const auto slow = [](Time death) {
    ClusterModel model = dying(death, 2);
    model.network.flows = true;
    model.network.nic = 100;  // a copy of 1000 bytes takes ten seconds at least
    return model;
  };
  EXPECT_EQ(maps_run(log_of(workload(3000), slow(seconds(12)))), 4u) << "the copies were not there";
  EXPECT_EQ(maps_run(log_of(workload(3000), slow(seconds(100)))), 3u);
  const double without = run(workload(3000), slow(seconds(1000))).traffic[1].total;
  EXPECT_NEAR(without, 6000, 10) << "once for the reduces, once for the copies";
}

TEST(SimulatedCopies, AreMadeOfJobsThatSaySo) {
  Workload two = workload();
  two.jobs[0].options.shuffle_replicas = 2;
  EXPECT_EQ(maps_run(log_of(two, dying(seconds(50), 1))), 3u);
  two.jobs[0].options.shuffle_replicas = 3;
  EXPECT_EQ(validate(two.jobs[0], 0).error().code(), Code::invalid_argument);
}

TEST(SimulatedCopies, OtherNumbersAreRefused) {
  for (const std::uint32_t replicas : {0u, 3u}) {
    ClusterModel model = cluster(3, 1);
    model.shuffle_replicas = replicas;
    EXPECT_EQ(validate(model).error().code(), Code::invalid_argument);
  }
}

}  // namespace
}  // namespace weft::simulator
