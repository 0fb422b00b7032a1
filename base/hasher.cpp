#define XXH_INLINE_ALL

#include "base/hasher.hpp"

#include <xxhash.h>

namespace weft {

struct Hasher128::State {
  XXH3_state_t xxh;
};

Hasher128::Hasher128() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Hasher128::~Hasher128() = default;
Hasher128::Hasher128(Hasher128&&) noexcept = default;

void Hasher128::add(ByteView bytes) { XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size()); }

Hash128 Hasher128::hash() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh);
  return {hash.high64, hash.low64};
}

}  // namespace weft
