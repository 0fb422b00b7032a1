#include "base/ids.hpp"

#include <fmt/core.h>

namespace weft {

std::string to_string(const TaskId& id) {
  return fmt::format("job {} stage {} task {}", id.job.value(), id.stage.value(), id.index);
}

std::string to_string(const AttemptId& id) { return fmt::format("{} attempt {}", to_string(id.task), id.attempt); }

}  // namespace weft
