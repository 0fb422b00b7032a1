// Where Pages come from and go to (base/pages.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/pages.hpp"

namespace weft {

/// Keeps pieces that tasks return, up to a bound. It must outlive the Pages taken from it. Any thread may use it.
class PagePool {
 public:
  /// Keeps only as much as fits into `capacity` bytes beside the pieces in use. Pieces in use may exceed it.
  explicit PagePool(std::uint64_t capacity) : capacity_(capacity) {}
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::uint64_t kept() const;

 private:
  friend class Pages;
  struct Piece {
    std::byte* data;
    bool fresh;  // all zeros
  };
  /// Throws std::bad_alloc.
  Piece take(std::size_t bytes);
  void give_back(std::byte* data, std::size_t bytes) noexcept;
  void drop_until(std::uint64_t kept) noexcept;

  const std::uint64_t capacity_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> pieces_;  // by size
  std::uint64_t kept_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace weft
