#include "shuffle/read/output_rows.hpp"

#include <algorithm>
#include <set>

namespace weft::shuffle {
namespace {

/// Calls each(row, output) for every row with the output of its map; null: the table has none.
template <class Each>
void with_outputs(std::span<OutputRow> rows, const KnownOutputs& known, Each each) {
  auto now = known.outputs.begin();
  for (OutputRow& row : rows) {
    while (now != known.outputs.end() && now->map < row.output.map) ++now;
    const bool found = now != known.outputs.end() && now->map == row.output.map;
    each(row, found ? &*now : nullptr);
  }
}

}  // namespace

std::vector<OutputRow> rows_of(const KnownOutputs& known, std::uint32_t partition, MapRange maps) {
  std::vector<OutputRow> rows;
  for (std::uint32_t map = maps.first; map < std::min(known.maps, maps.end); ++map)
    rows.push_back({.output = {map, 0, NodeId()}, .missing = true});
  if (known.maps == 0)
    for (const MapOutput& output : known.with(partition, maps)) rows.push_back({.output = output});
  return rows;
}

void update_rows(std::span<OutputRow> rows, const KnownOutputs& known, std::uint32_t partition, std::optional<NodeId> only_local) {
  std::set<NodeId> elsewhere;
  for (const OutputRow& row : rows)
    if (row.elsewhere) elsewhere.insert(row.output.node);
  with_outputs(rows, known, [&](OutputRow& row, const MapOutput* now) {
    if (row.sent) return;
    const bool missing = now == nullptr;
    const bool same = !missing && !row.missing && now->node == row.output.node && now->attempt == row.output.attempt;
    if (same || (missing && row.missing)) return;
    row.opened.reset();
    row.missing = missing;
    if (missing) return;
    row.output = *now;
    row.elsewhere = elsewhere.contains(now->node) || (only_local && now->node != *only_local);
    row.sent = !known.may_have(static_cast<std::size_t>(now - known.outputs.data()), partition);  // nothing comes of it
  });
}

void follow_moved_rows(std::span<OutputRow> rows, const KnownOutputs& known, NodeId gone) {
  with_outputs(rows, known, [&](OutputRow& row, const MapOutput* now) {
    const bool same = now != nullptr && now->attempt == row.output.attempt;
    if (!same || row.sent || row.output.node != gone || now->node == gone) return;
    row.output.node = now->node;
    row.elsewhere = false;
  });
}

}  // namespace weft::shuffle
