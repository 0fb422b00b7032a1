// The past of the cluster: means over the steps of each span, bounded; and what happened between two looks.
#include "engine/tools/web/cluster_samples.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace weft::web {
namespace {

using std::chrono::seconds;

client::NodeStatus node(std::uint32_t id, const std::string& host, std::uint32_t running, double cpu = 0) {
  client::NodeStatus made;
  made.id = NodeId(id);
  made.name = "w" + std::to_string(id);
  made.host = host;
  made.running = running;
  made.capacity.cpu = 4;
  made.measured.machine.cpu = cpu;
  return made;
}

master::JobStatus job(std::uint64_t id, const std::string& user, std::uint32_t running, std::uint32_t tasks,
                      master::JobState state = master::JobState::running) {
  master::JobStatus made;
  made.id = JobId(id);
  made.name = "count";
  made.user = user;
  made.state = state;
  made.tasks.all = tasks;
  made.tasks.running = running;
  return made;
}

client::JobList jobs(std::vector<master::JobStatus> of) {
  client::JobList made;
  made.jobs = std::move(of);
  return made;
}

std::string hour(const ClusterSamples& samples, int now, const char* span = "hour") {
  return *samples.json(TimePoint(seconds(now)), span);
}
/// What follows `"name":` up to the end of its array.
std::string array_of(const std::string& json, const std::string& name) {
  const std::size_t at = json.find("\"" + name + "\":[");
  return at == std::string::npos ? "" : json.substr(at + name.size() + 3, json.find(']', at) - at - name.size() - 2);
}

TEST(ClusterSamples, AreSumsOverWorkersMachinesAndJobs) {
  ClusterSamples samples;
  auto dead = node(4, "c", 3, 9);
  dead.dead = true;
  samples.add(TimePoint(seconds(10)), {node(1, "a", 2, 1.5), node(2, "a", 1, 1.5), node(3, "b", 0, 0.25), dead},
              jobs({job(1, "ann", 2, 10), job(2, "bob", 1, 4), job(3, "ann", 0, 9, master::JobState::finished)}), "fsp");
  const std::string json = hour(samples, 12);
  EXPECT_EQ(array_of(json, "seconds_ago"), "[2]");
  EXPECT_EQ(array_of(json, "workers"), "[3]");
  EXPECT_EQ(array_of(json, "slots"), "[12]");
  EXPECT_EQ(array_of(json, "running"), "[3]");
  EXPECT_EQ(array_of(json, "pending"), "[11]");
  EXPECT_EQ(array_of(json, "jobs"), "[2]");
  EXPECT_EQ(array_of(json, "processors"), "[1.75]") << "two workers on one machine measure the same";
  EXPECT_NE(json.find(R"("users":[{"name":"ann","slots":[2]},{"name":"bob","slots":[1]}])"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("events":[])"), std::string::npos) << "what was there at first is no event";
}

TEST(ClusterSamples, OfLongerSpansAreMeans) {
  ClusterSamples samples;
  for (int i = 0; i < 48; ++i) samples.add(TimePoint(seconds(10 * i)), {node(1, "a", i < 24 ? 1 : 3)}, jobs({}), "fsp");
  EXPECT_EQ(array_of(hour(samples, 480, "day"), "running"), "[1,3]");
  EXPECT_EQ(array_of(hour(samples, 480, "week"), "running"), "[2]");
  EXPECT_EQ(array_of(hour(samples, 480, "day"), "seconds_ago"), "[250,10]");
  EXPECT_FALSE(samples.json(TimePoint(), "year").has_value());
}

TEST(ClusterSamples, AreBounded) {
  ClusterSamples samples;
  std::vector<master::JobStatus> many;
  for (std::uint64_t i = 1; i <= 2 * ClusterSamples::kMostNames; ++i)
    many.push_back(job(i, "u" + std::to_string(i), static_cast<std::uint32_t>(i), 100));
  for (int i = 0; i < 1000; ++i) samples.add(TimePoint(seconds(10 * i)), {}, jobs(many), i % 2 == 0 ? "fsp" : "fair");
  const std::string json = hour(samples, 10'000);
  const std::string ago = array_of(json, "seconds_ago");
  EXPECT_EQ(static_cast<std::size_t>(std::count(ago.begin(), ago.end(), ',')), ClusterSamples::kKept - 1);
  EXPECT_NE(json.find(R"("name":"u21","slots")"), std::string::npos);
  EXPECT_EQ(json.find(R"("name":"u20","slots")"), std::string::npos) << "the 20 with the most have their names";
  EXPECT_NE(json.find(R"("name":"others","slots":[210,)"), std::string::npos);
  std::size_t events = 0;
  const std::string week = hour(samples, 10'000, "week");
  for (std::size_t at = 0; (at = week.find("scheduler_changed", at)) != std::string::npos; ++at) ++events;
  EXPECT_EQ(events, ClusterSamples::kMostEvents);
}

TEST(ClusterSamples, TellOfAWorkerThatJoinedAndWasLostBetweenTwoOfThem) {
  ClusterSamples samples;
  auto lost = node(2, "b", 0);
  lost.dead = true;
  lost.cause = "SIGKILL";
  for (int i = 1; i <= 3; ++i) {
    std::vector<client::NodeStatus> nodes{node(1, "a", 0)};
    if (i > 1) nodes.push_back(lost);
    samples.add(TimePoint(seconds(10 * i)), nodes, jobs({}), "fsp");
  }
  EXPECT_NE(hour(samples, 40).find(R"("events":[{"seconds_ago":20,"kind":"worker_lost","text":"worker w2 was lost: SIGKILL"}])"),
            std::string::npos)
      << "once";
}

TEST(ClusterSamples, TellWhatHappened) {
  ClusterSamples samples;
  samples.add(TimePoint(seconds(0)), {node(1, "a", 0), node(2, "b", 0)}, jobs({job(1, "ann", 1, 2), job(2, "ann", 1, 2)}), "fsp");
  auto dead = node(2, "b", 0);
  dead.dead = true;
  dead.cause = "SIGBUS";
  for (int i = 1; i <= 2; ++i)  // what is still so at the next look is not told again
    samples.add(TimePoint(seconds(10 * i)), {node(1, "a", 0), dead, node(3, "c", 0)},
                jobs({job(1, "ann", 0, 2, master::JobState::failed), job(2, "ann", 0, 2, master::JobState::finished),
                      job(3, "bob", 0, 1, master::JobState::killed)}),
                "fair");
  const std::string json = hour(samples, 30);
  EXPECT_NE(json.find(R"("events":[{"seconds_ago":20,"kind":"worker_lost","text":"worker w2 was lost: SIGBUS"},)"
                      R"({"seconds_ago":20,"kind":"worker_joined","text":"worker w3 joined"},)"
                      R"({"seconds_ago":20,"kind":"job_failed","text":"job 1 count of ann failed","job":1},)"
                      R"({"seconds_ago":20,"kind":"job_killed","text":"job 3 count of bob was killed","job":3},)"
                      R"({"seconds_ago":20,"kind":"scheduler_changed","text":"the scheduler is fair, and was fsp"}])"),
            std::string::npos)
      << json;
}

}  // namespace
}  // namespace weft::web
