#include "storage/tables/table_placement.hpp"

#include <algorithm>
#include <tuple>

namespace weft::storage::tables {

std::string choose_worker(const std::vector<TableWorker>& usable, const std::vector<TableWorker>& taken) {
  const auto score = [&](const TableWorker& worker) {
    std::size_t in_rack = 0, on_host = 0;
    for (const TableWorker& other : taken) {
      in_rack += other.rack == worker.rack;
      on_host += other.host == worker.host;
    }
    return std::tuple(in_rack, on_host, worker.load);
  };
  const auto best = std::min_element(usable.begin(), usable.end(),
                                     [&](const TableWorker& a, const TableWorker& b) { return score(a) < score(b); });
  return best == usable.end() ? std::string() : best->name;
}

}  // namespace weft::storage::tables
