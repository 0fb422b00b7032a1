// The two ends of every encoded record: an append-only byte buffer, and a bounds-checked cursor over bytes.
//
// Numbers have their natural size, little-endian; lengths are varints (7 bits per byte, lowest first).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "base/bytes.hpp"

namespace weft {

static_assert(std::endian::native == std::endian::little, "records are encoded little-endian by copying");

/// The bytes are not what the decoded type expects: another type was written, or they are damaged.
class CodecError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An append-only buffer that keeps its capacity over clear(). It owns its memory, or uses memory of the caller until that is too
/// small. It can be moved but not copied. Appending throws std::bad_alloc.
class Encoder {
 public:
  Encoder() = default;
  explicit Encoder(std::size_t capacity) { reserve(capacity); }
  /// Makes an empty encoder that writes into `room`, which must outlive it.
  explicit Encoder(MutableBytes room) : data_(room.data()), capacity_(room.size()), own_(false) {}
  Encoder(Encoder&& other) noexcept { swap(other); }
  Encoder& operator=(Encoder&& other) noexcept {
    Encoder taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Encoder() {
    if (own_) std::free(data_);
  }

  /// Appends `size` bytes, not initialised, and returns them. The pointer is valid until the next call.
  std::byte* grow(std::size_t size) {
    if (size > capacity_ - size_) [[unlikely]]
      make_room(size);
    std::byte* fresh = data_ + size_;
    size_ += size;
    return fresh;
  }
  void append(const void* bytes, std::size_t size) {
    if (size != 0) std::memcpy(grow(size), bytes, size);
  }
  void append(ByteView bytes) { append(bytes.data(), bytes.size()); }
  /// `size` is at most 16, and 16 bytes may be read at `bytes`.
  void append_short(const void* bytes, std::size_t size) {
    grow(16);
    std::memcpy(data_ + size_ - 16, bytes, 16);
    size_ -= 16 - size;
  }
  template <class T>
  void append_value(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(grow(sizeof(T)), &value, sizeof(T));
  }
  void append_varint(std::uint64_t value) {
    while (value >= 0x80) {
      append_value(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    append_value(static_cast<std::uint8_t>(value));
  }

  ByteView view() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  /// Returns false while everything is in the caller's memory.
  bool owns_memory() const { return own_; }
  void clear() { size_ = 0; }
  /// Shortens the content to `size`, which must not exceed size().
  void truncate(std::size_t size) { size_ = size; }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) make_room(capacity - size_);
  }
  void swap(Encoder& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(own_, other.own_);
  }

 private:
  [[gnu::noinline]] void make_room(std::size_t size) {
    if (size > SIZE_MAX / 2 - size_) throw std::bad_alloc();
    std::size_t wanted = capacity_ < 64 ? 64 : capacity_ + capacity_ / 2;
    if (wanted < size_ + size) wanted = size_ + size;
    void* moved = std::realloc(own_ ? data_ : nullptr, wanted);
    if (moved == nullptr) throw std::bad_alloc();
    if (!own_ && size_ != 0) std::memcpy(moved, data_, size_);
    data_ = static_cast<std::byte*>(moved);
    capacity_ = wanted;
    own_ = true;
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  bool own_ = true;
};

/// A cursor over bytes that it does not own and that must outlive it. Reading past the end throws CodecError.
class Decoder {
 public:
  explicit Decoder(ByteView bytes) : cursor_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  const std::byte* take(std::size_t size) {
    if (size > remaining()) [[unlikely]]
      short_of(size);
    return std::exchange(cursor_, cursor_ + size);
  }
  template <class T>
  T take_value() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  std::uint64_t take_varint() {
    const auto first = take_value<std::uint8_t>();
    return first < 0x80 ? first : long_varint(first);
  }
  /// Reads the number of elements that follow and take at least one byte each. More than the bytes that remain is an error, so
  /// callers may reserve that many.
  std::size_t take_count() {
    const std::uint64_t count = take_varint();
    if (count > remaining()) [[unlikely]]
      short_of(count);
    return static_cast<std::size_t>(count);
  }

  bool empty() const { return cursor_ == end_; }
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - cursor_); }
  const std::byte* position() const { return cursor_; }
  ByteView rest() const { return {cursor_, remaining()}; }

 private:
  std::uint64_t long_varint(std::uint8_t byte) {
    std::uint64_t value = byte & 0x7fU;
    for (unsigned shift = 7; shift < 64; shift += 7) {
      byte = take_value<std::uint8_t>();
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    throw CodecError("encoded record is damaged or of another type: a length has more than 64 bits");
  }
  [[noreturn, gnu::noinline]] void short_of(std::uint64_t size) const {
    throw CodecError("encoded record is damaged or of another type: it needs " + std::to_string(size) + " more bytes where " +
                     std::to_string(remaining()) + " are left");
  }

  const std::byte* cursor_;
  const std::byte* end_;
};

}  // namespace weft
