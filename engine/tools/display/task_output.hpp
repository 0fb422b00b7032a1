// What one task wrote to the log of its job on a worker.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

struct StageTask {
  std::uint32_t stage = 0, task = 0;
};

/// "3.17": stage 3, task 17. invalid_argument for anything else.
Result<StageTask> parse_task_name(std::string_view text);

/// The parts of `log` that were written while attempts of the task ran (runtime/protocol/output_mark.hpp), as far as they are in
/// it, without the marks. Other tasks that ran at the same time may have written some of it.
std::string output_of(std::string_view log, StageTask task);

/// Keeps of each worker's log what the task wrote. Workers without any are removed, except those whose log could not be read.
void keep_output_of(StageTask task, std::vector<client::JobLog>& logs);

}  // namespace weft::tools
