// Byte sequences: views, an owned uninitialised buffer, and a refcounted immutable slice for zero-copy hand-over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

namespace weft {

using ByteView = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

inline ByteView as_bytes(std::string_view text) { return {reinterpret_cast<const std::byte*>(text.data()), text.size()}; }
inline std::string_view as_chars(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Owned bytes of fixed capacity, not initialised, aligned to 16. Move-only; empty once moved from. Throws std::bad_alloc.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : data_(new std::byte[size]), size_(size) {}
  Buffer(Buffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  static Buffer copy_of(ByteView bytes);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  ByteView view() const { return {data_.get(), size_}; }
  MutableBytes span() { return {data_.get(), size_}; }
  /// Forgets the bytes past `size`, which must not be larger than size(). Frees nothing.
  void truncate(std::size_t size);

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
};

/// Immutable bytes together with whatever keeps them alive (a Buffer, a mapping, a segment). Copies are cheap.
struct SharedBytes {
  ByteView bytes;
  std::shared_ptr<const void> owner;

  SharedBytes() = default;
  SharedBytes(ByteView view, std::shared_ptr<const void> keep_alive) : bytes(view), owner(std::move(keep_alive)) {}
  explicit SharedBytes(Buffer buffer);
};

}  // namespace weft
