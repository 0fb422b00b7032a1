// Keys and certificates, by OpenSSL. For authority.cpp only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace weft::certificates {

/// A key and a certificate for it, in PEM.
struct Pair {
  std::string key, certificate;
  std::string serial;        // upper-case hexadecimal digits
  std::int64_t expires = 0;  // seconds since 1970
};

/// Signed by its own key, for an authority.
Result<Pair> make_authority(const std::string& name, Duration lifetime);

struct Subject {
  std::string organization, name;
  std::vector<std::string> hosts;
  bool serves = false;  // it may be the side that is connected to
};
/// Signed by the authority, with a new key.
Result<Pair> make_certificate(const Pair& authority, const Subject& subject, Duration lifetime);

/// A serial number that no other has.
Result<std::string> random_serial();
/// The authority's signature (ECDSA with SHA-256) of the text.
Result<std::string> sign(const Pair& authority, std::string_view text);

}  // namespace weft::certificates
