#include "storage/split.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>

namespace weft::storage {
namespace {

constexpr std::uint64_t kSmallestPiece = 64u << 10;
constexpr std::uint64_t kPage = 4u << 10;
// Opening a file costs about as much as reading this many bytes; keeps a group of tiny files from being endless.
constexpr std::uint64_t kCostOfOpening = 16u << 10;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return value / by + (value % by != 0 ? 1 : 0); }

Result<std::uint64_t> input_size(const std::string& path, std::uint64_t record_bytes) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail(errno_error("cannot read input " + path, errno));
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid_argument, "input " + path + " is not a regular file");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (record_bytes != 0 && size % record_bytes != 0)
    return fail(Code::invalid_argument, "input " + path + " has " + std::to_string(size) +
                                            " bytes, which is no multiple of the record size " + std::to_string(record_bytes));
  return size;
}

/// Fills groups in the order of the files.
class Cutter {
 public:
  Cutter(std::uint64_t target, std::uint64_t unit) : target_(target), unit_(unit) {}

  void add(const std::string& path, std::uint64_t size) {
    if (size >= target_) return cut(path, size);
    const std::uint64_t cost = std::max(size, kCostOfOpening);
    if (cost_ + cost > target_) close();
    open_.push_back({path, 0, size, {}});
    cost_ += cost;
  }
  std::vector<SplitGroup> finish() && {
    close();
    return std::move(groups_);
  }

 private:
  void close() {
    if (!open_.empty()) groups_.push_back(std::move(open_));
    open_.clear();
    cost_ = 0;
  }
  /// Pieces of equal size rather than full ones and a small rest.
  void cut(const std::string& path, std::uint64_t size) {
    close();
    const std::uint64_t piece = round_up(divide_up(size, divide_up(size, target_)), unit_);
    for (std::uint64_t offset = 0; offset < size; offset += piece)
      groups_.push_back({{path, offset, std::min(piece, size - offset), {}}});
  }

  std::uint64_t target_;
  std::uint64_t unit_;
  std::vector<SplitGroup> groups_;
  SplitGroup open_;
  std::uint64_t cost_ = 0;
};

}  // namespace

Result<std::vector<SplitGroup>> split_files(std::span<const std::string> files, const SplitOptions& options) {
  std::vector<std::uint64_t> sizes;
  std::uint64_t total = 0;
  for (const std::string& file : files) {
    WEFT_ASSIGN(const std::uint64_t size, input_size(file, options.record_bytes));
    sizes.push_back(size);
    if (size != 0) total += std::max(size, kCostOfOpening);
  }
  const std::uint64_t fewest =
      std::max({options.min_groups, divide_up(total, std::max<std::uint64_t>(options.target_bytes, 1)), std::uint64_t{1}});
  const std::uint64_t wanted = round_up(fewest, std::max<std::uint64_t>(options.multiple_of, 1));
  const std::uint64_t target = std::max(divide_up(total, wanted), kSmallestPiece);
  Cutter cutter(target, options.record_bytes != 0 ? options.record_bytes : kPage);
  for (std::size_t i = 0; i < files.size(); ++i)
    if (sizes[i] != 0) cutter.add(files[i], sizes[i]);
  return std::move(cutter).finish();
}

}  // namespace weft::storage
