// Where the outputs of one shuffle's maps are, as a table that nodes with readers are sent, and which version each of them has.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/master/core/events.hpp"

namespace weft::master {

/// The finished maps of the stage with their attempts and nodes, ascending.
std::vector<shuffle::MapOutput> finished_outputs(const schedulers::StageInfo& stage);

class LocationTable {
 public:
  /// An output was lost or is elsewhere: what was sent is out of date.
  void change() { ++version_; }
  /// The outputs are given up: nobody has the table any more.
  void clear();
  /// The node is gone.
  void forget(NodeId node) { sent_.erase(node); }

  /// True when the node lacks the newest version; it counts as sent from now on.
  bool send_to(NodeId node);
  /// Nodes that were sent some version.
  const std::map<NodeId, std::uint32_t>& sent() const { return sent_; }
  /// Made again when it is out of date, else shared.
  const OutputTable& outputs(const schedulers::StageInfo& stage);
  /// By output of that table.
  const WrittenTable& written() const { return written_table_; }

  /// What a map that has ended wrote.
  void wrote(std::uint32_t map, shuffle::Written partitions);
  /// Nothing: it is not known.
  const shuffle::Written& written_by(std::uint32_t map) const;

 private:
  std::uint32_t version_ = 1, version_of_table_ = 0;
  OutputTable table_;
  WrittenTable written_table_;
  std::vector<shuffle::Written> written_;  // by map; missing at the end: not known
  std::map<NodeId, std::uint32_t> sent_;
};

}  // namespace weft::master
