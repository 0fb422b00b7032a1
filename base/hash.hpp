// Hashes: XXH3 over bytes, mixing of integers, and the 128-bit hash that names file contents.
// None of them resists an adversary. All are the same on every machine and in every version, because partitions and cached binaries
// depend on them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft {

std::uint64_t hash64(ByteView bytes, std::uint64_t seed = 0);
inline std::uint64_t hash64(std::string_view text, std::uint64_t seed = 0) { return hash64(as_bytes(text), seed); }

/// A bijection that spreads every bit of `value` over the whole word (finaliser of MurmurHash3, constants of D. Stafford's mix 13).
constexpr std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// Combines two hashes; their order matters.
constexpr std::uint64_t hash_combine(std::uint64_t first, std::uint64_t second) {
  return mix64(first + 0x9e3779b97f4a7c15ULL + mix64(second));
}

/// The name of the content of a file or a plan.
struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const Hash128&, const Hash128&) = default;
};

Hash128 hash128(ByteView bytes);
/// Returns hash128() of the file's content, which it reads once. The error names the path. Blocks.
Result<Hash128> hash_file(const std::string& path);
/// Returns 32 lower-case hexadecimal digits.
std::string to_string(const Hash128& hash);
/// What to_string() gives; nothing for anything else.
std::optional<Hash128> parse_hash(std::string_view text);

}  // namespace weft
