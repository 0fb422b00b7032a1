#include "storage/chunks/chunk_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc32c.hpp"
#include "base/mapped.hpp"
#include "base/text.hpp"

namespace weft::storage {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::string_view kMagic = "weftchk\n";
constexpr std::size_t kFooterBytes = 48;
constexpr std::size_t kChecked = 36;  // bytes of the footer under its checksum

/// Little-endian numbers one after the other.
class Fields {
 public:
  explicit Fields(std::byte* at) : at_(at) {}
  template <class T>
  Fields& put(T value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
    return *this;
  }

 private:
  std::byte* at_;
};

template <class T>
T number_at(const std::byte* bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

Result<void> read_at(int fd, std::uint64_t offset, MutableBytes into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error("cannot read a chunk file", errno));
    if (got == 0) return fail(Code::corrupt, "a chunk file is shorter than it was");
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

ByteView bytes_of(const std::vector<std::uint32_t>& checksums) {
  return {reinterpret_cast<const std::byte*>(checksums.data()), checksums.size() * sizeof(std::uint32_t)};
}

Error damaged(ChunkId id, const std::string& what) {
  return Error(Code::corrupt, fmt::format("{} is damaged: {}", to_string(id), what));
}

Result<void> compare(ChunkId id, const std::vector<std::uint32_t>& checksums, std::uint64_t page, std::uint32_t sum) {
  if (page < checksums.size() && sum == checksums[page]) return {};
  return fail(damaged(id, fmt::format("page {} does not fit its checksum", page)));
}

Result<std::uint64_t> size_of(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return fail(errno_error("cannot look at a chunk file", errno));
  return static_cast<std::uint64_t>(status.st_size);
}

Result<std::vector<std::uint32_t>> read_checksums(int fd, const ChunkInfo& info) {
  std::vector<std::uint32_t> checksums(page_count(info.length));
  WEFT_TRY(read_at(fd, info.length, {reinterpret_cast<std::byte*>(checksums.data()), checksums.size() * sizeof(std::uint32_t)}));
  if (digest_of(checksums) != info.digest) return fail(damaged(info.id, "the checksums of its pages do not fit its digest"));
  return checksums;
}

}  // namespace

void PageChecksums::add(ByteView bytes) {
  while (!bytes.empty()) {
    const std::uint64_t room = kPageBytes - length_ % kPageBytes;
    const ByteView part = bytes.first(std::min<std::size_t>(bytes.size(), room));
    current_ = crc32c(part, current_);
    length_ += part.size();
    if (part.size() == room) pages_.push_back(std::exchange(current_, 0));
    bytes = bytes.subspan(part.size());
  }
}

std::vector<std::uint32_t> PageChecksums::finish() const {
  std::vector<std::uint32_t> all = pages_;
  if (length_ % kPageBytes != 0) all.push_back(current_);
  return all;
}

std::uint32_t digest_of(const std::vector<std::uint32_t>& checksums) { return crc32c(bytes_of(checksums)); }

Buffer encode_trailer(const ChunkInfo& info, std::uint64_t cluster, const std::vector<std::uint32_t>& checksums) {
  const ByteView sums = bytes_of(checksums);
  Buffer trailer(sums.size() + kFooterBytes);
  if (!sums.empty()) std::memcpy(trailer.data(), sums.data(), sums.size());
  std::byte* const footer = trailer.data() + sums.size();
  Fields fields(footer);
  fields.put(info.id.value()).put(info.length).put(cluster);
  fields.put(static_cast<std::uint32_t>(kPageBytes)).put(info.digest).put(kVersion);
  fields.put(crc32c({footer, kChecked}));
  std::memcpy(footer + kChecked + sizeof(std::uint32_t), kMagic.data(), kMagic.size());
  return trailer;
}

std::uint64_t chunk_file_size(std::uint64_t length) { return length + page_count(length) * sizeof(std::uint32_t) + kFooterBytes; }

Result<ChunkFooter> read_footer(int fd) {
  WEFT_ASSIGN(const std::uint64_t size, size_of(fd));
  if (size < kFooterBytes) return fail(Code::corrupt, "no chunk file: too short for a footer");
  std::array<std::byte, kFooterBytes> bytes;
  WEFT_TRY(read_at(fd, size - kFooterBytes, bytes));
  const std::byte* const footer = bytes.data();
  if (as_chars(ByteView(bytes).last(kMagic.size())) != kMagic) return fail(Code::corrupt, "no chunk file: it does not end as one");
  if (crc32c({footer, kChecked}) != number_at<std::uint32_t>(footer, kChecked))
    return fail(Code::corrupt, "a chunk file's footer does not fit its checksum");
  if (const auto version = number_at<std::uint32_t>(footer, 32); version != kVersion)
    return fail(Code::version_mismatch,
                fmt::format("a chunk file has format version {}, this release knows {}", version, kVersion));
  const ChunkFooter found{
      {ChunkId(number_at<std::uint64_t>(footer, 0)), number_at<std::uint64_t>(footer, 8), number_at<std::uint32_t>(footer, 28)},
      number_at<std::uint64_t>(footer, 16)};
  if (number_at<std::uint32_t>(footer, 24) != kPageBytes || found.info.length > kLargestChunkBytes ||
      chunk_file_size(found.info.length) != size)
    return fail(Code::corrupt, "a chunk file is not as long as its footer says");
  return found;
}

Result<std::shared_ptr<const ChunkFile>> ChunkFile::open(Fd fd, const ChunkInfo& expected) {
  auto footer = read_footer(fd.get());
  if (!footer) return fail(std::move(footer).error().wrap(to_string(expected.id)));
  if (footer->info != expected) return fail(damaged(expected.id, "its file is that of another chunk"));
  WEFT_ASSIGN(auto checksums, read_checksums(fd.get(), expected));
  const std::byte* data = nullptr;
  if (expected.length != 0) {
    void* const mapped = ::mmap(nullptr, expected.length, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (mapped == MAP_FAILED) return fail(errno_error("cannot map " + to_string(expected.id), errno));
    data = static_cast<const std::byte*>(mapped);
  }
  return std::shared_ptr<const ChunkFile>(new ChunkFile(std::move(fd), expected, std::move(checksums), data));
}

ChunkFile::~ChunkFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), info_.length);
}

Result<void> ChunkFile::verify(std::uint64_t offset, std::uint64_t length) const {
  if (offset > info_.length || length > info_.length - offset)
    return fail(Code::invalid_argument,
                fmt::format("{} has {} bytes, not {} from {} on", to_string(info_.id), info_.length, length, offset));
  const std::uint64_t from = offset / kPageBytes * kPageBytes;
  const std::uint64_t end = std::min(info_.length, (offset + length + kPageBytes - 1) / kPageBytes * kPageBytes);
  for (std::uint64_t at = from; at < end; at += kPageBytes) {
    const auto sum = crc32c_of_mapped({data_ + at, std::min(end - at, kPageBytes)});
    if (!sum) return fail(damaged(info_.id, fmt::format("its disk does not give page {}", at / kPageBytes)));
    WEFT_TRY(compare(info_.id, checksums_, at / kPageBytes, *sum));
  }
  return {};
}

bool ChunkFile::cached(std::uint64_t offset, std::uint64_t length) const {
  const auto system_page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t from = offset / kPageBytes * kPageBytes;
  const std::uint64_t end = std::min(info_.length, (offset + length + kPageBytes - 1) / kPageBytes * kPageBytes);
  if (from >= end) return true;
  std::vector<unsigned char> resident((end - from + system_page - 1) / system_page);
  if (::mincore(const_cast<std::byte*>(data_ + from), end - from, resident.data()) != 0) return false;
  return std::all_of(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; });
}

Result<void> verify_pages(ChunkId id, const std::vector<std::uint32_t>& checksums, std::uint64_t first_page, ByteView bytes) {
  for (std::uint64_t page = first_page; !bytes.empty(); ++page) {
    const ByteView part = bytes.first(std::min<std::size_t>(bytes.size(), kPageBytes));
    WEFT_TRY(compare(id, checksums, page, crc32c(part)));
    bytes = bytes.subspan(part.size());
  }
  return {};
}

}  // namespace weft::storage
