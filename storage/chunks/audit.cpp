#include "storage/chunks/audit.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "storage/chunks/chunk_file.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kStep = 512u << 10;
constexpr std::size_t kAlignment = 4096;  // of what is read past the page cache

using AlignedBytes = std::unique_ptr<std::byte, decltype(&std::free)>;

Result<Fd> open_uncached(const std::filesystem::path& path) {
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!file.valid() && errno == EINVAL) file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(errno_error("cannot open " + path.string(), errno));
  return file;
}

/// The chunk's bytes are summed up, the rest is compared with the trailer that follows from them.
class Audit {
 public:
  Audit(const ChunkInfo& info, std::uint64_t cluster) : info_(info), cluster_(cluster) {}

  Result<void> add(ByteView bytes) {
    const ByteView data = bytes.first(std::min<std::uint64_t>(bytes.size(), info_.length - sums_.length()));
    sums_.add(data);
    const ByteView rest = bytes.subspan(data.size());
    if (rest.empty()) return {};
    if (trailer_.empty()) {
      const auto checksums = sums_.finish();
      if (digest_of(checksums) != info_.digest) return different("its bytes do not fit its digest");
      trailer_ = encode_trailer(info_, cluster_, checksums);
    }
    if (rest.size() > trailer_.size() - compared_) return different("it is too long");
    if (std::memcmp(rest.data(), trailer_.data() + compared_, rest.size()) != 0) return different("its trailer is damaged");
    compared_ += rest.size();
    return {};
  }

  Result<void> finish() const {
    if (trailer_.empty() || compared_ != trailer_.size()) return different("it is too short");
    return {};
  }

 private:
  Result<void> different(const char* how) const {
    return fail(Code::corrupt, fmt::format("{} is damaged: {}", to_string(info_.id), how));
  }

  const ChunkInfo info_;
  const std::uint64_t cluster_;
  PageChecksums sums_;
  Buffer trailer_;
  std::size_t compared_ = 0;
};

}  // namespace

Result<void> audit_chunk_file(const std::filesystem::path& path, const ChunkInfo& info, std::uint64_t cluster,
                              const std::function<bool(std::uint64_t)>& pace) {
  WEFT_ASSIGN(const Fd file, open_uncached(path));
  const AlignedBytes buffer(static_cast<std::byte*>(std::aligned_alloc(kAlignment, kStep)), &std::free);
  if (buffer == nullptr) return fail(Code::resource_exhausted, "no memory to check a chunk with");
  Audit audit(info, cluster);
  const std::uint64_t size = chunk_file_size(info.length);
  for (std::uint64_t offset = 0; offset < size;) {
    if (!pace(kStep)) return fail(Code::cancelled, "the check was stopped");
    const ssize_t got = ::pread(file.get(), buffer.get(), kStep, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const Error why = errno_error("its disk does not give it", errno);
      return fail(Code::corrupt, fmt::format("{} is damaged: {}", to_string(info.id), why.to_string()));
    }
    if (got == 0) break;
    WEFT_TRY(audit.add({buffer.get(), static_cast<std::size_t>(got)}));
    offset += static_cast<std::uint64_t>(got);
    if (offset % kAlignment != 0) ::fcntl(file.get(), F_SETFL, 0);  // what follows, if anything does, is not aligned
  }
  return audit.finish();
}

}  // namespace weft::storage
