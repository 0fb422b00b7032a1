// A task on its way to an executor, and how it ended, as both hops carry it (master - worker - executor).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/commands.hpp"
#include "runtime/protocol/task_end.hpp"
#include "runtime/protocol/task_usage.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::runtime::protocol {

/// One attempt to run.
struct Launch {
  AttemptId attempt;
  TaskSpec spec;
  Duration timeout{0};  // 0: none
  std::string stage_name;
  std::uint64_t segment_memory = 0;  // worker to executor only: bytes of its segment that may lie in memory; 0: all on disk
  bool device = false;               // it holds one of the worker's devices, which the worker chooses
  bool needs_device = false;         // without one it waits; otherwise it runs the operators' own functions
};

/// How an attempt ended.
struct Event {
  AttemptId attempt{};
  TaskEnd kind = TaskEnd::finished;
  std::string message{};  // unless finished; with the position in the input where that is known
  std::vector<shuffle::PartitionSize> output{};
  Buffer result{};
  std::map<std::string, std::int64_t> counters{};
  std::uint64_t input_bytes = 0;
  std::uint64_t input_records = 0;
  shuffle::ShuffleTimes shuffle_times{};
  std::vector<std::uint32_t> sample_histogram{};  // of a sample, over the output's partitions; empty: not known
  std::optional<shuffle::FetchFailure> fetch{};
  TaskUsage usage{};
  bool device = false;  // it held one of the worker's devices, as the worker says
};

/// Several launches for an executor in one message.
struct Launches {
  static constexpr std::string_view kName = "task launch";
  std::vector<Launch> launches;
};
/// How several attempts ended. Their results travel as bulk bytes, so they are not copied.
struct Events {
  static constexpr std::string_view kName = "report of tasks";
  std::vector<Event> events;
};

/// A message of this folder as a frame carries it, field by field as its schema in protocol.capnp (base/rpc/versioned.hpp). Bulk
/// bytes in it are moved.
template <class M>
rpc::Payload encode(M message);
/// Code::corrupt, naming the message (M::kName), when the frame holds none, or one of a kind that this release does not know. With
/// `skipped` elements of unknown kinds are left out of lists of a message with M::kSkipsUnknown, and counted there.
template <class M>
Result<M> decode(const rpc::Message& message, unsigned* skipped = nullptr);

/// Sends the events, Events messages of that type; one has about 64 MiB of results at most.
void notify_events(rpc::Connection& to, rpc::MessageType type, std::vector<Event> events);

/// An event that may be sent more than once: messages share its result.
struct EncodedEvent {
  AttemptId attempt;
  Buffer fields;  // as Events messages have them
  SharedBytes result;
};
EncodedEvent encode_event(Event event);
/// As notify_events() above: those behind the first `skipped`, which stay.
void notify_events(rpc::Connection& to, rpc::MessageType type, const std::deque<EncodedEvent>& events, std::size_t skipped);

/// What master, workers and executors allow each other: a peer has to speak a protocol in common.
rpc::Limits peer_limits();

}  // namespace weft::runtime::protocol
