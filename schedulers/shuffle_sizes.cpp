#include "schedulers/shuffle_sizes.hpp"

#include <algorithm>
#include <bit>

namespace weft::sched {

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

std::uint64_t ShuffleSizes::size(std::uint32_t map, std::uint32_t partition) const {
  if (map >= maps_ || partition >= rows_[map].sizes.size()) return 0;
  return unpack_size(rows_[map].sizes[partition]);
}

std::uint64_t ShuffleSizes::partition_bytes(std::uint32_t partition) const {
  return partition < partition_bytes_.size() ? partition_bytes_[partition] : 0;
}

std::optional<NodeId> ShuffleSizes::location(std::uint32_t map) const {
  if (map >= maps_ || !rows_[map].present) return std::nullopt;
  return rows_[map].node;
}

std::uint64_t ShuffleSizes::node_bytes(NodeId node) const {
  auto found = node_bytes_.find(node);
  return found == node_bytes_.end() ? 0 : found->second;
}

void ShuffleSizes::add(std::uint32_t map, NodeId node, const std::vector<std::uint64_t>& sizes) {
  if (map >= maps_) return;
  remove(map);
  Row& row = rows_[map];
  row.present = true;
  row.node = node;
  ++finished_;
  if (partition_bytes_.empty()) partition_bytes_.resize(partitions_);
  auto& on_node = by_node_[node];
  if (on_node.empty()) on_node.resize(partitions_);
  const std::size_t count = std::min<std::size_t>(sizes.size(), partitions_);
  row.sizes.resize(count);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    row.sizes[i] = pack_size(sizes[i]);
    const std::uint64_t bytes = unpack_size(row.sizes[i]);
    partition_bytes_[i] += bytes;
    on_node[i] += bytes;
    sum += bytes;
  }
  node_bytes_[node] += sum;
  total_ += sum;
}

void ShuffleSizes::remove(std::uint32_t map) {
  if (map >= maps_ || !rows_[map].present) return;
  Row row = std::move(rows_[map]);
  rows_[map] = Row();
  --finished_;
  auto& on_node = by_node_[row.node];
  for (std::size_t i = 0; i < row.sizes.size(); ++i) {
    const std::uint64_t bytes = unpack_size(row.sizes[i]);
    partition_bytes_[i] -= bytes;
    on_node[i] -= bytes;
    node_bytes_[row.node] -= bytes;
    total_ -= bytes;
  }
}

}  // namespace weft::sched
