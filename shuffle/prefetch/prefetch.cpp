#include "shuffle/prefetch/prefetch.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "base/guarded.hpp"
#include "base/text.hpp"
#include "shuffle/prefetch/worker_mover.hpp"

namespace weft::shuffle {

void Prefetcher::expect(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions) {
  const Key key{job, shuffle};
  auto& known = expected_.shuffles()[key].partitions;
  for (const auto& [number, partition] : known) expected_.unlist(key, number);
  const std::set<std::uint32_t> wanted(partitions.begin(), partitions.end());
  for (auto at = known.begin(); at != known.end();) {
    if (at->second.taken || wanted.contains(at->first)) {
      ++at;
    } else {
      memory_.release(job, at->second);
      at = known.erase(at);
    }
  }
  for (std::uint32_t rank = 0; rank < partitions.size(); ++rank) known[partitions[rank]].rank = rank;
  expected_.list(key);
  pump();
}

void Prefetcher::defer(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions) {
  const Key key{job, shuffle};
  ExpectedShuffle& known = expected_.shuffles()[key];
  known.deferred = {partitions.begin(), partitions.end()};
  for (auto& [number, partition] : known.partitions) {
    expected_.unlist(key, number);
    if (!known.deferred.contains(number)) memory_.stay(partition);
    expected_.list(key, number);
    memory_.settle(key, number);
  }
  pump();
}

void Prefetcher::offer(JobId job, ShuffleId shuffle, const std::vector<RemoteOutput>& offered, std::uint64_t block_bytes,
                       bool complete) {
  const Key key{job, shuffle};
  ExpectedShuffle& outputs = expected_.shuffles()[key];
  outputs.block_bytes = block_bytes;
  outputs.complete = outputs.complete || complete;
  std::map<std::string, std::vector<MapAttempt>> fresh_at;  // by address
  for (const RemoteOutput& output : offered) {
    const std::uint32_t source = outputs.source(output.address, output.far);
    const auto [known, fresh] = outputs.known.try_emplace(output.map, source);
    if (!fresh && std::exchange(known->second, source) == source) continue;
    if (!fresh) outputs.moved.insert(output.map);
    fresh_at[output.address].push_back(output.map);
  }
  for (auto& [address, maps] : fresh_at)
    mover_->find_out(address, guarded(alive_, [this, key, address = address, maps = std::move(maps)](bool same_host) {
                       found_out(key, address, maps, same_host);
                     }));
  expected_.list_again(key);
  memory_.try_again();  // what others keep in the store comes and goes
  pump();
}

std::uint64_t Prefetcher::block_bytes(JobId job, ShuffleId shuffle) const {
  const auto known = expected_.shuffles().find({job, shuffle});
  return known == expected_.shuffles().end() ? 0 : known->second.block_bytes;
}

void Prefetcher::take(JobId job, ShuffleId shuffle, std::uint32_t number, Taken done) {
  const Key key{job, shuffle};
  ExpectedPartition* partition = expected_.find(key, number);
  if (partition == nullptr) return done({});
  expected_.unlist(key, number);
  partition->taken = true;
  partition->waiting.push_back(std::move(done));
  memory_.stay(*partition);
  memory_.bring_back_taken(key, number, *partition);
  answer(job, *partition);
}

void Prefetcher::drop(JobId job, ShuffleId shuffle, std::uint32_t number) {
  const Key key{job, shuffle};
  ExpectedPartition* partition = expected_.find(key, number);
  if (partition == nullptr) return;
  give_up(key, number, *partition);
  expected_.shuffles().at(key).partitions.erase(number);
  pump();
}

void Prefetcher::drop(JobId job, ShuffleId shuffle) {
  const auto outputs = expected_.shuffles().find({job, shuffle});
  if (outputs == expected_.shuffles().end()) return;
  for (auto& [number, partition] : outputs->second.partitions) give_up(outputs->first, number, partition);
  expected_.shuffles().erase(outputs);
  pump();
}

void Prefetcher::drop(JobId job) {
  auto& shuffles = expected_.shuffles();
  for (auto at = shuffles.lower_bound({job, ShuffleId(0)}); at != shuffles.end() && at->first.first == job;) {
    const ShuffleId shuffle = (at++)->first.second;
    drop(job, shuffle);
  }
  const auto bytes = accounts_.drop(job);
  if (!bytes || options_.quiet) return;
  log_.info("job {}: {} were prefetched, {} of it was read by tasks, {} was wasted; {} of it went to disk as {}, {} came back",
            job.value(), human_bytes(bytes->prefetched_bytes), human_bytes(bytes->read_bytes), human_bytes(bytes->wasted_bytes),
            human_bytes(bytes->evicted_bytes), human_bytes(bytes->evicted_file_bytes), human_bytes(bytes->returned_bytes));
}

void Prefetcher::forget(const std::string& address, const Error& why) {
  expected_.pass_over(address);
  mover_->forget(address, why);
}

PrefetcherState Prefetcher::state() const { return {accounts_.all(), memory_.stats(), mover_->file_bytes()}; }

void Prefetcher::found_out(const Key& key, const std::string& address, const std::vector<MapAttempt>& maps, bool same_host) {
  const auto shuffle = expected_.shuffles().find(key);
  if (same_host || shuffle == expected_.shuffles().end()) return;
  ExpectedShuffle& outputs = shuffle->second;
  const auto source = outputs.source_of.find(address);
  if (source == outputs.source_of.end()) return;  // the shuffle was dropped, and came again
  std::vector<MapAttempt>& there = outputs.sources[source->second].maps;
  std::copy_if(maps.begin(), maps.end(), std::back_inserter(there), [&](const MapAttempt& map) {
    const auto known = outputs.known.find(map);
    return known != outputs.known.end() && known->second == source->second;
  });
  expected_.list_source(key, source->second);
  expected_.list_again(key);
  pump();
}

void Prefetcher::limit_far(std::uint32_t most) {
  most_far_ = most;
  pump();
}

void Prefetcher::pump() {
  while (!memory_.starved() && !memory_.leaving() && flights_ + memory_.returning() < options_.fetch.pull.in_flight) {
    const std::optional<Candidate> found = expected_.next(far_flights_ >= most_far_);
    if (!found) return;
    const Candidate& next = *found;
    const Expected::Wanted wanted = next.source ? expected_.next_fetch(next) : Expected::Wanted();
    const std::uint64_t bytes = next.source ? wanted.bytes : expected_.partition_of(next.turn).cache.next_file_bytes();
    if (bytes > options_.memory_bytes) {
      expected_.skip(next);  // too large for this: its task asks for it
      continue;
    }
    if (!memory_.make_room(&next.turn, bytes)) return;
    if (next.source)
      fetch(next, wanted.maps);
    else if (memory_.leaving() || !memory_.bring_back(next.turn))
      return;
  }
}

void Prefetcher::fetch(const Candidate& candidate, std::size_t count) {
  expected_.erase(candidate);
  const Turn& what = candidate.turn;
  ExpectedPartition& partition = expected_.partition_of(what);
  const ExpectedShuffle& shuffle = expected_.shuffles().at(what.key());
  const Source& source = shuffle.sources[*candidate.source];
  std::size_t& next = partition.at[*candidate.source].next;
  const auto first = source.maps.begin() + static_cast<std::ptrdiff_t>(next);
  FetchRequest request{source.address, what.job, what.shuffle, what.partition, {first, first + static_cast<std::ptrdiff_t>(count)}};
  next += count;
  expected_.list(what.key(), what.partition, *candidate.source);
  std::erase_if(request.maps, [&](const MapAttempt& map) { return shuffle.moved.contains(map) && partition.cache.has(map); });
  if (request.maps.empty()) return;
  ++partition.flights;
  ++flights_;
  if (source.far) ++far_flights_;
  auto arrived = [this, what, address = source.address, far = source.far, maps = request.maps](FetchOutcome outcome) mutable {
    fetched(what, address, far, std::move(maps), std::move(outcome));
  };
  mover_->fetch(std::move(request), std::move(arrived));
}

void Prefetcher::fetched(const Turn& what, const std::string& address, bool far, std::vector<MapAttempt> maps,
                         FetchOutcome outcome) {
  --flights_;
  if (far) --far_flights_;
  if (!outcome.blocks) {
    log_.debug("not prefetched: {}", outcome.blocks.error().to_string());
    if (outcome.blocks.error().code() != Code::not_found) expected_.pass_over(address);
  }
  ExpectedPartition* partition = expected_.find(what.key(), what.partition);
  if (partition != nullptr && partition->flights > 0) {
    --partition->flights;
    if (outcome.blocks) {
      partition->maps = maps.size();
      std::uint64_t bytes = 0;
      for (const PartitionSize& of_map : outcome.blocks->partitions) bytes += of_map.bytes;
      partition->map_bytes = bytes / maps.size() + 1;
      memory_.keep(what, *partition, std::move(maps), std::move(*outcome.blocks));
    }
    memory_.settle(what.key(), what.partition);
    answer(what.job, *partition);
  } else if (outcome.blocks) {
    accounts_.count_unwanted(what.job, outcome.blocks->size);
  }
  pump();
}

void Prefetcher::answer(JobId job, ExpectedPartition& partition) {
  if (partition.flights > 0 || partition.cache.away() || partition.waiting.empty()) return;
  if (partition.unread > 0) accounts_.count(job, &PrefetchStats::read_bytes, std::exchange(partition.unread, 0));
  for (const Taken& done : std::exchange(partition.waiting, {})) done(partition.cache.in_memory());
}

void Prefetcher::give_up(const Key& key, std::uint32_t number, ExpectedPartition& partition) {
  expected_.unlist(key, number);
  memory_.release(key.first, partition);
  partition.flights = 0;
  answer(key.first, partition);
}

Prefetcher::Prefetcher(rpc::Reactor& reactor, rpc::Reactor& background, Store& store, SameHost& same_host,
                       const PrefetchOptions& options)
    : Prefetcher(std::make_unique<WorkerMover>(reactor, background, store, same_host, options), store, options) {}
Prefetcher::Prefetcher(std::unique_ptr<BlockMover> mover, RoomGiver& rooms, const PrefetchOptions& options)
    : options_(options), mover_(std::move(mover)), memory_(options_, expected_, accounts_, rooms, *mover_, [this] {
        for (auto& [key, shuffle] : expected_.shuffles())
          for (auto& [number, partition] : shuffle.partitions)
            if (partition.taken) answer(key.first, partition);
        pump();
      }) {}

}  // namespace weft::shuffle
