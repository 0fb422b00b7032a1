// What `weft top` and `weft job tail` show.
#include "engine/tools/display/top_text.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "engine/tools/display/log_tail.hpp"

namespace weft::tools {
namespace {

using namespace std::chrono_literals;

client::NodeStatus node(const std::string& name, std::uint32_t running) {
  client::NodeStatus made;
  made.name = name;
  made.slots = 4;
  made.running = running;
  return made;
}

master::JobStatus job(std::uint64_t id, std::uint32_t finished, std::uint64_t input) {
  master::JobStatus made;
  made.id = JobId(id);
  made.name = "job" + std::to_string(id);
  made.input_bytes = input;
  master::StageStatus& stage = made.stages.emplace_back();
  stage.tasks = 100;
  stage.finished = finished;
  stage.running = 3;
  return made;
}

TopSnapshot look(Duration at, std::vector<client::NodeStatus> nodes, const std::vector<master::JobStatus>& jobs) {
  TopSnapshot made;
  made.at = TimePoint(at);
  made.nodes = std::move(nodes);
  for (const auto& one : jobs) {
    made.jobs.jobs.push_back(one);
    if (one.state == master::JobState::running) made.in_full[one.id] = one;
  }
  return made;
}

std::string text(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(TopText, SumsJobsAndWorkers) {
  auto over = job(1, 100, 7);
  over.state = master::JobState::finished;
  const auto now = look(10s, {node("w1", 0), node("w2", 3)}, {over, job(2, 40, 1000)});
  const std::string shown = text(top_lines(now, nullptr, {}));
  EXPECT_TRUE(has(shown, "2 of 2 workers ready, 3 of 8 slots busy, 1 jobs running\n")) << shown;
  EXPECT_TRUE(has(shown, "40 of 100"));
  EXPECT_FALSE(has(shown, "job1")) << "it is over";
  EXPECT_LT(shown.find("w2"), shown.find("w1")) << "the busiest first";
}

TEST(TopText, RatesAreThoseBetweenTwoLooks) {
  const auto before = look(10s, {}, {job(2, 40, 1000)});
  auto running = job(2, 60, 3000);
  running.left = 4s;
  running.options["name"] = "nightly report";
  running.stages.resize(3);
  running.stages[1].running = running.stages[2].running = 1;
  running.stages[1].left = 1s, running.stages[2].left = 4s;
  running.stages[2].id = StageId(2), running.stages[2].name = "sort";
  const auto now = look(12s, {}, {running});
  const std::string shown = text(top_lines(now, &before, {}));
  EXPECT_TRUE(has(shown, "; 10 tasks/s, 0.98 KiB/s read, 0 B/s shuffled")) << shown;
  EXPECT_TRUE(has(shown, "10/s  about 4.0 s")) << shown;
  EXPECT_TRUE(has(shown, "nightly report")) << "as it was named";
  EXPECT_TRUE(has(shown, "about 4.0 s  2 sort ")) << shown;
  EXPECT_TRUE(has(text(top_lines(now, &now, {})), "1 jobs running\n")) << "no time has passed";
}

TEST(TopText, KeepsToItsRowsAndCountsWhatIsHidden) {
  std::vector<client::NodeStatus> nodes;
  std::vector<master::JobStatus> jobs;
  for (std::uint64_t i = 0; i < 200; ++i) nodes.push_back(node("w" + std::to_string(i), 1)), jobs.push_back(job(1000 + i, 1, 1));
  const auto now = look(1s, nodes, jobs);
  for (const std::size_t rows : {1u, 2u, 5u, 10u, 24u, 50u, 500u}) {
    for (const bool with_jobs : {true, false}) {
      const auto lines = top_lines(now, nullptr, {.nodes = true, .jobs = with_jobs, .rows = rows});
      EXPECT_LE(lines.size(), rows);
      if (rows == 24) {
        EXPECT_TRUE(has(lines.back(), "more workers")) << text(lines);
      }
    }
  }
  const std::string shown = text(top_lines(now, nullptr, {.nodes = true, .jobs = true, .rows = 24}));
  EXPECT_TRUE(has(shown, "job1199")) << "the newest";
  EXPECT_TRUE(has(shown, "more jobs"));
}

TEST(TopText, ShowsTheLastHour) {
  auto now = look(10s, {node("w1", 3)}, {});
  now.past =
      R"({"span":"hour","series":{"slots":[4,8,8],"running":[4,1,6.5],"pending":[0,10,5],"more":[1]},"seconds_ago":[3590,1790,10],)"
      R"("events":[{"seconds_ago":50,"kind":"a","text":"one"},{"seconds_ago":30,"text":"worker w2 was lost","job":3},{"seconds_ago":5,"text":"two"}]})";
  const std::string shown = text(top_lines(now, nullptr, {}));
  const std::string before(29, ' '), after(28, ' ');
  EXPECT_TRUE(has(shown, "last hour  slots   |▅" + before + "▂" + after + "▇| 6.5 of 8\n")) << shown;
  EXPECT_TRUE(has(shown, "waiting |▁" + before + "█" + after + "▅| 5, at most 10\n")) << shown;
  EXPECT_TRUE(has(shown, "30.0 s ago: worker w2 was lost\n") && has(shown, "5.0 s ago: two\n")) << shown;
  EXPECT_FALSE(has(shown, "one")) << "the latest two";
  EXPECT_TRUE(has(top_json(now), R"(,"past":{"span":"hour")"));
  for (const std::size_t rows : {1u, 4u, 7u, 30u}) EXPECT_LE(top_lines(now, nullptr, {.rows = rows}).size(), rows);
  now.past = R"({"seconds_ago":[1],"series":{"slots":[]}})";
  EXPECT_FALSE(has(text(top_lines(now, nullptr, {})), "last hour"));
  EXPECT_FALSE(parse_past("[]"));
}

client::JobLog log(const std::string& node, const std::string& text) { return {node, Buffer::copy_of(as_bytes(text)), ""}; }

std::string add(LogTail& tail, const std::string& text) {
  std::vector<client::JobLog> logs;
  logs.push_back(log("w1", text));
  return tail.add(logs);
}

TEST(LogTail, TellsEachLineOnceAndWhole) {
  LogTail tail;
  EXPECT_EQ(add(tail, ""), "");
  EXPECT_EQ(add(tail, "a\nb"), "w1| a\n");
  EXPECT_EQ(add(tail, "a\nb"), "");
  EXPECT_EQ(add(tail, "a\nbc\nd\n"), "w1| bc\nw1| d\n");
  EXPECT_EQ(add(tail, "bc\nd\ne"), "w1| (some output is left out: weft job logs shows it)\nw1| bc\nw1| d\n");
  EXPECT_EQ(tail.rest(), "w1| e\n");
}

TEST(LogTail, TellsALineWithoutAnEndInPieces) {
  LogTail tail;
  std::string text, told;
  for (int i = 0; i < 100; ++i) told += add(tail, text += std::string(4000, 'x') + "\r");
  EXPECT_GT(told.size(), 300'000u);
  EXPECT_LT(tail.rest().size(), 70'000u);
}

TEST(LogTail, TellsADriverFromTheTasksOfItsWorker) {
  LogTail tail;
  std::vector<client::JobLog> logs;
  logs.push_back(log("w1", "a\n"));
  logs.push_back(log("w1", "b\n"));
  logs[0].driver = true;
  EXPECT_EQ(tail.add(logs), "driver on w1| a\nw1| b\n");
}

TEST(LogTail, TellsLinesThatRepeatThemselves) {
  LogTail tail;
  EXPECT_EQ(add(tail, "tick\n"), "w1| tick\n");
  EXPECT_EQ(add(tail, "tick\ntick\n"), "w1| tick\n");
  EXPECT_EQ(add(tail, "tick\ntick\n"), "");
  EXPECT_EQ(add(tail, "tick\ntick\ntick\ntick\n"), "w1| tick\nw1| tick\n");
}

TEST(LogTail, TellsThemWhereOnlyTheEndIsGiven) {
  LogTail tail;
  std::string all;
  for (int i = 0; i < 1000; ++i) all += "line " + std::to_string(i) + "\n";
  for (int i = 0; i < 1000; ++i) all += "tick\n";
  add(tail, all.substr(all.size() - 8000));
  all += "tick\ntick\n";
  EXPECT_EQ(add(tail, all.substr(all.size() - 8000)), "w1| tick\nw1| tick\n");
}

TEST(LogTail, RatherTellsLinesTwiceThanNotAtAll) {
  LogTail tail;
  std::string all;
  const auto tick = [&](int times) {
    for (int i = 0; i < times; ++i) all += "tick\n";
  };
  tick(3000);
  add(tail, all.substr(all.size() - 8000));
  tick(300);
  all += "end\n";
  const std::string told = add(tail, all.substr(all.size() - 8000));
  EXPECT_GE(std::count(told.begin(), told.end(), '\n'), 301);
  EXPECT_TRUE(told.ends_with("w1| tick\nw1| end\n")) << told;
}

TEST(LogTail, GoesOnWhereOnlyTheEndIsGiven) {
  LogTail tail;
  std::string all;
  for (int i = 0; i < 3000; ++i) all += "line " + std::to_string(i) + "\n";
  add(tail, all.substr(all.size() - 10000));
  all += "new\n";
  EXPECT_EQ(add(tail, all.substr(all.size() - 10000)), "w1| new\n");
}

}  // namespace
}  // namespace weft::tools
