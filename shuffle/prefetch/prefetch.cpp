#include "shuffle/prefetch/prefetch.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "shuffle/prefetch/evictions.hpp"
#include "shuffle/prefetch/prefetch_impl.hpp"

namespace weft::shuffle {

void Prefetcher::Impl::expect(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions) {
  const Key key{job, shuffle};
  auto& known = expected_.shuffles()[key].partitions;
  for (const auto& [number, partition] : known) expected_.unlist(key, number);
  const std::set<std::uint32_t> wanted(partitions.begin(), partitions.end());
  for (auto at = known.begin(); at != known.end();) {
    if (at->second.taken || wanted.contains(at->first)) {
      ++at;
    } else {
      release(job, at->second);
      at = known.erase(at);
    }
  }
  for (std::uint32_t rank = 0; rank < partitions.size(); ++rank) known[partitions[rank]].rank = rank;
  expected_.list(key);
  pump();
}

void Prefetcher::Impl::defer(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions) {
  const Key key{job, shuffle};
  ExpectedShuffle& known = expected_.shuffles()[key];
  known.deferred = {partitions.begin(), partitions.end()};
  for (auto& [number, partition] : known.partitions) {
    expected_.unlist(key, number);
    if (!known.deferred.contains(number)) stay(partition);
    expected_.list(key, number);
    settle(key, number);
  }
  pump();
}

void Prefetcher::Impl::offer(JobId job, ShuffleId shuffle, const std::vector<RemoteOutput>& offered, std::uint64_t block_bytes,
                             bool complete) {
  const Key key{job, shuffle};
  ExpectedShuffle& outputs = expected_.shuffles()[key];
  outputs.block_bytes = block_bytes;
  outputs.complete = outputs.complete || complete;
  std::map<std::string, std::vector<MapAttempt>> fresh_at;  // by address
  for (const RemoteOutput& output : offered) {
    if (output.far) far_.insert(output.address);
    const auto [known, fresh] = outputs.known.try_emplace(output.map, output.address);
    if (!fresh && std::exchange(known->second, output.address) == output.address) continue;
    if (!fresh) outputs.moved.insert(output.map);
    fresh_at[output.address].push_back(output.map);
  }
  for (auto& [address, maps] : fresh_at)
    mover_->find_out(address, [weak = weak_from_this(), key, address = address, maps = std::move(maps)](bool same_host) {
      const auto self = weak.lock();
      if (self && !self->closed_) self->found_out(key, address, maps, same_host);
    });
  expected_.list(key);
  starved_ = false;  // what others keep in the store comes and goes
  pump();
}

std::uint64_t Prefetcher::Impl::block_bytes(JobId job, ShuffleId shuffle) const {
  const auto known = expected_.shuffles().find({job, shuffle});
  return known == expected_.shuffles().end() ? 0 : known->second.block_bytes;
}

void Prefetcher::Impl::take(JobId job, ShuffleId shuffle, std::uint32_t number, Taken done) {
  const Key key{job, shuffle};
  ExpectedPartition* partition = expected_.find(key, number);
  if (partition == nullptr) return done({});
  expected_.unlist(key, number);
  partition->taken = true;
  partition->waiting.push_back(std::move(done));
  stay(*partition);
  bring_back_taken(key, number, *partition);
  answer(job, *partition);
}

void Prefetcher::Impl::drop(JobId job, ShuffleId shuffle, std::uint32_t number) {
  const Key key{job, shuffle};
  ExpectedPartition* partition = expected_.find(key, number);
  if (partition == nullptr) return;
  give_up(key, number, *partition);
  expected_.shuffles().at(key).partitions.erase(number);
  pump();
}

void Prefetcher::Impl::drop(JobId job, ShuffleId shuffle) {
  const auto outputs = expected_.shuffles().find({job, shuffle});
  if (outputs == expected_.shuffles().end()) return;
  for (auto& [number, partition] : outputs->second.partitions) give_up(outputs->first, number, partition);
  expected_.shuffles().erase(outputs);
  pump();
}

void Prefetcher::Impl::drop(JobId job) {
  auto& shuffles = expected_.shuffles();
  for (auto at = shuffles.lower_bound({job, ShuffleId(0)}); at != shuffles.end() && at->first.first == job;) {
    const ShuffleId shuffle = (at++)->first.second;
    drop(job, shuffle);
  }
  const auto found = accounts_.extract(job);
  if (found.empty()) return;
  const PrefetchStats& bytes = found.mapped().bytes;
  dropped_.emplace_back(job, bytes);
  if (options_.quiet) return;
  log_.info("job {}: {} were prefetched, {} of it was read by tasks, {} was wasted; {} of it went to disk as {}, {} came back",
            job.value(), human_bytes(bytes.prefetched_bytes), human_bytes(bytes.read_bytes), human_bytes(bytes.wasted_bytes),
            human_bytes(bytes.evicted_bytes), human_bytes(bytes.evicted_file_bytes), human_bytes(bytes.returned_bytes));
}

void Prefetcher::Impl::forget(const std::string& address, const Error& why) {
  expected_.pass_over(address);
  mover_->forget(address, why);
}

PrefetcherState Prefetcher::Impl::state() const {
  PrefetcherState stats = stats_;
  if (mover_) stats.file_bytes = mover_->file_bytes();
  return stats;
}

Prefetcher::JobBytes Prefetcher::Impl::changed_jobs() {
  JobBytes jobs = std::exchange(dropped_, {});
  for (auto& [job, account] : accounts_)
    if (std::exchange(account.changed, false)) jobs.emplace_back(job, account.bytes);
  return jobs;
}

void Prefetcher::Impl::count(JobId job, std::uint64_t PrefetchStats::*what, std::uint64_t bytes) {
  Account& account = accounts_[job];
  account.bytes.*what += bytes;
  account.changed = true;
  stats_.*what += bytes;
}

void Prefetcher::Impl::shutdown() {
  closed_ = true;
  mover_.reset();
  expected_.shuffles().clear();
}

void Prefetcher::Impl::found_out(const Key& key, const std::string& address, const std::vector<MapAttempt>& maps, bool same_host) {
  const auto shuffle = expected_.shuffles().find(key);
  if (same_host || shuffle == expected_.shuffles().end()) return;
  ExpectedShuffle& outputs = shuffle->second;
  std::vector<MapAttempt>& there = outputs.by_address[address];
  std::copy_if(maps.begin(), maps.end(), std::back_inserter(there),
               [&](const MapAttempt& map) { return outputs.known.at(map) == address; });
  expected_.list(key);
  pump();
}

void Prefetcher::Impl::limit_far(std::uint32_t most) {
  most_far_ = most;
  pump();
}

/// The first that need not wait for others from other racks.
std::optional<Candidate> Prefetcher::Impl::next_candidate() const {
  const std::set<Candidate>& all = expected_.candidates();
  const auto next = std::ranges::find_if(all, [this](const Candidate& one) { return !held_back(one.address); });
  return next == all.end() ? std::nullopt : std::optional(*next);
}

void Prefetcher::Impl::pump() {
  while (!closed_ && !starved_ && leaving_ == 0 && flights_ < options_.fetch.pull.in_flight) {
    const std::optional<Candidate> found = next_candidate();
    if (!found) return;
    const Candidate& next = *found;
    const Expected::Wanted wanted = next.comes_back() ? Expected::Wanted() : expected_.next_fetch(next);
    const std::uint64_t bytes = next.comes_back() ? partition_of(next).cache.next_file_bytes() : wanted.bytes;
    if (bytes > options_.memory_bytes) {
      expected_.erase(next);  // too large for this: its task asks for it
      continue;
    }
    if (!make_room(&next, bytes)) return;
    if (!next.comes_back())
      fetch(next, wanted.maps);
    else if (leaving_ > 0 || !bring_back(next))
      return;
  }
}

ExpectedPartition& Prefetcher::Impl::partition_of(const Candidate& what) {
  return expected_.shuffles().at(what.key()).partitions.at(what.partition);
}

void Prefetcher::Impl::fetch(const Candidate& what, std::size_t count) {
  expected_.erase(what);
  ExpectedPartition& partition = partition_of(what);
  const ExpectedShuffle& shuffle = expected_.shuffles().at(what.key());
  const std::vector<MapAttempt>& there = shuffle.by_address.at(what.address);
  std::size_t& next = partition.next[what.address];
  const auto first = there.begin() + static_cast<std::ptrdiff_t>(next);
  FetchRequest request{what.address, what.job, what.shuffle, what.partition, {first, first + static_cast<std::ptrdiff_t>(count)}};
  next += count;
  expected_.list(what.key(), what.partition, what.address);
  std::erase_if(request.maps, [&](const MapAttempt& map) { return shuffle.moved.contains(map) && partition.cache.has(map); });
  if (request.maps.empty()) return;
  ++partition.flights;
  ++flights_;
  const bool far = far_.contains(what.address);
  if (far) ++far_flights_;
  auto maps = request.maps;
  mover_->fetch(std::move(request), [weak = weak_from_this(), what, far, maps = std::move(maps)](FetchOutcome outcome) mutable {
    const auto self = weak.lock();
    if (self && !self->closed_) self->fetched(what, far, std::move(maps), std::move(outcome));
  });
}

void Prefetcher::Impl::fetched(const Candidate& what, bool far, std::vector<MapAttempt> maps, FetchOutcome outcome) {
  --flights_;
  if (far) --far_flights_;
  if (!outcome.blocks) {
    log_.debug("not prefetched: {}", outcome.blocks.error().to_string());
    if (outcome.blocks.error().code() != Code::not_found) expected_.pass_over(what.address);
  }
  ExpectedPartition* partition = expected_.find(what.key(), what.partition);
  if (partition != nullptr && partition->flights > 0) {
    --partition->flights;
    if (outcome.blocks) {
      partition->maps = maps.size();
      std::uint64_t bytes = 0;
      for (const PartitionSize& of_map : outcome.blocks->partitions) bytes += of_map.bytes;
      partition->map_bytes = bytes / maps.size() + 1;
      keep(what, *partition, std::move(maps), std::move(*outcome.blocks));
    }
    settle(what.key(), what.partition);
    answer(what.job, *partition);
  } else if (outcome.blocks) {
    count_unwanted(what.job, outcome.blocks->size);
  }
  pump();
}

/// Of a job that is over only the sums tell it.
void Prefetcher::Impl::count_unwanted(JobId job, std::uint64_t bytes) {
  for (std::uint64_t PrefetchStats::*what : {&PrefetchStats::prefetched_bytes, &PrefetchStats::wasted_bytes}) {
    if (accounts_.contains(job)) {
      count(job, what, bytes);
    } else {
      stats_.*what += bytes;
    }
  }
}

void Prefetcher::Impl::keep(const Candidate& what, ExpectedPartition& partition, std::vector<MapAttempt> maps,
                            SealedSegment blocks) {
  count(what.job, &PrefetchStats::prefetched_bytes, blocks.size);
  auto room = std::make_shared<const SegmentRoom>(rooms_.reserve_exactly(what.job, blocks.size));
  starved_ = room->bytes() == 0;
  if (starved_ || !make_room(&what, blocks.size)) return count(what.job, &PrefetchStats::wasted_bytes, blocks.size);
  partition.unread += blocks.size;
  stats_.held_bytes += blocks.size;
  ++stats_.held_segments;
  partition.cache.add(std::make_shared<const HeldBlocks>(HeldBlocks{std::move(blocks), std::move(maps), std::move(room)}));
}

void Prefetcher::Impl::answer(JobId job, ExpectedPartition& partition) {
  if (partition.flights > 0 || partition.cache.away() || partition.waiting.empty()) return;
  if (partition.unread > 0) count(job, &PrefetchStats::read_bytes, std::exchange(partition.unread, 0));
  for (const Taken& done : std::exchange(partition.waiting, {})) done(partition.cache.in_memory());
}

void Prefetcher::Impl::give_up(const Key& key, std::uint32_t number, ExpectedPartition& partition) {
  expected_.unlist(key, number);
  release(key.first, partition);
  partition.flights = 0;
  answer(key.first, partition);
}

namespace {

/// A worker's.
class WorkerMover final : public BlockMover {
 public:
  WorkerMover(rpc::Reactor& reactor, rpc::Reactor& background, const Store& store, SameHost& same_host,
              const PrefetchOptions& options)
      : same_host_(same_host),
        fetcher_(reactor, options.fetch),
        evictions_(reactor, background, store.directory(), options.disk_bytes, options.segments) {}
  void find_out(const std::string& address, std::function<void(bool)> done) override {
    same_host_.find_out(address, std::move(done));
  }
  void fetch(FetchRequest request, FetchDone done) override { fetcher_.fetch(std::move(request), std::move(done)); }
  void forget(const std::string& address, const Error& why) override { fetcher_.forget(address, why); }
  void write(std::vector<HeldPtr> blocks, Written done) override { evictions_.write(std::move(blocks), std::move(done)); }
  void read(FilePtr file, std::shared_ptr<const SegmentRoom> room, Read done) override {
    evictions_.read(std::move(file), std::move(room), std::move(done));
  }
  std::uint64_t file_bytes() const override { return evictions_.file_bytes(); }

 private:
  SameHost& same_host_;
  BlockFetcher fetcher_;
  Evictions evictions_;
};

}  // namespace

Prefetcher::Prefetcher(rpc::Reactor& reactor, rpc::Reactor& background, Store& store, SameHost& same_host,
                       const PrefetchOptions& options)
    : Prefetcher(std::make_unique<WorkerMover>(reactor, background, store, same_host, options), store, options) {}
Prefetcher::Prefetcher(std::unique_ptr<BlockMover> mover, RoomGiver& rooms, const PrefetchOptions& options)
    : impl_(std::make_shared<Impl>(std::move(mover), rooms, options)) {}
Prefetcher::~Prefetcher() { impl_->shutdown(); }
void Prefetcher::expect(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions) {
  impl_->expect(job, shuffle, partitions);
}
void Prefetcher::defer(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions) {
  impl_->defer(job, shuffle, partitions);
}
void Prefetcher::offer(JobId job, ShuffleId shuffle, const std::vector<RemoteOutput>& outputs, std::uint64_t block_bytes,
                       bool complete) {
  impl_->offer(job, shuffle, outputs, block_bytes, complete);
}
std::uint64_t Prefetcher::block_bytes(JobId job, ShuffleId shuffle) const { return impl_->block_bytes(job, shuffle); }
void Prefetcher::limit_far(std::uint32_t most) { impl_->limit_far(most); }
void Prefetcher::take(JobId job, ShuffleId shuffle, std::uint32_t partition, Taken done) {
  impl_->take(job, shuffle, partition, std::move(done));
}
void Prefetcher::drop(JobId job, ShuffleId shuffle, std::uint32_t partition) { impl_->drop(job, shuffle, partition); }
void Prefetcher::drop(JobId job, ShuffleId shuffle) { impl_->drop(job, shuffle); }
void Prefetcher::drop(JobId job) { impl_->drop(job); }
void Prefetcher::forget(const std::string& address, const Error& why) { impl_->forget(address, why); }
PrefetcherState Prefetcher::state() const { return impl_->state(); }
Prefetcher::JobBytes Prefetcher::changed_jobs() { return impl_->changed_jobs(); }

}  // namespace weft::shuffle
