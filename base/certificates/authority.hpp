// The authority of a cluster: makes the certificates by which its processes and users know each other, and takes them back.
//
// Its directory has its key, which belongs on no machine of the cluster, and one directory for each identity, with the files that
// rpc::Credentials reads. Formats: docs/security.md.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::certificates {

struct Pair;  // x509.hpp

/// What a certificate is made for.
struct Request {
  rpc::Role role = rpc::Role::user;
  std::string name;                // letters, digits, and . _ @ - behind the first; its directory has the same
  std::vector<std::string> hosts;  // names, *.names and addresses under which the process is reached; none: under any
  Duration lifetime = std::chrono::hours(24) * 365;
};

/// A certificate that was made.
struct Issued {
  std::string serial;  // upper-case hexadecimal digits
  rpc::Role role = rpc::Role::user;
  std::string name;
  std::int64_t expires = 0;  // seconds since 1970
  std::vector<std::string> hosts;
  bool revoked = false;
  bool token = false;  // of a user: no certificate, but a token (base/rpc/token.hpp)
};

/// One thread, one process at a time. Files are replaced as a whole, so that processes may read them meanwhile; all are for their
/// owner only. Errors name the file.
class Authority {
 public:
  /// Makes the directory, and the authority's key and certificate in it. already_exists: there is one.
  static Result<Authority> create(const std::string& directory);
  /// not_found: the directory has none.
  static Result<Authority> open(const std::string& directory);

  /// Makes a key and a certificate, and their directory; returns its path. already_exists: there is a certificate of that name that
  /// is still valid, and of this role; rotate() renews it. invalid_argument: the name, a host or the lifetime is none.
  Result<std::string> issue(const Request& request);
  /// Makes a token of a user, and a directory with it for rpc::Credentials, in the place of that of an earlier one, which stays
  /// good; returns its path. Errors: issue(); already_exists: the name is that of a worker or a master.
  Result<std::string> issue_token(const std::string& user, Duration lifetime);
  /// As revoke(), of the user's tokens only. not_found: there is no valid one.
  Result<void> revoke_tokens(const std::string& user);
  /// Another key and certificate in place of the last one of that name, for the same role and hosts. not_found: there was none, or
  /// it was revoked.
  Result<void> rotate(const std::string& name, Duration lifetime);
  /// No process accepts certificates and tokens of that name any more that were made until now, once it has the new list.
  /// not_found: none was made.
  Result<void> revoke(const std::string& name);
  /// Another key of the authority. Both are trusted until retire(), and what is issued from now on is signed by the new one.
  Result<void> rotate_authority();
  /// Only the newest key of the authority is trusted.
  Result<void> retire_authorities();

  /// All that were made and have not expired, the newest last.
  Result<std::vector<Issued>> issued() const;

 private:
  explicit Authority(std::string directory) : directory_(std::move(directory)) {}
  std::string path(const std::string& name) const { return directory_ + "/" + name; }
  Result<std::vector<Issued>> read_issued() const;
  Result<void> write_issued(const std::vector<Issued>& all) const;
  Result<void> make_key();
  Result<void> make_identity(const Request& request);
  Result<void> distribute() const;
  Result<void> distribute_to(const std::string& directory, const char* owned) const;
  Result<Pair> newest_authority() const;
  Result<void> revoke_if(const std::vector<Issued>& all, const std::string& name, bool tokens_only);

  std::string directory_;
};

}  // namespace weft::certificates
