// OpenSSL by itself, as an attacker may use it.
#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "base/certificates/x509.hpp"
#include "base/fd.hpp"
#include "base/rpc/rpc.hpp"
#include "base/rpc/socket.hpp"

namespace weft::rpc::testing {

/// Whatever certificate, whatever version.
class RawClient {
 public:
  explicit RawClient(int version, const certificates::Pair* identity = nullptr) : context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
    SSL_CTX_set_verify(context_, SSL_VERIFY_NONE, nullptr);
    if (identity == nullptr) return;
    BIO* const key_text = BIO_new_mem_buf(identity->key.data(), -1);
    BIO* const certificate_text = BIO_new_mem_buf(identity->certificate.data(), -1);
    EVP_PKEY* const key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
    X509* const certificate = PEM_read_bio_X509(certificate_text, nullptr, nullptr, nullptr);
    show(certificate, key);
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(certificate_text);
    BIO_free(key_text);
  }
  /// From now on it shows this certificate.
  void show(X509* certificate, EVP_PKEY* key) {
    SSL_CTX_use_certificate(context_, certificate);
    SSL_CTX_use_PrivateKey(context_, key);
  }
  ~RawClient() { SSL_CTX_free(context_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// Whether a byte of the server's own comes over the encrypted connection: it has taken this client in then.
  bool gets_in(const Endpoint& to) const {
    const auto address = resolve_blocking(split_endpoint(to.text).value()).value().front();
    const Fd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    const timeval longest{30, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
    EXPECT_EQ(::connect(socket.get(), address.get(), address.size), 0);
    SSL* const ssl = SSL_new(context_);
    SSL_set_fd(ssl, socket.get());
    char byte = 0;
    const bool in = SSL_connect(ssl) == 1 && SSL_read(ssl, &byte, 1) == 1;
    SSL_free(ssl);
    return in;
  }

 private:
  SSL_CTX* const context_;
};

}  // namespace weft::rpc::testing
