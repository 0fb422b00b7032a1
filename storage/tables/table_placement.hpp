// On which worker one more replica of a partition goes. Private to storage/tables.
#pragma once

#include <string>
#include <vector>

namespace weft::storage::tables {

struct TableWorker {
  std::string name, rack, host;
  std::size_t load = 0;  // how much it has to do already
};

/// Of the usable, one in the rack with fewest replicas; of these one on a machine without one; of these the one with least load; of
/// equals the first. `taken` have a replica. Empty when nobody is usable.
std::string choose_worker(const std::vector<TableWorker>& usable, const std::vector<TableWorker>& taken);

}  // namespace weft::storage::tables
