// What a reader waits for: outputs that move, and maps that have not ended.
#include <algorithm>
#include <chrono>
#include <utility>

#include "shuffle/read/partition_reader.hpp"

namespace weft::shuffle {
namespace {

constexpr std::uint32_t kMostMoves = 3;  // of an output while it is read
/// A worker that died is said to be gone, and where its outputs are, as soon as its connection to the master has ended.
constexpr auto kMoveDeadline = std::chrono::seconds(5);
/// A task that waits for maps is answered so often, well before it would give the worker up.
constexpr auto kLongestStall = std::chrono::seconds(30);

}  // namespace

void PartitionReader::follow(std::string why) {
  const MapOutput gone = rows_[at_].output;
  if (++rows_[at_].moves > kMostMoves) return lost(gone, std::move(why));
  if (has_moved()) return reply();  // the next part reads it there
  if (sources_.nodes.lost.contains(gone.node)) return lost(gone, std::move(why));
  auto late = later([](PartitionReader& self) {
    if (auto waited = std::exchange(self.waiting_, std::nullopt)) self.lost(self.rows_[self.at_].output, std::move(waited->why));
  });
  waiting_.emplace(Waiting{std::move(why), sources_.reactor.after(kMoveDeadline, std::move(late))});
}

void PartitionReader::wait_for_map() {
  if (rows_in_part_ > 0 || !part_.sources.empty()) return reply();
  if (at_ >= ahead_end_) ahead_bytes_ = 0;
  if (!fetched_ && ahead_bytes_ < wanted_.fetch_bytes) {
    for (std::size_t i = at_; i < window_end(); ++i) {
      const Row& row = rows_[i];
      const bool there = row.elsewhere && !row.sent && !row.missing && !prefetched_.contains(attempt_of(row.output));
      if (!there || !sources_.nodes.nodes.contains(row.output.node)) continue;
      fetched_ = ahead_ = true;
      return fetch_from(i);
    }
  }
  auto answer = later([](PartitionReader& self) { self.interrupt(); });
  stalled_.emplace(Stalled{SystemClock().now(), sources_.reactor.after(kLongestStall, std::move(answer))});
}

void PartitionReader::interrupt() {
  if (!stalled_) return;
  part_.waited = waited();
  stalled_.reset();
  reply();
}

Duration PartitionReader::waited() const { return stalled_ ? SystemClock().now() - stalled_->since : Duration(0); }

void PartitionReader::look_again() {
  const auto table = sources_.tables.find(wanted_.shuffle);
  if (table == sources_.tables.end() || table->second.maps == 0) return;
  const std::vector<MapOutput>& outputs = table->second.outputs;
  auto now = outputs.begin();
  std::set<NodeId> elsewhere;
  for (std::size_t i = at_; i < rows_.size(); ++i)
    if (rows_[i].elsewhere) elsewhere.insert(rows_[i].output.node);
  for (std::size_t i = at_; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    while (now != outputs.end() && now->map < row.output.map) ++now;
    if (row.sent) continue;
    const bool missing = now == outputs.end() || now->map != row.output.map;
    const bool same = !missing && !row.missing && now->node == row.output.node && now->attempt == row.output.attempt;
    if (same || (missing && row.missing)) continue;
    opened_.erase(i);
    row.missing = missing;
    if (missing) continue;
    row.output = *now;
    row.elsewhere = elsewhere.contains(now->node) || (small_blocks_ && now->node != sources_.nodes.self);
    row.sent = !table->second.may_have(static_cast<std::size_t>(now - outputs.begin()), *partition_);  // nothing comes of it
  }
}

/// Of the first row and those of its node that have moved like it, the table says where they are now. In a shuffle that grows, its
/// map may also run again.
bool PartitionReader::has_moved() {
  const auto table = sources_.tables.find(wanted_.shuffle);
  if (table == sources_.tables.end()) return false;
  const MapOutput was = rows_[at_].output;
  const NodeId gone = was.node;
  if (table->second.maps > 0) {
    look_again();
    const Row& row = rows_[at_];
    return row.missing || row.output.node != gone || row.output.attempt != was.attempt;
  }
  const std::vector<MapOutput>& outputs = table->second.outputs;
  auto now = outputs.begin();
  for (std::size_t i = at_; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    while (now != outputs.end() && now->map < row.output.map) ++now;
    const bool found = now != outputs.end() && attempt_of(*now) == attempt_of(row.output);
    if (!found || row.sent || row.output.node != gone || now->node == gone) continue;
    row.output.node = now->node;
    row.elsewhere = false;
  }
  return rows_[at_].output.node != gone;
}

void PartitionReader::locations_changed() {
  if (stalled_) {
    look_again();
    const bool more = std::any_of(rows_.begin() + static_cast<std::ptrdiff_t>(at_), rows_.end(),
                                  [](const Row& row) { return row.elsewhere && !row.sent && !row.missing; });
    if (!rows_[at_].missing || (more && ahead_bytes_ < wanted_.fetch_bytes)) interrupt();
    return;
  }
  if (!waiting_) return;
  const MapOutput gone = rows_[at_].output;
  const bool moved = has_moved();
  if (!moved && !sources_.nodes.lost.contains(gone.node)) return;
  const std::string why = std::move(waiting_->why);
  waiting_.reset();
  moved ? reply() : lost(gone, why);
}

}  // namespace weft::shuffle
