// A line of the event log (docs/formats/journal.md) as a value, and its one form as JSON. All writers and readers of logs use it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/master/core/job_options.hpp"
#include "runtime/protocol/task_usage.hpp"
#include "schedulers/view/profile.hpp"
#include "schedulers/view/resources.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::master {

/// What a task of a stage reads from files, and where that lies.
struct LoggedSplit {
  std::uint32_t task = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> hosts{};
};

struct LoggedStage {
  std::uint32_t id = 0;
  std::string name{};
  std::uint32_t tasks = 0;
  std::string output{};  // "shuffle" or "result"
  std::uint32_t partitions = 0;
  std::vector<std::string> operators{};
  std::vector<std::uint32_t> inputs{};     // shuffles, by the stages that write them
  std::vector<std::uint32_t> broadcast{};  // of these, those that each task reads whole
  schedulers::Resources demand{};
  std::chrono::nanoseconds estimate{0};
  double output_ratio = 0;  // estimated
  std::vector<LoggedSplit> splits{};
  std::optional<schedulers::StageProfile> profile{};
  std::vector<std::string> variants{};  // attributes of nodes for which it has functions
  bool indeterminate = false;           // its tasks may write other records when they run again
};

struct LoggedFetch {
  std::uint32_t shuffle = 0, map = 0, map_attempt = 0, node = 0;
};

/// Which members a line has depends on `event`; the others keep their defaults.
struct EventLine {
  using Time = std::chrono::nanoseconds;

  Time at{0};  // since the master began
  std::string event{};
  std::uint64_t job = 0;
  std::uint32_t stage = 0, task = 0, attempt = 0, node = 0, action = 0;
  std::string name{}, host{}, rack{}, data_address{}, kind{}, reason{}, message{}, error{};
  JobOptions options{};
  std::optional<Time> deadline{};  // since the master began
  schedulers::UplinkRate cross_rack{}, rack_uplink{};
  double processors = 0;
  schedulers::Resources capacity{}, used{}, machine{};
  std::optional<schedulers::Resources> present{};  // a capacity from now on
  std::vector<schedulers::CapacityStep> forecast{};
  std::map<std::string, std::string> attributes{};
  std::uint64_t prefetch_bytes = 0;
  std::vector<LoggedStage> stages{};
  std::vector<std::uint32_t> targets{}, released{};
  std::uint32_t partitions = 1;  // that the task reads of its inputs
  bool speculative = false;
  std::vector<std::string> variants{};  // attributes of nodes: the attempt runs the functions for them
  std::uint64_t input_bytes = 0, input_records = 0, output_bytes = 0, output_records = 0, result_bytes = 0;
  std::vector<std::uint64_t> partition_bytes{};
  std::vector<std::uint32_t> sample_histogram{};
  std::optional<Time> shuffle_read{}, shuffle_write{};
  runtime::TaskUsage usage{};
  std::map<std::string, std::int64_t> counters{};
  std::optional<LoggedFetch> fetch{};
  std::uint64_t attempts = 0, outputs = 0;                        // that a worker has that is back; that count no more
  std::uint32_t shuffle = 0, map = 0, map_attempt = 0, from = 0;  // of map outputs: from and node are where they were and are
  shuffle::PrefetchStats prefetch{};                              // of the job on the node, since it began
  Time within{0};  // the figures hold for the time since the last line like it, at most this long
  std::uint64_t timer = 0;
  std::string scheduler{};
  std::vector<std::string> files{};
  std::map<std::string, std::string> texts{};  // of the files
  std::optional<std::string> speculation{};
  int version = 0;
  std::string program{};
  std::optional<Time> unix_time{};  // on the calendar
};

/// Without the end of the line.
std::string to_json(EventLine&& line);
/// The line that `text` is. Members that are not known are skipped. An error names `source` and the line's number there.
Result<EventLine> parse_event_line(std::string_view text, std::string_view source, std::uint64_t number = 1);

/// Whether lines of this event are about an attempt: its launch or its end.
bool is_of_attempt(std::string_view event);

}  // namespace weft::master
