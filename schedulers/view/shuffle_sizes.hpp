// How much every map of a shuffle wrote for every reduce, and how much of a reduce's input lies on which node.
//
// A size takes two bytes: 11 significant bits and an exponent, so that it is off by at most 0.05 %. Sums are of the rounded sizes,
// so that subtracting one is exact. A map that wrote the same as the one before shares its bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/ids.hpp"

namespace weft::schedulers {

class ShuffleSizes {
  using Sizes = std::shared_ptr<const std::vector<std::uint16_t>>;  // packed, by partition

 public:
  /// What lies on one node.
  class OnNode {
   public:
    /// Of one partition. O(maps there that wrote something different from the one before).
    std::uint64_t operator[](std::uint32_t partition) const;
    std::vector<std::uint64_t> partitions() const;  // all of them
    std::vector<std::uint64_t> feeders() const;     // by partition, how many maps there wrote something for it
    std::uint64_t total() const { return total_; }

   private:
    friend class ShuffleSizes;
    std::vector<std::pair<Sizes, std::uint32_t>> maps_;  // and how many wrote that
    std::uint64_t total_ = 0;
  };

  ShuffleSizes() = default;
  ShuffleSizes(std::uint32_t maps, std::uint32_t partitions) : maps_(maps), partitions_(partitions) {}

  std::uint32_t maps() const { return maps_; }
  std::uint32_t partitions() const { return partitions_; }
  std::uint32_t finished_maps() const { return finished_; }

  std::uint64_t size(std::uint32_t map, std::uint32_t partition) const;  // 0 while the map has no output
  std::uint64_t partition_bytes(std::uint32_t partition) const;          // of the finished maps so far (SCache's observed sizes)
  std::uint64_t total_bytes() const { return total_; }
  std::optional<NodeId> location(std::uint32_t map) const;
  /// Bytes per partition on each node that holds some: CoGRS weights, SARP's intermediate bytes, SCache's max producer.
  const std::map<NodeId, OnNode>& by_node() const { return by_node_; }
  std::uint64_t node_bytes(NodeId node) const;

  // Kept by the core.
  void add(std::uint32_t map, NodeId node, const std::vector<std::uint64_t>& sizes);
  void remove(std::uint32_t map);
  /// The output of the map lies on that node from now on.
  void move(std::uint32_t map, NodeId node);
  /// The node is gone. The caller removes or moves its outputs next.
  void forget(NodeId node) { by_node_.erase(node); }

 private:
  struct Row {
    std::uint32_t sizes = 0;  // position in written_ plus 1; 0: no output
    NodeId node;
  };
  const Sizes& sizes_of(const Row& row) const { return written_[row.sizes - 1]; }
  /// Adds the row to, or removes it from, the outputs of its node.
  void put(const Row& row, std::uint64_t bytes);
  void take(const Row& row, std::uint64_t bytes);

  std::uint32_t maps_ = 0, partitions_ = 0, finished_ = 0;
  std::uint64_t total_ = 0;
  bool has(std::uint32_t map) const { return map < rows_.size() && rows_[map].sizes != 0; }
  std::vector<Row> rows_;  // by map; none before the first has an output
  std::vector<std::uint64_t> partition_bytes_;
  std::map<NodeId, OnNode> by_node_;
  std::vector<Sizes> written_;         // by maps; of those that wrote the same one after the other, once
  std::vector<std::uint16_t> packed_;  // scratch
};

std::uint16_t pack_size(std::uint64_t bytes);
std::uint64_t unpack_size(std::uint16_t packed);

}  // namespace weft::schedulers
