// What the comparison of the shuffle modes computes: from event logs, from /proc, and for its table.
#include <gtest/gtest.h>

#include "benchmarks/shuffle/comparison.hpp"
#include "benchmarks/shuffle/group_by_records.hpp"
#include "benchmarks/shuffle/node_samples.hpp"
#include "benchmarks/shuffle/run_log.hpp"
#include "benchmarks/shuffle/timeline_page.hpp"
#include "tests/support/process.hpp"

namespace weft::bench {
namespace {

constexpr std::string_view kStarted = R"({"time_ns":0,"event":"log_started","version":1,"unix_ns":5000000000})"
                                      "\n";
constexpr std::string_view kPlan =
    R"({"time_ns":1000000000,"event":"job_submitted","job":1,"name":"group"}
{"time_ns":1000000000,"event":"plan_extended","job":1,"action":0,"stages":[{"stage":0,"name":"m","tasks":2,"partitions":2,"inputs":[]},{"stage":1,"name":"r","tasks":2,"partitions":0,"inputs":[0]}],"targets":[1]}
{"time_ns":1500000000,"event":"task_launched","job":1,"stage":0,"task":0,"attempt":0,"node":1}
{"time_ns":1600000000,"event":"task_launched","job":1,"stage":0,"task":1,"attempt":0,"node":2}
)";
/// Map 0 wrote 10 and 20 bytes on node 1, map 1 wrote 30 and 40 on node 2; both reduces ran on node 2.
constexpr std::string_view kTasks =
    R"({"time_ns":2500000000,"event":"task_finished","job":1,"stage":0,"task":0,"attempt":0,"node":1,"partition_bytes":[10,20],"shuffle_read_ns":0,"shuffle_write_ns":300000000}
{"time_ns":3500000000,"event":"task_finished","job":1,"stage":0,"task":1,"attempt":0,"node":2,"partition_bytes":[30,40],"shuffle_read_ns":0,"shuffle_write_ns":500000000}
{"time_ns":3600000000,"event":"task_launched","job":1,"stage":1,"task":0,"attempt":0,"node":2}
{"time_ns":3600000000,"event":"task_launched","job":1,"stage":1,"task":1,"attempt":0,"node":1}
{"time_ns":3700000000,"event":"task_launched","job":1,"stage":1,"task":1,"attempt":1,"node":2}
{"time_ns":4000000000,"event":"task_finished","job":1,"stage":1,"task":0,"attempt":0,"node":2,"partition_bytes":[],"shuffle_read_ns":100000000,"shuffle_write_ns":0}
{"time_ns":4500000000,"event":"task_finished","job":1,"stage":1,"task":1,"attempt":1,"node":2,"partition_bytes":[],"shuffle_read_ns":200000000,"shuffle_write_ns":0}
)";
constexpr std::string_view kEnd = R"({"time_ns":4600000000,"event":"job_finished","job":1})"
                                  "\n";

Result<std::vector<JobRun>> runs_of(const std::string& text) {
  const test::ScratchDirectory scratch;
  test::write_file(scratch / "log", text);
  return read_runs(scratch / "log");
}
std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const auto part : parts) text += part;
  return text;
}

TEST(RunLog, TellsTheTimesAndBytesOfAShuffle) {
  const auto runs = runs_of(joined({kStarted, kPlan, kTasks, kEnd}));
  ASSERT_TRUE(runs) << runs.error().to_string();
  ASSERT_EQ(runs->size(), 1u);
  EXPECT_EQ(runs->front().began_ns, 6'000'000'000);
  EXPECT_EQ(runs->front().ended_ns, 9'600'000'000);
  ASSERT_EQ(runs->front().shuffles.size(), 1u);
  const ShuffleRun& shuffle = runs->front().shuffles.front();
  EXPECT_DOUBLE_EQ(shuffle.map_seconds, 2.0);
  EXPECT_DOUBLE_EQ(shuffle.reduce_seconds, 1.0);
  EXPECT_DOUBLE_EQ(shuffle.write_seconds, 0.5);
  EXPECT_DOUBLE_EQ(shuffle.read_seconds, 0.2);
  EXPECT_EQ(shuffle.bytes, 100u);
  EXPECT_EQ(shuffle.moved, 30u);        // what map 0 wrote
  EXPECT_EQ(shuffle.least_moved, 30u);  // node 2 has most of both
}

TEST(RunLog, LeavesOutJobsThatHaveNotEnded) {
  const auto runs = runs_of(joined({kStarted, kPlan, kTasks}));
  ASSERT_TRUE(runs) << runs.error().to_string();
  EXPECT_TRUE(runs->empty());
}

TEST(RunLog, RefusesALogWithSomethingMissing) {
  EXPECT_FALSE(runs_of(joined({kStarted, kTasks, kEnd})));
  EXPECT_FALSE(runs_of(joined({kStarted, kEnd})));
  EXPECT_FALSE(runs_of("not a log\n"));
  EXPECT_FALSE(read_runs("/nowhere/log"));
}

TEST(NodeUse, IsReadFromProc) {
  EXPECT_EQ(cpu_ticks("17 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 100 20 3 4 20 0"), 127u);
  EXPECT_EQ(cpu_ticks("17 (a) S 1 2"), std::nullopt);
  EXPECT_EQ(cpu_ticks(""), std::nullopt);
  NodeUse use;
  add_disk("rchar: 1\nwchar: 2\nread_bytes: 30\nwrite_bytes: 40\ncancelled_write_bytes: 5\n", use);
  add_disk("nonsense", use);
  EXPECT_EQ(use.disk_read, 30u);
  EXPECT_EQ(use.disk_written, 40u);
  add_network(
      "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes\n    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0\n"
      "  eth0: 500 5 0 0 0 0 0 0 700 7 0 0 0 0 0 0\n  eth1:1 5 0 0 0 0 0 0 2 7 0 0 0 0 0 0\n",
      use);
  EXPECT_EQ(use.received, 501u);
  EXPECT_EQ(use.sent, 702u);
}

TEST(NodeRates, AreDifferencesOverTime) {
  const std::vector<NodeSample> samples{{0, {0, 0, 0, 0, 0}},
                                        {1'000'000'000, {1, 100, 10, 0, 0}},
                                        {1'500'000'000, {2, 200, 10, 0, 8}},
                                        {2'500'000'000, {1.5, 100, 20, 0, 0}},  // a process has ended
                                        {9'000'000'000, {9, 900, 90, 9, 9}}};
  const auto all = rates(samples, 1'000'000'000, 3'000'000'000);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_DOUBLE_EQ(all[0].at, 0.5);
  EXPECT_DOUBLE_EQ(all[0].cpu, 2);
  EXPECT_DOUBLE_EQ(all[0].received, 200);
  EXPECT_DOUBLE_EQ(all[0].disk_written, 16);
  EXPECT_DOUBLE_EQ(all[1].cpu, 0);
  EXPECT_DOUBLE_EQ(all[1].received, 0);
  EXPECT_DOUBLE_EQ(all[1].sent, 10);
  EXPECT_TRUE(rates({}, 0, 1).empty());
}

TEST(Comparison, JudgesTheMediansByTheChange) {
  EXPECT_DOUBLE_EQ(change(10, 2), -0.8);
  EXPECT_DOUBLE_EQ(change(0, 0), 0);
  Row row{"reduce stage", {10, 99, 9}, {2, 1, 77}, "s", -0.8, "-80 %"};
  EXPECT_TRUE(kept(row));
  EXPECT_NE(text_of(row).find("-80.0 %"), std::string::npos) << text_of(row);
  EXPECT_TRUE(text_of(row).ends_with("ok")) << text_of(row);
  row.memory = {3, 3, 3};
  EXPECT_FALSE(kept(row));
  EXPECT_TRUE(text_of(row).ends_with("MISSED")) << text_of(row);
  row.most.reset();
  EXPECT_TRUE(kept(row));
}

TEST(GroupByRecords, AreTheSameEveryTimeAndOneDigestInAnyOrder) {
  const Record one = make_record(1, 100, 13), two = make_record(2, 100, 13);
  EXPECT_EQ(one, make_record(1, 100, 13));
  EXPECT_NE(one.second, two.second);
  Digest forward, backward;
  forward.add(one.first, one.second), forward.add(two.first, two.second);
  backward.add(two.first, two.second), backward.add(one.first, one.second);
  EXPECT_EQ(to_string(forward), to_string(backward));
  backward.add(two.first + 1, two.second);
  EXPECT_NE(to_string(forward), to_string(backward));
  EXPECT_EQ(second_key(5, 0), 5u);
  EXPECT_NE(second_key(5, 100), 5u);
}

TEST(TimelinePage, ShowsBothModesOfEveryQuantity) {
  const std::vector<NodeSample> samples{{0, {}}, {1'000'000'000, {1, 1 << 20, 0, 0, 0}}, {2'000'000'000, {2, 3 << 20, 0, 0, 0}}};
  const JobRun run{1, 0, 2'000'000'000, {}};
  const std::string page =
      timeline_page("a < b", {{"Job", "x"}}, {{"pull", run, {samples, samples}}, {"memory", run, {samples, {}}}});
  EXPECT_NE(page.find("a &lt; b"), std::string::npos);
  for (const char* title : {"CPU, pull", "CPU, memory", "Network, in, pull", "Network, out, memory", "Disk, written, pull"})
    EXPECT_NE(page.find(title), std::string::npos) << title;
  std::size_t lines = 0;
  for (std::size_t at = page.find("class='line s"); at != std::string::npos; at = page.find("class='line s", at + 1)) ++lines;
  EXPECT_EQ(lines, 15u);  // two nodes in one mode, one in the other, of five quantities
  EXPECT_EQ(page.find("http"), std::string::npos);
}

}  // namespace
}  // namespace weft::bench
