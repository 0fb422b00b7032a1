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

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/rpc/credentials.hpp"
#include "base/rpc/openssl.hpp"

namespace weft::rpc {

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
  std::set<std::string> revoked;  // serial numbers as serial_of() writes them
};

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
  /// What changes with a file: its inode, its length, when it or its mode was changed. Of all three files.
  using Stamp = std::array<std::tuple<std::uint64_t, std::int64_t, std::int64_t>, 3>;
  Stamp stamp() const;
  Result<std::shared_ptr<const Trust>> read() const;

  const std::string directory_;
  const Log log_{"security"};
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Trust> trust_;
  Stamp seen_{};
  TimePoint looked_{};
};

}  // namespace weft::rpc
