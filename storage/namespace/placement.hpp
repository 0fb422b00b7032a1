// Where replicas go: the writer's node, another rack, that rack again; else spread. Among equals the emptier, then by chance. The
// other rack of chunks that are to be together is their home, unless the writer is there.
// Pure functions of the nodes. Private to storage/namespace.
#pragma once

#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "storage/namespace/node_table.hpp"

namespace weft::storage {

struct PlacementRequest {
  ChunkId chunk;
  std::span<const NodeId> replicas{};       // that it has
  std::string_view together{};              // chunks with the same word have a replica in the same rack; empty: anywhere
  std::string_view writer{};                // host of the writer, or the name of the worker there
  std::size_t count = 1;                    // of nodes that are wanted
  std::span<const NodeId> excluded{};       // not chosen
  const std::set<NodeId>* unfit = nullptr;  // not chosen either; null: none
  std::uint64_t bytes = 0;                  // room that is needed
  std::uint64_t seed = 0;
};

/// Up to `count` more nodes for the chunk, in the order of the pipeline; fewer when no others have room.
std::vector<NodeId> choose_nodes(const NodeTable& nodes, const PlacementRequest& request);
bool has_room(const Node& node, std::uint64_t bytes);
/// All of these lie in one rack, and there is a node in another one that could have a replica.
bool one_rack_only(const NodeTable& nodes, const std::vector<NodeId>& of);

}  // namespace weft::storage
