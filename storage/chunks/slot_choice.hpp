// The data directory for a new chunk. Private to storage/chunks.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace weft::storage {

/// The directory with most room, of those with room for `bytes` (and some at all) that are not in `except`; the first among
/// equals. Nothing when there is none. `rooms` is by the directories' numbers.
inline std::optional<std::uint32_t> roomiest_slot(const std::vector<std::uint64_t>& rooms, std::uint64_t bytes,
                                                  const std::set<std::uint32_t>& except) {
  std::optional<std::uint32_t> best;
  for (std::uint32_t i = 0; i < rooms.size(); ++i)
    if (!except.contains(i) && rooms[i] >= bytes && rooms[i] > (best ? rooms[*best] : 0)) best = i;
  return best;
}

}  // namespace weft::storage
