// One line of an event log, as far as replays and benchmarks need it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::simulator::workloads {

struct LoggedSplit {
  std::uint32_t task = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> hosts;
};

struct LoggedStage {
  std::uint32_t id = 0;
  std::string name;
  std::uint32_t tasks = 0, partitions = 0;
  std::vector<std::uint32_t> inputs;  // shuffles, by the stages that write them
  schedulers::Resources demand;
  Time estimate{0};
  std::vector<LoggedSplit> splits;
};

/// Members that the event does not have keep their defaults.
struct LoggedEvent {
  std::string event;
  Time at{0};
  std::uint64_t job = 0;
  std::uint32_t stage = 0, task = 0, attempt = 0, node = 0;
  std::string name, user, pool, host, rack, scheduler, kind;
  int priority = 0;
  std::uint32_t max_attempts = 0, shuffle_replicas = 0;  // 0: not told
  std::optional<Time> deadline;
  double weight = 1;
  schedulers::Resources demand, capacity;
  std::map<std::string, std::string> attributes;
  std::vector<LoggedStage> stages;
  std::vector<std::uint32_t> targets;
  std::uint32_t partitions = 1;  // that the task reads of its inputs
  std::uint64_t input_bytes = 0;
  std::vector<std::uint64_t> partition_bytes;
  Time shuffle_read{0}, shuffle_write{0};
  Time unix_time{0};  // on the calendar
};

/// Parses the current line. Unknown members are skipped.
Result<LoggedEvent> parse_event(const Lines& lines);

}  // namespace weft::simulator::workloads
