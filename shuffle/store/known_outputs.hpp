// The table of the outputs of a shuffle's maps: which there are, on which nodes, and for which partitions they have something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/lean/algorithm.hpp"
#include "shuffle/store/written.hpp"

namespace weft::shuffle {

/// Where the output of one map task is.
struct MapOutput {
  std::uint32_t map = 0;
  std::uint32_t attempt = 0;
  NodeId node;
};

/// Adjacent maps of a shuffle; by default all.
struct MapRange {
  std::uint32_t first = 0;
  std::uint32_t end = UINT32_MAX;
  friend bool operator==(const MapRange&, const MapRange&) = default;
};

/// Those of `outputs`, which ascend by map, whose maps lie in `range`.
inline std::span<const MapOutput> in_range(std::span<const MapOutput> outputs, MapRange range) {
  const auto before = [](const MapOutput& output, std::uint32_t map) { return output.map < map; };
  const auto first = std::lower_bound(outputs.begin(), outputs.end(), range.first, before);
  return {first, std::lower_bound(first, outputs.end(), range.end, before)};
}

/// The outputs of a shuffle that are there, ascending by map.
struct KnownOutputs {
  std::vector<MapOutput> outputs;
  std::uint32_t maps = 0;                       // slow start: the number of outputs when all are there; 0: these are all
  std::vector<Written> written{};               // by output; of outputs past its end it is not known
  std::shared_ptr<const WrittenIndex> index{};  // of `written`; made by make_index() where these are all

  /// The output of that map; null when it is not there.
  const MapOutput* find(std::uint32_t map) const {
    const auto found = in_range(outputs, {map, map + 1});
    return found.empty() ? nullptr : &found.front();
  }
  /// Whether the output at that position may have something of the partition.
  bool may_have(std::size_t position, std::uint32_t partition) const {
    return position >= written.size() || shuffle::may_have(written[position], partition);
  }
  /// The outputs of these maps that may have something of the partition, ascending.
  std::vector<MapOutput> with(std::uint32_t partition, MapRange range) const;
  /// Adds the output; it replaces an earlier one of its map.
  void put(const MapOutput& output, Written wrote = {});
  /// Removes the outputs on a node that is gone.
  void forget(NodeId node);
  /// To be called when all outputs are there and nothing changes any more. From then on with() does not look at empty outputs.
  void make_index() { index = std::make_shared<const WrittenIndex>(written); }
};

}  // namespace weft::shuffle
