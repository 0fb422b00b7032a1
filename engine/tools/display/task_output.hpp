// What one task wrote to the log of its job on a worker.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft::tools {

struct TaskName {
  std::uint32_t stage = 0, task = 0;
};

/// "3.17": stage 3, task 17. invalid_argument for anything else.
Result<TaskName> parse_task_name(std::string_view text);

/// The parts of `log` that were written while attempts of the task ran (runtime/protocol/output_mark.hpp), as far as they are in
/// it, without the marks. Other tasks that ran at the same time may have written some of it.
std::string output_of(std::string_view log, TaskName task);

}  // namespace weft::tools
