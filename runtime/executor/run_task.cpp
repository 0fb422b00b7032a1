#include "runtime/executor/run_task.hpp"

#include <ctime>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/timed.hpp"
#include "base/usage.hpp"
#include "base/vector_state.hpp"

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

protocol::Event failure(TaskEnd kind, std::string_view message, const TaskContext& context) {
  protocol::Event event{.kind = kind, .message = printable(message)};  // a user's exception, perhaps with bytes of the record
  if (context.position_path != nullptr)
    event.message += fmt::format(" (reading {} at byte {})", printable(context.position_path), context.position_offset);
  return event;
}

protocol::Event from_error(const Error& error, const TaskContext& context) {
  if (const auto fetch = context.shuffle->fetch_failure())
    return {.kind = TaskEnd::fetch_failed, .message = error.to_string(), .fetch = fetch};
  return failure(end_of(error.code()), error.to_string(), context);
}

protocol::Event guarded_run(const StageBody& body, TaskContext& context) {
  try {
    protocol::Event event;
    event.result = body.run(context);
    // User code may have swallowed weft's own exceptions by a catch (...): what it made of the rest does not count.
    if (context.shuffle->fetch_failure()) return from_error(Error(Code::unavailable, "a map output could not be read"), context);
    context.check_stop();
    context.check_thrown();
    event.output = context.shuffle->take_output();
    return event;
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

/// Adds to the context's usage what the body takes.
protocol::Event measured_run(const StageBody& body, TaskContext& context) {
  const Current current(context);
  static thread_local const ThreadMeter meter;
  const Duration cpu_before = thread_time();
  const ThreadUsage before = meter.read();
  clear_upper_halves();  // whatever ran in this thread before: user code begins here
  const TimePoint began = SystemClock().now();
  TaskUsage& usage = context.usage;
  protocol::Event event = timed(usage.run, [&] { return guarded_run(body, context); });
  const ThreadUsage after = meter.read();
  usage.cpu = thread_time() - cpu_before;
  usage.ready = after.ready - before.ready;
  usage.disk_written = after.disk_written - before.disk_written;
  usage.shuffle_read_bytes = context.shuffle->read_bytes();
  usage.spilled_bytes = context.operators.spilled_bytes;
  usage.spill = context.operators.spill_time;
  if (usage.spilled_bytes > 0) usage.spill_began = context.operators.spill_began - began;
  if (context.operators.memory != nullptr) usage.peak_memory = context.operators.memory->peak();
  return event;
}

}  // namespace

TaskContext* current_task() { return running_task; }

TaskContext context_of(const AttemptId& attempt, const protocol::TaskSpec& spec, TaskResources resources) {
  TaskContext context;
  context.attempt = attempt;
  context.branch = spec.branch;
  context.partition = spec.partition;
  context.output_partitions = spec.output_partitions;
  context.splits = &spec.splits;
  context.inputs = spec.inputs;
  context.variants = spec.variants;
  context.first_attempt = spec.first_attempt;
  context.shuffle = &resources.shuffle;
  context.files = resources.files;
  context.operators.memory = &resources.memory;
  context.operators.pages = &resources.pages;
  context.operators.tables = &resources.tables;
  context.operators.spill_directory = std::move(resources.spill_directory);
  context.operators.stop = &resources.stop;
  return context;
}

protocol::Event run_task(JobProgram& program, std::uint64_t fingerprint, TaskContext& context) {
  if (context.operators.tables != nullptr) context.operators.tables->begin(context.attempt.task.stage, context.first_attempt);
  const auto body = program.stage(context.attempt.task.stage, fingerprint);
  protocol::Event event = body ? measured_run(**body, context)
                               : protocol::Event{.kind = end_of(body.error().code()), .message = body.error().to_string()};
  event.attempt = context.attempt;
  event.counters = std::move(context.counters);
  event.input_bytes = context.input_bytes;
  event.input_records = context.input_records;
  event.shuffle_times = context.shuffle->times();
  event.sample_histogram = std::move(context.sample_histogram);
  event.usage = context.usage;
  return event;
}

}  // namespace weft::runtime
