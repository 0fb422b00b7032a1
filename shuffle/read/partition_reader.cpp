#include "shuffle/read/partition_reader.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "base/assert.hpp"

namespace weft::shuffle {

namespace {

constexpr std::size_t kMostAtFirst = 16;  // maps: this partition's blocks may be much larger than those of others
/// So many segments an executor keeps mapped with ease: of a shuffle with fewer maps, each is handed to it once.
constexpr std::size_t kManyRows = 512;
/// Copying so many bytes costs less than handing over a descriptor and mapping it.
constexpr std::uint64_t kSmallBlock = 32u << 10;
constexpr std::uint64_t kMostGathered = 4u << 20;  // bytes of a part

}  // namespace

void PartitionReader::look_for_small_blocks() {
  const std::uint64_t partitions = wanted_.partitions.end - wanted_.partitions.first;
  const std::uint64_t mean = wanted_.bytes / partitions / std::max<std::size_t>(rows_.size(), 1);
  small_blocks_ = rows_.size() > kManyRows && mean < kSmallBlock;
  if (!small_blocks_) return;
  for (Row& row : rows_) row.elsewhere = row.output.node != sources_.nodes.self;  // what other workers have is fetched
  maps_per_fetch_ = std::clamp<std::size_t>(wanted_.fetch_bytes / (mean + 1), 1, kSmallBlocksWindow);
}

std::size_t PartitionReader::window_end() const {
  return std::min(rows_.size(), at_ + (small_blocks_ ? kSmallBlocksWindow : kWindow));
}

bool PartitionReader::part_is_full() const {
  return rows_in_part_ == (small_blocks_ ? kSmallBlocksWindow : kWindow) || gathered_bytes_ >= kMostGathered ||
         part_.descriptors.size() + (gathered_.empty() ? 0 : 1) >= std::min(wanted_.descriptors, kDescriptorsPerPart);
}

/// By the mean of all partitions. Where that is not known, one: whoever guessed too many would have them in memory.
std::size_t PartitionReader::first_maps_per_fetch() const {
  const std::uint64_t bytes = sources_.prefetcher.block_bytes(wanted_.job, wanted_.shuffle);
  return bytes == 0 ? 1 : std::clamp<std::size_t>(wanted_.fetch_bytes / bytes, 1, kMostAtFirst);
}

void PartitionReader::next(const std::vector<MapAttempt>& known, Done done) {
  WEFT_ASSERT(!done_);
  if (!partition_ || at_ == rows_.size()) {
    if (auto begun = begin_partition(); !begun) return done(fail(std::move(begun).error()));
  } else {
    look_again();
  }
  done_ = std::move(done);
  part_ = {};
  part_.partition = *partition_;
  known_ = {known.begin(), known.end()};
  rows_in_part_ = 0;
  gathered_.clear();
  gathered_bytes_ = 0;
  fetched_ = ahead_ = false;
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
  const KnownOutputs& known = table->second;
  for (std::uint32_t map = wanted_.maps.first; map < std::min(known.maps, wanted_.maps.end); ++map)
    rows_.push_back({.output = {map, 0, NodeId()}, .missing = true});
  if (known.maps == 0)
    for (const MapOutput& output : known.with(next, wanted_.maps)) rows_.push_back({output});
  look_for_small_blocks();
  at_ = ahead_end_ = 0;
  ahead_bytes_ = 0;
  look_again();
  opened_.clear();
  prefetched_.clear();
  unreachable_.clear();
  took_prefetched_ = false;
  return {};
}

void PartitionReader::advance() {
  while (at_ < rows_.size()) {
    if (part_is_full()) return reply();
    Row& row = rows_[at_];
    const MapAttempt map = attempt_of(row.output);
    if (row.sent) {
      // Came with the blocks of an earlier map, or before its turn.
    } else if (row.missing) {
      return wait_for_map();
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
    auto segment = sources_.store.get({wanted_.job, wanted_.shuffle, row.output.map, row.output.attempt});
    if (segment) return add_segment(row, *segment);
    lost(row.output, "the store that had it has it no more");
    return false;
  }
  auto there = opened_.extract(at_);
  if (there.empty()) {
    open_next();
    return false;
  }
  part_.sources.push_back({BlockSource::Kind::segment, {row.output}});
  part_.descriptors.push_back(std::move(there.mapped()));
  return true;
}

bool PartitionReader::add_segment(const Row& row, const std::shared_ptr<const Segment>& segment) {
  Fd copy(small_blocks_ || segment->fd() < 0 ? -1 : ::fcntl(segment->fd(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    gather(row, segment);
    return true;
  }
  part_.sources.push_back({BlockSource::Kind::segment, {row.output}});
  part_.descriptors.push_back(std::move(copy));
  return true;
}

void PartitionReader::gather(const Row& row, std::shared_ptr<const Segment> segment) {
  if (*partition_ < segment->partitions())
    for (const Extent& extent : segment->extents(*partition_)) gathered_bytes_ += extent.length;
  gathered_.push_back({row.output, std::move(segment)});
}

Result<void> PartitionReader::add_gathered() {
  if (gathered_.empty()) return {};
  const std::vector<Gathered> gathered = std::exchange(gathered_, {});
  WEFT_ASSIGN(const auto writer, SegmentWriter::in_memory(static_cast<std::uint32_t>(gathered.size())));
  BlockSource source{BlockSource::Kind::fetched, {}};
  for (const auto& [output, segment] : gathered) source.maps.push_back(output);
  for (std::uint32_t i = 0; i < gathered.size(); ++i) {
    const Segment& segment = *gathered[i].segment;
    if (*partition_ >= segment.partitions())
      return fail(Code::internal, fmt::format("shuffle {} has {} partitions, partition {} was requested", wanted_.shuffle.value(),
                                              segment.partitions(), *partition_));
    for (const Extent& extent : segment.extents(*partition_)) {
      const auto bytes = verified(segment, extent);
      if (!bytes) {
        part_.lost = LostOutput{gathered[i].output, bytes.error().to_string()};
        part_.next_map = gathered[i].output.map;
        i = static_cast<std::uint32_t>(gathered.size());  // nobody comes to the others
        break;
      }
      WEFT_TRY(writer->append(i, *bytes, extent.records));
    }
  }
  WEFT_ASSIGN(SealedSegment sealed, writer->seal());
  part_.sources.push_back(std::move(source));
  part_.descriptors.push_back(std::move(sealed.fd));
  return {};
}

void PartitionReader::open_next() {
  std::map<NodeId, std::vector<std::size_t>> by_node;
  std::size_t descriptors = opened_.size();
  const std::size_t most = std::min(kOutputsPerRequest, wanted_.descriptors);
  for (std::size_t i = at_; i < window_end() && (i == at_ || descriptors < most); ++i) {
    const Row& row = rows_[i];
    if (row.sent || row.missing || row.elsewhere || row.output.node == sources_.nodes.self || opened_.contains(i)) continue;
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
                              // Where there is none, it is fetched, or turns out to be lost.
                              if (descriptors && (*descriptors)[i].valid())
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
  fetch_from(next_to_fetch());
}

std::size_t PartitionReader::next_to_fetch() const {
  std::set<NodeId> later = unreachable_;
  std::map<NodeId, std::size_t> first;
  for (std::size_t i = at_; i < window_end(); ++i) {
    const Row& row = rows_[i];
    if (row.sent) later.insert(row.output.node);
    const bool there = row.elsewhere && !row.sent && !row.missing && !prefetched_.contains(attempt_of(row.output));
    if (there && sources_.nodes.nodes.contains(row.output.node)) first.try_emplace(row.output.node, i);
  }
  const auto turn = [own = sources_.nodes.self](NodeId node) { return node.value() - own.value(); };  // those before it are last
  std::size_t next = at_;
  for (const auto& [node, row] : first) {
    if (!later.contains(node) && turn(node) < turn(rows_[next].output.node)) next = row;
  }
  return next;
}

void PartitionReader::fetch_from(std::size_t first) {
  const NodeId id = rows_[first].output.node;
  const OutputNodes::Node& node = sources_.nodes.nodes.at(id);
  FetchRequest request{node.address, wanted_.job, wanted_.shuffle, *partition_, {}};
  std::vector<MapOutput> maps;
  for (std::size_t i = first; i < window_end() && maps.size() < maps_per_fetch_; ++i) {
    const Row& row = rows_[i];
    if (row.sent || row.missing || row.output.node != id || prefetched_.contains(attempt_of(row.output))) continue;
    maps.push_back(row.output);
    request.maps.push_back(attempt_of(row.output));
  }
  sources_.fetcher.fetch(std::move(request),
                         later([maps = std::move(maps), from = node.name](PartitionReader& self, FetchOutcome outcome) {
                           self.fetched(maps, from, std::move(outcome));
                         }));
}

void PartitionReader::fetched(const std::vector<MapOutput>& maps, const std::string& from, FetchOutcome outcome) {
  if (!outcome.blocks) {
    const Code code = outcome.blocks.error().code();
    std::string why = fmt::format("cannot fetch from {}: {}", from, outcome.blocks.error().to_string());
    if (code == Code::unavailable || code == Code::deadline_exceeded) {
      const NodeId node = maps.front().node;
      if (!ahead_ && node == rows_[at_].output.node) return follow(std::move(why));
      unreachable_.insert(node);
      if (!ahead_) fetched_ = false;  // from another one, then
      return advance();
    }
    const auto first =
        std::find_if(maps.begin(), maps.end(), [&](const MapOutput& map) { return outcome.lost == attempt_of(map); });
    return lost(first == maps.end() ? maps.front() : *first, std::move(why));
  }
  const std::uint64_t bytes_per_map = outcome.blocks->size / maps.size() + 1;
  maps_per_fetch_ = std::clamp<std::size_t>(wanted_.fetch_bytes / bytes_per_map, 1,
                                            std::min(2 * maps_per_fetch_, small_blocks_ ? kSmallBlocksWindow : kWindow));
  auto next = maps.begin();
  for (std::size_t i = at_; i < rows_.size() && next != maps.end(); ++i) {
    if (rows_[i].output.map != next->map) continue;
    rows_[i].sent = true;
    if (ahead_) ahead_end_ = std::max(ahead_end_, i + 1);
    ++next;
  }
  if (ahead_) ahead_bytes_ += outcome.blocks->size;
  part_.sources.push_back({BlockSource::Kind::fetched, maps});
  part_.descriptors.push_back(std::move(outcome.blocks->fd));
  advance();
}

void PartitionReader::lost(const MapOutput& output, std::string why) {
  part_.lost = LostOutput{output, std::move(why)};
  reply();
}

void PartitionReader::reply() {
  const bool whole = at_ == rows_.size() && !part_.lost;
  part_.next_map = whole ? kNoMap : rows_[at_].output.map;
  auto gathered = add_gathered();
  part_.end = whole && !part_.lost && *partition_ + 1 >= wanted_.partitions.end;
  const Done done = std::exchange(done_, {});
  if (!gathered) return done(fail(std::move(gathered).error()));
  done(std::move(part_));
}

}  // namespace weft::shuffle
