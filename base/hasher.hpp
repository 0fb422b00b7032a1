// The hash that names file contents, of bytes that come piece by piece.
#pragma once

#include <memory>

#include "base/bytes.hpp"
#include "base/hash.hpp"

namespace weft {

/// One thread. A hasher that was moved from may only be destroyed.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  Hasher128(Hasher128&&) noexcept;

  void add(ByteView bytes);
  /// Returns hash128() of all that came so far; more may come.
  Hash128 hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weft
