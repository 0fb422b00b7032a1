// What a job's shuffles moved: from the workers whose maps wrote it to those whose tasks read it.
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
  std::vector<std::uint32_t> left_out{};            // stages of which the log does not tell which task read what
};

/// Of the tasks that finished; what both ran and was lost counts as of the map that ran again. Partitions that were split among
/// several tasks are left out, and jobs beyond kMostOutputCells. Racks stand for workers when there are more than 200 of
/// these, or when that is wanted.
ShuffleMatrix shuffle_matrix(const History& history, const Job& job, bool by_rack);

/// {"by":"node","names":[…],"bytes":[[…]],"stages_left_out":[…]}
std::string shuffle_matrix_json(const ShuffleMatrix& matrix);

}  // namespace weft::history
