// Tables for other programs: headings, rows, quoting.
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/simulator/report/reports.hpp"
#include "tests/engine/simulator/report_fixture.hpp"

namespace weft::simulator::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

std::ptrdiff_t commas(const std::string& line) { return std::count(line.begin(), line.end(), ','); }

TEST(CsvReport, HasATableForEachKindOfFigure) {
  const auto tables = to_csv(made_up(2));
  std::vector<std::string> names;
  for (const auto& [name, text] : tables) {
    names.push_back(name);
    const auto rows = lines(text);
    for (const auto& row : rows) EXPECT_EQ(commas(row), commas(rows.front())) << name << ": " << row;
  }
  EXPECT_THAT(names, ElementsAre("fairness.csv", "jobs.csv", "racks.csv", "series.csv", "summary.csv"));
  EXPECT_EQ(lines(tables.at("jobs.csv")).size(), 1u + 3 * 2 * 200);
}

TEST(CsvReport, RowsAreWhatTheRunsSay) {
  Comparison comparison = of_makespans({100s, 200s, 300s}, {50s, 100s, 150s});
  comparison.alone.emplace_back(1, 4s);
  RunResult& result = comparison.schedulers[0].runs[0];
  result.seed = 7;
  result.jobs = {job(0, 1s, 2s, 11s)};
  result.jobs[0].name = "a \"b\", c";
  result.jobs[0].deadline = 10s;
  result.jobs[0].tasks = 3;
  result.series.step = 10s;
  result.series.samples.resize(2);
  result.series.samples[1].racks = {{1, 2}, {3, 4}};
  result.fairness = {60s, {1, 0.5}, {1, 0.25}, {1, 0.75}, 0.5, 0.25, 0.75};
  const auto tables = to_csv(comparison);
  EXPECT_THAT(lines(tables.at("jobs.csv"))[1], StartsWith("fifo,7,0,\"a \"\"b\"\", c\",,,finished,1,2,11,10,4,10,1,3,"));
  EXPECT_THAT(lines(tables.at("series.csv"))[2], StartsWith("fifo,7,10,"));
  EXPECT_THAT(tables.at("racks.csv"), HasSubstr("\nfifo,7,10,0,1,2\nfifo,7,10,1,3,4\n"));
  EXPECT_THAT(tables.at("fairness.csv"), HasSubstr("\nfifo,7,60,0.5,0.25,0.75\n"));
  EXPECT_THAT(tables.at("summary.csv"), HasSubstr("\nfifo,makespan,200,248.43382083229596,3,,,,\n"))
      << "the first is compared with nothing";
  EXPECT_THAT(tables.at("summary.csv"), HasSubstr("\nfair,makespan,100,124.21691041614798,3,-100,124.21691041614798,0.5,0\n"));
}

}  // namespace
}  // namespace weft::simulator::report
