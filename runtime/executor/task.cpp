#include <ctime>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/timed.hpp"
#include "base/usage.hpp"
#include "base/vector_state.hpp"
#include "runtime/executor/run_task.hpp"

namespace weft::runtime {

namespace {

thread_local TaskContext* running_task = nullptr;

/// Marks the context as this thread's for as long as the task runs.
class Current {
 public:
  explicit Current(TaskContext& context) { running_task = &context; }
  ~Current() { running_task = nullptr; }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
};

/// Processor time of this thread so far.
Duration thread_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Passes everything on and remembers the sizes of what was committed and read, for the task's report.
class CommitRecorder final : public shuffle::TaskShuffle {
 public:
  explicit CommitRecorder(shuffle::TaskShuffle& inner) : inner_(inner) {}

  Result<std::unique_ptr<shuffle::SegmentWriter>> create_segment(std::uint32_t partitions) override {
    return inner_.create_segment(partitions);
  }
  Result<void> commit(shuffle::SealedSegment segment) override {
    std::vector<shuffle::PartitionSize> sizes = segment.partitions;
    WEFT_TRY(inner_.commit(std::move(segment)));
    output_ = std::move(sizes);
    return {};
  }
  Result<void> read(ShuffleId shuffle, shuffle::PartitionRange partitions, shuffle::MapRange maps,
                    const shuffle::BlockVisitor& visit) override {
    return inner_.read(shuffle, partitions, maps, [&](const shuffle::Block& block) {
      read_bytes_ += block.bytes.size();
      return visit(block);
    });
  }
  std::optional<shuffle::FetchFailure> fetch_failure() const override { return inner_.fetch_failure(); }
  std::vector<shuffle::PartitionSize> take_output() { return std::move(output_); }
  std::uint64_t read_bytes() const { return read_bytes_; }

 private:
  shuffle::TaskShuffle& inner_;
  std::vector<shuffle::PartitionSize> output_;
  std::uint64_t read_bytes_ = 0;
};

TaskOutcome failure(TaskEnd kind, std::string_view message, const TaskContext& context) {
  TaskOutcome outcome;
  outcome.kind = kind;
  outcome.message = printable(message);  // a user's exception, perhaps with bytes of the record
  if (context.position_path != nullptr)
    outcome.message += fmt::format(" (reading {} at byte {})", printable(context.position_path), context.position_offset);
  return outcome;
}

TaskOutcome from_error(const Error& error, const TaskContext& context) {
  if (const auto fetch = context.shuffle != nullptr ? context.shuffle->fetch_failure() : std::nullopt) {
    TaskOutcome outcome;
    outcome.kind = TaskEnd::fetch_failed;
    outcome.message = error.to_string();
    outcome.fetch = fetch;
    return outcome;
  }
  return failure(end_of(error.code()), error.to_string(), context);
}

TaskOutcome guarded_run(const StageBody& body, TaskContext& context) {
  try {
    TaskOutcome outcome;
    outcome.result = body.run(context);
    // User code may have swallowed weft's own exceptions by a catch (...): what it made of the rest does not count.
    if (context.shuffle->fetch_failure()) return from_error(Error(Code::unavailable, "a map output could not be read"), context);
    if (context.operators.stop->load(std::memory_order_relaxed)) throw TaskCancelled{};
    return outcome;
  } catch (const TaskCancelled&) {
    return failure(TaskEnd::killed, "stopped on request", context);
  } catch (const TaskError& fault) {
    return from_error(fault.error, context);
  } catch (const std::bad_alloc&) {
    return failure(TaskEnd::user_code,
                   "out of memory: the process may hold no more; allocate less in user functions or give --memory", context);
  } catch (const std::exception& exception) {
    return failure(TaskEnd::user_code, fmt::format("exception: {}", exception.what()), context);
  } catch (...) {
    return failure(TaskEnd::user_code, "an exception that is no std::exception", context);
  }
}

}  // namespace

shuffle::MapRange TaskContext::maps_of(ShuffleId id) const {
  const shuffle::InputSlice* slice = slice_of(id);
  return slice == nullptr ? shuffle::MapRange() : slice->maps;
}

std::uint32_t TaskContext::partitions_of(ShuffleId id) const {
  const shuffle::InputSlice* slice = slice_of(id);
  return slice == nullptr ? 1 : slice->partitions;
}

std::uint64_t TaskContext::input_bytes_of(ShuffleId id) const {
  const shuffle::InputSlice* slice = slice_of(id);
  return slice == nullptr ? 0 : slice->bytes;
}

const shuffle::InputSlice* TaskContext::slice_of(ShuffleId id) const {
  for (const shuffle::InputSlice& slice : inputs) {
    if (slice.shuffle == id) return &slice;
  }
  return nullptr;
}

TaskContext* current_task() { return running_task; }

TaskOutcome run_task(const StageBody& body, TaskContext& context) {
  shuffle::TaskShuffle* const given = context.shuffle;
  CommitRecorder recorder(*given);
  context.shuffle = &recorder;
  TaskOutcome outcome;
  {
    const Current current(context);
    static thread_local const ThreadMeter meter;
    const Duration cpu_before = thread_time();
    const ThreadUsage before = meter.read();
    clear_upper_halves();  // whatever ran in this thread before: user code begins here
    const TimePoint began = SystemClock().now();
    outcome = timed(context.usage.run, [&] { return guarded_run(body, context); });
    const ThreadUsage after = meter.read();
    context.usage.cpu = thread_time() - cpu_before;
    context.usage.ready = after.ready - before.ready;
    context.usage.disk_written = after.disk_written - before.disk_written;
    context.usage.shuffle_read_bytes = recorder.read_bytes();
    context.usage.spilled_bytes = context.operators.spilled_bytes;
    context.usage.spill = context.operators.spill_time;
    if (context.usage.spilled_bytes > 0) context.usage.spill_began = context.operators.spill_began - began;
    if (context.operators.memory != nullptr) context.usage.peak_memory = context.operators.memory->peak();
  }
  context.shuffle = given;
  if (outcome.kind == TaskEnd::finished) outcome.output = recorder.take_output();
  return outcome;
}

TaskOutcome run_task(JobProgram& program, std::uint64_t fingerprint, TaskContext& context) {
  const auto body = program.stage(context.attempt.task.stage, fingerprint);
  if (body) return run_task(**body, context);
  TaskOutcome outcome;
  outcome.kind = end_of(body.error().code());
  outcome.message = body.error().to_string();
  return outcome;
}

}  // namespace weft::runtime
