#include "storage/chunks/damaged_chunk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <unistd.h>

#include "storage/chunks/chunk_file.hpp"

namespace weft::storage {
namespace {

constexpr std::uint64_t kStep = 1u << 20;

/// Up to the first byte that the file does not give; what is left of `into` stays as it is. False: the disk failed.
bool read_what_is_there(int fd, std::uint64_t offset, MutableBytes into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    into = into.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

Result<std::vector<std::uint32_t>> DamagedChunk::checksums() const {
  std::vector<std::uint32_t> stored(page_count(info_.length));
  const bool given = read_what_is_there(fd_.get(), info_.length,
                                        {reinterpret_cast<std::byte*>(stored.data()), stored.size() * sizeof(std::uint32_t)});
  if (digest_of(stored) == info_.digest) return stored;
  struct stat info {};
  const bool complete = ::fstat(fd_.get(), &info) == 0 && static_cast<std::uint64_t>(info.st_size) >= info_.length;
  PageChecksums of_bytes;
  for (std::uint64_t at = 0; complete && at < info_.length; at += kStep)
    of_bytes.add(read(at, std::min(kStep, info_.length - at)).view());
  auto computed = of_bytes.finish();
  if (digest_of(computed) == info_.digest) return computed;
  if (!given) return fail(Code::io, "the disk does not give the checksums of the pages of " + to_string(info_.id));
  return fail(Code::corrupt, "neither the checksums of the pages of " + to_string(info_.id) + " nor its bytes fit its digest");
}

Buffer DamagedChunk::read(std::uint64_t offset, std::uint64_t length) const {
  Buffer bytes(length);
  std::memset(bytes.data(), 0, bytes.size());
  // Page by page: a disk that does not give one may give the next.
  for (std::uint64_t at = 0; at < length; at += kPageBytes)
    read_what_is_there(fd_.get(), offset + at, bytes.span().subspan(at, std::min(kPageBytes, length - at)));
  return bytes;
}

}  // namespace weft::storage
