// Memory for many small things that are dropped together. Addresses are stable; chunks are reused after clear().
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/pages.hpp"
#include "runtime/operators/account.hpp"

namespace weft::runtime {

class Arena {
 public:
  static constexpr std::size_t kAlignment = 8;

  explicit Arena(Account& account) : Arena(account, account.chunk_bytes()) {}
  /// Takes memory in pieces of `chunk_bytes`.
  Arena(Account& account, std::size_t chunk_bytes) : account_(account), chunk_bytes_(chunk_bytes) {}
  ~Arena() { release(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// `size` is rounded up to a multiple of 8. Null when the account refuses.
  std::byte* try_allocate(std::size_t size) {
    size = (size + (kAlignment - 1)) & ~(kAlignment - 1);
    if (size > static_cast<std::size_t>(end_ - cursor_) && !next_chunk(size)) [[unlikely]]
      return nullptr;
    return std::exchange(cursor_, cursor_ + size);
  }

  /// Forgets the contents; ordinary chunks are kept (and stay accounted), oversized ones are freed.
  void clear();
  /// Forgets the contents and frees everything.
  void release();
  std::size_t allocated() const;

 private:
  struct Chunk {
    Pages data;
    std::size_t used = 0;
  };

  bool next_chunk(std::size_t size);
  void enter(std::size_t chunk);

  Account& account_;
  std::size_t chunk_bytes_;
  std::vector<Chunk> chunks_;
  std::size_t current_ = 0;
  std::byte* cursor_ = nullptr;
  std::byte* end_ = nullptr;
};

}  // namespace weft::runtime
