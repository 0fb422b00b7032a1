#include "base/certificates/x509.hpp"

#include <array>
#include <ctime>
#include <memory>
#include <type_traits>

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace weft::certificates {
namespace {

constexpr int kSerialBits = 127;                               // random: no two authorities of a cluster make the same
constexpr std::int64_t kClocksDiffer = std::int64_t{10} * 60;  // seconds, by which a machine may be late

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Text = std::unique_ptr<BIO, Freed<BIO_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;

tl::unexpected<Error> failed(const char* what) {
  const char* const why = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return fail(Code::internal, std::string("cannot make ") + what + (why == nullptr ? "" : std::string(": ") + why));
}

Result<std::string> text_of(const Text& text) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  if (size <= 0) return failed("a file in PEM");
  return std::string(bytes, static_cast<std::size_t>(size));
}

bool add_name(X509_NAME* name, const char* field, const std::string& value) {
  return X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.data()),
                                    static_cast<int>(value.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string text;
  for (const std::string& host : hosts) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    const bool is_address =
        ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 || ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
    text += (text.empty() ? "" : ",") + std::string(is_address ? "IP:" : "DNS:") + host;
  }
  return text;
}

std::string digits_of(const Number& number) {
  char* const digits = BN_bn2hex(number.get());
  std::string text = digits;
  OPENSSL_free(digits);
  return text;
}

/// Without a name and extensions.
Result<Certificate> begin(const Key& key, Duration lifetime) {
  Certificate certificate(X509_new());
  const Number serial(BN_new());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(lifetime).count();
  const bool made = certificate && serial && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                    BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
                    BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate.get())) != nullptr &&
                    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kClocksDiffer) != nullptr &&
                    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds) != nullptr &&
                    X509_set_pubkey(certificate.get(), key.get()) == 1;
  if (!made) return failed("a certificate");
  return certificate;
}

Result<Pair> finish(const Key& key, Certificate certificate, EVP_PKEY* signer) {
  if (X509_sign(certificate.get(), signer, EVP_sha256()) == 0) return failed("a signature");
  const Text key_text(BIO_new(BIO_s_mem())), certificate_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1 ||
      PEM_write_bio_X509(certificate_text.get(), certificate.get()) != 1)
    return failed("a file in PEM");
  Pair pair;
  WEFT_ASSIGN(pair.key, text_of(key_text));
  WEFT_ASSIGN(pair.certificate, text_of(certificate_text));
  const Number serial(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate.get()), nullptr));
  pair.serial = digits_of(serial);
  std::tm time{};
  ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &time);
  pair.expires = ::timegm(&time);
  return pair;
}

}  // namespace

Result<Pair> make_authority(const std::string& name, Duration lifetime) {
  const Key key(EVP_EC_gen("P-256"));
  if (!key) return failed("a key");
  WEFT_ASSIGN(Certificate certificate, begin(key, lifetime));
  X509* const made = certificate.get();
  X509_NAME* const subject = X509_get_subject_name(made);
  const bool named = add_name(subject, "O", "weft") && add_name(subject, "CN", name) && X509_set_issuer_name(made, subject) == 1 &&
                     add_extension(made, made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                     add_extension(made, made, NID_key_usage, "critical,keyCertSign") &&
                     add_extension(made, made, NID_subject_key_identifier, "hash");
  if (!named) return failed("the certificate of an authority");
  return finish(key, std::move(certificate), key.get());
}

Result<std::string> random_serial() {
  const Number serial(BN_new());
  if (!serial || BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1) return failed("a serial number");
  return digits_of(serial);
}

Result<std::string> sign(const Pair& authority, std::string_view text) {
  const Text key_text(BIO_new_mem_buf(authority.key.data(), static_cast<int>(authority.key.size())));
  const Key signer(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  const std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> digest(EVP_MD_CTX_new());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t size = 0;
  if (!signer || !digest || EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr, signer.get()) != 1 ||
      EVP_DigestSign(digest.get(), nullptr, &size, bytes, text.size()) != 1)
    return failed("a signature, or the authority's key cannot be read");
  std::string signature(size, '\0');
  if (EVP_DigestSign(digest.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, text.size()) != 1)
    return failed("a signature");
  signature.resize(size);
  return signature;
}

Result<Pair> make_certificate(const Pair& authority, const Subject& subject, Duration lifetime) {
  const Text key_text(BIO_new_mem_buf(authority.key.data(), static_cast<int>(authority.key.size())));
  const Text certificate_text(BIO_new_mem_buf(authority.certificate.data(), static_cast<int>(authority.certificate.size())));
  const Key signer(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  const Certificate issuer(PEM_read_bio_X509(certificate_text.get(), nullptr, nullptr, nullptr));
  const Key key(EVP_EC_gen("P-256"));
  if (!signer || !issuer || !key) return failed("a key, or the authority's cannot be read");
  WEFT_ASSIGN(Certificate certificate, begin(key, lifetime));
  X509* const made = certificate.get();
  X509_NAME* const name = X509_get_subject_name(made);
  const bool named =
      add_name(name, "O", subject.organization) && add_name(name, "CN", subject.name) &&
      X509_set_issuer_name(made, X509_get_subject_name(issuer.get())) == 1 &&
      add_extension(made, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(made, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(made, issuer.get(), NID_ext_key_usage, subject.serves ? "serverAuth,clientAuth" : "clientAuth") &&
      add_extension(made, issuer.get(), NID_authority_key_identifier, "keyid");
  if (!named) return failed("a certificate");
  if (!subject.hosts.empty() && !add_extension(made, issuer.get(), NID_subject_alt_name, alternative_names(subject.hosts)))
    return failed("a certificate for these hosts");
  return finish(key, std::move(certificate), signer.get());
}

}  // namespace weft::certificates
