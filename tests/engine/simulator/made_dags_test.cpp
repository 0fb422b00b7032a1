// Our own DAGs on one machine, against a serial program that shares no code with weft: tests/reference/made_traces.py draws the
// jobs and runs them under each policy, second by second. What it found is in data/made/dags_times.csv. The authors' DAGs are in
// reference_runs_test.cpp.
#include <fstream>
#include <map>
#include <sstream>

#include "engine/simulator/workloads/workloads.hpp"
#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator::made_dags {
namespace {

constexpr double kMachines = 4;  // as in made_traces.py

struct Policy {
  const char* name;       // in dags_times.csv
  const char* scheduler;  // of weft
};

/// Seconds by job.
std::map<std::size_t, double> wanted(const std::string& arrivals, const std::string& policy) {
  std::map<std::size_t, double> times;
  std::ifstream file(WEFT_SIMULATION_DATA "/made/dags_times.csv");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string of_arrivals, of_policy, number, seconds;
    std::getline(fields, of_arrivals, ',');
    std::getline(fields, of_policy, ',');
    std::getline(fields, number, ',');
    std::getline(fields, seconds, ',');
    if (of_arrivals == arrivals && of_policy == policy) times[std::stoul(number)] = std::stod(seconds);
  }
  return times;
}

class MadeDags : public ::testing::TestWithParam<Policy> {};

TEST_P(MadeDags, TakeTheSecondsOfTheSerialProgram) {
  for (const bool at_once : {true, false}) {
    SCOPED_TRACE(at_once ? "all at once" : "as they come");
    auto workload = workloads::load_carbyne(WEFT_SIMULATION_DATA "/made/dags.txt", {}, {});
    ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
    if (at_once) {
      for (JobSpec& job : workload->jobs) job.arrival = Time(0);
    }
    const auto times = wanted(at_once ? "at_once" : "as_they_come", GetParam().name);
    ASSERT_EQ(times.size(), workload->jobs.size());
    for (const JobResult& job : test::run(*workload, ClusterModel::one_machine(kMachines), GetParam().scheduler).jobs) {
      ASSERT_TRUE(job.completion_time().has_value());
      EXPECT_DOUBLE_EQ(std::chrono::duration<double>(*job.completion_time()).count(), times.at(job.index)) << "job " << job.index;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, MadeDags,
                         ::testing::Values(Policy{"fifo", "fifo"}, Policy{"srtf", "srtf(stages=cpm)"}, Policy{"sjf", "sjf"},
                                           Policy{"drf", "drf"},
                                           Policy{"tetris", "tetris(mode=paper, srtf=false, barrier=2, penalty=1, digits=8)"}),
                         [](const auto& run) { return std::string(run.param.name); });

}  // namespace
}  // namespace weft::simulator::made_dags
