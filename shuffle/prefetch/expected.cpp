#include "shuffle/prefetch/expected.hpp"

#include <algorithm>

namespace weft::shuffle {
namespace {

constexpr std::size_t kMostMaps = 1024;           // of one fetch
constexpr std::uint64_t kFirstFetches = 16;       // as small a part of a fetch, for a partition may be much larger than the others
constexpr std::uint64_t kNotWorthIt = 16u << 10;  // less is had as fast when its task asks for it

/// By the last fetch of the partition; before the first one, by the mean of all.
std::uint64_t map_bytes(const ExpectedShuffle& shuffle, const ExpectedPartition& partition) {
  return partition.map_bytes > 0 ? partition.map_bytes : shuffle.block_bytes;
}

/// Outputs at the address that were not fetched yet.
std::size_t left_at(const ExpectedShuffle& shuffle, const ExpectedPartition& partition, const std::string& address) {
  const auto next = partition.next.find(address);
  return shuffle.by_address.at(address).size() - (next == partition.next.end() ? 0 : next->second);
}

}  // namespace

ExpectedPartition* Expected::find(const Key& key, std::uint32_t number) {
  const auto shuffle = shuffles_.find(key);
  if (shuffle == shuffles_.end()) return nullptr;
  const auto found = shuffle->second.partitions.find(number);
  return found == shuffle->second.partitions.end() ? nullptr : &found->second;
}

Candidate Expected::candidate(const Key& key, std::uint32_t number, const std::string& address) const {
  const std::uint32_t rank = shuffles_.at(key).partitions.at(number).rank;
  return {rank / std::max(1u, options_.round), key.first, key.second, rank, number, address};
}

void Expected::unlist(const Key& key, std::uint32_t number) {
  erase(candidate(key, number, ""));
  for (const auto& [address, maps] : shuffles_.at(key).by_address) erase(candidate(key, number, address));
}

void Expected::list(const Key& key, std::uint32_t number) {
  const ExpectedShuffle& shuffle = shuffles_.at(key);
  if (shuffle.partitions.at(number).cache.in_files()) return list(key, number, "");
  for (const auto& [address, maps] : shuffle.by_address) list(key, number, address);
}

void Expected::list(const Key& key, std::uint32_t number, const std::string& address) {
  const ExpectedShuffle& shuffle = shuffles_.at(key);
  const ExpectedPartition& partition = shuffle.partitions.at(number);
  const BlockCache& cache = partition.cache;
  if (partition.taken || cache.leaving() || cache.returning() || shuffle.deferred.contains(number)) return;
  if (cache.in_files() != address.empty()) return;
  const std::uint64_t least = shuffle.complete ? kNotWorthIt : options_.least_bytes;
  if (!address.empty() && left_at(shuffle, partition, address) * map_bytes(shuffle, partition) < least) return;
  candidates_.insert(candidate(key, number, address));
}

void Expected::list(const Key& key) {
  for (const auto& [number, partition] : shuffles_.at(key).partitions) list(key, number);
}

void Expected::pass_over(const std::string& address) {
  for (auto& [key, shuffle] : shuffles_) {
    if (shuffle.by_address.erase(address) == 0) continue;
    for (auto& [number, partition] : shuffle.partitions) {
      erase(candidate(key, number, address));
      partition.next.erase(address);
    }
  }
}

Expected::Wanted Expected::next_fetch(const Candidate& candidate) const {
  const ExpectedShuffle& shuffle = shuffles_.at(candidate.key());
  const ExpectedPartition& partition = shuffle.partitions.at(candidate.partition);
  const std::uint64_t each = std::max<std::uint64_t>(1, map_bytes(shuffle, partition));
  const std::uint64_t worth = options_.fetch_bytes / each;
  const std::uint64_t most = partition.map_bytes > 0 ? std::min(worth, std::uint64_t{2} * partition.maps) : worth / kFirstFetches;
  const std::size_t left = left_at(shuffle, partition, candidate.address);
  const std::size_t maps = std::min<std::size_t>(left, std::clamp<std::uint64_t>(most, 1, kMostMaps));
  return {maps, maps * each};
}

std::optional<Candidate> Expected::last_in_memory() const {
  std::optional<Candidate> last;
  for (const auto& [key, shuffle] : shuffles_) {
    for (const auto& [number, partition] : shuffle.partitions) {
      if (partition.taken || partition.cache.in_memory().empty() || partition.cache.leaving() || partition.cache.returning())
        continue;
      Candidate one = candidate(key, number, "");
      if (!last || *last < one) last = std::move(one);
    }
  }
  return last;
}

}  // namespace weft::shuffle
