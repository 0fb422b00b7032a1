#include "weft/detail/sources.hpp"

#include <algorithm>
#include <stdexcept>

#include "storage/compression/decompressor.hpp"

namespace weft::detail {
namespace {

/// Whether the reader of this split will find that its file is compressed. Errors are left to the reader, which meets them again.
bool detected_compressed(const storage::Split& split, storage::RemoteFiles* files) {
  if (split.offset != 0 || split.format != storage::Format::detect) return false;
  auto file = storage::InputFile::open(split.path, files, split.version);
  if (!file) return false;
  const auto format = storage::format_of(*file);
  return format && is_compressed(*format);
}

}  // namespace

void check_record_bytes(std::uint64_t bytes) {
  if (bytes == 0) throw std::invalid_argument("read_records: a record has at least one byte");
}

std::vector<storage::Split> splits_to_read(TaskContext& context, std::uint64_t record_bytes) {
  if (context.splits == nullptr) return {};
  std::uint64_t total = 0;
  for (const storage::Split& split : *context.splits) total += split.length;
  if (context.sample_bytes == 0 || total <= 2 * context.sample_bytes) return *context.splits;
  std::vector<storage::Split> chosen;
  std::uint64_t kept = 0;
  for (const storage::Split& split : *context.splits) {
    // Compressed files have no windows: one block may be larger than the sample.
    if (is_compressed(split.format) || detected_compressed(split, context.files)) {
      chosen.push_back(split);
      kept += split.length;
      continue;
    }
    // Each split gives its share of the sample, in windows of whole records.
    const std::uint64_t stride = split.length / kSampleWindows / record_bytes * record_bytes;
    std::uint64_t window = context.sample_bytes / kSampleWindows * (split.length >> 10) / ((total >> 10) + 1);
    window = std::max<std::uint64_t>(window / record_bytes, 16) * record_bytes;
    if (stride <= window) {
      chosen.push_back(split);
      kept += split.length;
      continue;
    }
    for (std::uint64_t w = 0; w < kSampleWindows; ++w) {
      chosen.push_back({split.path, split.offset + w * stride, window, split.hosts, split.format, split.version});
      kept += window;
    }
  }
  context.sampled_share = static_cast<double>(kept) / static_cast<double>(total);
  return chosen;
}

}  // namespace weft::detail
