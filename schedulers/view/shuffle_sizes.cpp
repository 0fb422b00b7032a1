#include "schedulers/view/shuffle_sizes.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace weft::schedulers {

namespace {
constexpr int kMantissaBits = 11;
constexpr std::uint64_t kHidden = std::uint64_t{1} << kMantissaBits;
}  // namespace

std::uint16_t pack_size(std::uint64_t bytes) {
  if (bytes < kHidden) return static_cast<std::uint16_t>(bytes);
  auto shift = static_cast<std::uint64_t>(std::bit_width(bytes)) - kMantissaBits - 1;
  const std::uint64_t half = shift == 0 ? 0 : std::uint64_t{1} << (shift - 1);
  std::uint64_t mantissa = shift == 0 ? bytes : (bytes / 2 + half / 2) >> (shift - 1);  // halves first: bytes + half could overflow
  if (mantissa >= 2 * kHidden) mantissa /= 2, ++shift;
  if (shift > 30) return 0xffff;
  return static_cast<std::uint16_t>((shift + 1) << kMantissaBits | (mantissa - kHidden));
}

std::uint64_t unpack_size(std::uint16_t packed) {
  const std::uint64_t exponent = packed >> kMantissaBits;
  const std::uint64_t mantissa = packed & (kHidden - 1);
  return exponent == 0 ? mantissa : (kHidden | mantissa) << (exponent - 1);
}

std::uint64_t ShuffleSizes::OnNode::operator[](std::uint32_t partition) const {
  std::uint64_t sum = 0;
  for (const auto& [sizes, count] : maps_) {
    if (partition < sizes->size()) sum += count * unpack_size((*sizes)[partition]);
  }
  return sum;
}

std::vector<std::uint64_t> ShuffleSizes::OnNode::partitions() const {
  std::vector<std::uint64_t> sums;
  for (const auto& [sizes, count] : maps_) {
    sums.resize(std::max(sums.size(), sizes->size()));
    for (std::size_t i = 0; i < sizes->size(); ++i) sums[i] += count * unpack_size((*sizes)[i]);
  }
  return sums;
}

std::vector<std::uint64_t> ShuffleSizes::OnNode::feeders() const {
  std::vector<std::uint64_t> counts;
  for (const auto& [sizes, count] : maps_) {
    counts.resize(std::max(counts.size(), sizes->size()));
    for (std::size_t i = 0; i < sizes->size(); ++i) counts[i] += (*sizes)[i] != 0 ? count : 0;
  }
  return counts;
}

std::uint64_t ShuffleSizes::size(std::uint32_t map, std::uint32_t partition) const {
  if (!has(map) || partition >= sizes_of(rows_[map])->size()) return 0;
  return unpack_size((*sizes_of(rows_[map]))[partition]);
}

std::uint64_t ShuffleSizes::partition_bytes(std::uint32_t partition) const {
  return partition < partition_bytes_.size() ? partition_bytes_[partition] : 0;
}

std::optional<NodeId> ShuffleSizes::location(std::uint32_t map) const {
  if (!has(map)) return std::nullopt;
  return rows_[map].node;
}

std::uint64_t ShuffleSizes::node_bytes(NodeId node) const {
  auto found = by_node_.find(node);
  return found == by_node_.end() ? 0 : found->second.total();
}

void ShuffleSizes::add(std::uint32_t map, NodeId node, const std::vector<std::uint64_t>& sizes) {
  if (map >= maps_) return;
  remove(map);
  rows_.resize(maps_);
  ++finished_;
  if (partition_bytes_.empty()) partition_bytes_.resize(partitions_);
  packed_.clear();
  std::uint64_t sum = 0;
  for (std::size_t i = 0, count = std::min<std::size_t>(sizes.size(), partitions_); i < count; ++i) {
    packed_.push_back(pack_size(sizes[i]));
    const std::uint64_t bytes = unpack_size(packed_.back());
    partition_bytes_[i] += bytes;
    sum += bytes;
  }
  if (written_.empty() || *written_.back() != packed_)
    written_.push_back(std::make_shared<const std::vector<std::uint16_t>>(packed_));
  rows_[map] = {static_cast<std::uint32_t>(written_.size()), node};
  put(rows_[map], sum);
  total_ += sum;
}

void ShuffleSizes::remove(std::uint32_t map) {
  if (!has(map)) return;
  const Row row = std::exchange(rows_[map], {});
  --finished_;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < sizes_of(row)->size(); ++i) {
    const std::uint64_t bytes = unpack_size((*sizes_of(row))[i]);
    partition_bytes_[i] -= bytes;
    sum += bytes;
  }
  total_ -= sum;
  take(row, sum);
}

void ShuffleSizes::move(std::uint32_t map, NodeId node) {
  if (!has(map)) return;
  std::uint64_t sum = 0;
  for (const std::uint16_t packed : *sizes_of(rows_[map])) sum += unpack_size(packed);
  take(rows_[map], sum);
  rows_[map].node = node;
  put(rows_[map], sum);
}

void ShuffleSizes::put(const Row& row, std::uint64_t bytes) {
  OnNode& there = by_node_[row.node];
  if (there.maps_.empty() || there.maps_.back().first != sizes_of(row)) there.maps_.emplace_back(sizes_of(row), 0);
  ++there.maps_.back().second;
  there.total_ += bytes;
}

void ShuffleSizes::take(const Row& row, std::uint64_t bytes) {
  const auto place = by_node_.find(row.node);
  if (place == by_node_.end()) return;  // forgotten
  OnNode& there = place->second;
  there.total_ -= bytes;
  const auto found =
      std::find_if(there.maps_.begin(), there.maps_.end(), [&](const auto& entry) { return entry.first == sizes_of(row); });
  if (--found->second == 0) there.maps_.erase(found);
}

}  // namespace weft::schedulers
