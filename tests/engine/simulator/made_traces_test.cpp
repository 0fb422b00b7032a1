// Every loader reads a trace of our own making and finds what was put into it: tests/reference/made_traces.py wrote the files and,
// in data/made/figures.csv, what it drew. What others counted in public traces is in real_traces_test.cpp.
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "engine/simulator/workloads/describe.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads::made_traces {
namespace {

std::string made(const std::string& name) { return WEFT_SIMULATION_DATA "/made/" + name; }

std::map<std::string, double> drawn(const std::string& kind) {
  std::map<std::string, double> figures;
  std::ifstream file(made("figures.csv"));
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string of_kind, name, value;
    std::getline(fields, of_kind, ',');
    std::getline(fields, name, ',');
    std::getline(fields, value, ',');
    if (of_kind == kind) figures[name] = std::stod(value);
  }
  return figures;
}

std::map<std::string, double> counted(const Figures& f) {
  const auto number = [](auto value) { return static_cast<double>(value); };
  return {{"jobs", number(f.jobs)},
          {"stages", number(f.stages)},
          {"edges", number(f.edges)},
          {"tasks", number(f.tasks)},
          {"first_stage_tasks", number(f.first_stage_tasks)},
          {"largest_first_stage", number(f.largest_first_stage)},
          {"most_stages", number(f.most_stages)},
          {"input_bytes", f.input_bytes},
          {"shuffle_bytes", f.shuffle_bytes},
          {"output_bytes", f.output_bytes},
          {"without_shuffle", number(f.without_shuffle)},
          {"heavy", number(f.heavy)},
          {"large_shuffles", number(f.large_shuffles)},
          {"work_seconds", f.work_seconds},
          {"span_seconds", std::chrono::duration<double>(f.span).count()},
          {"hosts", number(f.hosts)},
          {"racks", number(f.racks)},
          {"users", number(f.users)}};
}

struct Trace {
  const char* kind;
  std::string text;  // as --workload takes it
  std::size_t figures;
};

class MadeTraces : public testing::TestWithParam<Trace> {};

TEST_P(MadeTraces, HaveTheFiguresThatWereDrawn) {
  const auto workload = load(GetParam().text, {});
  ASSERT_TRUE(workload.has_value()) << workload.error().to_string();
  const auto figures = counted(figures_of(*workload));
  const auto wanted = drawn(GetParam().kind);
  ASSERT_EQ(wanted.size(), GetParam().figures);
  for (const auto& [name, value] : wanted) EXPECT_DOUBLE_EQ(figures.at(name), value) << name;
}

INSTANTIATE_TEST_SUITE_P(
    Formats, MadeTraces,
    testing::Values(Trace{"carbyne", "carbyne:" + made("dags.txt"), 6}, Trace{"swim", "swim:" + made("swim.tsv"), 13},
                    Trace{"coflow", "coflow:" + made("coflow.txt"), 9},
                    Trace{"decima", "decima:" + made("decima.jsonl") + ",scale_gb=100", 6},
                    Trace{"alibaba", "alibaba:" + made("alibaba.csv"), 6},
                    Trace{"rumen", "rumen:" + made("rumen.json") + ",topology=" + made("rumen_topology.json"), 10}),
    [](const auto& run) { return std::string(run.param.kind); });

}  // namespace
}  // namespace weft::simulator::workloads::made_traces
