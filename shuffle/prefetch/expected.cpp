#include "shuffle/prefetch/expected.hpp"

#include <algorithm>
#include <utility>

namespace weft::shuffle {
namespace {

constexpr std::size_t kMostMaps = 1024;           // of one fetch
constexpr std::uint64_t kFirstFetches = 16;       // as small a part of a fetch, for a partition may be much larger than the others
constexpr std::uint64_t kNotWorthIt = 16u << 10;  // less is had as fast when its task asks for it

/// By the last fetch of the partition; before the first one, by the mean of all.
std::uint64_t map_bytes(const ExpectedShuffle& shuffle, const ExpectedPartition& partition) {
  return partition.map_bytes > 0 ? partition.map_bytes : shuffle.block_bytes;
}

/// Outputs of the source that were not fetched yet.
std::size_t left_at(const ExpectedShuffle& shuffle, const ExpectedPartition& partition, std::uint32_t source) {
  return shuffle.sources[source].maps.size() - (source < partition.at.size() ? partition.at[source].next : 0);
}

}  // namespace

std::uint32_t ExpectedShuffle::source(const std::string& address, bool far) {
  const auto [found, added] = source_of.try_emplace(address, static_cast<std::uint32_t>(sources.size()));
  if (added) sources.push_back({address, far, {}});
  return found->second;
}

ExpectedPartition* Expected::find(const Key& key, std::uint32_t number) {
  const auto shuffle = shuffles_.find(key);
  if (shuffle == shuffles_.end()) return nullptr;
  const auto found = shuffle->second.partitions.find(number);
  return found == shuffle->second.partitions.end() ? nullptr : &found->second;
}

Turn Expected::turn(const Key& key, std::uint32_t number) const {
  const std::uint32_t rank = shuffles_.at(key).partitions.at(number).rank;
  return {rank / std::max(1u, options_.round), key.first, key.second, rank, number};
}

bool Expected::may_list(const ExpectedShuffle& shuffle, std::uint32_t number, const ExpectedPartition& partition) const {
  const BlockCache& cache = partition.cache;
  return !partition.taken && !cache.leaving() && !cache.returning() && !shuffle.deferred.contains(number);
}

/// The least number of outputs of a source that are worth a fetch.
std::uint64_t Expected::least_outputs(const ExpectedShuffle& shuffle, const ExpectedPartition& partition) const {
  const std::uint64_t least = shuffle.complete ? kNotWorthIt : options_.least_bytes;
  const std::uint64_t each = map_bytes(shuffle, partition);
  return each == 0 ? UINT64_MAX : std::max<std::uint64_t>(1, least / each + (least % each != 0));
}

void Expected::list(const Key& key, std::uint32_t number) {
  ExpectedShuffle& shuffle = shuffles_.at(key);
  ExpectedPartition& partition = shuffle.partitions.at(number);
  if (!may_list(shuffle, number, partition)) return;
  const Turn turn = this->turn(key, number);
  if (partition.cache.in_files()) {
    partition.comes_back = true;
    near_.insert(turn);
    return;
  }
  partition.least = least_outputs(shuffle, partition);
  for (std::uint32_t source = 0; source < shuffle.sources.size(); ++source)
    if (left_at(shuffle, partition, source) >= partition.least) add(turn, shuffle, partition, source);
}

void Expected::list(const Key& key, std::uint32_t number, std::uint32_t source) {
  ExpectedShuffle& shuffle = shuffles_.at(key);
  ExpectedPartition& partition = shuffle.partitions.at(number);
  if (!may_list(shuffle, number, partition) || partition.cache.in_files()) return;
  const std::uint64_t least = least_outputs(shuffle, partition);
  partition.least = std::max(partition.least, least);
  if (left_at(shuffle, partition, source) >= least) add(turn(key, number), shuffle, partition, source);
}

void Expected::list(const Key& key) {
  for (const auto& [number, partition] : shuffles_.at(key).partitions) list(key, number);
}

void Expected::list_again(const Key& key) {
  const ExpectedShuffle& shuffle = shuffles_.at(key);
  for (const auto& [number, partition] : shuffle.partitions)
    if (least_outputs(shuffle, partition) < partition.least) list(key, number);
}

void Expected::list_source(const Key& key, std::uint32_t source) {
  for (const auto& [number, partition] : shuffles_.at(key).partitions) list(key, number, source);
}

void Expected::add(const Turn& turn, const ExpectedShuffle& shuffle, ExpectedPartition& partition, std::uint32_t source) {
  if (partition.at.size() <= source) partition.at.resize(shuffle.sources.size());
  if (std::exchange(partition.at[source].listed, true)) return;
  const Source& there = shuffle.sources[source];
  std::vector<std::uint32_t>& listed = partition.sources[there.far];
  if (listed.empty()) (there.far ? far_ : near_).insert(turn);
  const auto later = [&](std::uint32_t one, const std::string& address) { return shuffle.sources[one].address > address; };
  listed.insert(std::lower_bound(listed.begin(), listed.end(), there.address, later), source);
}

void Expected::remove(const Turn& turn, const ExpectedShuffle& shuffle, ExpectedPartition& partition, std::uint32_t source) {
  if (source >= partition.at.size() || !std::exchange(partition.at[source].listed, false)) return;
  const bool far = shuffle.sources[source].far;
  std::vector<std::uint32_t>& listed = partition.sources[far];
  listed.erase(std::find(listed.rbegin(), listed.rend(), source).base() - 1);  // the next one is at the end
  if (listed.empty()) (far ? far_ : near_).erase(turn);
}

void Expected::unlist(const Key& key, std::uint32_t number) {
  ExpectedPartition& partition = shuffles_.at(key).partitions.at(number);
  const Turn turn = this->turn(key, number);
  near_.erase(turn);
  far_.erase(turn);
  partition.comes_back = false;
  for (std::vector<std::uint32_t>& listed : partition.sources) {
    for (const std::uint32_t source : listed) partition.at[source].listed = false;
    listed.clear();
  }
}

void Expected::pass_over(const std::string& address) {
  for (auto& [key, shuffle] : shuffles_) {
    const auto found = shuffle.source_of.find(address);
    if (found == shuffle.source_of.end()) continue;
    const std::uint32_t source = found->second;
    shuffle.sources[source].maps.clear();
    for (auto& [number, partition] : shuffle.partitions) {
      remove(turn(key, number), shuffle, partition, source);
      if (source < partition.at.size()) partition.at[source].next = 0;
    }
  }
}

std::optional<Candidate> Expected::next(bool near) const {
  const Turn* here = near_.empty() ? nullptr : &*near_.begin();
  const Turn* there = near || far_.empty() ? nullptr : &*far_.begin();
  if (here == nullptr && there == nullptr) return std::nullopt;
  bool far = here == nullptr || (there != nullptr && *there < *here);
  const Turn& turn = far ? *there : *here;
  const ExpectedShuffle& shuffle = shuffles_.at(turn.key());
  const ExpectedPartition& partition = shuffle.partitions.at(turn.partition);
  if (!far && partition.comes_back) return Candidate{turn, std::nullopt};
  if (!far && there != nullptr && *there == turn)
    far = shuffle.sources[partition.sources[1].back()].address < shuffle.sources[partition.sources[0].back()].address;
  return Candidate{turn, partition.sources[far].back()};
}

void Expected::erase(const Candidate& candidate) {
  const ExpectedShuffle& shuffle = shuffles_.at(candidate.turn.key());
  ExpectedPartition& partition = partition_of(candidate.turn);
  if (candidate.source) return remove(candidate.turn, shuffle, partition, *candidate.source);
  partition.comes_back = false;
  if (partition.sources[0].empty()) near_.erase(candidate.turn);
}

void Expected::skip(const Candidate& candidate) {
  erase(candidate);
  partition_of(candidate.turn).least = UINT64_MAX;
}

Expected::Wanted Expected::next_fetch(const Candidate& candidate) const {
  const ExpectedShuffle& shuffle = shuffles_.at(candidate.turn.key());
  const ExpectedPartition& partition = shuffle.partitions.at(candidate.turn.partition);
  const std::uint64_t each = std::max<std::uint64_t>(1, map_bytes(shuffle, partition));
  const std::uint64_t worth = options_.fetch_bytes / each;
  const std::uint64_t most = partition.map_bytes > 0 ? std::min(worth, std::uint64_t{2} * partition.maps) : worth / kFirstFetches;
  const std::size_t left = left_at(shuffle, partition, *candidate.source);
  const std::size_t maps = std::min<std::size_t>(left, std::clamp<std::uint64_t>(most, 1, kMostMaps));
  return {maps, maps * each};
}

std::optional<Turn> Expected::last_in_memory() const {
  std::optional<Turn> last;
  for (const auto& [key, shuffle] : shuffles_) {
    for (const auto& [number, partition] : shuffle.partitions) {
      if (partition.taken || partition.cache.in_memory().empty() || partition.cache.leaving() || partition.cache.returning())
        continue;
      const Turn one = turn(key, number);
      if (!last || *last < one) last = one;
    }
  }
  return last;
}

}  // namespace weft::shuffle
