// Memory that one process fills and others read through descriptors, recycled. Touching fresh shared pages costs more than filling
// them (the kernel takes and clears each, under 2 GB/s here), so those that nobody reads any more are filled again.
#pragma once

#include <cstdint>
#include <deque>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::shuffle {

/// A memfd mapped for writing by its owner, and by nobody else ever: what is given out is sealed against other writers and
/// shrinking. Move-only, one thread; empty once moved from.
class SharedPages {
 public:
  /// Empty pages. resource_exhausted or io when the system has no more descriptors or memory.
  static Result<SharedPages> make();
  SharedPages(SharedPages&& other) noexcept { swap(other); }
  SharedPages& operator=(SharedPages&& other) noexcept {
    SharedPages taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~SharedPages();

  /// Makes it at least so large; what is new reads as zeros and is not touched. The contents stay; every span of before is invalid.
  Result<void> grow(std::uint64_t size);
  /// `length` bytes from `from` on, valid until the pages grow, are moved or end. A span that does not lie within size() is a bug
  /// and ends the process: the mapping goes on behind it, over no memory (SIGBUS) or over other pages.
  MutableBytes span(std::uint64_t from, std::uint64_t length) const;
  std::uint64_t size() const { return size_; }

  /// A descriptor to read and map it through; alone() knows of its holders. Invalid where the system cannot make one.
  Fd reader();
  /// No descriptor of reader() and no mapping made through one is left in any process (nor on its way there). False when that is
  /// not known, and before there was one.
  bool alone() const;
  /// The descriptor, sealed for good; the pages are not written again.
  Result<Fd> seal() &&;

 private:
  SharedPages() = default;
  void swap(SharedPages& other) noexcept;
  void unmap() noexcept;

  Fd fd_;
  std::byte* data_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t mapped_ = 0;  // bytes of address space, size_ at least
  bool shared_ = false;       // with readers
};

/// Keeps pages that were handed out and takes them back when their readers are gone. One thread.
class SharedPool {
 public:
  /// Keeps pages of at most `capacity` bytes, read or not; the oldest go first.
  explicit SharedPool(std::uint64_t capacity) : capacity_(capacity) {}

  /// Pages of `bytes` (recycled ones that are a little smaller are enlarged), and of `most` at most; their contents are what the
  /// last owner left. Only those that were kept for the same `owner` come again: what they have is no other user's business.
  Result<SharedPages> take(std::uint64_t bytes, std::uint64_t most, std::uint64_t owner = 0);
  /// Others may still read them.
  void keep(SharedPages pages, std::uint64_t owner = 0);
  void clear();
  std::uint64_t kept() const { return kept_; }

 private:
  struct Kept {
    SharedPages pages;
    std::uint64_t owner;
  };

  const std::uint64_t capacity_;
  std::deque<Kept> pages_;  // oldest first
  std::uint64_t kept_ = 0;  // bytes
};

}  // namespace weft::shuffle
