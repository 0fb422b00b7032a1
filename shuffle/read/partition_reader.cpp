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
/// An executor keeps this many segments mapped with ease: of a shuffle with fewer maps, each is handed to it once.
constexpr std::size_t kManyRows = 512;
/// Copying fewer bytes costs less than handing over a descriptor and mapping it.
constexpr std::uint64_t kSmallBlock = 32u << 10;
constexpr std::uint64_t kMostGathered = 4u << 20;  // bytes of a part
constexpr std::uint32_t kMostMoves = 3;            // of an output while it is read
/// The master reports that a worker died, and where its outputs are now, as soon as the worker's connection has ended.
constexpr auto kMoveDeadline = std::chrono::seconds(5);
constexpr auto kFirstPause = std::chrono::milliseconds(50);  // while this process is short of something; doubles
constexpr std::uint32_t kMostPauses = 4;                     // in a part

bool is_unreachable(Code code) { return code == Code::unavailable || code == Code::deadline_exceeded || code == Code::cancelled; }
/// Wherever a task ran, it would not get the output from there.
bool is_loss(Code code) {
  return code == Code::not_found || code == Code::corrupt || code == Code::invalid_argument || code == Code::version_mismatch;
}

/// Verified. Of a file a copy: a process of the job may cut it off after the check, and reading it would then end this one.
Result<SharedBytes> steady_bytes(const std::shared_ptr<const Segment>& segment, const Extent& extent) {
  if (segment->home() != SegmentHome::file)
    return verified(*segment, extent).map([&](ByteView bytes) { return SharedBytes(bytes, segment); });
  return verified_copy(*segment, extent).map([](Buffer&& copy) { return SharedBytes(std::move(copy)); });
}

}  // namespace

const KnownOutputs* PartitionReader::table() const {
  const auto table = sources_.tables.find(wanted_.shuffle);
  return table == sources_.tables.end() ? nullptr : &table->second;
}

void PartitionReader::look_for_small_blocks() {
  const std::uint64_t partitions = wanted_.partitions.end - wanted_.partitions.first;
  const std::uint64_t mean = wanted_.bytes / partitions / std::max<std::size_t>(rows_.size(), 1);
  small_blocks_ = rows_.size() > kManyRows && mean < kSmallBlock;
  if (!small_blocks_) return;
  for (OutputRow& row : rows_) row.elsewhere = row.output.node != sources_.nodes.self;  // what other workers have is fetched
  maps_per_fetch_ = std::clamp<std::size_t>(wanted_.fetch_bytes / (mean + 1), 1, kSmallBlocksWindow);
}

bool PartitionReader::part_is_full() const {
  return rows_in_part_ == window() || gathered_bytes_ >= kMostGathered ||
         part_.descriptors.size() + (gathered_.empty() ? 0 : 1) >= std::min(wanted_.descriptors, kDescriptorsPerPart);
}

/// By the mean of all partitions. Where that is not known, one: if it were too many, all would be in memory.
std::size_t PartitionReader::first_maps_per_fetch() const {
  const std::uint64_t bytes = sources_.prefetcher.block_bytes(wanted_.job, wanted_.shuffle);
  return bytes == 0 ? 1 : std::clamp<std::size_t>(wanted_.fetch_bytes / bytes, 1, kMostAtFirst);
}

void PartitionReader::next(const std::vector<MapAttempt>& known, Done done) {
  WEFT_ASSERT(!done_);
  if (std::exchange(answered_early_, false)) {
    begin_part(known, std::move(done));
    if (const auto then = std::exchange(put_off_, nullptr)) (this->*then)();
    return;
  }
  if (!partition_ || at_ == rows_.size()) {
    if (auto begun = begin_partition(); !begun) return done(fail(std::move(begun).error()));
  } else {
    look_again();
  }
  part_ = {};
  fetched_ = false;
  begin_part(known, std::move(done));
  advance();
}

void PartitionReader::begin_part(const std::vector<MapAttempt>& known, Done done) {
  done_ = std::move(done);
  part_.partition = *partition_;
  known_ = {known.begin(), known.end()};
  rows_in_part_ = 0;
  pauses_ = 0;
  gathered_.clear();
  gathered_bytes_ = 0;
  answer_after(wanted_.longest_wait);
}

void PartitionReader::answer_after(Duration wait) {
  longest_wait_ = sources_.reactor.after(wait, later([](PartitionReader& self) { self.answer_waiting(); }));
}

void PartitionReader::answer_waiting() {
  if (std::holds_alternative<MapToEnd>(wait_)) return interrupt();
  if (std::holds_alternative<ShortOfSomething>(wait_)) return answer_after(wanted_.longest_wait);  // that is over in a moment
  answered_early_ = true;
  reply();
}

bool PartitionReader::put_off(Step then) {
  if (done_) return false;
  wait_ = Nothing();
  put_off_ = then;
  return true;
}

Result<void> PartitionReader::begin_partition() {
  const KnownOutputs* known = table();
  if (known == nullptr)
    return fail(Code::unavailable,
                fmt::format("the worker has no table of shuffle {} (released, or never sent)", wanted_.shuffle.value()));
  const std::uint32_t next = partition_ ? *partition_ + 1 : wanted_.partitions.first;
  if (next >= wanted_.partitions.end) return fail(Code::invalid_argument, "a read of no partition, or behind its end");
  partition_ = next;
  rows_ = rows_of(*known, next, wanted_.maps);
  look_for_small_blocks();
  at_ = ahead_end_ = 0;
  ahead_bytes_ = 0;
  look_again();
  prefetched_.reset();
  unreachable_.clear();
  return {};
}

void PartitionReader::advance() {
  if (put_off(&PartitionReader::advance)) return;
  wait_ = Nothing();
  while (at_ < rows_.size()) {
    if (part_is_full()) return reply();
    OutputRow& row = rows_[at_];
    const MapAttempt map = attempt_of(row.output);
    if (row.sent) {
      // Came with the blocks of an earlier map, or before its turn.
    } else if (row.missing) {
      return wait_for_map();
    } else if (known_.contains(map)) {
      part_.sources.push_back({BlockSource::Kind::known, {row.output}});
    } else if (!row.elsewhere) {
      if (!add_local(row)) return;
    } else if (!prefetched_) {
      return take_prefetched();
    } else if (const auto here = prefetched_->find(map); here != prefetched_->end()) {
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

bool PartitionReader::add_local(OutputRow& row) {
  if (row.output.node == sources_.nodes.self) {
    auto segment = sources_.store.get({wanted_.job, wanted_.shuffle, row.output.map, row.output.attempt});
    if (segment) {
      add_segment(row, *segment);
    } else if (segment.error().code() == Code::resource_exhausted) {
      if (!again_later(segment.error(), &PartitionReader::advance)) give_up(std::move(segment).error());
    } else {
      lost(row.output, segment.error().to_string());
    }
    return segment.has_value();
  }
  if (!row.opened.valid()) {
    open_next();
    return false;
  }
  part_.sources.push_back({BlockSource::Kind::segment, {row.output}});
  part_.descriptors.push_back(std::move(row.opened));
  return true;
}

void PartitionReader::add_segment(const OutputRow& row, const std::shared_ptr<const Segment>& segment) {
  Fd copy(small_blocks_ || segment->fd() < 0 ? -1 : ::fcntl(segment->fd(), F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return gather(row, segment);
  part_.sources.push_back({BlockSource::Kind::segment, {row.output}});
  part_.descriptors.push_back(std::move(copy));
}

void PartitionReader::gather(const OutputRow& row, std::shared_ptr<const Segment> segment) {
  if (*partition_ < segment->partitions())
    for (const Extent& extent : segment->extents(*partition_)) gathered_bytes_ += extent.length;
  gathered_.push_back({row.output, std::move(segment)});
}

Result<void> PartitionReader::add_gathered() {
  if (gathered_.empty()) return {};
  WEFT_ASSIGN(const auto writer, SegmentWriter::in_memory(static_cast<std::uint32_t>(gathered_.size())));
  BlockSource source{BlockSource::Kind::fetched, {}};
  for (const auto& [output, segment] : gathered_) source.maps.push_back(output);
  std::optional<LostOutput> damaged;  // the others are not read
  for (std::uint32_t i = 0; i < gathered_.size() && !damaged; ++i) {
    const Segment& segment = *gathered_[i].segment;
    if (*partition_ >= segment.partitions())
      return fail(Code::internal, fmt::format("shuffle {} has {} partitions, partition {} was requested", wanted_.shuffle.value(),
                                              segment.partitions(), *partition_));
    for (const Extent& extent : segment.extents(*partition_)) {
      const auto bytes = steady_bytes(gathered_[i].segment, extent);
      if (!bytes) {
        damaged = LostOutput{gathered_[i].output, bytes.error().to_string()};
        break;
      }
      WEFT_TRY(writer->append(i, bytes->bytes, extent.records));
    }
  }
  WEFT_ASSIGN(SealedSegment sealed, writer->seal());
  gathered_.clear();
  if (damaged) {
    part_.next_map = damaged->output.map;
    part_.lost = std::move(damaged);
  }
  part_.sources.push_back(std::move(source));
  part_.descriptors.push_back(std::move(sealed.fd));
  return {};
}

std::map<NodeId, std::vector<std::size_t>> PartitionReader::rows_to_open() const {
  std::map<NodeId, std::vector<std::size_t>> by_node;
  const std::size_t end = window_end();
  const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(at_);
  auto descriptors = static_cast<std::size_t>(std::count_if(first, rows_.begin() + static_cast<std::ptrdiff_t>(end),
                                                            [](const OutputRow& row) { return row.opened.valid(); }));
  const std::size_t most = std::min(kOutputsPerRequest, wanted_.descriptors);
  for (std::size_t i = at_; i < end && (i == at_ || descriptors < most); ++i) {
    const OutputRow& row = rows_[i];
    if (row.sent || row.missing || row.elsewhere || row.output.node == sources_.nodes.self || row.opened.valid()) continue;
    if (known_.contains(attempt_of(row.output))) continue;
    by_node[row.output.node].push_back(i);
    ++descriptors;
  }
  return by_node;
}

void PartitionReader::open_next() {
  const auto by_node = rows_to_open();
  wait_ = Opening{by_node.size() + 1};
  for (const auto& [id, rows] : by_node) {
    const auto node = sources_.nodes.nodes.find(id);
    const std::string address = node == sources_.nodes.nodes.end() ? std::string() : node->second.address;
    const auto found_out = [id = id, rows = rows, address](PartitionReader& self, bool same_host) {
      if (same_host) return self.open_on(id, address, rows);
      for (OutputRow& row : self.rows_) row.elsewhere = row.elsewhere || row.output.node == id;
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
                              OutputRow& row = self.rows_[rows[i]];
                              // Where there is none, it is fetched, or turns out to be lost.
                              if (descriptors && (*descriptors)[i].valid())
                                row.opened = std::move((*descriptors)[i]);
                              else
                                row.elsewhere = row.output.node == node;
                            }
                            self.opened();
                          }));
}

void PartitionReader::opened() {
  if (--std::get<Opening>(wait_).requests == 0) advance();
}

void PartitionReader::take_prefetched() {
  wait_ = TakingPrefetched();
  sources_.prefetcher.take(wanted_.job, wanted_.shuffle, *partition_,
                           later([](PartitionReader& self, const std::vector<HeldPtr>& all) {
                             auto& prefetched = self.prefetched_.emplace();
                             for (const HeldPtr& blocks : all)
                               for (const MapAttempt& map : blocks->maps) prefetched[map] = blocks;
                             self.advance();
                           }));
}

/// With the first row's blocks come those of other rows.
void PartitionReader::add_prefetched(const HeldPtr& blocks) {
  Fd copy(::fcntl(blocks->blocks.fd.get(), F_DUPFD_CLOEXEC, 0));
  BlockSource source{BlockSource::Kind::prefetched, {}};
  for (const MapAttempt& map : blocks->maps) {
    prefetched_->erase(map);
    source.maps.push_back({kNoMap, 0, NodeId()});
    const auto row = std::lower_bound(rows_.begin(), rows_.end(), map.map,
                                      [](const OutputRow& other, std::uint32_t number) { return other.output.map < number; });
    if (row == rows_.end() || attempt_of(row->output) != map) continue;
    if (row->sent || row - rows_.begin() < static_cast<std::ptrdiff_t>(at_)) continue;  // handed out: from this host, perhaps
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
  fetch_from(next_to_fetch(), false);
}

bool PartitionReader::can_fetch(const OutputRow& row) const {
  return row.elsewhere && !row.sent && !row.missing && !(prefetched_ && prefetched_->contains(attempt_of(row.output))) &&
         sources_.nodes.nodes.contains(row.output.node);
}

std::size_t PartitionReader::next_to_fetch() const {
  std::set<NodeId> later = unreachable_;
  std::map<NodeId, std::size_t> first;
  for (std::size_t i = at_; i < window_end(); ++i) {
    const OutputRow& row = rows_[i];
    if (row.sent) later.insert(row.output.node);
    if (can_fetch(row)) first.try_emplace(row.output.node, i);
  }
  const auto turn = [own = sources_.nodes.self](NodeId node) { return node.value() - own.value(); };  // those before it are last
  std::size_t next = at_;
  for (const auto& [node, row] : first) {
    if (!later.contains(node) && turn(node) < turn(rows_[next].output.node)) next = row;
  }
  return next;
}

void PartitionReader::fetch_from(std::size_t first, bool ahead) {
  wait_ = Fetching();
  const NodeId id = rows_[first].output.node;
  const OutputNodes::Node& node = sources_.nodes.nodes.at(id);
  FetchRequest request{node.address, wanted_.job, wanted_.shuffle, *partition_, {}};
  std::vector<MapOutput> maps;
  for (std::size_t i = first; i < window_end() && maps.size() < maps_per_fetch_; ++i) {
    const OutputRow& row = rows_[i];
    const MapAttempt map = attempt_of(row.output);
    if (row.sent || row.missing || row.output.node != id || (prefetched_ && prefetched_->contains(map))) continue;
    maps.push_back(row.output);
    request.maps.push_back(map);
  }
  sources_.fetcher.fetch(std::move(request),
                         later([maps = std::move(maps), from = node.name, ahead](PartitionReader& self, FetchOutcome outcome) {
                           self.fetched(maps, from, ahead, std::move(outcome));
                         }));
}

void PartitionReader::fetch_failed(const std::vector<MapOutput>& maps, bool ahead, std::optional<MapAttempt> lost_map, Code code,
                                   std::string why) {
  if (!ahead && !is_unreachable(code) && !is_loss(code)) return give_up(Error(code, std::move(why)));
  if (!is_loss(code)) {
    const NodeId node = maps.front().node;
    if (!ahead && node == rows_[at_].output.node) return follow(std::move(why));
    unreachable_.insert(node);
    if (!ahead) fetched_ = false;  // from another one, then
    return advance();
  }
  const auto first = std::find_if(maps.begin(), maps.end(), [&](const MapOutput& map) { return lost_map == attempt_of(map); });
  lost(first == maps.end() ? maps.front() : *first, std::move(why));
}

void PartitionReader::fetched(const std::vector<MapOutput>& maps, const std::string& from, bool ahead, FetchOutcome outcome) {
  if (!outcome.blocks) {
    const Error& error = outcome.blocks.error();
    return fetch_failed(maps, ahead, outcome.lost, error.code(), fmt::format("cannot fetch from {}: {}", from, error.to_string()));
  }
  const std::uint64_t bytes_per_map = outcome.blocks->size / maps.size() + 1;
  maps_per_fetch_ = std::clamp<std::size_t>(wanted_.fetch_bytes / bytes_per_map, 1, std::min(2 * maps_per_fetch_, window()));
  auto next = maps.begin();
  for (std::size_t i = at_; i < rows_.size() && next != maps.end(); ++i) {
    if (rows_[i].output.map != next->map) continue;
    rows_[i].sent = true;
    if (ahead) ahead_end_ = std::max(ahead_end_, i + 1);
    ++next;
  }
  if (ahead) ahead_bytes_ += outcome.blocks->size;
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
    if (auto* wait = std::get_if<OutputToMove>(&self.wait_)) self.lost(self.rows_[self.at_].output, std::move(wait->why));
  });
  wait_ = OutputToMove{std::move(why), sources_.reactor.after(kMoveDeadline, std::move(late))};
}

std::optional<std::size_t> PartitionReader::next_ahead() const {
  if (ahead_bytes_ >= wanted_.fetch_bytes) return std::nullopt;
  for (std::size_t i = at_; i < window_end(); ++i)
    if (can_fetch(rows_[i])) return i;
  return std::nullopt;
}

void PartitionReader::wait_for_map() {
  if (rows_in_part_ > 0 || !part_.sources.empty()) return reply();
  if (at_ >= ahead_end_) ahead_bytes_ = 0;
  if (const auto ahead = fetched_ ? std::nullopt : next_ahead()) {
    fetched_ = true;
    return fetch_from(*ahead, true);
  }
  wait_ = MapToEnd{SystemClock().now()};
}

void PartitionReader::interrupt() {
  if (!std::holds_alternative<MapToEnd>(wait_)) return;
  part_.waited = waited();
  reply();
}

Duration PartitionReader::waited() const {
  const auto* wait = std::get_if<MapToEnd>(&wait_);
  return wait != nullptr ? SystemClock().now() - wait->since : Duration(0);
}

void PartitionReader::look_again() {
  const KnownOutputs* known = table();
  if (known == nullptr || known->maps == 0) return;
  update_rows(std::span(rows_).subspan(at_), *known, *partition_,
              small_blocks_ ? std::optional(sources_.nodes.self) : std::nullopt);
}

bool PartitionReader::has_moved() {
  const KnownOutputs* known = table();
  if (known == nullptr) return false;
  const MapOutput was = rows_[at_].output;
  if (known->maps > 0)
    look_again();
  else
    follow_moved_rows(std::span(rows_).subspan(at_), *known, was.node);
  const OutputRow& row = rows_[at_];
  return row.missing || row.output.node != was.node || row.output.attempt != was.attempt;
}

void PartitionReader::locations_changed() {
  if (std::holds_alternative<MapToEnd>(wait_)) {
    look_again();
    if (!rows_[at_].missing || next_ahead()) interrupt();
  } else if (auto* wait = std::get_if<OutputToMove>(&wait_)) {
    const MapOutput gone = rows_[at_].output;
    if (has_moved()) return reply();
    if (sources_.nodes.lost.contains(gone.node)) lost(gone, std::move(wait->why));
  }
}

void PartitionReader::lost(const MapOutput& output, std::string why) {
  part_.lost = LostOutput{output, std::move(why)};
  reply();
}

void PartitionReader::reply() {
  if (put_off(&PartitionReader::reply)) return;
  longest_wait_.reset();
  const bool whole = at_ == rows_.size() && !part_.lost;
  part_.next_map = whole ? kNoMap : rows_[at_].output.map;
  auto gathered = add_gathered();
  if (!gathered && std::exchange(answered_early_, false) && gathered.error().code() == Code::resource_exhausted)
    return answer_after(kFirstPause);  // what it waits for goes on meanwhile
  if (!gathered && again_later(gathered.error(), &PartitionReader::reply)) return;
  if (!gathered) return give_up(std::move(gathered).error());
  part_.end = whole && !part_.lost && *partition_ + 1 >= wanted_.partitions.end;
  if (!answered_early_) wait_ = Nothing();
  const Done done = std::exchange(done_, {});
  done(std::exchange(part_, {}));
}

bool PartitionReader::again_later(const Error& why, Step step) {
  if (why.code() != Code::resource_exhausted || pauses_ == kMostPauses) return false;
  auto again = later([step](PartitionReader& self) { (self.*step)(); });
  wait_ = ShortOfSomething{sources_.reactor.after(kFirstPause * (1u << pauses_++), std::move(again))};
  return true;
}

void PartitionReader::give_up(Error why) {
  failure_ = std::move(why);
  fail_part();
}

void PartitionReader::fail_part() {
  if (put_off(&PartitionReader::fail_part)) return;
  wait_ = Nothing();
  longest_wait_.reset();
  Error why = *std::exchange(failure_, std::nullopt);
  const Done done = std::exchange(done_, {});
  done(fail(std::move(why)));
}

}  // namespace weft::shuffle
