// What a sort moves instead of records: eight bytes of the key and where the record is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/bytes.hpp"

namespace weft::runtime {

/// A record too long for the size field of its entry.
struct LongRecord {
  const std::byte* bytes;
  std::uint64_t size;
};

struct SortEntry {
  static constexpr unsigned kAddressBits = 48;
  static constexpr std::uint64_t kLong = 0xffff;  // in the size field: the address is that of a LongRecord

  std::uint64_t prefix;  // orders like the record, as far as 8 bytes can
  std::uint64_t place;   // 48 bits of address, 16 of size

  /// `size` < kLong. User space addresses have 47 bits unless a program asks for more.
  static SortEntry of(std::uint64_t prefix, const void* address, std::uint64_t size) {
    return {prefix, reinterpret_cast<std::uint64_t>(address) | size << kAddressBits};
  }
  const std::byte* address() const { return reinterpret_cast<const std::byte*>(place & ((std::uint64_t{1} << kAddressBits) - 1)); }
  ByteView record() const {
    const std::uint64_t size = place >> kAddressBits;
    if (size < kLong) [[likely]]
      return {address(), size};
    const auto* record = reinterpret_cast<const LongRecord*>(address());
    return {record->bytes, record->size};
  }
};

/// A growing array that large blocks leave in place where the kernel can move their pages (realloc), unlike std::vector.
class SortEntries {
 public:
  SortEntries() = default;
  ~SortEntries() { std::free(data_); }
  SortEntries(const SortEntries&) = delete;
  SortEntries& operator=(const SortEntries&) = delete;

  SortEntry* data() { return data_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  const SortEntry& operator[](std::size_t at) const { return data_[at]; }
  const SortEntry* begin() const { return data_; }
  const SortEntry* end() const { return data_ + size_; }

  /// size() < capacity().
  void push(SortEntry entry) { data_[size_++] = entry; }
  void clear() { size_ = 0; }
  void reserve(std::size_t capacity) {
    void* moved = std::realloc(data_, capacity * sizeof(SortEntry));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<SortEntry*>(moved);
    capacity_ = capacity;
  }
  void release() {
    std::free(data_);
    data_ = nullptr;
    size_ = capacity_ = 0;
  }

 private:
  SortEntry* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace weft::runtime
