// The simulator replays what real workers did: same jobs, same scheduler, the same times within a tenth. scripts/fidelity is the
// same with more work and a report.
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "base/sanitized.hpp"
#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

std::vector<double> numbers_after(const std::string& text, const std::string& key) {
  std::vector<double> values;
  for (auto at = text.find(key); at != std::string::npos; at = text.find(key, at + 1))
    values.push_back(std::strtod(text.c_str() + at + key.size(), nullptr));
  return values;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// Which decide by when jobs would have ended under fair sharing. A job's size counts the reduces of its plan, and the replay's
/// plan has them as they were after small partitions were merged: where jobs are as alike as here, a few of them end in another
/// order.
const std::set<std::string> kBySize{"tetris", "adaptive", "fsp"};

TEST(Fidelity, AReplayOfARealRunTakesAsLongAsItDid) {
  if (kSanitized) GTEST_SKIP() << "about times";
  ScratchDirectory files;
  for (const std::string scheduler :
       {"fifo", "fair", "capacity", "drf", "sjf", "srtf", "cpm", "bfs", "dagps", "tetris", "carbyne", "carbyne(mode=safe)", "cogrs",
        "adaptive", "fsp", "delay(inner=fair)", "shufflewatcher", "shufflewatcher(users=delay(inner=fair), shape=traffic)"}) {
    const std::string log = files / scheduler;
    {
      Cluster cluster(2, {"--event-log", log, "--scheduler", scheduler});
      std::vector<std::unique_ptr<Process>> jobs;
      for (const char* tasks : {"9", "4", "14"}) {
        jobs.push_back(std::make_unique<Process>(
            cluster.job({"wait", "--tasks", tasks, "--records", "60", "--pool", tasks, "--marker", files / "begun"}),
            cluster.options()));
        // One after the other: a replay has jobs arrive with their first plan, whatever the order of their submissions just before.
        EXPECT_TRUE(eventually([&] { return count(read_file(log), "plan_extended") >= jobs.size(); }));
      }
      for (auto& job : jobs) EXPECT_EQ(job->wait().exit_code, 0);
    }
    const auto replay = run({program("weft"), "simulate", "--quiet", "--json", "--from-log", log});
    ASSERT_EQ(replay.exit_code, 0) << replay.err;
    const auto makespan = numbers_after(replay.out, "\"makespan_error\":");
    ASSERT_EQ(makespan.size(), 1u) << replay.out;
    EXPECT_LT(std::abs(makespan[0]), 0.05) << scheduler;
    const auto launches = numbers_after(replay.out, "\"launches\":"), alike = numbers_after(replay.out, "\"launches_alike\":");
    ASSERT_EQ(alike.size(), 1u) << replay.out;
    EXPECT_GE(launches.back(), 27) << scheduler;
    const bool by_size = kBySize.contains(scheduler);
    EXPECT_GE(alike[0], (by_size ? 0.6 : 0.99) * launches.back()) << scheduler;
    const auto replays = replay.out.substr(replay.out.find("\"replays\""));
    const auto recorded = numbers_after(replays, "\"recorded\":");
    const auto simulated = numbers_after(replays, "\"simulated\":");
    ASSERT_EQ(recorded.size(), 3u) << replays;
    for (std::size_t job = 0; job < recorded.size(); ++job)
      EXPECT_LT(std::abs(simulated.at(job) - recorded[job]), (by_size ? 0.4 : 0.1) * recorded[job])
          << scheduler << ", job " << job + 1;
  }
}

}  // namespace
}  // namespace weft::test
