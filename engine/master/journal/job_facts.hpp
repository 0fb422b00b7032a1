// What the journal has of a running job beside its status: what was decided and what ended, each once. A restarted master makes the
// job from them (journaled_job.hpp) and decides nothing again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "engine/master/core/core.hpp"
#include "engine/master/core/restored.hpp"
#include "runtime/protocol/task_usage.hpp"

namespace weft::master {

// The fields of journal.capnp, in its order (base/rpc/versioned.hpp). `masters`: that the journal had had when it was recorded
// (JournalRecord::masters); the recorder fills it in.

struct SubmissionFact {
  std::string submit;  // client::encode(Submit)
  Time at{0};
  double slow_start = 1;
  std::uint32_t masters = 0;
  std::uint32_t slots = 0;      // of the cluster, as its driver heard
  std::uint64_t key = 0;        // with which a driver attaches
  bool detached = false;        // its driver runs in the cluster
  std::uint64_t block_key = 0;  // with which workers ask each other for its map outputs
};
struct PartFact {
  std::string part;  // plan::encode()
};
struct ValueFact {
  ActionId action;
  std::string value;
};
/// How the partitions of a stage became tasks.
struct ShapeFact {
  struct Split {
    std::uint32_t task = 0, of = 0, input = 0, first_map = 0, end_map = 0;
  };
  StageId stage;
  std::vector<std::uint32_t> bounds;
  std::vector<Split> splits;
  std::uint32_t first = 0;  // attempt at its tasks that counts
};
struct LaunchFact {
  StageId stage;
  std::uint32_t task = 0, attempt = 0;
  NodeId node;
  Time at{0};
  std::uint32_t masters = 0;
  std::uint32_t next = 0;  // attempt at the task
};
/// The attempt failed, and counts.
struct FailureFact {
  StageId stage;
  std::uint32_t task = 0, attempt = 0;
  std::uint32_t count = 0;  // so far
  std::uint32_t masters = 0;
  std::uint32_t next = 0;  // attempt at the task
};
struct FinishFact {
  StageId stage;
  std::uint32_t task = 0, attempt = 0;
  NodeId node;
  Time launched{0}, ended{0};
  std::string output;  // records and bytes of its partitions, as varints
  std::string result;
  Counters counters;
  std::uint64_t input_bytes = 0, input_records = 0;
  Time shuffle_read{0}, shuffle_write{0};
  std::vector<std::uint32_t> sample_histogram;
  runtime::TaskUsage usage;
  std::uint32_t masters = 0;
  std::uint32_t next = 0;  // attempt at the task
};
/// Of a driver that runs in the cluster (DriverState, engine/master/server/drivers.hpp).
struct DriverFact {
  NodeId node;
  std::uint32_t deaths = 0;  // as many as `died` has, for earlier releases
  std::uint64_t key = 0;
  bool wanted = false, running = false;
  std::vector<std::string> files;
  bool needs_files = false;
  bool detached = false;
  std::vector<Time> died{};
};

using JobFact = std::variant<SubmissionFact, PartFact, ValueFact, ShapeFact, LaunchFact, FailureFact, FinishFact, DriverFact>;

/// A node that joined, as its successor restores it.
struct NodeFact {
  NodeId node;
  std::string name, host, rack, data_address;
  std::string capacity;  // as parse_resources() takes it
  std::map<std::string, std::string> attributes;
  std::uint64_t prefetch_bytes = 0;
  double uplink_up = 0, uplink_down = 0, processors = 0;
  Time at{0};
  std::uint64_t process = 0;  // of its worker (Register::process)
};

/// Fills in how many masters there were by then.
void date(JobFact& fact, std::uint32_t masters);
FinishFact fact_of(const TaskFinished& event, Time launched, Time ended);
/// Code::corrupt when the fact's output is none.
Result<RestoredEnd> end_of(JobId job, FinishFact fact);
ShapeFact fact_of(const StageShape& shape);
StageShape shape_of(const ShapeFact& fact);
NodeFact fact_of(const WorkerJoined& joined, Time at, std::uint64_t process);
Result<RestoredNode> node_of(NodeFact fact);

}  // namespace weft::master
