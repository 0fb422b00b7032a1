// The second copies of one stage's map outputs: where each is, or is being made.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/ids.hpp"

namespace weft::master {

class StageReplicas {
 public:
  struct Copy {
    NodeId node;
    bool there = false;  // else it is being made
  };

  /// Null when the output of that map has none.
  const Copy* of(std::uint32_t map) const;
  std::vector<std::uint32_t> on(NodeId node) const;  // maps, ascending
  bool empty() const { return copies_.empty(); }
  std::uint32_t there() const { return there_; }
  const std::map<std::uint32_t, Copy>& all() const { return copies_; }

  /// The output must have no copy.
  void begin(std::uint32_t map, NodeId node);
  /// It must be being made.
  void made(std::uint32_t map);
  void erase(std::uint32_t map);

  /// No copy of this output goes to that node: it had the output, or could not copy it.
  void bar(std::uint32_t map, NodeId node) { barred_[map].insert(node); }
  bool barred(std::uint32_t map, NodeId node) const;
  void unbar(std::uint32_t map) { barred_.erase(map); }

  std::map<std::uint32_t, std::uint32_t> failures{};  // to copy an output, since it was written or moved
  std::set<std::uint32_t> waiting{};                  // outputs that no node could take a copy of
  std::set<NodeId> holders{};                         // live nodes that were given copies, or whose outputs are elsewhere or lost
  std::uint32_t left = 0;                             // outputs that were given up on: copying failed again and again
  std::uint32_t used = 0;                             // copies that took the place of a lost output

 private:
  std::map<std::uint32_t, Copy> copies_;
  std::map<NodeId, std::set<std::uint32_t>> by_node_;
  std::map<std::uint32_t, std::set<NodeId>> barred_;
  std::uint32_t there_ = 0;
};

}  // namespace weft::master
