#include "schedulers/prediction/prefetch_rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace weft::schedulers {

namespace {

/// A node's budget, and what those before the unit in question take of it.
struct Room {
  NodeId node;
  std::uint64_t budget = 0;
  std::uint64_t ahead = 0;
};

/// Calls `visit` with the bytes and the room of each of the unit's nodes that has a budget.
template <class Visit>
void for_rooms(const PrefetchRound& unit, std::vector<Room>& rooms, Visit visit) {
  auto room = rooms.begin();
  for (const auto& [node, bytes] : unit.bytes) {
    if (room != rooms.end() && room->node < node)
      room = std::lower_bound(room, rooms.end(), node, [](const Room& one, NodeId id) { return one.node < id; });
    if (room == rooms.end()) return;
    if (room->node == node) visit(bytes, *room);
  }
}

/// Who leaves last comes first.
bool stays_longer(const PrefetchRound& a, const PrefetchRound& b, RoundOrder order) {
  if (a.complete != b.complete) return a.complete;
  if (order == RoundOrder::by_rounds_left && a.left != b.left) return a.left > b.left;
  if (a.job < b.job || b.job < a.job) return a.job < b.job;
  return a.round != b.round ? a.round < b.round : a.stage < b.stage;
}

}  // namespace

std::vector<bool> resident_rounds(std::span<const PrefetchRound> units, const std::map<NodeId, std::uint64_t>& budgets,
                                  RoundOrder order) {
  std::vector<Room> rooms;
  rooms.reserve(budgets.size());
  for (const auto& [node, budget] : budgets) rooms.push_back({node, budget, 0});
  std::vector<std::size_t> line(units.size());
  std::iota(line.begin(), line.end(), std::size_t{0});
  std::stable_sort(line.begin(), line.end(), [&](std::size_t a, std::size_t b) { return stays_longer(units[a], units[b], order); });

  std::vector<bool> resident(units.size());
  for (const std::size_t at : line) {
    bool possible = true, fits = true;
    for_rooms(units[at], rooms, [&](std::uint64_t bytes, const Room& room) {
      possible = possible && bytes <= room.budget;
      fits = fits && room.ahead <= room.budget && bytes <= room.budget - room.ahead;
    });
    resident[at] = fits;
    if (possible) for_rooms(units[at], rooms, [](std::uint64_t bytes, Room& room) { room.ahead += bytes; });
  }
  return resident;
}

}  // namespace weft::schedulers
