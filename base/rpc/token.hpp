// Tokens: a line of text by which whoever has it is a user of the cluster, signed by the cluster's authority (docs/security.md).
//
//   weft1.PAYLOAD.SIGNATURE
//
// in hexadecimal digits: the payload is "SERIAL EXPIRES NAME", the signature is ECDSA with SHA-256 of signed_text(). No secret is
// kept to compare it with, so there is nothing that the time of a comparison could tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc {

inline constexpr const char* kTokenFile = "token";  // in the place of kIdentityFile
inline constexpr std::size_t kMostTokenBytes = 1024;

/// What a token says. The name is one that certificates may have, without spaces.
struct Token {
  std::string serial;        // upper-case hexadecimal digits
  std::int64_t expires = 0;  // seconds since 1970
  std::string name;
};

/// What the authority signs, of a token's payload.
std::string signed_text(std::string_view payload);
std::string payload_of(const Token& token);
std::string written_token(std::string_view payload, std::string_view signature);

/// The parts of a token, which is not believed yet. invalid_argument when it is none, or a part of one.
struct TokenParts {
  std::string payload, signature;
};
Result<TokenParts> split_token(std::string_view text);
/// What a payload says that was signed. invalid_argument when it says nothing.
Result<Token> parse_payload(std::string_view payload);

class Credentials;
/// Whose token it is, by the authority and the list of those revoked that these credentials have now. invalid_argument says why it
/// is refused. Any thread.
Result<Identity> check_token(Credentials& credentials, std::string_view text);

}  // namespace weft::rpc
