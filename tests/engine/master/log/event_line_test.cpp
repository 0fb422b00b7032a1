// Lines of event logs: what is written is read again, also what earlier releases wrote.
#include "engine/master/log/event_line.hpp"

#include <gtest/gtest.h>

namespace weft::master {
namespace {

using Time = EventLine::Time;

Result<EventLine> parse(const std::string& text) { return parse_event_line(text, "log", 7); }

EventLine read(const std::string& text) {
  auto line = parse(text);
  EXPECT_TRUE(line) << line.error().to_string() << "\n" << text;
  return line ? std::move(*line) : EventLine{};
}

/// With every member set that a line of that name has.
EventLine full(const std::string& event) {
  EventLine line;
  line.at = Time(1);
  line.event = event;
  line.job = 2, line.stage = 3, line.task = 4, line.attempt = 5, line.node = 6, line.action = 7;
  line.name = "n\"", line.host = "h", line.rack = "r", line.data_address = "a";
  line.kind = "refused", line.reason = "because", line.message = "m\n", line.error = "e";
  line.options = {"u",
                  "p",
                  -8,
                  9,
                  Time(11),
                  Time(0),
                  {.cpu = 1},
                  shuffle::Mode::pull,
                  2,
                  1.5,
                  0.25,
                  {{"shuffle_ratio", "0.4"}},
                  {{.percent = 0.1}},
                  Switch::off,
                  "nightly",
                  OnDisconnect::go_on};
  line.deadline = Time(10), line.cross_rack = {12, 13}, line.rack_uplink = {14, 15}, line.processors = 0.5;
  line.capacity.memory = 2, line.used.network_in = 3;
  line.present = schedulers::Resources{}, line.forecast = {{Time(36), {.cpu = 1}}, {Time(37), {.cpu = 2}}};
  line.attributes = {{"gpu", "1"}};
  line.prefetch_bytes = 13;
  line.stages.push_back({0, "s", 2, "shuffle", 3, {"map"}, {}, {}, {}, Time(14), 0.5, {{0, 15, {"h1", "h2"}}}});
  line.stages.back().variants = {"accelerator"};
  line.variants = {"accelerator"};
  line.targets = {0}, line.released = {1};
  line.partitions = 2, line.speculative = true;
  line.input_bytes = 16, line.input_records = 17, line.output_bytes = 18, line.output_records = 19, line.result_bytes = 20;
  line.partition_bytes = {21, 22}, line.sample_histogram = {1, 0};
  line.shuffle_read = Time(23), line.shuffle_write = Time(24);
  line.usage = {Time(31), Time(32), Time(33), Time(34), 35,       {41, {}, 42}, Time(36),
                37,       38,       39,       40,       Time(43), Time(44),     {{"the", 3, 45}, {"a", 4, 46}}};
  line.counters = {{"c", -1}};
  line.fetch = LoggedFetch{1, 2, 3, 4};
  line.shuffle = 25, line.map = 26, line.map_attempt = 27, line.from = 28;
  line.timer = 29;
  line.scheduler = "fair", line.files = {"f"}, line.speculation = "on";
  line.version = 1, line.program = "weft", line.unix_time = Time(30);
  return line;
}

class EveryEvent : public testing::TestWithParam<const char*> {};

TEST_P(EveryEvent, IsWrittenAgainAsItWasRead) {
  const std::string text = to_json(full(GetParam()));
  EXPECT_EQ(to_json(read(text)), text);
  EXPECT_GT(text.size(), std::string(R"({"time_ns":1,"event":""})").size() + std::string(GetParam()).size()) << "it has no members";
}

INSTANTIATE_TEST_SUITE_P(EventLines, EveryEvent,
                         testing::Values("job_submitted", "plan_extended", "job_closed", "job_killed", "driver_failed",
                                         "job_finished", "job_failed", "action_finished", "worker_joined", "worker_heartbeat",
                                         "worker_lost", "worker_silent", "worker_leaving", "worker_rejoined", "capacity_changed",
                                         "task_launched", "task_killed", "task_finished", "task_failed", "output_copied",
                                         "copy_failed", "copy_started", "output_moved", "blocks_prefetched", "timer_fired",
                                         "scheduler_configured", "log_started"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(EventLines, OfEarlierReleasesAreRead) {
  const EventLine joined =
      read(R"({"time_ns":1,"event":"worker_joined","node":2,"ahead_bytes":77,"capacity":{"cpu":4,"new_kind":1}})");
  EXPECT_EQ(joined.prefetch_bytes, 77u);
  EXPECT_EQ(joined.capacity.cpu, 4);
  EXPECT_EQ(read(R"({"time_ns":1,"event":"worker_joined","ahead_bytes":18446744073709551615})").prefetch_bytes, UINT64_MAX);
  EXPECT_EQ(read(R"({"time_ns":1,"event":"task_finished","spread":[3,4]})").sample_histogram, (std::vector<std::uint32_t>{3, 4}));
  const EventLine started = read(R"({"event":"task_started","unknown":{"a":[1]},"task":5,"time_ns":9})");
  EXPECT_EQ(started.task, 5u);
  EXPECT_EQ(started.at, Time(9));
}

TEST(EventLines, WhatIsNoneIsRefusedWithItsPlace) {
  for (const char* text : {"", "{}", R"({"event":"x"})", R"({"time_ns":1})", R"({"time_ns":1,"event":"x"} y)",
                           R"({"time_ns":1,"event":"x","task":-1})", R"({"time_ns":1,"event":"x","node":4294967296})",
                           R"({"time_ns":1,"event":"x","stages":[{"stage":"one"}]})"}) {
    const auto line = parse(text);
    ASSERT_FALSE(line) << text;
    EXPECT_EQ(line.error().to_string().rfind("log:7: ", 0), 0u) << line.error().to_string();
  }
}

}  // namespace
}  // namespace weft::master
