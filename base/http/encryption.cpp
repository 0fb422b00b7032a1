#include "base/http/encryption.hpp"

#include <fmt/core.h>

#include "base/bytes.hpp"
#include "base/log.hpp"
#include "base/rpc/token.hpp"

namespace weft::http {
namespace {

gnutls_datum_t datum(const std::string& text) {
  return {reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())), static_cast<unsigned>(text.size())};
}

tl::unexpected<Error> refused_by_gnutls(const char* what, int error) {
  return fail(Code::invalid_argument, fmt::format("the page cannot use the {}: {}", what, gnutls_strerror(error)));
}

}  // namespace

Result<std::shared_ptr<const ShownCertificate>> ShownCertificate::make(rpc::Credentials::Texts texts) {
  const std::shared_ptr<ShownCertificate> shown(new ShownCertificate(std::move(texts)));
  if (const int error = gnutls_certificate_allocate_credentials(&shown->credentials_); error != 0)
    return refused_by_gnutls("certificate", error);
  const gnutls_datum_t identity = datum(shown->texts_.identity), authority = datum(shown->texts_.authority);
  if (const int error = gnutls_certificate_set_x509_key_mem(shown->credentials_, &identity, &identity, GNUTLS_X509_FMT_PEM);
      error < 0)
    return refused_by_gnutls("certificate and key", error);
  if (const int error = gnutls_certificate_set_x509_trust_mem(shown->credentials_, &authority, GNUTLS_X509_FMT_PEM); error < 0)
    return refused_by_gnutls("certificate of the authority", error);
  return shown;
}

void ShownCertificate::use_in(gnutls_session_t session) const {
  gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_);
}

Result<Encryption> Encryption::open(std::shared_ptr<rpc::Credentials> credentials) {
  WEFT_ASSIGN(auto shown, ShownCertificate::make(credentials->texts()));
  return Encryption(std::move(credentials), std::move(shown));
}

std::shared_ptr<const ShownCertificate> Encryption::current() {
  rpc::Credentials::Texts texts = credentials_->texts();
  if (shown_->is_of(texts) || (texts.identity == refused_.identity && texts.authority == refused_.authority)) return shown_;
  if (auto next = ShownCertificate::make(texts)) {
    shown_ = *std::move(next);
  } else {
    Log("http").error("{}; connections that begin now get the one of before", next.error().to_string());
    refused_ = std::move(texts);
  }
  return shown_;
}

Result<rpc::Identity> ShownIdentity::check(rpc::Credentials& credentials) const {
  return certificate.empty() ? rpc::check_token(credentials, token) : credentials.check(as_bytes(certificate));
}

std::optional<std::string> peer_certificate(gnutls_session_t session) {
  unsigned count = 0;
  const gnutls_datum_t* const shown = gnutls_certificate_get_peers(session, &count);
  if (shown == nullptr || count == 0) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(shown[0].data), shown[0].size);
}

}  // namespace weft::http
