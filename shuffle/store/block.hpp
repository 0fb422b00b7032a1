// What readers of a shuffle see of it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.hpp"

namespace weft::shuffle {

/// One extent, verified. The bytes are valid during the visit, and as long as the caller keeps a copy of `owner`.
struct Block {
  ByteView bytes;
  std::uint32_t records = 0;
  std::shared_ptr<const void> owner;  // null: the bytes cannot outlive the visit
  std::uint64_t cost = 0;             // memory that `owner` holds and that is accounted for nowhere else
};

}  // namespace weft::shuffle
