// Traces: every attempt is a slice in a slot of its node, and nothing else is.
#include "engine/history/trace.hpp"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "tests/engine/history/lines.hpp"

namespace weft::history {
namespace {

struct TraceEvent {
  std::string phase, name, category;
  std::int64_t process = 0, thread = 0, id = 0;
  double at = 0, took = 0;
};

std::vector<TraceEvent> events_of(const std::string& text) {
  std::vector<TraceEvent> events;
  JsonReader json(text, "trace");
  const auto read = json.object([&](std::string_view key) -> Result<void> {
    if (key != "traceEvents") return json.skip();
    return json.array([&]() -> Result<void> {
      TraceEvent& event = events.emplace_back();
      return json.object([&](std::string_view member) -> Result<void> {
        if (member == "ph") return json.text().map([&](std::string&& value) { event.phase = value; });
        if (member == "name") return json.text().map([&](std::string&& value) { event.name = value; });
        if (member == "cat") return json.text().map([&](std::string&& value) { event.category = value; });
        if (member == "pid") return json.integer().map([&](std::int64_t value) { event.process = value; });
        if (member == "tid") return json.integer().map([&](std::int64_t value) { event.thread = value; });
        if (member == "id") return json.integer().map([&](std::int64_t value) { event.id = value; });
        if (member == "ts") return json.number().map([&](double value) { event.at = value; });
        if (member == "dur") return json.number().map([&](double value) { event.took = value; });
        return json.skip();
      });
    });
  });
  EXPECT_TRUE(read) << read.error().to_string();
  EXPECT_TRUE(json.finish());
  return events;
}

/// Two maps on two nodes, one reader.
Told small_job() {
  Told told;
  told.worker(0, 1, "w1");
  told.worker(0, 2, "w2");
  told.job(100, 1);
  told.stage(100, 1, 0, 2);
  told.stage(100, 1, 1, 1, {0});
  told.launch(110, 1, 0, 0, 0, 1);
  told.launch(110, 1, 0, 1, 0, 2);
  told.finish(130, 1, 0, 0, 0, 1, {5});
  told.finish(140, 1, 0, 1, 0, 2, {5});
  told.launch(150, 1, 1, 0, 0, 1);
  auto end = told.attempt(190, "task_finished", 1, 1, 0, 0, 1);
  end.shuffle_read = std::chrono::milliseconds(10);
  end.usage.write = std::chrono::milliseconds(5);
  end.usage.spilled_bytes = 3u << 20;
  told.history.apply(end);
  told.end(200, 1);
  return told;
}

TEST(Trace, HasASliceForEachAttemptAndAFlowForEachMapAndReader) {
  const Told told = small_job();
  const auto events = events_of(trace_json(told.history, *told.history.job(1)));
  std::map<std::string, int> counts;
  for (const TraceEvent& event : events) ++counts[event.phase + event.category];
  EXPECT_EQ(counts["Xfinished"], 3);
  EXPECT_EQ(counts["Xpart"], 2);
  EXPECT_EQ(counts["ispill"], 1);
  EXPECT_EQ(counts["sflow"], 2);
  EXPECT_EQ(counts["fflow"], 2);
  for (const TraceEvent& event : events) {
    if (event.name == "stage1 1.0") {
      EXPECT_EQ(event.process, 1);
      EXPECT_EQ(event.at, 50'000);  // after the submission
      EXPECT_EQ(event.took, 40'000);
    }
    if (event.name == "fetch") {
      EXPECT_EQ(event.took, 10'000);
    }
    if (event.name == "write files") {
      EXPECT_EQ(event.at + event.took, 90'000);
    }
    if (event.phase == "i") {
      EXPECT_EQ(event.name, "spilled 3.00 MiB");
      EXPECT_EQ(event.at, 90'000);
    }
    if (event.phase == "f") {
      EXPECT_EQ(event.at, 50'000);
    }
  }
}

TEST(Trace, NamesNodesAndSlots) {
  const Told told = small_job();
  const std::string text = trace_json(told.history, *told.history.job(1));
  EXPECT_NE(text.find("\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"w1 (r1)\"}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"args\":{\"name\":\"slot 0\"}"), std::string::npos);
}

TEST(Trace, FlowsAreBounded) {
  Told told({}, 100'000);
  told.worker(0, 1, "w1");
  told.worker(0, 2, "w2");
  told.job(0, 1);
  told.stage(0, 1, 0, 200);
  told.stage(0, 1, 1, 200, {0});
  for (std::uint32_t stage = 0; stage < 2; ++stage)
    for (std::uint32_t task = 0; task < 200; ++task) {
      const int at = static_cast<int>(stage * 1000 + task);
      told.launch(at, 1, stage, task, 0, 1 + task % 2);
      told.finish(at + 1, 1, stage, task, 0, 1 + task % 2);
    }
  int flows = 0;
  for (const TraceEvent& event : events_of(trace_json(told.history, *told.history.job(1)))) flows += event.phase == "s" ? 1 : 0;
  EXPECT_EQ(flows, 2 * 200);  // of the last map on each node
}

TEST(Trace, WhatRunsLastsUntilNow) {
  Told told;
  told.job(0, 1);
  told.launch(10, 1, 0, 0, 0, 1);
  told.job(60, 2);
  const auto events = events_of(trace_json(told.history, *told.history.job(1)));
  for (const TraceEvent& event : events)
    if (event.category == "running") {
      EXPECT_EQ(event.took, 50'000);
    }
}

}  // namespace
}  // namespace weft::history
