// Byte sequences: views, a buffer with one owner, and immutable bytes with several owners that are handed over without a copy.
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

/// Owns bytes of a fixed size, which are not initialised and are aligned to 16. It can be moved but not copied; a Buffer that was
/// moved from is empty. Allocation throws std::bad_alloc. Not thread-safe.
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
  /// Shortens the buffer to `size`, which must not exceed size(). Frees no memory.
  void truncate(std::size_t size);

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t size_ = 0;
};

/// Immutable bytes together with the object that keeps them alive (a Buffer, a mapping, a segment). Copies are cheap and share the
/// owner; any thread may read them.
struct SharedBytes {
  ByteView bytes;
  std::shared_ptr<const void> owner;

  SharedBytes() = default;
  SharedBytes(ByteView view, std::shared_ptr<const void> keep_alive) : bytes(view), owner(std::move(keep_alive)) {}
  explicit SharedBytes(Buffer buffer);
};

}  // namespace weft
