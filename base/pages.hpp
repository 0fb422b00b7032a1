// Large pieces of memory that are used again. The kernel clears every fresh page, which costs about as much as filling it (under
// 2 GB/s per thread here), so pieces that one task has returned are given to the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace weft {

class PagePool;

/// Owns one piece of memory, aligned to at least 64 bytes. Large pieces are aligned to a huge page and consist of huge pages where
/// the system has them. It can be moved but not copied.
class Pages {
 public:
  Pages() = default;
  /// Take the piece from `pool` and return it there at the end. With a null pool, and for small pieces, the memory comes from the
  /// system. Both throw std::bad_alloc.
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
