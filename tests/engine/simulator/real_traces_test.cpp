// What others counted in public traces. They are not part of the repository: WEFT_TRACES names a directory that holds them (the
// names are those below); without it these tests are skipped.
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "engine/simulator/workloads/describe.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {
namespace {

/// Finds the file, compressed or not, anywhere below $WEFT_TRACES.
std::string trace(const std::string& name) {
  const char* directory = std::getenv("WEFT_TRACES");
  if (directory == nullptr) return {};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().filename() == name || entry.path().filename() == name + ".gz") return entry.path();
  }
  ADD_FAILURE() << "$WEFT_TRACES has no " << name;
  return {};
}

class RealTraces : public testing::Test {
 protected:
  void SetUp() override {
    if (std::getenv("WEFT_TRACES") == nullptr) GTEST_SKIP() << "WEFT_TRACES does not name a directory of traces";
  }
  static Figures figures(const std::string& kind, const std::string& file, const std::string& settings = "") {
    const auto workload = load(kind + ":" + trace(file) + settings, {});
    EXPECT_TRUE(workload.has_value()) << workload.error().to_string();
    return workload ? figures_of(*workload) : Figures{};
  }
};

TEST_F(RealTraces, Swim) {
  struct Row {
    const char* file;
    std::size_t jobs;
    double gap, input, shuffle, output, map_only, heavy;
    std::uint64_t maps;
  };
  for (const Row& row :
       {Row{"FB-2010_samples_24_times_1hr_0.tsv", 24442, 3.535, 1083, 437.9, 339.4, 34.1, 20.89, 16150741},
        {"FB-2009_samples_24_times_1hr_0.tsv", 5894, 14.65, 26.89, 22.22, 6.853, 75.5, 15.51, 406005},
        {"FB-2009_samples_24_times_1hr_1.tsv", 6638, 13.01, 33.57, 14.10, 9.161, 72.8, 13.84, 506098},
        {"FB-2010_samples_24_times_1hr_withInputPaths_0.tsv", 25428, 3.40, 1206, 413, 371, 33.4, 23.51, 17988923}}) {
    const Figures f = figures("swim", row.file);
    const auto jobs = static_cast<double>(row.jobs);
    EXPECT_EQ(f.jobs, row.jobs) << row.file;
    EXPECT_NEAR(f.mean_gap, row.gap, 0.006) << row.file;
    EXPECT_NEAR(f.input_bytes / 1e12, row.input, row.input * 0.001) << row.file;
    EXPECT_NEAR(f.shuffle_bytes / 1e12, row.shuffle, row.shuffle * 0.001) << row.file;
    EXPECT_NEAR(f.output_bytes / 1e12, row.output, row.output * 0.001) << row.file;
    EXPECT_NEAR(100 * static_cast<double>(f.without_shuffle) / jobs, row.map_only, 0.06) << row.file;
    EXPECT_NEAR(100 * static_cast<double>(f.heavy) / jobs, row.heavy, 0.006) << row.file;
    EXPECT_EQ(f.first_stage_tasks, row.maps) << row.file;
  }
}

TEST_F(RealTraces, Coflow) {
  const Figures f = figures("coflow", "FB2010-1Hr-150-0.txt");
  EXPECT_EQ(f.hosts, 150u);
  EXPECT_EQ(f.jobs, 526u);
  EXPECT_NEAR(std::chrono::duration<double>(f.span).count(), 3629, 0.5);
  EXPECT_NEAR(f.shuffle_bytes / 1e12, 35.5, 0.05);
  EXPECT_EQ(f.large_shuffles, 55u);
  EXPECT_NEAR(f.large_shuffle_bytes / f.shuffle_bytes, 0.993, 0.0005);
}

TEST_F(RealTraces, Decima) {
  for (const auto& [scale, tasks] : {std::pair{"2", 20065u}, {"100", 34660u}}) {
    const Figures f = figures("decima", "decima_tpch.jsonl", std::string(",scale_gb=") + scale);
    EXPECT_EQ(f.jobs, 22u);
    EXPECT_EQ(f.stages, 202u);
    EXPECT_EQ(f.edges, 187u);
    EXPECT_EQ(f.tasks, tasks);
    EXPECT_EQ(f.most_stages, 18u);
    EXPECT_EQ(f.stages_p50, 8);
  }
  EXPECT_EQ(figures("decima", "decima_tpch.jsonl").jobs, 154u);
}

TEST_F(RealTraces, Carbyne) {
  struct Row {
    const char* file;
    std::size_t jobs;
    std::uint64_t tasks;
    double p50, p95;
  };
  for (const Row& row : {Row{"queries_tpch.txt", 17, 3772, 8, 12},
                         {"queries_tpcds_new.txt", 41, 9902, 8, 23},
                         {"queries_bb.txt", 21, 15111, 7, 19},
                         {"queries_tpcds_FB_distr_new.txt", 399, 97413, 0, 0},
                         {"queries_tpch_FB_distr.txt", 399, 91304, 0, 0},
                         {"queries_bb_FB_distr.txt", 399, 307755, 0, 0},
                         {"400Jobs.txt", 399, 98114, 0, 0}}) {
    const Figures f = figures("carbyne", row.file);
    EXPECT_EQ(f.jobs, row.jobs) << row.file;
    EXPECT_EQ(f.tasks, row.tasks) << row.file;
    if (row.p50 == 0) continue;
    EXPECT_EQ(f.stages_p50, row.p50) << row.file;
    EXPECT_NEAR(f.stages_p95, row.p95, 0.5) << row.file;
    EXPECT_EQ(f.depth_p50, 5) << row.file;
  }
  EXPECT_EQ(figures("carbyne", "400Jobs.txt").stages, 541u);
}

TEST_F(RealTraces, Alibaba) {
  struct Row {
    const char* file;
    std::size_t jobs, tasks, edges;
  };
  for (const Row& row : {Row{"alibaba_set_0_6600_dags.csv", 6600, 25196, 19859},
                         {"alibaba_straight_chain_10K_dags_set1.csv", 10000, 26920, 16916},
                         {"medium_filtered.csv", 3690, 22409, 20108}}) {
    const Figures f = figures("alibaba", row.file);
    EXPECT_EQ(f.jobs, row.jobs) << row.file;
    EXPECT_EQ(f.stages, row.tasks) << row.file;
    EXPECT_EQ(f.edges, row.edges) << row.file;
  }
  EXPECT_EQ(figures("alibaba", "medium_filtered.csv").tasks, 242068u);
}

TEST_F(RealTraces, Rumen) {
  const Figures two = figures("rumen", "2jobs2min-rumen-jh.json");
  EXPECT_EQ(two.jobs, 2u);
  EXPECT_EQ(two.first_stage_tasks, 192u);
  EXPECT_EQ(two.largest_first_stage, 96u);
  const auto workload = load("rumen:" + trace("zombie-input-trace.json") + ",topology=" + trace("zombie-input-topology.json"), {});
  ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
  const JobSpec& job = workload->jobs.back();
  EXPECT_EQ(job.name, "job_200904211745_0004");
  EXPECT_EQ(job.stages[0].tasks, 131u);
  EXPECT_EQ(job.stages[1].tasks, 47u);
  EXPECT_EQ(figures_of(*workload).racks, 41u);
  EXPECT_EQ(figures_of(*workload).hosts, 522u);
}

}  // namespace
}  // namespace weft::simulator::workloads
