#include "shuffle/store/known_outputs.hpp"

#include <algorithm>
#include <utility>

namespace weft::shuffle {

std::vector<MapOutput> KnownOutputs::with(std::uint32_t partition, MapRange range) const {
  const std::span<const MapOutput> wanted = in_range(outputs, range);
  const auto first = static_cast<std::uint32_t>(wanted.data() - outputs.data());
  const auto end = static_cast<std::uint32_t>(first + wanted.size());
  std::vector<MapOutput> found;
  if (index) {
    for (const std::uint32_t position : index->outputs_with(partition, first, end)) found.push_back(outputs[position]);
    return found;
  }
  for (std::uint32_t position = first; position < end; ++position)
    if (may_have(position, partition)) found.push_back(outputs[position]);
  return found;
}

void KnownOutputs::put(const MapOutput& output, Written wrote) {
  const auto before = [](const MapOutput& other, std::uint32_t map) { return other.map < map; };
  const auto at = std::lower_bound(outputs.begin(), outputs.end(), output.map, before);
  const auto position = at - outputs.begin();
  written.resize(outputs.size());
  if (at != outputs.end() && at->map == output.map) {
    *at = output;
    written[static_cast<std::size_t>(position)] = std::move(wrote);
  } else {
    outputs.insert(at, output);
    written.insert(written.begin() + position, std::move(wrote));
  }
}

void KnownOutputs::forget(NodeId node) {
  written.resize(outputs.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].node == node) continue;
    outputs[kept] = outputs[i];
    std::swap(written[kept++], written[i]);
  }
  outputs.resize(kept);
  written.resize(kept);
}

}  // namespace weft::shuffle
