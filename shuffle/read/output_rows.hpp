// The map outputs that a read of a partition goes through, and where each is. Private to the reader.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/fd.hpp"
#include "base/ids.hpp"
#include "shuffle/store/known_outputs.hpp"

namespace weft::shuffle {

struct OutputRow {
  MapOutput output;
  bool elsewhere = false;  // not on this host, so it is fetched
  bool sent = false;       // its blocks came with an earlier source, or it has none
  bool missing = false;    // its map has not ended, or runs again
  std::uint32_t moves = 0;
  Fd opened{};  // of another worker of this host; invalid: not opened
};

/// The outputs of these maps that may have something of the partition, ascending by map. In a shuffle that grows (slow start) all
/// maps have a row, and all of them are missing at first.
std::vector<OutputRow> rows_of(const KnownOutputs& known, std::uint32_t partition, MapRange maps);

/// Of a shuffle that grows: takes over what the table says now of the rows that were not sent. Outputs are elsewhere where others
/// of their node are, and with `only_local` wherever their node is another one.
void update_rows(std::span<OutputRow> rows, const KnownOutputs& known, std::uint32_t partition, std::optional<NodeId> only_local);

/// Of a shuffle whose outputs are all there: rows on that node whose output the table has elsewhere now, as when a replica took its
/// place, are there from now on. They may be on this host.
void follow_moved_rows(std::span<OutputRow> rows, const KnownOutputs& known, NodeId gone);

}  // namespace weft::shuffle
