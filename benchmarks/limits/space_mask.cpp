#include "benchmarks/limits/space_mask.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace limits {

namespace {

void portable(const char* text, std::size_t blocks, std::uint64_t* masks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    std::uint64_t mask = 0;
    for (unsigned j = 0; j < 64; ++j) mask |= std::uint64_t{is_space(text[64 * i + j])} << j;
    masks[i] = mask;
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512bw")]] void avx512(const char* text, std::size_t blocks, std::uint64_t* masks) {
  for (std::size_t i = 0; i < blocks; ++i) {
    const __m512i bytes = _mm512_loadu_si512(text + 64 * i);
    const __m512i from_tab = _mm512_sub_epi8(bytes, _mm512_set1_epi8('\t'));  // \t to \r become 0 to 4
    masks[i] = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' ')) | _mm512_cmple_epu8_mask(from_tab, _mm512_set1_epi8(4));
  }
}

[[gnu::target("avx2")]] std::uint64_t half_mask(const char* text) {
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
  const __m256i from_tab = _mm256_sub_epi8(bytes, _mm256_set1_epi8('\t'));
  const __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(from_tab, _mm256_set1_epi8(4)), from_tab);
  const __m256i space = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(' '));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(control, space)));
}

[[gnu::target("avx2")]] void avx2(const char* text, std::size_t blocks, std::uint64_t* masks) {
  for (std::size_t i = 0; i < blocks; ++i) masks[i] = half_mask(text + 64 * i) | half_mask(text + 64 * i + 32) << 32;
}
#endif

}  // namespace

SpaceMasks choose_space_masks() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) return avx512;
  if (__builtin_cpu_supports("avx2")) return avx2;
#endif
  return portable;
}

}  // namespace limits
