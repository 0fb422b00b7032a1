// OpenSSL, loaded when the first reactor encrypts: programs that run on one machine neither load it (a millisecond of each start)
// nor need it to be installed. For .cpp files of base/rpc only.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/result.hpp"

// Every function that is used, once: its library's handle, and its name.
#define WEFT_OPENSSL_FUNCTIONS(SSL_, CRYPTO_) \
  SSL_(OPENSSL_init_ssl)                      \
  SSL_(TLS_method)                            \
  SSL_(SSL_CTX_new)                           \
  SSL_(SSL_CTX_free)                          \
  SSL_(SSL_CTX_ctrl)                          \
  SSL_(SSL_CTX_set_options)                   \
  SSL_(SSL_CTX_set_ciphersuites)              \
  SSL_(SSL_CTX_set_num_tickets)               \
  SSL_(SSL_CTX_set_default_read_buffer_len)   \
  SSL_(SSL_CTX_use_certificate)               \
  SSL_(SSL_CTX_use_PrivateKey)                \
  SSL_(SSL_CTX_check_private_key)             \
  SSL_(SSL_CTX_get_cert_store)                \
  SSL_(SSL_new)                               \
  SSL_(SSL_free)                              \
  SSL_(SSL_set_bio)                           \
  SSL_(SSL_set_verify)                        \
  SSL_(SSL_set_ex_data)                       \
  SSL_(SSL_get_ex_data)                       \
  SSL_(SSL_get_ex_data_X509_STORE_CTX_idx)    \
  SSL_(SSL_set_accept_state)                  \
  SSL_(SSL_set_connect_state)                 \
  SSL_(SSL_do_handshake)                      \
  SSL_(SSL_read_ex)                           \
  SSL_(SSL_write_ex)                          \
  SSL_(SSL_get_error)                         \
  CRYPTO_(BIO_meth_new)                       \
  CRYPTO_(BIO_meth_set_read)                  \
  CRYPTO_(BIO_meth_set_write)                 \
  CRYPTO_(BIO_meth_set_ctrl)                  \
  CRYPTO_(BIO_new)                            \
  CRYPTO_(BIO_new_mem_buf)                    \
  CRYPTO_(BIO_free)                           \
  CRYPTO_(BIO_set_data)                       \
  CRYPTO_(BIO_get_data)                       \
  CRYPTO_(BIO_set_init)                       \
  CRYPTO_(BIO_set_flags)                      \
  CRYPTO_(BIO_clear_flags)                    \
  CRYPTO_(PEM_read_bio_X509)                  \
  CRYPTO_(PEM_read_bio_PrivateKey)            \
  CRYPTO_(EVP_PKEY_free)                      \
  CRYPTO_(X509_free)                          \
  CRYPTO_(EVP_PKEY_Q_keygen)                  \
  CRYPTO_(EVP_MD_CTX_new)                     \
  CRYPTO_(EVP_MD_CTX_reset)                   \
  CRYPTO_(EVP_MD_CTX_free)                    \
  CRYPTO_(EVP_DigestVerifyInit)               \
  CRYPTO_(EVP_DigestVerify)                   \
  CRYPTO_(EVP_sha256)                         \
  CRYPTO_(X509_new)                           \
  CRYPTO_(X509_get0_pubkey)                   \
  CRYPTO_(X509_set_version)                   \
  CRYPTO_(X509_gmtime_adj)                    \
  CRYPTO_(X509_getm_notBefore)                \
  CRYPTO_(X509_getm_notAfter)                 \
  CRYPTO_(X509_NAME_add_entry_by_txt)         \
  CRYPTO_(X509_set_issuer_name)               \
  CRYPTO_(X509_set_pubkey)                    \
  CRYPTO_(X509_add_ext)                       \
  CRYPTO_(X509_sign)                          \
  CRYPTO_(X509_get_ext)                       \
  CRYPTO_(X509_EXTENSION_create_by_NID)       \
  CRYPTO_(X509_EXTENSION_get_data)            \
  CRYPTO_(X509_EXTENSION_free)                \
  CRYPTO_(ASN1_INTEGER_set)                   \
  CRYPTO_(ASN1_OCTET_STRING_new)              \
  CRYPTO_(ASN1_OCTET_STRING_set)              \
  CRYPTO_(ASN1_OCTET_STRING_free)             \
  CRYPTO_(ASN1_STRING_get0_data)              \
  CRYPTO_(ASN1_STRING_length)                 \
  CRYPTO_(d2i_X509)                           \
  CRYPTO_(X509_STORE_add_cert)                \
  CRYPTO_(X509_STORE_CTX_new)                 \
  CRYPTO_(X509_STORE_CTX_init)                \
  CRYPTO_(X509_STORE_CTX_set_purpose)         \
  CRYPTO_(X509_STORE_CTX_free)                \
  CRYPTO_(X509_verify_cert)                   \
  CRYPTO_(X509_STORE_CTX_get_ex_data)         \
  CRYPTO_(X509_STORE_CTX_get_error)           \
  CRYPTO_(X509_STORE_CTX_set_error)           \
  CRYPTO_(X509_STORE_CTX_get_error_depth)     \
  CRYPTO_(X509_STORE_CTX_get_current_cert)    \
  CRYPTO_(X509_verify_cert_error_string)      \
  CRYPTO_(X509_get_subject_name)              \
  CRYPTO_(X509_get_serialNumber)              \
  CRYPTO_(X509_get0_notAfter)                 \
  CRYPTO_(X509_NAME_get_text_by_NID)          \
  CRYPTO_(X509_get_ext_by_NID)                \
  CRYPTO_(X509_check_host)                    \
  CRYPTO_(X509_check_ip_asc)                  \
  CRYPTO_(ASN1_INTEGER_to_BN)                 \
  CRYPTO_(ASN1_TIME_to_tm)                    \
  CRYPTO_(BN_bn2hex)                          \
  CRYPTO_(BN_free)                            \
  CRYPTO_(CRYPTO_free)                        \
  CRYPTO_(ERR_get_error)                      \
  CRYPTO_(ERR_clear_error)                    \
  CRYPTO_(ERR_reason_error_string)

namespace weft::rpc {

/// Functions of libssl and libcrypto under their own names. Immutable; any thread.
struct OpenSsl {
#define WEFT_DECLARE(name) decltype(&::name) name = nullptr;
  WEFT_OPENSSL_FUNCTIONS(WEFT_DECLARE, WEFT_DECLARE)
#undef WEFT_DECLARE
};

/// Loads it once. not_found when OpenSSL 3 is not installed.
Result<const OpenSsl*> load_openssl();

}  // namespace weft::rpc
