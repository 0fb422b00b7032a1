// Memory in large pieces. Touching fresh memory costs about as much as filling it (the kernel clears every page first: under 2 GB/s
// per thread here), so pieces that one task has left are given to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace weft {

/// Keeps what tasks give back, up to a bound. Outlives its pieces. Any thread.
class PagePool {
 public:
  /// What is in use and what is kept never add up to more than `capacity` because of what is kept.
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

/// One piece, aligned to 64 bytes at least; large ones to a huge page, and of huge pages where the system has them. Move-only.
class Pages {
 public:
  Pages() = default;
  /// From `pool`, unless that is null or the piece too small to be worth keeping. Throws std::bad_alloc.
  static Pages zeroed(std::size_t bytes, PagePool* pool) { return Pages(bytes, pool, true); }
  static Pages uninitialized(std::size_t bytes, PagePool* pool) { return Pages(bytes, pool, false); }
  Pages(Pages&& other) noexcept { swap(other); }
  Pages& operator=(Pages&& other) noexcept {
    Pages taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Pages();

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void swap(Pages& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(pool_, other.pool_);
  }

 private:
  Pages(std::size_t bytes, PagePool* pool, bool zeroed);

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  PagePool* pool_ = nullptr;
};

}  // namespace weft
