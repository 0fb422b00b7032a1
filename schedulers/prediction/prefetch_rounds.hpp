// Which shuffle blocks the cluster keeps in memory when not all fit (SCache, section 3.4).
//
// A unit is what the reduces of one round read of one shuffle, on all nodes together. A round is as fast as its slowest reduce, so
// a unit that is in memory on some nodes only gains nothing: it is resident on all of its nodes, or on none.
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

/// By position: whether the unit is resident. What leaves first are units of shuffles that are not complete, then those `order`
/// says, of them the latest rounds; all that remain fit into the budgets of their nodes (bytes; a node that is not named has no
/// limit).
///
/// A unit waits behind those before it on its nodes, whether they got in or not, so nothing moves to and fro: when a unit is read
/// or shrinks, none loses its place. A unit that is larger than a node's budget alone is never resident, and nothing waits behind
/// it. Pure; takes time in proportion to the pairs of unit and node.
std::vector<bool> resident_rounds(std::span<const PrefetchRound> units, const std::map<NodeId, std::uint64_t>& budgets,
                                  RoundOrder order);

}  // namespace weft::schedulers
