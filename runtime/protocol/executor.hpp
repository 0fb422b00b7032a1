// Between a worker and its executors over a Unix socket pair: message numbers 1 to 99.
#pragma once

#include <string>
#include <vector>

#include "runtime/protocol/task.hpp"

namespace weft::runtime::protocol {

enum ExecutorMessage : rpc::MessageType {
  kSetup = 1,            // notification to the executor: ExecutorSetup; first; descriptor: the position page
  kValue = 2,            // notification to the executor: ActionId; the value is the bulk
  kLaunch = 3,           // notification to the executor: Launches
  kStop = 4,             // notification to the executor: AttemptId
  kEvents = 5,           // notification to the worker: vector<Event>
  kCommit = 6,           // request to the worker: Commit, descriptor: the sealed segment -> empty
  kLocate = 7,           // request to the worker: ShuffleId -> vector<MapOutput>
  kOpenSegments = 8,     // request to the worker: SegmentsWanted -> vector<Opened>, descriptors
  kFetch = 9,            // request to the worker: BlocksWanted -> FetchedBlocks, descriptor: a segment
  kTakePrefetched = 11,  // request to the worker: PrefetchedWanted -> PrefetchedSegments, descriptors
  kLocateMoved = 12,     // request to the worker: MovedWanted -> vector<MapOutput>, once the output is elsewhere than said
  kForget = 10,          // notification to the executor: ShuffleId; nobody will read it any more
};

/// At most so many segments are asked for at a time (each answer is a descriptor).
inline constexpr std::size_t kSegmentsPerRequest = 60;

/// What became of one segment that was asked for.
enum class Opened : std::uint8_t {
  lost = 0,    // its node has it no more
  opened = 1,  // here is its descriptor
  remote = 2,  // of another machine: blocks of it are to be fetched
};

struct ExecutorSetup {
  JobId job;
  NodeId node;
  std::uint32_t slots = 1;
  std::uint64_t memory_bytes = 0;
  std::string spill_directory;
  std::string segment_directory;  // for segments that go to disk
};
struct Commit {
  AttemptId attempt;
  std::uint64_t size = 0;
  std::vector<shuffle::PartitionSize> partitions;
};
struct SegmentsWanted {
  ShuffleId shuffle;
  std::vector<shuffle::MapOutput> maps;
};
struct BlocksWanted {
  ShuffleId shuffle;
  std::uint32_t partition = 0;
  std::vector<shuffle::MapOutput> maps;  // all on one node
};
/// With it comes the descriptor of a segment whose "partition" i holds the extents of the i-th map asked for, verified.
struct FetchedBlocks {
  bool failed = false;     // no descriptor
  std::uint32_t lost = 0;  // index of the first map that could not be had
  std::string error;
  bool unreachable = false;  // the node, whatever it has
};
/// An output whose node cannot be reached. The answer waits for a table that says where it is now; unavailable: there will be none.
struct MovedWanted {
  ShuffleId shuffle;
  shuffle::MapOutput output;
};

/// What was brought of a partition before its task began (shuffle/prefetch/prefetch.hpp).
struct PrefetchedWanted {
  ShuffleId shuffle;
  std::uint32_t partition = 0;
  std::uint32_t from = 0;  // segments to pass over: those that came with earlier answers
};
struct MapAttempt {
  std::uint32_t map = 0, attempt = 0;
};
/// A descriptor comes with each; its "partition" i holds the extents of its i-th map, verified.
struct PrefetchedSegments {
  std::vector<std::vector<MapAttempt>> maps;  // by segment
  bool more = false;
};

rpc::Payload encode(const ExecutorSetup& message);
rpc::Payload encode_value(ActionId action, SharedBytes bytes);
rpc::Payload encode_stop(const AttemptId& attempt);
rpc::Payload encode(const Commit& message);
rpc::Payload encode_locate(ShuffleId shuffle);
rpc::Payload encode_located(const std::vector<shuffle::MapOutput>& outputs);
rpc::Payload encode(const SegmentsWanted& message);
rpc::Payload encode_opened(const std::vector<Opened>& outcomes);
rpc::Payload encode(const BlocksWanted& message);
rpc::Payload encode(const FetchedBlocks& message);
rpc::Payload encode(const MovedWanted& message);
rpc::Payload encode(const PrefetchedWanted& message);
rpc::Payload encode(const PrefetchedSegments& message);

Result<ExecutorSetup> decode_setup(const rpc::Message& message);
Result<ActionId> decode_value(const rpc::Message& message);
Result<AttemptId> decode_stop(const rpc::Message& message);
Result<Commit> decode_commit(const rpc::Message& message);
Result<ShuffleId> decode_locate(const rpc::Message& message);
Result<std::vector<shuffle::MapOutput>> decode_located(const rpc::Message& message);
Result<SegmentsWanted> decode_segments_wanted(const rpc::Message& message);
Result<std::vector<Opened>> decode_opened(const rpc::Message& message);
Result<BlocksWanted> decode_blocks_wanted(const rpc::Message& message);
Result<FetchedBlocks> decode_fetched(const rpc::Message& message);
Result<MovedWanted> decode_moved_wanted(const rpc::Message& message);
Result<PrefetchedWanted> decode_prefetched_wanted(const rpc::Message& message);
Result<PrefetchedSegments> decode_prefetched(const rpc::Message& message);

}  // namespace weft::runtime::protocol
