// Leaves a note when user code kills the process: on a fatal signal, where each running task was in its input and which one did it.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/executor/task.hpp"
#include "runtime/protocol/position_page.hpp"

namespace weft::runtime {

/// Once per process, before the first task. The page must outlive the process's tasks.
void install_crash_notes(protocol::PositionPage& page);

/// Marks this thread as running an attempt in `slot`, for its own lifetime.
class CrashNote {
 public:
  CrashNote(std::uint32_t slot, const TaskContext& context);
  ~CrashNote();
  CrashNote(const CrashNote&) = delete;
  CrashNote& operator=(const CrashNote&) = delete;

 private:
  std::uint32_t slot_;
};

/// Notes where all running tasks are, for a worker that is about to end this process.
void note_positions() noexcept;

}  // namespace weft::runtime
