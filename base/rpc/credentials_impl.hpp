// What Credentials are inside, for base/rpc/tls.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/rpc/credentials.hpp"
#include "base/rpc/openssl.hpp"
#include "base/rpc/token.hpp"

namespace weft::rpc {

template <class T, auto OpenSsl::*Free>
struct Freed {
  const OpenSsl* openssl;
  void operator()(T* object) const { (openssl->*Free)(object); }
};
using Certificate = std::unique_ptr<X509, Freed<X509, &OpenSsl::X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, &OpenSsl::EVP_PKEY_free>>;

/// What the files said when they were read. Immutable.
struct Trust {
  explicit Trust(const OpenSsl& functions) : openssl(functions) {}
  ~Trust();
  Trust(const Trust&) = delete;
  Trust& operator=(const Trust&) = delete;

  const OpenSsl& openssl;
  SSL_CTX* context = nullptr;
  Identity own;
  std::int64_t expires = 0;  // seconds since 1970
  Credentials::Texts texts;
  std::set<std::string> revoked;         // serial numbers as serial_of() writes them
  std::vector<Certificate> authorities;  // the newest first

  /// What the token says, as far as it is good for a connection that begins now: X509_V_OK, or what describe_token_error()
  /// describes.
  int check_token(std::string_view text, Token& token) const;

 private:
  bool is_signed(std::string_view text, std::string_view signature) const;
};

std::string describe_token_error(int error);
/// A certificate of nobody, which carries a token to the other side of a handshake: after that side has shown who it is, and
/// encrypted.
Result<Certificate> carry_token(const OpenSsl& openssl, std::string_view token, const Key& key);
/// The token that such a certificate carries.
std::optional<std::string_view> token_in(const OpenSsl& openssl, const X509* certificate);

/// What the certificate says; nothing when it is none of weft's.
std::optional<Identity> identity_of(const OpenSsl& openssl, const X509* certificate);
/// Upper-case hexadecimal digits.
std::string serial_of(const OpenSsl& openssl, X509* certificate);
/// "it has expired; renew it by weft security rotate": what X509_verify_cert() says, for people.
std::string describe_verification(const OpenSsl& openssl, int error);

class Credentials::Impl {
 public:
  explicit Impl(std::string directory) : directory_(std::move(directory)) {}
  Result<void> load();
  /// Looks whether the files have changed, once a second at most. What is wrong with them is logged, and what was read before
  /// stays.
  std::shared_ptr<const Trust> trust();

 private:
  /// What changes with a file: its inode, its length, when it or its mode was changed. Of all four files.
  using Stamp = std::array<std::tuple<std::uint64_t, std::int64_t, std::int64_t>, 4>;
  Stamp stamp() const;
  Result<std::shared_ptr<const Trust>> read() const;
  Result<void> read_identity(Trust& trust) const;
  Result<void> read_token(Trust& trust) const;
  bool has_token() const;

  const std::string directory_;
  const Log log_{"security"};
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Trust> trust_;
  Stamp seen_{};
  TimePoint looked_{};
};

}  // namespace weft::rpc
