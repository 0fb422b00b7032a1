#include "base/rpc/token.hpp"

#include <ctime>

#include <fmt/core.h>

#include "base/rpc/credentials_impl.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

constexpr std::string_view kTokenVersion = "weft1";
constexpr int kTokenExtension = NID_netscape_comment;  // of the certificate that carries it
constexpr long kCarrierSeconds = 3650L * 24 * 3600;    // what ends is the token

std::string hexadecimal(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Nothing when it is not exactly that.
std::optional<std::string> from_hexadecimal(std::string_view text) {
  if (text.empty() || text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = digit(text[i]), low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

tl::unexpected<Error> refuse_token(int error) {
  return fail(Code::invalid_argument, "the token is refused: " + describe_token_error(error));
}

}  // namespace

std::string signed_text(std::string_view payload) { return "weft token 1\n" + std::string(payload); }

std::string payload_of(const Token& token) { return fmt::format("{} {} {}", token.serial, token.expires, token.name); }

std::string written_token(std::string_view payload, std::string_view signature) {
  return fmt::format("{}.{}.{}", kTokenVersion, hexadecimal(payload), hexadecimal(signature));
}

Result<TokenParts> split_token(std::string_view text) {
  const auto parts = text.size() > kMostTokenBytes ? std::vector<std::string_view>() : split(text, '.');
  if (parts.size() == 3 && parts[0] == kTokenVersion) {
    auto payload = from_hexadecimal(parts[1]), signature = from_hexadecimal(parts[2]);
    if (payload && signature) return TokenParts{*std::move(payload), *std::move(signature)};
  }
  return refuse_token(X509_V_ERR_CERT_REJECTED);
}

Result<Token> parse_payload(std::string_view payload) {
  const auto words = split(payload, ' ');
  const auto expires = words.size() == 3 ? parse_number<std::int64_t>(words[1]) : std::nullopt;
  if (!expires || words[0].empty() || words[2].empty()) return refuse_token(X509_V_ERR_CERT_REJECTED);
  return Token{std::string(words[0]), *expires, std::string(words[2])};
}

int Trust::check_token(std::string_view text, Token& token) const {
  const auto parts = split_token(text);
  if (!parts) return X509_V_ERR_CERT_REJECTED;
  if (!is_signed(signed_text(parts->payload), parts->signature)) return X509_V_ERR_CERT_SIGNATURE_FAILURE;
  auto said = parse_payload(parts->payload);
  if (!said) return X509_V_ERR_CERT_REJECTED;
  token = *std::move(said);
  if (token.expires <= std::time(nullptr)) return X509_V_ERR_CERT_HAS_EXPIRED;
  return revoked.contains(token.serial) ? X509_V_ERR_CERT_REVOKED : X509_V_OK;
}

std::string describe_token_error(int error) {
  switch (error) {
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the authority in ca.crt has not signed it: it is of another cluster, or was changed";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "it has expired; ask for another one (weft security token issue)";
    case X509_V_ERR_CERT_REVOKED:
      return "it is revoked; ask for another one (weft security token issue)";
    default:
      return "it is none of weft's, or not all of one; ask for one (weft security token issue)";
  }
}

bool Trust::is_signed(std::string_view text, std::string_view signature) const {
  EVP_MD_CTX* const digest = openssl.EVP_MD_CTX_new();
  bool found = false;
  for (const auto& certificate : authorities) {
    if (found) break;
    EVP_PKEY* const key = openssl.X509_get0_pubkey(certificate.get());
    found = key != nullptr && openssl.EVP_DigestVerifyInit(digest, nullptr, openssl.EVP_sha256(), nullptr, key) == 1 &&
            openssl.EVP_DigestVerify(digest, reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                                     reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
    openssl.EVP_MD_CTX_reset(digest);
  }
  openssl.EVP_MD_CTX_free(digest);
  openssl.ERR_clear_error();
  return found;
}

Result<Certificate> carry_token(const OpenSsl& openssl, std::string_view token, const Key& key) {
  Certificate carrier(openssl.X509_new(), {&openssl});
  const std::unique_ptr<ASN1_OCTET_STRING, Freed<ASN1_OCTET_STRING, &OpenSsl::ASN1_OCTET_STRING_free>> bytes(
      openssl.ASN1_OCTET_STRING_new(), {&openssl});
  if (!carrier || !bytes) return fail(Code::internal, "OpenSSL cannot make a certificate");
  X509* const made = carrier.get();
  X509_NAME* const name = openssl.X509_get_subject_name(made);
  const auto* const text = reinterpret_cast<const unsigned char*>(token.data());
  openssl.ASN1_OCTET_STRING_set(bytes.get(), text, static_cast<int>(token.size()));
  const std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION, &OpenSsl::X509_EXTENSION_free>> extension(
      openssl.X509_EXTENSION_create_by_NID(nullptr, kTokenExtension, 0, bytes.get()), {&openssl});
  const bool whole = extension && openssl.X509_set_version(made, X509_VERSION_3) == 1 &&
                     openssl.ASN1_INTEGER_set(openssl.X509_get_serialNumber(made), 1) == 1 &&
                     openssl.X509_gmtime_adj(openssl.X509_getm_notBefore(made), -kCarrierSeconds) != nullptr &&
                     openssl.X509_gmtime_adj(openssl.X509_getm_notAfter(made), kCarrierSeconds) != nullptr &&
                     openssl.X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>("token"),
                                                        -1, -1, 0) == 1 &&
                     openssl.X509_set_issuer_name(made, name) == 1 && openssl.X509_set_pubkey(made, key.get()) == 1 &&
                     openssl.X509_add_ext(made, extension.get(), -1) == 1 &&
                     openssl.X509_sign(made, key.get(), openssl.EVP_sha256()) != 0;
  openssl.ERR_clear_error();
  if (!whole) return fail(Code::internal, "OpenSSL cannot make a certificate");
  return carrier;
}

std::optional<std::string_view> token_in(const OpenSsl& openssl, const X509* certificate) {
  const int place = openssl.X509_get_ext_by_NID(certificate, kTokenExtension, -1);
  X509_EXTENSION* const extension = place < 0 ? nullptr : openssl.X509_get_ext(certificate, place);
  const ASN1_OCTET_STRING* const bytes = extension == nullptr ? nullptr : openssl.X509_EXTENSION_get_data(extension);
  if (bytes == nullptr) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(openssl.ASN1_STRING_get0_data(bytes)),
                          static_cast<std::size_t>(openssl.ASN1_STRING_length(bytes)));
}

Result<Identity> check_token(Credentials& credentials, std::string_view text) {
  Token token;
  const int error = credentials.impl().trust()->check_token(text, token);
  if (error != X509_V_OK) return refuse_token(error);
  return Identity{Role::user, escaped(token.name)};
}

}  // namespace weft::rpc
