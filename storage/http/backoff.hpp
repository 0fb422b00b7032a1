// Pauses between the tries of a request: they double, and are drawn at random so that clients do not return together.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "storage/http/http_client.hpp"

namespace weft::storage::http {

/// Exponential backoff with full jitter, between HttpOptions::first_pause and longest_pause. One thread.
class Backoff {
 public:
  explicit Backoff(const HttpOptions& options);
  /// The longest pause that draw() gives after this many tries.
  Duration longest(std::uint32_t tries) const;
  /// A pause at random, from none to longest().
  Duration draw(std::uint32_t tries);

 private:
  const Duration first_, longest_;
  Random random_;
};

/// The time for all tries of a request together. A server that has never answered (not `known`) gets a few seconds, because its
/// address may be wrong.
Duration patience_with(const HttpOptions& options, bool known);

}  // namespace weft::storage::http
