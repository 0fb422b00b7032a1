// A task on its way to an executor and what became of it, as both hops carry it (master - worker - executor).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/task_shuffle.hpp"
#include "storage/split.hpp"

namespace weft::protocol {

/// One attempt to run; the part of the plan it needs travels with it.
struct Launch {
  AttemptId attempt;
  std::uint32_t branch = 0;
  std::uint32_t partition = 0;
  std::uint32_t output_partitions = 0;
  storage::SplitGroup splits;
  std::uint64_t fingerprint = 0;
  Duration timeout{0};  // 0: none
  std::string stage_name;
  std::uint64_t segment_memory = 0;  // worker to executor only: bytes of its segment that may lie in memory; 0: all on disk
  std::vector<shuffle::InputSlice> inputs{};  // shuffles read at `partition`
};

enum class EventKind : std::uint8_t {
  finished = 0,
  user_code = 1,  // threw
  crashed = 2,    // its executor died under it
  timed_out = 3,
  fetch_failed = 4,  // a map output is gone
  environment = 5,   // disk full, executor could not start
  plan_mismatch = 6,
  killed = 7,  // as asked, or because its executor ended for another task's sake
};

/// How an attempt ended.
struct Event {
  AttemptId attempt;
  EventKind kind = EventKind::finished;
  std::string message;  // unless finished
  std::vector<shuffle::PartitionSize> output;
  Buffer result;
  std::map<std::string, std::int64_t> counters;
  std::uint64_t input_bytes = 0;
  std::uint64_t input_records = 0;
  shuffle::ShuffleTimes shuffle_times{};
  std::vector<std::uint32_t> spread{};  // of a sample over the output's partitions; empty: not known
  std::optional<shuffle::FetchFailure> fetch;
};

/// Several launches for an executor in one message.
struct Launches {
  std::vector<Launch> launches;
};

rpc::Payload encode(const Launches& launches);
Result<Launches> decode_launches(const rpc::Message& message);

/// Results travel as bulk bytes, so they are not copied here.
rpc::Payload encode(std::vector<Event> events);
Result<std::vector<Event>> decode_events(const rpc::Message& message);

}  // namespace weft::protocol
