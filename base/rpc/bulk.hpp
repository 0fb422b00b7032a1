// The bulk bytes of a received message, piece by piece.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft::rpc {

/// Takes consecutive pieces of a message's bulk bytes, which must outlive it; corrupt when it has fewer.
class BulkReader {
 public:
  explicit BulkReader(ByteView bulk) : rest_(bulk) {}
  Result<Buffer> take(std::uint64_t bytes) {
    if (bytes > rest_.size()) return fail(Code::corrupt, "the message announces more bulk bytes than follow it");
    Buffer piece = Buffer::copy_of(rest_.first(bytes));
    rest_ = rest_.subspan(bytes);
    return piece;
  }

 private:
  ByteView rest_;
};

}  // namespace weft::rpc
