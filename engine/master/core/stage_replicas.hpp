// The replicas of one stage's map outputs: where each is, or is being made. An account only: OutputReplicas decides.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/ids.hpp"

namespace weft::master {

class StageReplicas {
 public:
  struct Replica {
    NodeId node;
    bool made = false;  // else it is being made
  };

  /// Null when the output of that map has none.
  const Replica* of(std::uint32_t map) const;
  std::vector<std::uint32_t> on(NodeId node) const;  // maps, ascending
  bool empty() const { return replicas_.empty(); }
  std::uint32_t made_count() const { return made_; }
  const std::map<std::uint32_t, Replica>& all() const { return replicas_; }

  /// The output must have no replica.
  void begin(std::uint32_t map, NodeId node);
  /// It must be being made.
  void made(std::uint32_t map);
  void erase(std::uint32_t map);

  /// No replica of this output goes to that node: it had the output, or could not replicate it.
  void bar(std::uint32_t map, NodeId node) { barred_[map].insert(node); }
  bool barred(std::uint32_t map, NodeId node) const;
  void unbar(std::uint32_t map) { barred_.erase(map); }

  std::map<std::uint32_t, std::uint32_t> failures{};  // to replicate an output, since it was written or moved
  std::set<std::uint32_t> waiting{};                  // outputs that no node could take a replica of
  std::set<NodeId> holders{};                         // live nodes that were given replicas, or whose outputs are elsewhere or lost
  std::uint32_t abandoned = 0;                        // outputs that stay in one copy: replicating them failed repeatedly
  std::uint32_t used = 0;                             // replicas that took the place of a lost output

 private:
  std::map<std::uint32_t, Replica> replicas_;
  std::map<NodeId, std::set<std::uint32_t>> by_node_;
  std::map<std::uint32_t, std::set<NodeId>> barred_;
  std::uint32_t made_ = 0;
};

}  // namespace weft::master
