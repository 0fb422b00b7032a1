#include "engine/simulator/placement.hpp"

#include <algorithm>

namespace weft::simulator {

Placement::Placement(const Machines& machines, const StorageModel& storage, Random random)
    : machines_(&machines), storage_(storage), random_(random) {
  home_ = machines[anywhere()].rack;
}

std::vector<std::uint32_t> Placement::block() {
  std::uint32_t first = anywhere();
  if (storage_.concentration > 0 && random_.chance(storage_.concentration)) {
    const auto& home = machines_->racks()[home_];
    first = home[random_.below(home.size())];
  }
  std::vector<std::uint32_t> replicas{first};
  spread(replicas, storage_.replicas);
  return replicas;
}

std::vector<std::uint32_t> Placement::replicas(std::uint32_t writer, std::uint32_t count) {
  std::vector<std::uint32_t> replicas{writer};
  spread(replicas, count + 1);
  replicas.erase(replicas.begin());
  return replicas;
}

/// Draws machines until one obeys the rule. After 20 tries (there are too few racks or machines) any other machine will do.
void Placement::spread(std::vector<std::uint32_t>& replicas, std::uint32_t count) {
  count = std::min(count, machines_->count());
  while (replicas.size() < count) {
    std::uint32_t chosen = 0;
    for (int tries = 0;; ++tries) {
      const bool strict = tries < 20;
      if (replicas.size() == 2 && strict) {
        const auto& rack = machines_->racks()[(*machines_)[replicas[1]].rack];
        chosen = rack[random_.below(rack.size())];
      } else {
        chosen = anywhere();
      }
      if (std::find(replicas.begin(), replicas.end(), chosen) != replicas.end()) continue;
      if (replicas.size() == 1 && strict && (*machines_)[chosen].rack == (*machines_)[replicas[0]].rack) continue;
      break;
    }
    replicas.push_back(chosen);
  }
}

}  // namespace weft::simulator
