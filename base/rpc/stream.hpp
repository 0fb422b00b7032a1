// The bytes of a connection: those of its socket as they are, or encrypted.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "base/rpc/socket.hpp"
#include "base/rpc/tls.hpp"

namespace weft::rpc {

/// Non-blocking I/O on a socket that somebody else owns. One thread at a time.
class Stream {
 public:
  Stream() = default;
  /// `tls`, unless null, is on the same socket. Descriptors travel on Unix sockets only.
  Stream(int fd, bool is_unix, std::unique_ptr<Tls> tls) : fd_(fd), is_unix_(is_unix), tls_(std::move(tls)) {}

  /// Goes on as far as the peer's bytes allow. True: bytes may be sent and received. Errors: Tls::shake_hands().
  Result<bool> shake_hands() { return tls_ ? tls_->shake_hands() : Result<bool>(true); }
  /// As in socket.hpp. Less than there is room for: there is nothing more for now.
  Result<Received> receive(std::span<const iovec> into) { return tls_ ? tls_->receive(into) : rpc::receive(fd_, into, is_unix_); }
  /// Where something is still kept (keeps_unsent()), it goes first.
  Result<Sent> send(std::span<const iovec> pieces, std::span<const Fd> fds) {
    return tls_ ? tls_->send(pieces) : rpc::send(fd_, pieces, fds);
  }
  bool keeps_unsent() const { return tls_ && tls_->keeps_unsent(); }
  /// A byte of the peer came during the handshake.
  bool heard() const { return tls_ && tls_->heard(); }
  /// The peer by its certificate, once hands are shaken; null before, and where nothing is encrypted.
  const Identity* peer() const { return tls_ ? tls_->peer() : nullptr; }
  /// The peer's certificate was revoked since.
  bool revoked() const { return tls_ && tls_->revoked(); }

 private:
  int fd_ = -1;
  bool is_unix_ = false;
  std::unique_ptr<Tls> tls_;
};

}  // namespace weft::rpc
