#include "shuffle/store/written.hpp"

#include <algorithm>

namespace weft::shuffle {

Written written_of(std::span<const PartitionSize> sizes) {
  Written written(std::in_place);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].bytes == 0 && sizes[i].records == 0) continue;  // records may take no bytes
    if (written->size() == kMostWritten) return std::nullopt;
    written->push_back(static_cast<std::uint32_t>(i));
  }
  return written;
}

bool may_have(const Written& written, std::uint32_t partition) {
  return !written || std::binary_search(written->begin(), written->end(), partition);
}

WrittenIndex::WrittenIndex(std::span<const Written> written) : described_(static_cast<std::uint32_t>(written.size())) {
  for (std::uint32_t output = 0; output < described_; ++output) {
    if (written[output])
      for (const std::uint32_t partition : *written[output]) entries_.emplace_back(partition, output);
    else
      unknown_.push_back(output);
  }
  std::sort(entries_.begin(), entries_.end());
}

std::vector<std::uint32_t> WrittenIndex::outputs_with(std::uint32_t partition, std::uint32_t first, std::uint32_t end) const {
  std::vector<std::uint32_t> outputs;
  auto unknown = std::lower_bound(unknown_.begin(), unknown_.end(), first);
  const auto take_unknown = [&](std::uint32_t before) {
    for (; unknown != unknown_.end() && *unknown < before; ++unknown) outputs.push_back(*unknown);
  };
  auto known = std::lower_bound(entries_.begin(), entries_.end(), std::pair(partition, first));
  for (; known != entries_.end() && *known < std::pair(partition, end); ++known) {
    take_unknown(known->second);
    outputs.push_back(known->second);
  }
  take_unknown(end);
  for (std::uint32_t output = std::max(first, described_); output < end; ++output) outputs.push_back(output);
  return outputs;
}

}  // namespace weft::shuffle
