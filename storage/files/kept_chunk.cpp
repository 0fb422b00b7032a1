#include "storage/files/kept_chunk.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "base/unlinked_file.hpp"

namespace weft::storage::files {
namespace {

constexpr std::uint64_t kPieceBytes = 1u << 20;

}  // namespace

Result<void> KeptChunk::append(ByteView bytes) {
  if (!in_memory()) return append_to_file(bytes);
  if (directory_.empty() || size_ + bytes.size() <= kSmall) {
    memory_.append(as_chars(bytes));
    size_ += bytes.size();
    return {};
  }
  const std::string small = std::exchange(memory_, {});
  size_ = 0;
  WEFT_TRY(append_to_file(as_bytes(small)));
  return append_to_file(bytes);
}

Result<void> KeptChunk::append_to_file(ByteView bytes) {
  if (!file_.valid()) {
    WEFT_ASSIGN(file_, unlinked_file(directory_));
  }
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(errno_error("cannot keep a chunk in " + directory_ + " until it is durable", errno));
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    size_ += static_cast<std::uint64_t>(put);
  }
  return {};
}

Result<void> KeptChunk::replay(const std::function<Result<void>(ByteView)>& take) const {
  if (in_memory()) return take(as_bytes(memory_));
  Buffer piece(std::min(kPieceBytes, size_));
  for (std::uint64_t at = 0; at < size_;) {
    const std::uint64_t wanted = std::min<std::uint64_t>(piece.size(), size_ - at);
    const ssize_t got = ::pread(file_.get(), piece.data(), wanted, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error("cannot read back a chunk kept in " + directory_, errno));
    if (got == 0) return fail(Code::io, "a chunk kept in " + directory_ + " is shorter than it was");
    WEFT_TRY(take(piece.view().first(static_cast<std::size_t>(got))));
    at += static_cast<std::uint64_t>(got);
  }
  return {};
}

void KeptChunk::clear() {
  memory_.clear();
  // What the kernel has not written back by now it need not. When it refuses, the bytes are overwritten.
  if (file_.valid() && ::ftruncate(file_.get(), 0) != 0) errno = 0;
  size_ = 0;
}

}  // namespace weft::storage::files
