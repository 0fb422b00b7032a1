#include "shuffle/prefetch.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>

#include "base/log.hpp"
#include "base/text.hpp"

namespace weft::shuffle {
namespace {

constexpr std::size_t kMostMaps = 1024;           // of one fetch
constexpr std::uint64_t kFirstFetches = 16;       // as small a part of a fetch, for a partition may be much larger than the others
constexpr std::uint64_t kNotWorthIt = 16u << 10;  // less is had as fast when its task asks for it

struct Held {
  SealedSegment blocks;
  std::vector<MapAttempt> maps;
  SegmentRoom room;
};

/// One that is expected to be read here.
struct Partition {
  std::uint32_t rank = 0;                   // in the order of reading
  std::map<std::string, std::size_t> next;  // by address: outputs before that position were fetched, or are under way
  std::vector<Held> held;
  std::uint32_t flights = 0;
  std::uint64_t map_bytes = 0;  // of a map, as in the last fetch; 0: none has come
  std::size_t maps = 0;         // of that fetch
  bool taken = false;
  std::vector<std::pair<PartRange, Prefetcher::Taken>> waiting;  // for the flights
};

struct Outputs {
  std::map<std::uint32_t, Partition> partitions;
  std::map<std::string, std::vector<MapAttempt>> by_address;
  std::set<MapAttempt> known;
  std::uint64_t block_bytes = 0;
  bool complete = false;
};

/// A partition that something at that address is to be fetched for. Earlier rounds first, then jobs and shuffles by age.
struct Candidate {
  std::uint32_t round = 0;
  JobId job;
  ShuffleId shuffle;
  std::uint32_t rank = 0;
  std::uint32_t partition = 0;
  std::string address;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

enum class Nearness : std::uint8_t { asked, near, far };

}  // namespace

class Prefetcher::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(rpc::Reactor& reactor, Store& store, Neighbours* neighbours, PrefetchOptions options)
      : store_(store), neighbours_(neighbours), options_(options), fetcher_(std::in_place, reactor, options.fetch) {}

  void expect(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions) {
    Outputs& outputs = shuffles_[{job, shuffle}];
    for (const auto& [number, partition] : outputs.partitions) unlist(job, shuffle, number, partition);
    const std::set<std::uint32_t> wanted(partitions.begin(), partitions.end());
    for (auto at = outputs.partitions.begin(); at != outputs.partitions.end();) {
      if (at->second.taken || wanted.contains(at->first)) {
        ++at;
      } else {
        release(at->second);
        at = outputs.partitions.erase(at);
      }
    }
    for (std::uint32_t rank = 0; rank < partitions.size(); ++rank) outputs.partitions[partitions[rank]].rank = rank;
    list_all(job, shuffle, outputs);
    pump();
  }

  void offer(JobId job, ShuffleId shuffle, const std::vector<RemoteOutput>& offered, std::uint64_t block_bytes, bool complete) {
    Outputs& outputs = shuffles_[{job, shuffle}];
    outputs.block_bytes = block_bytes;
    outputs.complete = outputs.complete || complete;
    for (const RemoteOutput& output : offered) {
      if (!outputs.known.insert(output.map).second || nearness(output, job, shuffle) == Nearness::near) continue;
      outputs.by_address[output.address].push_back(output.map);
    }
    list_all(job, shuffle, outputs);
    starved_ = false;  // what others keep in the store comes and goes
    pump();
  }

  void take(JobId job, ShuffleId shuffle, std::uint32_t number, PartRange range, Taken done) {
    Partition* partition = find({job, shuffle}, number);
    if (partition == nullptr) return done({});
    unlist(job, shuffle, number, *partition);
    partition->taken = true;
    partition->waiting.emplace_back(range, std::move(done));
    answer(job, *partition);
  }

  void drop(JobId job, ShuffleId shuffle, std::uint32_t number) {
    Partition* partition = find({job, shuffle}, number);
    if (partition == nullptr) return;
    give_up(job, shuffle, number, *partition);
    shuffles_.at({job, shuffle}).partitions.erase(number);
    pump();
  }

  void drop(JobId job, ShuffleId shuffle) {
    const auto outputs = shuffles_.find({job, shuffle});
    if (outputs == shuffles_.end()) return;
    for (auto& [number, partition] : outputs->second.partitions) give_up(job, shuffle, number, partition);
    shuffles_.erase(outputs);
    pump();
  }

  void drop(JobId job) {
    for (auto at = shuffles_.lower_bound({job, ShuffleId(0)}); at != shuffles_.end() && at->first.first == job;) {
      const ShuffleId shuffle = (at++)->first.second;
      drop(job, shuffle);
    }
    const auto ahead = ahead_.extract(job);
    if (ahead.empty()) return;
    log_.info("job {}: {} were brought to its tasks ahead, {} of it was read", job.value(), human_bytes(ahead.mapped().brought),
              human_bytes(ahead.mapped().taken));
  }

  void forget(const std::string& address, const Error& why) {
    pass_over(address);
    nearness_.erase(address);
    fetcher_->forget(address, why);
  }

  PrefetchStats stats() const { return stats_; }

  void shutdown() {
    closed_ = true;
    fetcher_.reset();
    shuffles_.clear();
  }

 private:
  using Key = std::pair<JobId, ShuffleId>;

  Partition* find(const Key& key, std::uint32_t number) {
    const auto outputs = shuffles_.find(key);
    if (outputs == shuffles_.end()) return nullptr;
    const auto found = outputs->second.partitions.find(number);
    return found == outputs->second.partitions.end() ? nullptr : &found->second;
  }

  /// Found out with the first output there.
  Nearness nearness(const RemoteOutput& output, JobId job, ShuffleId shuffle) {
    if (neighbours_ == nullptr) return Nearness::far;
    const auto [known, fresh] = nearness_.try_emplace(output.address, Nearness::asked);
    if (!fresh) return known->second;
    neighbours_->open(output.address, job, shuffle, {output.map},
                      [weak = weak_from_this(), address = output.address](const Result<std::vector<Fd>>& opened) {
                        const auto self = weak.lock();
                        if (self && !self->closed_) self->found_out(address, opened.has_value());
                      });
    return Nearness::asked;
  }

  void found_out(const std::string& address, bool near) {
    nearness_[address] = near ? Nearness::near : Nearness::far;
    for (auto& [key, outputs] : shuffles_) {
      if (near)
        outputs.by_address.erase(address);
      else
        list_all(key.first, key.second, outputs);
    }
    pump();
  }

  bool is_far(const std::string& address) const {
    if (neighbours_ == nullptr) return true;
    const auto known = nearness_.find(address);
    return known != nearness_.end() && known->second == Nearness::far;
  }

  Candidate candidate(JobId job, ShuffleId shuffle, std::uint32_t number, const Partition& partition,
                      const std::string& address) const {
    return {partition.rank / std::max(1u, options_.round), job, shuffle, partition.rank, number, address};
  }

  void unlist(JobId job, ShuffleId shuffle, std::uint32_t number, const Partition& partition) {
    for (const auto& [address, maps] : shuffles_.at({job, shuffle}).by_address)
      candidates_.erase(candidate(job, shuffle, number, partition, address));
  }

  /// By what came of the partition; until something has, by the mean of all.
  static std::uint64_t map_bytes(const Outputs& outputs, const Partition& partition) {
    return partition.map_bytes > 0 ? partition.map_bytes : outputs.block_bytes;
  }

  /// Where there is enough for a fetch.
  void list(JobId job, ShuffleId shuffle, std::uint32_t number, const Partition& partition, const Outputs& outputs,
            const std::string& address) {
    if (partition.taken) return;
    const auto next = partition.next.find(address);
    const std::size_t left = outputs.by_address.at(address).size() - (next == partition.next.end() ? 0 : next->second);
    if (left * map_bytes(outputs, partition) < (outputs.complete ? kNotWorthIt : options_.least_bytes)) return;
    candidates_.insert(candidate(job, shuffle, number, partition, address));
  }

  void list_all(JobId job, ShuffleId shuffle, const Outputs& outputs) {
    for (const auto& [address, maps] : outputs.by_address) {
      if (!is_far(address)) continue;
      for (const auto& [number, partition] : outputs.partitions) list(job, shuffle, number, partition, outputs, address);
    }
  }

  void pump() {
    while (!closed_ && !starved_ && flights_ < options_.fetch.in_flight && !candidates_.empty()) {
      const Candidate next = *candidates_.begin();
      const Outputs& outputs = shuffles_.at({next.job, next.shuffle});
      const Wanted wanted = next_fetch(outputs, outputs.partitions.at(next.partition), next.address);
      if (wanted.bytes > options_.memory_bytes) {
        candidates_.erase(next);  // too large for this: its task asks for it
        continue;
      }
      if (!make_room(next, wanted.bytes)) return;
      fetch(next, wanted.maps);
    }
  }

  struct Wanted {
    std::size_t maps = 0;
    std::uint64_t bytes = 0;  // about
  };
  /// As many maps as a fetch should hold.
  Wanted next_fetch(const Outputs& outputs, const Partition& partition, const std::string& address) const {
    const std::uint64_t each = std::max<std::uint64_t>(1, map_bytes(outputs, partition));
    const std::uint64_t worth = options_.fetch_bytes / each;
    const std::uint64_t most = partition.map_bytes > 0 ? std::min(worth, std::uint64_t{2} * partition.maps) : worth / kFirstFetches;
    const auto next = partition.next.find(address);
    const std::size_t left = outputs.by_address.at(address).size() - (next == partition.next.end() ? 0 : next->second);
    const std::size_t maps = std::min<std::size_t>(left, std::clamp<std::uint64_t>(most, 1, kMostMaps));
    return {maps, maps * each};
  }

  /// Gives up what would be read in a later round, whole partitions at a time.
  bool make_room(const Candidate& next, std::uint64_t bytes) {
    while (stats_.held_bytes + bytes > options_.memory_bytes || stats_.held_segments >= options_.segments) {
      Partition* last = nullptr;
      Key key;
      std::uint32_t number = 0;
      for (auto& [of, outputs] : shuffles_) {
        for (auto& [n, partition] : outputs.partitions) {
          if (partition.taken || partition.held.empty()) continue;
          if (last == nullptr || partition.rank >= last->rank) last = &partition, key = of, number = n;
        }
      }
      if (last == nullptr || last->rank / std::max(1u, options_.round) <= next.round) return false;
      evict(key, number, *last);
    }
    return true;
  }

  /// It is fetched again when there is room.
  void evict(const Key& key, std::uint32_t number, Partition& partition) {
    unlist(key.first, key.second, number, partition);
    for (const Held& held : partition.held) stats_.evicted_bytes += held.blocks.size;
    release(partition);
    partition.next.clear();
    const Outputs& outputs = shuffles_.at(key);
    for (const auto& [address, maps] : outputs.by_address)
      if (is_far(address)) list(key.first, key.second, number, partition, outputs, address);
  }

  void fetch(const Candidate& what, std::size_t count) {
    candidates_.erase(what);
    Outputs& outputs = shuffles_.at({what.job, what.shuffle});
    Partition& partition = outputs.partitions.at(what.partition);
    const std::vector<MapAttempt>& there = outputs.by_address.at(what.address);
    std::size_t& next = partition.next[what.address];
    const auto first = there.begin() + static_cast<std::ptrdiff_t>(next);
    FetchRequest request{what.address, what.job, what.shuffle, what.partition, {first, first + static_cast<std::ptrdiff_t>(count)}};
    next += count;
    list(what.job, what.shuffle, what.partition, partition, outputs, what.address);
    ++partition.flights;
    ++flights_;
    auto maps = request.maps;
    fetcher_->fetch(std::move(request), [weak = weak_from_this(), what, maps = std::move(maps)](FetchOutcome outcome) mutable {
      const auto self = weak.lock();
      if (self && !self->closed_) self->fetched(what, std::move(maps), std::move(outcome));
    });
  }

  void fetched(const Candidate& what, std::vector<MapAttempt> maps, FetchOutcome outcome) {
    --flights_;
    if (!outcome.blocks) {
      log_.debug("not brought before it is needed: {}", outcome.blocks.error().to_string());
      if (outcome.blocks.error().code() != Code::not_found) pass_over(what.address);
    }
    Partition* partition = find({what.job, what.shuffle}, what.partition);
    if (partition != nullptr && partition->flights > 0) {
      --partition->flights;
      if (outcome.blocks) {
        partition->maps = maps.size();
        std::uint64_t bytes = 0;
        for (const PartitionSize& of_map : outcome.blocks->partitions) bytes += of_map.bytes;
        partition->map_bytes = bytes / maps.size() + 1;
        keep(what, *partition, std::move(maps), std::move(*outcome.blocks));
      }
      answer(what.job, *partition);
    }
    pump();
  }

  /// Nothing more is brought from there until it has something new.
  void pass_over(const std::string& address) {
    for (auto& [key, outputs] : shuffles_) {
      if (outputs.by_address.erase(address) == 0) continue;
      for (auto& [number, partition] : outputs.partitions) {
        candidates_.erase(candidate(key.first, key.second, number, partition, address));
        partition.next.erase(address);
      }
    }
  }

  /// Without room in the store it was brought in vain.
  void keep(const Candidate& what, Partition& partition, std::vector<MapAttempt> maps, SealedSegment blocks) {
    stats_.brought_bytes += blocks.size;
    ahead_[what.job].brought += blocks.size;
    SegmentRoom room = store_.reserve_exactly(what.job, blocks.size);
    starved_ = room.bytes() == 0;
    if (starved_ || !make_room(what, blocks.size)) return;
    stats_.held_bytes += blocks.size;
    ++stats_.held_segments;
    partition.held.push_back({std::move(blocks), std::move(maps), std::move(room)});
  }

  void answer(JobId job, Partition& partition) {
    if (partition.flights > 0 || partition.waiting.empty()) return;
    for (auto& [range, done] : std::exchange(partition.waiting, {})) done(part_of(job, partition, range));
  }

  PrefetchedPart part_of(JobId job, const Partition& partition, PartRange range) {
    PrefetchedPart part;
    std::size_t at = range.from;
    for (; at < partition.held.size() && part.blocks.size() < range.most; ++at) {
      const Held& held = partition.held[at];
      Fd copy(::fcntl(held.blocks.fd.get(), F_DUPFD_CLOEXEC, 0));
      if (!copy.valid()) return part;  // out of descriptors: the task fetches the rest
      stats_.taken_bytes += held.blocks.size;
      ahead_[job].taken += held.blocks.size;
      part.blocks.push_back({std::move(copy), held.maps});
    }
    part.more = at < partition.held.size();
    return part;
  }

  void release(Partition& partition) {
    for (const Held& held : partition.held) stats_.held_bytes -= held.blocks.size;
    stats_.held_segments -= partition.held.size();
    if (!partition.held.empty()) starved_ = false;
    partition.held.clear();
  }

  void give_up(JobId job, ShuffleId shuffle, std::uint32_t number, Partition& partition) {
    unlist(job, shuffle, number, partition);
    release(partition);
    partition.flights = 0;
    answer(job, partition);
  }

  Store& store_;
  Neighbours* neighbours_;
  const PrefetchOptions options_;
  const Log log_{"prefetch"};
  std::optional<BlockFetcher> fetcher_;  // calls nothing back once it is gone
  std::map<Key, Outputs> shuffles_;
  std::map<std::string, Nearness> nearness_;
  std::set<Candidate> candidates_;
  std::uint32_t flights_ = 0;
  PrefetchStats stats_;
  struct Ahead {
    std::uint64_t brought = 0, taken = 0;
  };
  std::map<JobId, Ahead> ahead_;  // bytes of running jobs
  bool starved_ = false;          // the store had no room: until something is given up, or offered
  bool closed_ = false;
};

Prefetcher::Prefetcher(rpc::Reactor& reactor, Store& store, Neighbours* neighbours, PrefetchOptions options)
    : impl_(std::make_shared<Impl>(reactor, store, neighbours, options)) {}
Prefetcher::~Prefetcher() { impl_->shutdown(); }
void Prefetcher::expect(JobId job, ShuffleId shuffle, const std::vector<std::uint32_t>& partitions) {
  impl_->expect(job, shuffle, partitions);
}
void Prefetcher::offer(JobId job, ShuffleId shuffle, const std::vector<RemoteOutput>& outputs, std::uint64_t block_bytes,
                       bool complete) {
  impl_->offer(job, shuffle, outputs, block_bytes, complete);
}
void Prefetcher::take(JobId job, ShuffleId shuffle, std::uint32_t partition, PartRange range, Taken done) {
  impl_->take(job, shuffle, partition, range, std::move(done));
}
void Prefetcher::drop(JobId job, ShuffleId shuffle, std::uint32_t partition) { impl_->drop(job, shuffle, partition); }
void Prefetcher::drop(JobId job, ShuffleId shuffle) { impl_->drop(job, shuffle); }
void Prefetcher::drop(JobId job) { impl_->drop(job); }
void Prefetcher::forget(const std::string& address, const Error& why) { impl_->forget(address, why); }
PrefetchStats Prefetcher::stats() const { return impl_->stats(); }

}  // namespace weft::shuffle
