// What a task's code sees. The typed API (engine/api) builds StageBody objects; the executor and the embedded engine run them
// (runtime/executor/run_task.hpp). Programs of jobs read this header.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "runtime/operators/fault.hpp"
#include "runtime/operators/memory.hpp"
#include "runtime/protocol/task_usage.hpp"
#include "storage/access/remote.hpp"
#include "storage/split.hpp"

namespace weft::shuffle {
class TaskShuffle;
struct InputSlice;
struct MapRange;
}  // namespace weft::shuffle

namespace weft::runtime {

using Counters = std::map<std::string, std::int64_t>;

/// One running attempt. Owned by the task runner, used by one thread (the flags are read by it and set by others).
struct TaskContext {
  AttemptId attempt;
  std::uint32_t branch = 0;
  std::uint32_t partition = 0;
  std::uint32_t output_partitions = 0;
  std::uint32_t first_attempt = 0;  // what attempts with smaller numbers left in the process is of no use
  const storage::SplitGroup* splits = nullptr;

  std::vector<shuffle::InputSlice> inputs;  // shuffles read from `partition` on, and those that are read whole
  std::span<const std::string> variants;    // attributes of the node: operators run the functions that they have for these
  shuffle::TaskShuffle* shuffle = nullptr;
  storage::RemoteFiles* files = nullptr;  // of the cluster
  OperatorContext operators;              // memory, spill space, stop flag

  /// Not 0: only a sample of the records is wanted. Sources read about this much, in windows, and set sampled_share.
  std::uint64_t sample_bytes = 0;
  double sampled_share = 0;  // of the input that was read; 0: all

  /// By output partition, how many records of a sample of all that the stage reads go there; empty: not known. For predictions.
  std::vector<std::uint32_t> sample_histogram;

  Counters counters;
  std::uint64_t input_bytes = 0;
  std::uint64_t input_records = 0;
  TaskUsage usage;  // sources add to `read`, sinks to `write` and `output_bytes`; the rest is set when the attempt has ended

  /// Where the source is now, for error messages: "part-3.txt at byte 1048576". Set cheaply by sources; read on failure,
  /// possibly from a signal handler (plain pointers and numbers only).
  const char* position_path = nullptr;
  std::uint64_t position_offset = 0;
  storage::SplitGroup reading;  // what position_path points into
  /// The position of the record that was reported as bad last: however often it is reported, it counts once.
  const char* bad_path = nullptr;
  std::uint64_t bad_offset = 0;

  /// What operators threw through a frame of user code, where it may have been caught. Null: nothing. While there is something,
  /// records are missing, and the attempt must not succeed.
  std::exception_ptr thrown;
  /// In a handler, on the way into a frame of user code: keeps the exception, if none was kept before, and throws it again.
  [[noreturn, gnu::cold]] void throw_on();
  /// Behind a frame of user code: throws what was kept.
  void check_thrown() const {
    if (thrown) [[unlikely]]
      throw_kept();
  }

  /// The maps whose outputs this task reads.
  shuffle::MapRange maps_of(ShuffleId id) const;
  /// How many adjacent partitions of it this task reads, from its own on.
  std::uint32_t partitions_of(ShuffleId id) const;
  /// Whether the shuffle is among what the master says of `inputs`.
  bool reads(ShuffleId id) const { return slice_of(id) != nullptr; }
  /// About how much it will read; 0 when not known.
  std::uint64_t input_bytes_of(ShuffleId id) const;

  void check_stop() const {
    if (operators.stop->load(std::memory_order_relaxed)) throw TaskCancelled{};
  }

 private:
  [[noreturn, gnu::cold]] void throw_kept() const;
  const shuffle::InputSlice* slice_of(ShuffleId id) const;
};

/// The context of the task this thread runs, for user counters and samplers; null outside tasks.
TaskContext* current_task();

/// The code of one stage. Immutable once defined; run() is called from many threads at once.
class StageBody {
 public:
  virtual ~StageBody() = default;
  /// Runs one task: writes its segment through context.shuffle, or returns the result bytes (stages with OutputKind::result).
  /// May throw anything.
  virtual Buffer run(TaskContext& context) const = 0;
};

}  // namespace weft::runtime
