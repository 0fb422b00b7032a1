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

TEST(ClusterSamples, NameAWorkerThatLeft) {
  ClusterSamples samples;
  samples.add(TimePoint(seconds(0)), {node(1, "a", 0), node(2, "b", 0)}, jobs({}), "fsp");
  for (int i = 1; i <= 2; ++i) samples.add(TimePoint(seconds(10 * i)), {node(1, "a", 0)}, jobs({}), "fsp");
  EXPECT_NE(hour(samples, 30).find(R"("events":[{"seconds_ago":20,"kind":"worker_left","text":"worker w2 left"}])"),
            std::string::npos)
      << hour(samples, 30);
}

client::NodeStatus in_rack(std::uint32_t id, const std::string& rack, schedulers::UplinkRate moves,
                           schedulers::UplinkRate carries) {
  client::NodeStatus made = node(id, "h" + std::to_string(id), 0);
  made.rack = rack;
  made.measured.cross_rack = moves;
  made.standing.uplink = carries;
  return made;
}

TEST(ClusterSamples, HaveTheBusierDirectionOfEachUplink) {
  ClusterSamples samples;
  auto lost = in_rack(5, "gone", {9, 9}, {});
  lost.lost = true;
  samples.add(TimePoint(seconds(10)),
              {in_rack(1, "a", {100, 10}, {1000, 10}), in_rack(2, "a", {100, 0}, {1000, 10}), in_rack(3, "b", {3, 7}, {}), lost},
              jobs({}), "fsp");
  EXPECT_NE(hour(samples, 10).find(R"("racks":[{"name":"a","uplink":[10],"limit":[10]},{"name":"b","uplink":[7],"limit":[0]}])"),
            std::string::npos)
      << hour(samples, 10);
}

/// Samples of half an hour, with all that there is.
ClusterSamples& fill(ClusterSamples& samples) {
  for (int i = 0; i < 180; ++i) {
    auto worker = node(2, "b", 1, 0.5);
    worker.dead = i >= 90;
    samples.add(TimePoint(seconds(1000 + 10 * i)), {in_rack(1, "a", {i * 1.0, 0}, {500, 500}), worker},
                jobs({job(1, "ann", 1, 10), job(2, "b\"ob", 2, 9, i < 100 ? master::JobState::running : master::JobState::failed)}),
                "fsp");
  }
  return samples;
}

TEST(ClusterSamples, AreKeptOverARestart) {
  ClusterSamples before, after;
  const Duration unix = seconds(1'800'000'000);
  const std::string kept = fill(before).kept(TimePoint(seconds(2800)), unix);
  // Another clock, and a minute in which nobody was there.
  ASSERT_TRUE(after.restore(kept, TimePoint(seconds(70)), unix + seconds(60)));
  for (const char* span : {"hour", "day", "week"}) EXPECT_EQ(hour(after, 70, span), hour(before, 2860, span)) << span;
  EXPECT_EQ(after.kept(TimePoint(seconds(10)), unix), before.kept(TimePoint(seconds(2800)), unix));
  after.add(TimePoint(seconds(80)), {node(1, "a", 4)}, jobs({}), "fair");
  const std::string json = hour(after, 80);
  EXPECT_NE(json.find("worker w2 was lost"), std::string::npos) << "events of before are there";
  EXPECT_EQ(json.find("scheduler_changed"), std::string::npos) << "what is there at the first look is no event";
  const std::string running = array_of(json, "running");
  EXPECT_EQ(running.substr(running.size() - 3), ",4]");
}

TEST(ClusterSamples, OfAnotherReleaseAreReadAsFarAsTheyAreKnown) {
  ClusterSamples samples;
  ASSERT_TRUE(samples.restore(
      R"({"version":2,"more":[{}],"unix_seconds":5,"series":["gpus","running"],"spans":[)"
      R"({"span":"hour","samples":[{"began_ago":20,"ended_ago":10,"samples":2,"sums":[7,6],"devices":{"x":1},"users":{"ann":4}}]},)"
      R"({"span":"year","samples":[]}],"events":[]})",
      TimePoint(seconds(100)), seconds(5)));
  const std::string json = hour(samples, 100);
  EXPECT_EQ(array_of(json, "running"), "[3]");
  EXPECT_EQ(array_of(json, "workers"), "[0]");
  EXPECT_EQ(array_of(json, "seconds_ago"), "[10]");
  EXPECT_NE(json.find(R"("users":[{"name":"ann","slots":[2]}])"), std::string::npos) << json;
}

TEST(ClusterSamples, ThatAreDamagedAreRefusedAndNothingHasChanged) {
  ClusterSamples samples;
  const Duration unix = seconds(1000);
  const std::string kept = fill(samples).kept(TimePoint(seconds(2800)), unix);
  const std::string as_it_was = hour(samples, 2800);
  for (std::size_t length = 0; length < kept.size() - 2; length += 1 + kept.size() / 300)
    EXPECT_FALSE(samples.restore(kept.substr(0, length), TimePoint(seconds(2800)), unix)) << length;
  for (
      const char* wrong :
      {"[]", "{\"unix_seconds\":\"x\"}", R"({"spans":[{"span":"hour","samples":[{}]}]})", R"({"events":[{"ago":-1}]})",
       R"({"spans":[{"span":"hour","samples":[{"began_ago":1,"ended_ago":2,"samples":1}]}]})",
       R"({"spans":[{"span":"hour","samples":[{"began_ago":2,"ended_ago":1,"samples":0}]}]})",
       R"({"spans":[{"span":"hour","samples":[{"began_ago":2,"ended_ago":1,"samples":1},{"began_ago":3,"ended_ago":3,"samples":1}]}]})"})
    EXPECT_FALSE(samples.restore(wrong, TimePoint(seconds(2800)), unix)) << wrong;
  EXPECT_EQ(hour(samples, 2800), as_it_was);
}

}  // namespace
}  // namespace weft::web
