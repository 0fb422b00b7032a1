#include "base/vector_state.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace weft {

#if defined(__x86_64__)

namespace {

[[gnu::target("avx")]] void zero_upper_halves() { _mm256_zeroupper(); }

/// The parts of the state that are not as at a process's start (Intel 64 manual, volume 1, 13.2: XGETBV with ECX = 1).
[[gnu::target("xsave")]] unsigned long long state_in_use() { return _xgetbv(1); }

/// The processor has that XGETBV, and the system uses XSAVE.
bool tells_state_in_use() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned kSystemUsesIt = 1u << 27, kTells = 1u << 2;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & kSystemUsesIt) == 0) return false;
  return __get_cpuid_count(0xd, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & kTells) != 0;
}

}  // namespace

void clear_upper_halves() {
  if (__builtin_cpu_supports("avx")) zero_upper_halves();
}

std::optional<bool> upper_halves_in_use() {
  static const bool tells = tells_state_in_use();
  if (!tells || !__builtin_cpu_supports("avx")) return std::nullopt;
  constexpr unsigned long long kAvx = 1u << 2, kAvx512 = 1u << 6;  // bits 128 to 255, and 256 to 511, of the first 16 registers
  return (state_in_use() & (kAvx | kAvx512)) != 0;
}

#else

void clear_upper_halves() {}
std::optional<bool> upper_halves_in_use() { return std::nullopt; }

#endif

}  // namespace weft
