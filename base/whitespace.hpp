// Which of 64 bytes are whitespace, as one bit each: what splits lines into words.
//
// 128-bit vectors belong to every x86-64 and 64-bit ARM processor, so nothing has to be chosen at run time; wider ones gained
// nothing measurable (the masks are two per cent of a word count). Other processors look at eight bytes at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/wide_load.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace weft {

/// Space, \t, \n, \v, \f, \r.
constexpr bool is_whitespace(char c) { return c == ' ' || static_cast<unsigned char>(c - '\t') <= '\r' - '\t'; }

namespace detail {

inline constexpr std::size_t kMaskBytes = 64;

/// Without vectors: a byte is whitespace when its top bit survives.
inline std::uint64_t portable_whitespace_mask(const char* from) {
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL, kTops = kOnes << 7;
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kMaskBytes; i += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, from + i, sizeof bytes);
    const std::uint64_t low = bytes & ~kTops;
    const std::uint64_t at_least_tab = low + kOnes * (0x80 - '\t'), above_return = low + kOnes * (0x80 - '\r' - 1);
    const std::uint64_t not_space = (low ^ (kOnes * ' ')) + kOnes * 0x7f;
    const std::uint64_t found = ((at_least_tab & ~above_return) | ~not_space) & ~bytes & kTops;
    mask |= (((found >> 7) * 0x0102040810204080ULL) >> 56) << i;  // gathers the eight bits
  }
  return mask;
}

#if defined(__SSE2__)
inline std::uint64_t whitespace_mask(const char* from) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kMaskBytes; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const __m128i from_tab = _mm_sub_epi8(bytes, _mm_set1_epi8('\t'));
    const __m128i tab_to_return = _mm_cmpeq_epi8(_mm_min_epu8(from_tab, _mm_set1_epi8('\r' - '\t')), from_tab);
    const __m128i found = _mm_or_si128(tab_to_return, _mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')));
    mask |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(found))) << i;
  }
  return mask;
}
#elif defined(__aarch64__)
inline std::uint64_t whitespace_mask(const char* from) {
  static constexpr std::uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bits = vld1q_u8(kBits);
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kMaskBytes; i += 16) {
    const uint8x16_t bytes = vld1q_u8(reinterpret_cast<const std::uint8_t*>(from + i));
    const uint8x16_t found =
        vorrq_u8(vcleq_u8(vsubq_u8(bytes, vdupq_n_u8('\t')), vdupq_n_u8('\r' - '\t')), vceqq_u8(bytes, vdupq_n_u8(' ')));
    const uint8x16_t kept = vandq_u8(found, bits);
    mask |= (std::uint64_t{vaddv_u8(vget_low_u8(kept))} | std::uint64_t{vaddv_u8(vget_high_u8(kept))} << 8) << i;
  }
  return mask;
}
#else
inline std::uint64_t whitespace_mask(const char* from) { return portable_whitespace_mask(from); }
#endif

}  // namespace detail

/// Returns a mask whose bit i is set when from[i] is whitespace or i >= size. Of a longer text it reads only the first 64 bytes.
[[gnu::always_inline]] inline std::uint64_t whitespace_mask(const char* from, std::size_t size) {
  constexpr std::size_t kBytes = detail::kMaskBytes;
  if (size >= kBytes) return detail::whitespace_mask(from);
  const std::uint64_t past = ~std::uint64_t{0} << size;
  if (may_load<kBytes>(from, size)) [[likely]]
    return detail::whitespace_mask(unbounded(from)) | past;
  char copy[kBytes] = {};
  if (size != 0) std::memcpy(copy, from, size);
  return detail::whitespace_mask(copy) | past;
}

}  // namespace weft
