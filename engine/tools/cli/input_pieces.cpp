#include "engine/tools/cli/input_pieces.hpp"

#include <cerrno>

#include <unistd.h>

namespace weft::tools {

Result<void> read_in_pieces(int from, const std::string& name, const std::function<Result<void>(ByteView)>& give) {
  Buffer piece(1u << 20);
  while (true) {
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error("cannot read " + name, errno));
    if (got == 0) return {};
    WEFT_TRY(give(piece.view().first(static_cast<std::size_t>(got))));
  }
}

}  // namespace weft::tools
