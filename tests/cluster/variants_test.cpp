// Functions for nodes with an attribute on real workers: who runs them, who tells, and what is learned of the nodes.
#include <gmock/gmock.h>

#include "tests/cluster/cluster.hpp"
#include "tests/support/event_lines.hpp"

namespace weft::test {
namespace {

using testing::HasSubstr;

TEST(VariantsOnWorkers, RunWhereTheAttributeIsAndGiveTheSame) {
  ScratchDirectory files;
  const std::string log = files / "events";
  Cluster cluster(0, {"--event-log", log});
  cluster.add_worker({"--slots", "1"});
  ASSERT_TRUE(cluster.has_nodes(1)) << "the accelerated one is node 2";
  cluster.add_worker({"--slots", "1", "--attribute", "accelerator=simd"});
  ASSERT_TRUE(cluster.has_nodes(2));
  const auto count = [](const std::vector<std::string>& more) {
    std::vector<std::string> command{program("montecarlo"), "--quiet", "--points", "40000000", "--tasks", "24"};
    command.insert(command.end(), more.begin(), more.end());
    return run(command);
  };
  const std::string variants = R"("variants":["accelerator"])";
  const std::string alone = count({}).out;
  std::size_t accelerated = 0, jobs = 0;
  EventLines events(log);
  while (accelerated % 24 == 0 && jobs < 20) {  // until a job has run on both workers
    const auto there = count({"--cluster", cluster.address()});
    ASSERT_EQ(there.exit_code, 0) << there.err;
    EXPECT_EQ(there.out, alone);
    ++jobs;
    ASSERT_TRUE(eventually([&] { return events.count("job_closed") == jobs; })) << "the log follows";
    EXPECT_EQ(events.count("plan_extended", {variants}), jobs);
    accelerated = events.count("task_launched", {"\"node\":2,"});
  }
  EXPECT_NE(accelerated % 24, 0u);
  EXPECT_EQ(events.count("task_launched", {"\"node\":2,", variants}), accelerated);
  EXPECT_EQ(events.count("task_launched", {variants}), accelerated) << "not on the other node";
  EXPECT_THAT(cluster.admin({"job", "status", std::to_string(jobs), "--json"}).out,
              HasSubstr("\"accelerated_attempts\":" + std::to_string(accelerated % 24)));
  EXPECT_THAT(cluster.admin({"profile", "show", "montecarlo"}).out, HasSubstr("on nodes with accelerator=simd"));

  const auto checked = count({"--cluster", cluster.address(), "--check-variants"});
  EXPECT_EQ(checked.out, alone) << checked.err;
}

}  // namespace
}  // namespace weft::test
