// The worker for one more replica of a partition. Private to storage/tables.
#pragma once

#include <string>
#include <vector>

namespace weft::storage::tables {

struct TableWorker {
  std::string name, rack, host;
  std::size_t load = 0;  // how much it has to do already
};

/// Chooses among the usable workers: first by the fewest replicas in the rack, then a machine without one, then the least load,
/// then the first. `taken` have a replica. Empty when none is usable.
std::string choose_worker(const std::vector<TableWorker>& usable, const std::vector<TableWorker>& taken);

}  // namespace weft::storage::tables
