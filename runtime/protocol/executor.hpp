// Between a worker and its executors over a Unix socket pair: message numbers 1 to 99.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/protocol/task.hpp"
#include "shuffle/read/read_part.hpp"
#include "shuffle/store/store.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::runtime::protocol {

enum ExecutorMessage : rpc::MessageType {
  kSetup = 1,          // notification to the executor: ExecutorSetup; first; descriptor: the position page
  kValue = 2,          // notification to the executor: Value; the value is the bulk
  kLaunch = 3,         // notification to the executor: Launches
  kStop = 4,           // notification to the executor: Stop
  kEvents = 5,         // notification to the worker: Events
  kCommit = 6,         // request to the worker: Commit, descriptor: the sealed segment -> empty
  kRead = 7,           // request to the worker: ReadRequest -> shuffle::ReadPart and its descriptors
  kForget = 10,        // notification to the executor: Forget
  kChunkTraffic = 11,  // notification to the worker: ChunkTraffic; with Events, and every second, when there is any
};

struct ExecutorSetup {
  static constexpr std::string_view kName = "executor set-up";
  JobId job;
  NodeId node;
  std::uint32_t slots = 1;
  std::uint64_t memory_bytes = 0;
  std::string spill_directory;
  std::string segment_directory;  // for segments that go to disk
  std::string rack{};             // of the worker
};
/// The recorded value of an action; its bytes are the message's bulk.
struct Value {
  static constexpr std::string_view kName = "action value";
  ActionId action;
};
struct Stop {
  static constexpr std::string_view kName = "stop of a task";
  AttemptId attempt;
};
/// Nobody will read that shuffle any more.
struct Forget {
  static constexpr std::string_view kName = "shuffle to be forgotten";
  ShuffleId shuffle;
};
/// Of files that its tasks read and wrote, since the last of these.
struct ChunkTraffic {
  static constexpr std::string_view kName = "traffic of chunks between racks";
  std::vector<storage::RackBytes> racks;
};
struct Commit {
  static constexpr std::string_view kName = "commit of a segment";
  AttemptId attempt;
  std::uint64_t size = 0;
  std::vector<shuffle::PartitionSize> partitions;
};
/// The next part of what an attempt reads of a shuffle. Each request lets the worker bring one part more; the task makes it when it
/// has visited what came before, so neither has more than a part of a partition. The worker ends a read with its last part, with a
/// lost output, and with the attempt.
struct ReadRequest {
  static constexpr std::string_view kName = "request to read partitions";
  AttemptId attempt;
  std::uint32_t read = 0;  // number of the read, by the executor
  std::uint32_t part = 0;  // parts that came already; 0 begins the read
  ShuffleId shuffle;
  shuffle::PartitionRange partitions;
  shuffle::MapRange maps{};
  std::uint64_t fetch_bytes = 0;             // wanted size of one fetch at most
  std::vector<shuffle::MapAttempt> known{};  // of the next maps: the segments that the executor has mapped
};

rpc::Payload encode_part(shuffle::ReadPart part);
/// corrupt also when the descriptors do not fit the contents.
Result<shuffle::ReadPart> decode_part(rpc::Message message);

}  // namespace weft::runtime::protocol
