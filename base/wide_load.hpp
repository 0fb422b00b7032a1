// Loads of a fixed number of bytes where fewer belong to the object: the rest is read and dropped. A branch per length would be
// mispredicted on every third word of a text. Memory is protected in pages of at least 4 KiB, so a load that stays within one can
// do no harm; sanitizers object nevertheless and get an exact copy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/sanitized.hpp"

namespace weft {

#if defined(__x86_64__) || defined(__aarch64__)
inline constexpr bool kMayReadPast = !kSanitized;
#else
inline constexpr bool kMayReadPast = false;
#endif

/// `width` bytes may be read at `from`, of which `size` belong to the object. The page of an empty one need not even exist.
template <std::size_t width>
bool may_load(const void* from, std::size_t size) {
  constexpr std::uintptr_t kPage = 4096;
  return kMayReadPast && size != 0 && (reinterpret_cast<std::uintptr_t>(from) & (kPage - 1)) <= kPage - width;
}

/// Keeps the compiler from reasoning about the bounds of what `from` points to.
template <class T>
const T* unbounded(const T* from) {
#if defined(__clang__)  // has no memory operands of unknown length
  const T* same = from;
  __asm__("" : "+r"(same));
  return same;
#elif defined(__GNUC__)
  const T* same = from;
  __asm__("" : "+r"(same) : "m"(*reinterpret_cast<const char(*)[]>(from)));  // NOLINT(modernize-avoid-c-arrays)
  return same;
#else
  return from;
#endif
}

}  // namespace weft
