#include "shuffle/read/partition_reader.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "base/assert.hpp"

namespace weft::shuffle {
namespace {

constexpr std::size_t kWindow = 256;     // maps that are looked at together
constexpr std::uint32_t kMostMoves = 3;  // of an output while it is read
/// A worker that died is said to be gone, and where its outputs are, as soon as its connection to the master has ended.
constexpr auto kMoveDeadline = std::chrono::seconds(5);

MapAttempt attempt_of(const MapOutput& output) { return {output.map, output.attempt}; }

}  // namespace

template <class Then>
auto PartitionReader::later(Then then) {
  return [weak = weak_from_this(), then = std::move(then)](auto&&... arguments) {
    if (const auto self = weak.lock()) then(*self, std::forward<decltype(arguments)>(arguments)...);
  };
}

void PartitionReader::next(const std::vector<MapAttempt>& known, Done done) {
  WEFT_ASSERT(!done_);
  if (!partition_ || at_ == rows_.size()) {
    if (auto begun = begin_partition(); !begun) return done(fail(std::move(begun).error()));
  }
  done_ = std::move(done);
  part_ = {};
  part_.partition = *partition_;
  known_ = {known.begin(), known.end()};
  rows_in_part_ = 0;
  fetched_ = false;
  advance();
}

Result<void> PartitionReader::begin_partition() {
  const auto table = sources_.tables.find(wanted_.shuffle);
  if (table == sources_.tables.end())
    return fail(Code::unavailable,
                fmt::format("the worker has no table of shuffle {} (released, or never sent)", wanted_.shuffle.value()));
  const std::uint32_t next = partition_ ? *partition_ + 1 : wanted_.partitions.first;
  if (next >= wanted_.partitions.end) return fail(Code::invalid_argument, "a read of no partition, or behind its end");
  partition_ = next;
  rows_.clear();
  for (const MapOutput& output : in_range(table->second, wanted_.maps)) rows_.push_back({output});
  at_ = 0;
  opened_.clear();
  prefetched_.clear();
  took_prefetched_ = false;
  return {};
}

void PartitionReader::advance() {
  while (at_ < rows_.size()) {
    if (rows_in_part_ == kWindow || part_.descriptors.size() == kDescriptorsPerPart) return reply();
    Row& row = rows_[at_];
    const MapAttempt map = attempt_of(row.output);
    if (row.sent) {
      // Came with the blocks of an earlier map.
    } else if (known_.contains(map)) {
      part_.sources.push_back({BlockSource::Kind::known, {row.output}});
    } else if (!row.elsewhere) {
      if (!add_local(row)) return;
    } else if (!took_prefetched_) {
      return take_prefetched();
    } else if (const auto here = prefetched_.find(map); here != prefetched_.end()) {
      add_prefetched(HeldPtr(here->second));
      if (!row.sent) continue;  // without a descriptor: it is fetched
    } else {
      return fetched_ ? reply() : fetch();
    }
    ++at_;
    ++rows_in_part_;
  }
  reply();
}

bool PartitionReader::add_local(const Row& row) {
  if (row.output.node == sources_.nodes.self) {
    const auto segment = sources_.store.get({wanted_.job, wanted_.shuffle, row.output.map, row.output.attempt});
    return add_segment(row, segment ? (*segment)->fd() : -1);
  }
  const auto there = opened_.extract(at_);
  if (!there.empty()) return add_segment(row, there.mapped().get());
  open_next();
  return false;
}

bool PartitionReader::add_segment(const Row& row, int fd) {
  Fd copy(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    lost(row.output, "the store that had it has it no more");
    return false;
  }
  part_.sources.push_back({BlockSource::Kind::segment, {row.output}});
  part_.descriptors.push_back(std::move(copy));
  return true;
}

void PartitionReader::open_next() {
  std::map<NodeId, std::vector<std::size_t>> by_node;
  std::size_t descriptors = opened_.size();
  for (std::size_t i = at_; i < std::min(rows_.size(), at_ + kWindow) && (i == at_ || descriptors < kOutputsPerRequest); ++i) {
    const Row& row = rows_[i];
    if (row.sent || row.elsewhere || row.output.node == sources_.nodes.self || opened_.contains(i)) continue;
    if (known_.contains(attempt_of(row.output))) continue;
    by_node[row.output.node].push_back(i);
    ++descriptors;
  }
  opening_ = by_node.size() + 1;
  for (const auto& [id, rows] : by_node) {
    const auto node = sources_.nodes.nodes.find(id);
    const std::string address = node == sources_.nodes.nodes.end() ? std::string() : node->second.address;
    const auto found_out = [id = id, rows = rows, address](PartitionReader& self, bool same_host) {
      if (same_host) return self.open_on(id, address, rows);
      for (Row& row : self.rows_) row.elsewhere = row.elsewhere || row.output.node == id;
      self.opened();
    };
    address.empty() ? found_out(*this, false) : sources_.same_host.find_out(address, later(found_out));
  }
  opened();
}

void PartitionReader::open_on(NodeId node, const std::string& address, const std::vector<std::size_t>& rows) {
  std::vector<MapAttempt> maps;
  for (std::size_t i : rows) maps.push_back(attempt_of(rows_[i].output));
  sources_.same_host.open(address, wanted_.job, wanted_.shuffle, std::move(maps),
                          later([node, rows](PartitionReader& self, Result<std::vector<Fd>> descriptors) {
                            for (std::size_t i = 0; i < rows.size(); ++i) {
                              if (descriptors)
                                self.opened_[rows[i]] = std::move((*descriptors)[i]);
                              else
                                self.rows_[rows[i]].elsewhere = self.rows_[rows[i]].output.node == node;
                            }
                            self.opened();
                          }));
}

void PartitionReader::opened() {
  if (--opening_ == 0) advance();
}

void PartitionReader::take_prefetched() {
  took_prefetched_ = true;
  sources_.prefetcher.take(wanted_.job, wanted_.shuffle, *partition_,
                           later([](PartitionReader& self, const std::vector<HeldPtr>& all) {
                             for (const HeldPtr& blocks : all)
                               for (const MapAttempt& map : blocks->maps) self.prefetched_[map] = blocks;
                             self.advance();
                           }));
}

/// With the first row's blocks come those of other rows.
void PartitionReader::add_prefetched(const HeldPtr& blocks) {
  Fd copy(::fcntl(blocks->blocks.fd.get(), F_DUPFD_CLOEXEC, 0));
  BlockSource source{BlockSource::Kind::prefetched, {}};
  for (const MapAttempt& map : blocks->maps) {
    prefetched_.erase(map);
    source.maps.push_back({kNoMap, 0, NodeId()});
    const auto row = std::lower_bound(rows_.begin(), rows_.end(), map.map,
                                      [](const Row& other, std::uint32_t number) { return other.output.map < number; });
    if (row == rows_.end() || attempt_of(row->output) != map || row->sent) continue;
    source.maps.back() = row->output;
    row->sent = copy.valid();
  }
  if (!copy.valid()) return;
  part_.sources.push_back(std::move(source));
  part_.descriptors.push_back(std::move(copy));
}

void PartitionReader::fetch() {
  fetched_ = true;
  const NodeId id = rows_[at_].output.node;
  const auto node = sources_.nodes.nodes.find(id);
  if (node == sources_.nodes.nodes.end()) {
    const auto gone = sources_.nodes.lost.find(id);
    return follow(gone != sources_.nodes.lost.end() ? gone->second : fmt::format("node {} is not known", id.value()));
  }
  FetchRequest request{node->second.address, wanted_.job, wanted_.shuffle, *partition_, {}};
  std::vector<MapOutput> maps;
  for (std::size_t i = at_; i < std::min(rows_.size(), at_ + kWindow) && maps.size() < maps_per_fetch_; ++i) {
    const Row& row = rows_[i];
    if (row.sent || row.output.node != id || prefetched_.contains(attempt_of(row.output))) continue;
    maps.push_back(row.output);
    request.maps.push_back(attempt_of(row.output));
  }
  sources_.fetcher.fetch(std::move(request),
                         later([maps = std::move(maps), from = node->second.name](PartitionReader& self, FetchOutcome outcome) {
                           self.fetched(maps, from, std::move(outcome));
                         }));
}

void PartitionReader::fetched(const std::vector<MapOutput>& maps, const std::string& from, FetchOutcome outcome) {
  if (!outcome.blocks) {
    const Code code = outcome.blocks.error().code();
    std::string why = fmt::format("cannot fetch from {}: {}", from, outcome.blocks.error().to_string());
    if (code == Code::unavailable || code == Code::deadline_exceeded) return follow(std::move(why));
    const auto first =
        std::find_if(maps.begin(), maps.end(), [&](const MapOutput& map) { return outcome.lost == attempt_of(map); });
    return lost(first == maps.end() ? maps.front() : *first, std::move(why));
  }
  const std::uint64_t bytes_per_map = outcome.blocks->size / maps.size() + 1;
  maps_per_fetch_ = std::clamp<std::size_t>(wanted_.fetch_bytes / bytes_per_map, 1, std::min(2 * maps_per_fetch_, kWindow));
  auto next = maps.begin();
  for (std::size_t i = at_; i < rows_.size() && next != maps.end(); ++i) {
    if (rows_[i].output.map != next->map) continue;
    rows_[i].sent = true;
    ++next;
  }
  part_.sources.push_back({BlockSource::Kind::fetched, maps});
  part_.descriptors.push_back(std::move(outcome.blocks->fd));
  advance();
}

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

/// Of the first row and those of its node that have moved like it, the table says where they are now.
bool PartitionReader::has_moved() {
  const auto table = sources_.tables.find(wanted_.shuffle);
  if (table == sources_.tables.end()) return false;
  const NodeId gone = rows_[at_].output.node;
  auto now = table->second.begin();
  for (std::size_t i = at_; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    while (now != table->second.end() && now->map < row.output.map) ++now;
    const bool found = now != table->second.end() && attempt_of(*now) == attempt_of(row.output);
    if (!found || row.sent || row.output.node != gone || now->node == gone) continue;
    row.output.node = now->node;
    row.elsewhere = false;
  }
  return rows_[at_].output.node != gone;
}

void PartitionReader::locations_changed() {
  if (!waiting_) return;
  const MapOutput gone = rows_[at_].output;
  const bool moved = has_moved();
  if (!moved && !sources_.nodes.lost.contains(gone.node)) return;
  const std::string why = std::move(waiting_->why);
  waiting_.reset();
  moved ? reply() : lost(gone, why);
}

void PartitionReader::lost(const MapOutput& output, std::string why) {
  part_.lost = LostOutput{output, std::move(why)};
  reply();
}

void PartitionReader::reply() {
  const bool whole = at_ == rows_.size() && !part_.lost;
  part_.next_map = whole ? kNoMap : rows_[at_].output.map;
  part_.end = whole && *partition_ + 1 >= wanted_.partitions.end;
  const Done done = std::exchange(done_, {});
  done(std::move(part_));
}

}  // namespace weft::shuffle
