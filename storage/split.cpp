#include "storage/split.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "storage/compression/decompressor.hpp"

namespace weft::storage {
namespace {

constexpr std::uint64_t kSmallestPiece = 64u << 10;
constexpr std::uint64_t kPage = 4u << 10;
// Opening a file costs about as much as reading this many bytes; keeps a group of tiny files from being endless.
constexpr std::uint64_t kCostOfOpening = 16u << 10;
// The reader of a piece of a compressed file searches for its first block and decompresses a block of the next piece.
constexpr std::uint64_t kSmallestCompressedPiece = 2u << 20;
// Up to this many local files are opened to see what they are, for the plan. Of more files, those that would be cut.
constexpr std::size_t kFilesToLookAt = 1000;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }
std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return value / by + (value % by != 0 ? 1 : 0); }

struct Input {
  std::uint64_t size = 0;
  bool sizeless = false;            // it claims to have no bytes and has some
  std::vector<RemotePiece> pieces;  // of a file of the cluster
  Format format = Format::detect;
  bool whole = false;  // it must not be cut
  FileVersion version;
};

/// How many bytes there are to begin with in a file that claims to have none.
Result<std::uint64_t> first_bytes(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return fail(errno_error("cannot read input " + path, errno));
  std::array<char, kSmallestPiece> bytes;
  ssize_t count = 0;
  do {
    count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(errno_error("cannot read input " + path, errno));
  return static_cast<std::uint64_t>(count);
}

Result<Input> input_of(const std::string& path, const FileVersion& listed, RemoteFiles* remote) {
  Input input;
  input.version = listed;
  if (is_remote(path)) {
    if (remote == nullptr) return fail(Code::invalid_argument, "input " + path + " is no local file");
    WEFT_ASSIGN(input.pieces, remote->pieces(path, listed));
    for (const RemotePiece& piece : input.pieces) input.size += piece.length;
    return input;
  }
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return fail(errno_error("cannot read input " + path, errno));
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid_argument, "input " + path + " is not a regular file");
  WEFT_TRY(check_same(path, listed, version_of(info, true)));
  if (!listed.known()) input.version = version_of(info, false);
  input.version.may_grow = listed.may_grow;
  input.size = input.version.bytes;
  if (info.st_size != 0) return input;
  WEFT_ASSIGN(input.size, first_bytes(path));
  input.sizeless = input.size != 0;
  if (input.sizeless) input.version = {};
  return input;
}

Result<Input> checked_input(const std::string& path, std::uint64_t record_bytes, const FileVersion& listed, RemoteFiles* remote) {
  WEFT_ASSIGN(Input input, input_of(path, listed, remote));
  const std::uint64_t size = input.size;
  if (record_bytes != 0 && input.sizeless) return fail(sizeless_records(path));
  if (record_bytes != 0 && size % record_bytes != 0)
    return fail(Code::invalid_argument, "input " + path + " has " + std::to_string(size) +
                                            " bytes, which is no multiple of the record size " + std::to_string(record_bytes));
  return input;
}

/// Whether it is compressed, and can be cut.
Result<void> look_at(const std::string& path, RemoteFiles* remote, bool cut, Input& input) {
  WEFT_ASSIGN(InputFile file, InputFile::open(path, remote, input.version));
  WEFT_ASSIGN(input.format, format_of(file));
  if (!is_compressed(input.format) || !cut) return {};
  WEFT_ASSIGN(const bool splittable, is_splittable(file, input.format));
  input.whole = input.whole || !splittable;
  return {};
}

/// Fills groups in the order of the files.
class Cutter {
 public:
  Cutter(std::uint64_t target, std::uint64_t record_bytes)
      : target_(target), unit_(record_bytes != 0 ? record_bytes : kPage), record_(std::max<std::uint64_t>(record_bytes, 1)) {}

  void add(const std::string& path, const Input& input) {
    if (input.size == 0) return;
    if (!input.pieces.empty()) return add_pieces(path, input);
    const bool large = input.size >= target_;
    if (large && !input.whole) return cut(path, input);
    const std::uint64_t cost = std::max(input.size, kCostOfOpening);
    if (large || cost_ + cost > target_) close();
    open_.push_back({path, 0, input.size, {}, input.format, input.version});
    cost_ += cost;
  }
  std::vector<SplitGroup> finish() && {
    close();
    return std::move(groups_);
  }

 private:
  /// The ends of pieces are ends of splits, too, as nearly as whole records allow.
  void add_pieces(const std::string& path, const Input& input) {
    if (input.whole) return add(path, 0, input.size, input.pieces.front().hosts, input);
    std::uint64_t begin = 0;
    for (const RemotePiece& piece : input.pieces) {
      std::uint64_t end = piece.offset + piece.length;
      if (end != input.size) end -= end % record_;
      if (end <= begin) continue;
      const std::uint64_t share = round_up(divide_up(end - begin, divide_up(end - begin, target_of(input))), record_);
      for (; begin < end; begin += std::min(share, end - begin)) add(path, begin, std::min(share, end - begin), piece.hosts, input);
    }
  }
  void add(const std::string& path, std::uint64_t offset, std::uint64_t length, const std::vector<std::string>& hosts,
           const Input& input) {
    const std::uint64_t cost = std::max(length, kCostOfOpening);
    std::vector<std::string> common;
    std::set_intersection(hosts.begin(), hosts.end(), hosts_.begin(), hosts_.end(), std::back_inserter(common));
    const bool anywhere = hosts.empty() && hosts_.empty();
    if (open_.empty() || cost_ + cost > target_ || (common.empty() && !anywhere)) {
      close();
      common = hosts;
    }
    hosts_ = std::move(common);
    open_.push_back({path, offset, length, hosts, input.format, input.version});
    cost_ += cost;
  }
  void close() {
    if (!open_.empty()) groups_.push_back(std::move(open_));
    open_.clear();
    hosts_.clear();
    cost_ = 0;
  }
  /// Pieces of equal size rather than full ones and a small rest.
  void cut(const std::string& path, const Input& input) {
    close();
    const std::uint64_t piece = round_up(divide_up(input.size, divide_up(input.size, target_of(input))), unit_);
    for (std::uint64_t offset = 0; offset < input.size; offset += piece)
      groups_.push_back({{path, offset, std::min(piece, input.size - offset), {}, input.format, input.version}});
  }
  std::uint64_t target_of(const Input& input) const {
    return is_compressed(input.format) ? std::max(target_, kSmallestCompressedPiece) : target_;
  }

  std::uint64_t target_;
  std::uint64_t unit_;    // where local files may be cut
  std::uint64_t record_;  // and where those of the cluster
  std::vector<SplitGroup> groups_;
  SplitGroup open_;
  std::vector<std::string> hosts_;  // that hold all of it, when it is of the cluster
  std::uint64_t cost_ = 0;
};

}  // namespace

Error sizeless_records(const std::string& path) {
  return {Code::invalid_argument,
          "input " + path +
              " claims to have 0 bytes but has some, so it cannot be cut into records of a fixed size; copy "
              "it to a file first"};
}

Result<std::vector<SplitGroup>> split_files(std::span<const std::string> files, const SplitOptions& options, RemoteFiles* remote,
                                            std::span<const FileVersion> listed) {
  std::vector<Input> all;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    FileVersion version = i < listed.size() ? listed[i] : FileVersion{};
    version.may_grow = options.growing_files;
    WEFT_ASSIGN(Input input, checked_input(files[i], options.record_bytes, version, remote));
    if (input.size != 0) total += std::max(input.size, kCostOfOpening);
    all.push_back(std::move(input));
  }
  const std::uint64_t fewest =
      std::max({options.min_groups, divide_up(total, std::max<std::uint64_t>(options.target_bytes, 1)), std::uint64_t{1}});
  const std::uint64_t wanted = round_up(fewest, std::max<std::uint64_t>(options.multiple_of, 1));
  const std::uint64_t target = std::max(divide_up(total, wanted), kSmallestPiece);
  Cutter cutter(target, options.record_bytes);
  for (std::size_t i = 0; i < files.size(); ++i) {
    Input& input = all[i];
    input.format = options.format;
    input.whole = options.whole_files;
    const bool cut = input.size >= target || input.pieces.size() > 1;
    const bool look = options.record_bytes == 0 && options.format == Format::detect && !input.sizeless && input.size != 0;
    if (look && (cut || (input.pieces.empty() && files.size() <= kFilesToLookAt))) WEFT_TRY(look_at(files[i], remote, cut, input));
    cutter.add(files[i], input);
  }
  return std::move(cutter).finish();
}

}  // namespace weft::storage
