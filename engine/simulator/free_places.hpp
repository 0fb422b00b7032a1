// Tables whose places are used again.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::simulator {

/// Takes a place that is free, else appends one. Returns its number; what was there before is still there.
template <class Item>
std::uint32_t take_place(std::vector<Item>& items, std::vector<std::uint32_t>& free) {
  if (free.empty()) {
    items.emplace_back();
    return static_cast<std::uint32_t>(items.size() - 1);
  }
  const std::uint32_t place = free.back();
  free.pop_back();
  return place;
}

}  // namespace weft::simulator
