// How many bytes a job's shuffles moved from which worker to which.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tools/history/history.hpp"

namespace weft::history {

struct ShuffleMatrix {
  bool by_rack = false;
  std::vector<std::string> names{};                 // of workers or racks, as they were found: rows and columns
  std::vector<std::vector<std::uint64_t>> bytes{};  // [from][to]; the diagonal stayed where it was
  std::vector<std::uint32_t> left_out{};            // stages whose readers the log does not identify
};

/// Of the tasks that finished. A map output that was lost and made again counts where it was made again. Partitions that were split
/// among several tasks are left out, and jobs beyond kMostOutputCells. Racks stand for workers when there are more than 200 of
/// these, or when `by_rack` is set.
ShuffleMatrix shuffle_matrix(const EventHistory& history, const LoggedJob& job, bool by_rack);

/// {"by":"node","names":[…],"bytes":[[…]],"stages_left_out":[…]}
std::string shuffle_matrix_json(const ShuffleMatrix& matrix);

}  // namespace weft::history
