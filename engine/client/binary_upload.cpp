#include "engine/client/binary_upload.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::client {
namespace {

constexpr std::uint64_t kMaxBinaryBytes = std::uint64_t{2} << 30;

}  // namespace

Result<void> upload_binary(const std::string& path, const std::string& what, const Hash128& hash, const UploadCall& call) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(errno_error(fmt::format("cannot read {}", what), errno));
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(0, ::lseek(file.get(), 0, SEEK_END)));
  if (size > kMaxBinaryBytes) return fail(Code::invalid_argument, fmt::format("{} is larger than 2 GiB; strip it", what));
  for (std::uint64_t offset = 0; offset < size;) {
    Buffer chunk(std::min(kUploadChunkBytes, size - offset));
    const ssize_t got = ::pread(file.get(), chunk.data(), chunk.size(), static_cast<off_t>(offset));
    if (got != static_cast<ssize_t>(chunk.size()))
      return fail(errno_error(fmt::format("cannot read {}", what), got < 0 ? errno : EIO));
    const Upload piece{hash, offset, size};
    offset += chunk.size();
    WEFT_TRY(call(kUploadBinary, rpc::with_bulk(encode(piece), SharedBytes(std::move(chunk)))));
  }
  return {};
}

}  // namespace weft::client
