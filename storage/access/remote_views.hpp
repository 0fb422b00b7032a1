// Reading without a copy: what some remote files can besides storage/access/remote.hpp, which every job program includes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft::storage {

/// A RemoteFile may be one of these, too. One thread at a time.
class RemoteViews {
 public:
  virtual ~RemoteViews() = default;
  /// Instead of read(): `bytes` becomes those at hand from `offset` on, valid until the next call on the file. Returns how many
  /// they are, 0 only at the file's end.
  virtual Result<std::size_t> view(std::uint64_t offset, ByteView& bytes) = 0;
};

}  // namespace weft::storage
