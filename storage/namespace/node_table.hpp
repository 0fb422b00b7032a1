// The workers with chunk stores, as the namespace knows them. Private to storage/namespace.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

/// A worker that is about to end, and whether its chunks are to come back with it.
enum class Leaving : std::uint8_t { no, for_a_while, for_good };

struct Node {
  NodeId id;
  StorageNode info;
  Space space;
  Time heard{0};
  bool draining = false;
  Leaving leaving = Leaving::no;
  bool reported = false;  // all its chunks at least once
  bool full = false;      // for a chunk of usual size, when last looked at
  std::set<ChunkId> chunks;
  std::set<ChunkId> unreported;  // of a report that is under way
  bool reporting = false;
  std::uint32_t sending = 0, receiving = 0;  // copies
  std::uint32_t verifying = 0;               // chunks it was ordered to read
  std::uint64_t expected = 0;                // bytes of copies and pipelines on their way here
  std::set<ChunkId> erasing;                 // until it reports that they are gone
  std::vector<ChunkId> to_erase;             // of them, not yet commanded

  /// It may be given more, and what it has stays there.
  bool stays() const { return !draining && leaving == Leaving::no; }
  /// What it has stays, or comes back.
  bool counts() const { return !draining && leaving != Leaving::for_good; }

  void expect(std::uint64_t bytes) { expected += bytes; }
  void expect_no_more(std::uint64_t bytes) { expected -= bytes < expected ? bytes : expected; }
  /// Changes its space by one replica of that many bytes, added or removed.
  void stored(std::uint64_t bytes) {
    space.used += bytes;
    space.free -= bytes < space.free ? bytes : space.free;
  }
  void removed(std::uint64_t bytes) {
    space.used -= bytes < space.used ? bytes : space.used;
    space.free += bytes;
  }
  void erase(ChunkId chunk) {
    if (erasing.insert(chunk).second) to_erase.push_back(chunk);
  }
};

class NodeTable {
 public:
  using Nodes = std::map<NodeId, Node>;

  Nodes::iterator begin() { return nodes_.begin(); }
  Nodes::iterator end() { return nodes_.end(); }
  Nodes::const_iterator begin() const { return nodes_.begin(); }
  Nodes::const_iterator end() const { return nodes_.end(); }
  bool empty() const { return nodes_.empty(); }
  std::size_t size() const { return nodes_.size(); }
  Node& at(NodeId id) { return nodes_.at(id); }
  const Node& at(NodeId id) const { return nodes_.at(id); }
  /// Null when it is not there.
  Node* find(NodeId id);
  Node* find(std::string_view name);
  /// not_found: it has to join again.
  Result<Node*> known(NodeId id);

  Node& add(NodeId id, StorageNode info, Space space, Time now);
  void remove(NodeId id) { nodes_.erase(id); }
  /// Those that have reported nothing since then.
  std::vector<NodeId> silent_since(Time then) const;

  /// Whether the worker of this name is drained: nothing new goes there. False when that was so already.
  bool drain(std::string_view name, bool on);
  const std::set<std::string, std::less<>>& draining() const { return draining_; }
  void restore_drain(std::string_view name) { draining_.emplace(name); }
  std::set<std::string> take_changed_drains() { return std::exchange(dirty_drains_, {}); }

 private:
  Nodes nodes_;
  std::set<std::string, std::less<>> draining_;  // names, also of those that are not there
  std::set<std::string> dirty_drains_;
};

}  // namespace weft::storage
