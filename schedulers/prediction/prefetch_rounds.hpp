// Which shuffle blocks the cluster keeps in memory when not all fit (SCache, section 3.4).
//
// A unit is the input of the reduces of one round from one shuffle, on all nodes together. A round is as fast as its slowest
// reduce, so a unit that is in memory on only some nodes gains nothing: it is resident on all of its nodes, or on none.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

struct PrefetchRound {
  JobOrder job;                                           // of its shuffle's job
  StageId stage;                                          // that writes the shuffle
  std::uint32_t round = 0;                                // of the reduces: earlier ones have the smaller task ids on their node
  bool complete = false;                                  // all maps of the shuffle have ended
  std::uint32_t left = 0;                                 // units of its shuffle that are still to be read, itself included
  std::vector<std::pair<NodeId, std::uint64_t>> bytes{};  // to be held on each node; by node, each once
};

/// Whether each unit is resident, by position. Units of shuffles that are not complete leave first, then the others by `order`, and
/// of one shuffle the latest rounds. All resident units fit the budgets of their nodes (bytes; a node that is not named has no
/// limit).
///
/// A unit waits for the capacity of all units before it on its nodes, resident or not. So no unit loses its place when another is
/// read or shrinks. A unit that alone is larger than a node's budget is never resident, and none waits for it. A pure function; its
/// time is proportional to the pairs of unit and node.
std::vector<bool> resident_rounds(std::span<const PrefetchRound> units, const std::map<NodeId, std::uint64_t>& budgets,
                                  RoundOrder order);

}  // namespace weft::schedulers
