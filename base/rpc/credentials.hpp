// What a process shows to its peers, and whom it trusts: a certificate with its key, the certificate of the cluster's authority,
// and the list of those that were revoked. They are files of one directory (docs/security.md), made by `weft security`.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc {

inline constexpr const char* kAuthorityFile = "ca.crt";       // certificates of the authority: more than one while it is replaced
inline constexpr const char* kIdentityFile = "identity.pem";  // key and certificate in one file, so that they are replaced together
inline constexpr const char* kRevokedFile = "revoked";        // lines of SERIAL NAME; may be missing
/// The organisation in a certificate's subject is this and the name of the role; its common name is that of the identity.
inline constexpr std::string_view kRolePrefix = "weft:";
/// Names the directory for this process and those that it starts; --security and --insecure of all programs set it.
inline constexpr const char* kSecurityVariable = "WEFT_SECURITY";
/// What it says instead of a directory where nothing is to be protected.
inline constexpr std::string_view kInsecure = "insecure";

/// Immutable in its interface; the files are read again when they have changed, so that a certificate is renewed and another one
/// revoked while the process runs. Any thread.
class Credentials {
 public:
  /// not_found, invalid_argument or io, with what to do: a file is missing, or is none of these; others can read the key; the
  /// certificate has expired, or is not one of the authority; OpenSSL is not installed.
  static Result<std::shared_ptr<Credentials>> open(const std::string& directory);
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  const std::string& directory() const { return directory_; }
  /// Of this process.
  Identity identity();
  /// For libraries that encrypt by themselves: key and certificate of this process, and those of the authority, in PEM.
  struct Texts {
    std::string identity, authority;
  };
  Texts texts();
  /// Whose certificate (DER) it is that such a library got. invalid_argument says why it is refused.
  Result<Identity> check(ByteView certificate);
  /// When the certificate of this process ends, in seconds since 1970.
  std::int64_t expires();

  class Impl;  // base/rpc/credentials_impl.hpp
  Impl& impl() { return *impl_; }

 private:
  explicit Credentials(std::string directory);
  std::string directory_;
  std::unique_ptr<Impl> impl_;
};

/// What $WEFT_SECURITY says; without it the default of Security. Errors: Credentials::open().
Result<Security> security_of_environment();

}  // namespace weft::rpc
