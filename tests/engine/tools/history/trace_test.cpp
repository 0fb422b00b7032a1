// Traces: every attempt is a slice in a slot of its node, and nothing else is.
#include "engine/tools/history/trace.hpp"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/json_reader.hpp"
#include "tests/engine/tools/history/lines.hpp"

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
WrittenLog small_job() {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.worker(0, 2, "w2");
  written.job(100, 1);
  written.stage(100, 1, 0, 2);
  written.stage(100, 1, 1, 1, {0});
  written.launch(110, 1, 0, 0, 0, 1);
  written.launch(110, 1, 0, 1, 0, 2);
  written.finish(130, 1, 0, 0, 0, 1, {5});
  written.finish(140, 1, 0, 1, 0, 2, {5});
  written.launch(150, 1, 1, 0, 0, 1);
  auto end = written.attempt(190, "task_finished", 1, 1, 0, 0, 1);
  end.shuffle_read = std::chrono::milliseconds(10);
  end.usage.write = std::chrono::milliseconds(5);
  end.usage.run = std::chrono::milliseconds(38);
  end.usage.spilled_bytes = 3u << 20;
  end.usage.spill = std::chrono::milliseconds(4);
  end.usage.spill_began = std::chrono::milliseconds(20);
  written.history.apply(end);
  written.end(200, 1);
  return written;
}

TEST(Trace, HasASliceForEachAttemptAndAFlowForEachMapAndReader) {
  const WrittenLog written = small_job();
  const auto events = events_of(trace_json(written.history, *written.history.job(1)));
  std::map<std::string, int> counts;
  for (const TraceEvent& event : events) ++counts[event.phase + event.category];
  EXPECT_EQ(counts["Xfinished"], 3);
  EXPECT_EQ(counts["Xpart"], 2);
  EXPECT_EQ(counts["Xspill"], 1);
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
    if (event.category == "spill") {
      EXPECT_EQ(event.name, "spill 3.00 MiB");
      EXPECT_EQ(event.at, 72'000) << "20 ms behind the beginning of its run, which took 38 ms";
      EXPECT_EQ(event.took, 4'000);
    }
    if (event.phase == "f") {
      EXPECT_EQ(event.at, 50'000);
    }
  }
}

/// Slices of a thread lie behind or within each other, or viewers leave some out.
void expect_nested(const std::vector<TraceEvent>& events) {
  for (const TraceEvent& a : events)
    for (const TraceEvent& b : events) {
      if (a.phase != "X" || b.phase != "X" || a.process != b.process || a.thread != b.thread) continue;
      const double a_end = a.at + a.took, b_end = b.at + b.took;
      EXPECT_FALSE(a.at < b.at && b.at < a_end && a_end < b_end) << a.name << " and " << b.name;
    }
}

TEST(Trace, SpillsStayBetweenReadsAndWrites) {
  for (const int began : {0, 5, 20, 60}) {
    WrittenLog written;
    written.job(0, 1);
    written.launch(0, 1, 0, 0, 0, 1);
    auto end = written.attempt(40, "task_finished", 1, 0, 0, 0, 1);
    end.shuffle_read = std::chrono::milliseconds(10);
    end.shuffle_write = std::chrono::milliseconds(10);
    end.usage.run = std::chrono::milliseconds(40);
    end.usage.spilled_bytes = 1;
    end.usage.spill = std::chrono::milliseconds(25);  // more than is left
    end.usage.spill_began = std::chrono::milliseconds(began);
    written.history.apply(end);
    const auto events = events_of(trace_json(written.history, *written.history.job(1)));
    expect_nested(events);
    for (const TraceEvent& event : events)
      if (event.category == "spill") {
        EXPECT_EQ(event.took, 20'000) << began;
      }
  }
}

TEST(Trace, HasPrefetchesEvictionsAndCopiesInThreadsOfTheirOwn) {
  WrittenLog written;
  written.worker(0, 1, "w1");
  written.job(0, 1);
  const auto say = [&](int at, const shuffle::PrefetchStats& bytes) {
    auto line = written.line(at, "blocks_prefetched");
    line.job = line.node = 1;
    line.within = std::chrono::milliseconds(500);
    line.prefetch = bytes;
    written.history.apply(line);
  };
  const auto copy = [&](int at, const char* event, std::uint32_t map) {
    auto line = written.line(at, event);
    line.job = line.node = 1;
    line.map = map;
    written.history.apply(line);
  };
  say(1000, {.prefetched_bytes = 4u << 20});
  copy(1000, "copy_started", 0);
  copy(1010, "copy_started", 1);
  copy(1020, "output_copied", 0);
  copy(1030, "output_copied", 1);
  say(1400, {.prefetched_bytes = 6u << 20, .evicted_bytes = 1u << 20});
  say(1900, {.prefetched_bytes = 6u << 20, .evicted_bytes = 1u << 20, .returned_bytes = 1u << 20});
  written.end(2000, 1);
  say(2300, {.prefetched_bytes = 6u << 20, .wasted_bytes = 1u << 20, .evicted_bytes = 1u << 20, .returned_bytes = 1u << 20});
  const auto events = events_of(trace_json(written.history, *written.history.job(1)));
  expect_nested(events);
  std::map<std::string, std::vector<double>> spans;
  for (const TraceEvent& event : events)
    if (event.phase == "X" || event.phase == "i") spans[event.name] = {event.at / 1000, event.took / 1000};
  using Span = std::vector<double>;
  EXPECT_EQ(spans["prefetch 4.00 MiB"], (Span{500, 500}));
  EXPECT_EQ(spans["prefetch 2.00 MiB"], (Span{1000, 400})) << "since it was last said";
  EXPECT_EQ(spans["evict 1.00 MiB"], (Span{1000, 400}));
  EXPECT_EQ(spans["return 1.00 MiB"], (Span{1400, 500}));
  EXPECT_EQ(spans["wasted 1.00 MiB"], (Span{2000, 0})) << "not behind the end of the job";
  EXPECT_EQ(spans["copy of 0.1"], (Span{1010, 20}));
}

TEST(Trace, NamesNodesAndSlots) {
  const WrittenLog written = small_job();
  const std::string text = trace_json(written.history, *written.history.job(1));
  EXPECT_NE(text.find("\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"w1 (r1)\"}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"args\":{\"name\":\"slot 0\"}"), std::string::npos);
}

TEST(Trace, FlowsAreBounded) {
  WrittenLog written({}, 100'000);
  written.worker(0, 1, "w1");
  written.worker(0, 2, "w2");
  written.job(0, 1);
  written.stage(0, 1, 0, 200);
  written.stage(0, 1, 1, 200, {0});
  for (std::uint32_t stage = 0; stage < 2; ++stage)
    for (std::uint32_t task = 0; task < 200; ++task) {
      const int at = static_cast<int>(stage * 1000 + task);
      written.launch(at, 1, stage, task, 0, 1 + task % 2);
      written.finish(at + 1, 1, stage, task, 0, 1 + task % 2);
    }
  int flows = 0;
  for (const TraceEvent& event : events_of(trace_json(written.history, *written.history.job(1))))
    flows += event.phase == "s" ? 1 : 0;
  EXPECT_EQ(flows, 2 * 200);  // of the last map on each node
}

TEST(Trace, WhatRunsLastsUntilNow) {
  WrittenLog written;
  written.job(0, 1);
  written.launch(10, 1, 0, 0, 0, 1);
  written.job(60, 2);
  const auto events = events_of(trace_json(written.history, *written.history.job(1)));
  for (const TraceEvent& event : events)
    if (event.category == "running") {
      EXPECT_EQ(event.took, 50'000);
    }
}

}  // namespace
}  // namespace weft::history
