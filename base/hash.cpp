#define XXH_INLINE_ALL

#include "base/hash.hpp"

#include <cerrno>
#include <charconv>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fd.hpp"

namespace weft {
namespace {

Hash128 from_xxh(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

}  // namespace

std::uint64_t hash64(ByteView bytes, std::uint64_t seed) { return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed); }

Hash128 hash128(ByteView bytes) { return from_xxh(XXH3_128bits(bytes.data(), bytes.size())); }

Result<Hash128> hash_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return fail(errno_error("cannot open " + path, errno));
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  Buffer block(32u << 10);  // a process that only starts pays for each page that it touches first
  while (true) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error("cannot read " + path, errno));
    if (got == 0) return from_xxh(XXH3_128bits_digest(&state));
    XXH3_128bits_update(&state, block.data(), static_cast<std::size_t>(got));
  }
}

std::string to_string(const Hash128& hash) { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

std::optional<Hash128> parse_hash(std::string_view text) {
  Hash128 hash;
  const auto half = [](std::string_view digits, std::uint64_t& into) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), into, 16);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (text.size() != 32 || !half(text.substr(0, 16), hash.high) || !half(text.substr(16), hash.low)) return std::nullopt;
  return to_string(hash) == text ? std::optional(hash) : std::nullopt;
}

}  // namespace weft
