// Runs of the Carbyne authors' simulator, made again on one machine. Their traces are not part of the repository: WEFT_TRACES names
// a directory that holds them and the completion times of each job; without it these tests are skipped.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "benchmarks/papers/reference_order.hpp"
#include "engine/simulator/workloads/workloads.hpp"
#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator {
namespace {

using namespace test;

/// Seconds by job, of one run under one policy.
std::map<std::size_t, double> reference(const std::string& traces, const std::string& run, const std::string& policy) {
  std::map<std::size_t, double> times;
  std::ifstream file(traces + "/reference_runs/carbyne_reference_jct.csv");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string of_run, of_policy, job, took;
    std::getline(fields, of_run, ',');
    std::getline(fields, of_policy, ',');
    std::getline(fields, job, ',');
    std::getline(fields, took, ',');
    if (of_run == run && of_policy == policy) times[std::stoul(job)] = std::stod(took);
  }
  return times;
}

/// Seconds by job of the file, of the first 50 of them.
std::map<std::size_t, double> made_again(const std::string& traces, bool at_once, const std::string& scheduler) {
  std::map<std::size_t, double> times;
  const std::string file = traces + "/carbyne_dags/queries_tpcds_FB_distr_new.txt.gz";
  auto workload = workloads::load_carbyne(file, at_once ? workloads::Settings{} : workloads::Settings{papers::kReferenceOrder}, {});
  EXPECT_TRUE(workload.has_value()) << workload.error().to_string();
  if (!workload) return times;
  workload->jobs.resize(50);
  for (std::size_t i = 0; i < 50; ++i) {
    workload->jobs[i].name = std::to_string(i);  // in the file
    if (at_once) workload->jobs[i].arrival = Time(0);
  }
  EXPECT_TRUE(workloads::resize(*workload, {}));
  for (const JobResult& job : test::run(*workload, ClusterModel::one_machine(100), scheduler).jobs) {
    EXPECT_TRUE(job.completion_time().has_value());
    times[std::stoul(workload->jobs[job.index].name)] =
        std::chrono::duration<double>(job.completion_time().value_or(Time(0))).count();
  }
  return times;
}

/// How many of the 50 jobs take as long as there, to the second.
std::size_t alike(const std::string& traces, bool at_once, const std::string& policy, const std::string& scheduler) {
  const auto wanted = reference(traces, at_once ? "a50" : "t50", policy);
  EXPECT_EQ(wanted.size(), 50u);
  std::size_t equal = 0;
  for (const auto& [job, took] : made_again(traces, at_once, scheduler)) equal += std::abs(took - wanted.at(job)) < 1e-3 ? 1 : 0;
  return equal;
}

double mean(const std::map<std::size_t, double>& times) {
  double sum = 0;
  for (const auto& [job, took] : times) sum += took;
  return sum / static_cast<double>(times.size());
}

class ReferenceRuns : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* directory = std::getenv("WEFT_TRACES");
    if (directory == nullptr) GTEST_SKIP() << "WEFT_TRACES does not name a directory of traces";
    traces_ = directory;
  }
  std::string traces_;
};

TEST_F(ReferenceRuns, TetrisIsTheSameForEveryJob) {
  for (bool at_once : {true, false}) EXPECT_EQ(alike(traces_, at_once, "PACK_TETRIS", papers::kReferenceTetris), 50u) << at_once;
}

TEST_F(ReferenceRuns, ShortestJobsFirstIsTheSameForEveryJob) {
  for (bool at_once : {true, false}) EXPECT_EQ(alike(traces_, at_once, "SJF_CP", papers::kReferenceShortest), 50u) << at_once;
}

TEST_F(ReferenceRuns, StrictSharesAreTheSameForEveryJob) {
  for (bool at_once : {true, false}) EXPECT_EQ(alike(traces_, at_once, "DRFstrict_BFS", papers::kReferenceShares), 50u) << at_once;
}

TEST_F(ReferenceRuns, CarbyneTakesAsLongInTheMean) {
  for (bool at_once : {true, false}) {
    const double wanted = at_once ? 299.82 : 280.78;
    EXPECT_NEAR(mean(made_again(traces_, at_once, "carbyne(mode=reference)")), wanted, 0.02 * wanted) << at_once;
    EXPECT_NEAR(mean(made_again(traces_, at_once, "carbyne(mode=paper)")), wanted, 0.1 * wanted) << at_once;
    EXPECT_NEAR(mean(made_again(traces_, at_once, "carbyne(mode=safe)")), wanted, 0.1 * wanted) << at_once;
  }
}

/// Small enough to follow: a machine of 10 units, three jobs at once.
TEST(OneMachine, PoliciesDifferAsTheyShould) {
  Workload workload =
      jobs({job(Time(0), {stage(4, seconds(10))}), job(Time(0), {stage(6, seconds(4))}), job(Time(0), {stage(2, seconds(3))})});
  workload.jobs[0].stages[0].demand = schedulers::Resources{.cpu = 5, .memory = 1};
  workload.jobs[1].stages[0].demand = schedulers::Resources{.cpu = 1, .memory = 4};
  workload.jobs[2].stages[0].demand = schedulers::Resources{.cpu = 4, .memory = 4};
  const auto ends = [&](const char* scheduler) {
    std::vector<double> seconds_of;
    for (const JobResult& one : test::run(workload, ClusterModel::one_machine(10), scheduler).jobs)
      seconds_of.push_back(std::chrono::duration<double>(one.ended.value_or(Time(-1))).count());
    return seconds_of;
  };
  // Both tasks of job 2 at 0. From 3 on two of job 1 at a time, until 15, and beside them there is cpu for one of job 0: its tasks
  // start at 3, 13, 15 and 23.
  EXPECT_EQ(ends("srtf"), (std::vector<double>{33, 15, 3}));
  EXPECT_EQ(ends("fifo"), (std::vector<double>{20, 32, 35})) << "two of job 0 fill all cpu until 20";
  // Free (1, 1): job 2 aligns best (.8), twice at 0; then (.2, .2): one of job 1 does not fit (memory).
  EXPECT_EQ(ends(papers::kReferenceTetris)[2], 3);
}

}  // namespace
}  // namespace weft::simulator
