// What an HTTPS server shows, and whom it asks for, as GnuTLS takes it; renewed while the server runs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <gnutls/gnutls.h>

#include "base/result.hpp"
#include "base/rpc/credentials.hpp"

namespace weft::http {

/// A certificate with its key, and the authorities whose certificates are asked for. Immutable; outlives the sessions that use it.
class ShownCertificate {
 public:
  /// invalid_argument: GnuTLS refuses them.
  static Result<std::shared_ptr<const ShownCertificate>> make(rpc::Credentials::Texts texts);
  ~ShownCertificate() { gnutls_certificate_free_credentials(credentials_); }
  ShownCertificate(const ShownCertificate&) = delete;
  ShownCertificate& operator=(const ShownCertificate&) = delete;

  bool is_of(const rpc::Credentials::Texts& texts) const {
    return texts.identity == texts_.identity && texts.authority == texts_.authority;
  }
  const rpc::Credentials::Texts& texts() const { return texts_; }
  /// The session shows this one in its handshake, instead of what it was made with.
  void use_in(gnutls_session_t session) const;

 private:
  explicit ShownCertificate(rpc::Credentials::Texts texts) : texts_(std::move(texts)) {}

  const rpc::Credentials::Texts texts_;
  gnutls_certificate_credentials_t credentials_ = nullptr;
};

/// One thread.
class Encryption {
 public:
  /// Errors: ShownCertificate::make().
  static Result<Encryption> open(std::shared_ptr<rpc::Credentials> credentials);
  /// For a connection that begins now: what the files say. Where GnuTLS refuses that, it is logged once, and what was there before
  /// stays.
  std::shared_ptr<const ShownCertificate> current();

 private:
  Encryption(std::shared_ptr<rpc::Credentials> credentials, std::shared_ptr<const ShownCertificate> shown)
      : credentials_(std::move(credentials)), shown_(std::move(shown)) {}

  std::shared_ptr<rpc::Credentials> credentials_;
  std::shared_ptr<const ShownCertificate> shown_;
  rpc::Credentials::Texts refused_;
};

/// What a client has shown, so that it is answered: a certificate (DER), or else a token.
struct ShownIdentity {
  std::string certificate, token;
  /// Whose it is, as far as it is good now. invalid_argument says why not.
  Result<rpc::Identity> check(rpc::Credentials& credentials) const;
};

/// The certificate that the other side has shown (DER); nothing when it has shown none.
std::optional<std::string> peer_certificate(gnutls_session_t session);

}  // namespace weft::http
