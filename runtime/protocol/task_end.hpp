// How attempts of tasks end: one vocabulary from the thread that runs the task to the master's core and its event log.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace weft::runtime {

enum class TaskEnd : std::uint8_t {
  finished = 0,
  user_code = 1,      // it threw; counts against the task's attempts
  crashed = 2,        // its executor died under it; counts
  timed_out = 3,      // counts
  fetch_failed = 4,   // a map output is lost; the map runs again, and then the task
  environment = 5,    // disk full, an executor that could not start, ...; counts, and against the node
  plan_mismatch = 6,  // the program defines another job here; the job fails at once
  killed = 7,         // as asked, or because its executor ended for another task's sake
  refused = 8,        // its input is not what the job can read, wherever it is tried; the job fails at once
};
constexpr TaskEnd last_of(TaskEnd) { return TaskEnd::refused; }

namespace detail {

struct TaskEndEntry {
  std::string_view name, words;
  Code code;
};

/// By value of TaskEnd.
inline constexpr std::array<TaskEndEntry, 9> kTaskEnds{{
    {"finished", "it finished", Code::internal},
    {"user_code", "the task failed", Code::user_code},
    {"crashed", "its process crashed", Code::user_code},
    {"timed_out", "it took too long", Code::deadline_exceeded},
    {"fetch_failed", "an input was lost", Code::unavailable},
    {"environment", "the worker could not run it", Code::io},
    {"plan_mismatch", "the program builds another plan", Code::plan_mismatch},
    {"killed", "it was stopped", Code::cancelled},
    {"refused", "its input cannot be read", Code::invalid_argument},
}};
static_assert(kTaskEnds.size() == static_cast<std::size_t>(last_of(TaskEnd{})) + 1);

/// A value without a name counts as user_code.
constexpr const TaskEndEntry& entry_of(TaskEnd end) {
  const auto at = static_cast<std::size_t>(end);
  return kTaskEnds[at < kTaskEnds.size() ? at : static_cast<std::size_t>(TaskEnd::user_code)];
}

}  // namespace detail

/// "user_code", as in event logs.
constexpr std::string_view name_of(TaskEnd end) { return detail::entry_of(end).name; }
/// "its process crashed": the words where there is no message.
constexpr std::string_view words_of(TaskEnd end) { return detail::entry_of(end).words; }
/// The code of the error of a job that failed because a task ended so.
constexpr Code code_of(TaskEnd end) { return detail::entry_of(end).code; }
/// No other attempt would end better.
constexpr bool is_final(TaskEnd end) { return end == TaskEnd::plan_mismatch || end == TaskEnd::refused; }

/// How an attempt ended that threw an error of this code.
constexpr TaskEnd end_of(Code code) {
  switch (code) {
    case Code::cancelled:
      return TaskEnd::killed;
    case Code::plan_mismatch:
      return TaskEnd::plan_mismatch;
    case Code::user_code:
      return TaskEnd::user_code;
    case Code::invalid_argument:
      return TaskEnd::refused;
    default:
      return TaskEnd::environment;
  }
}

}  // namespace weft::runtime
