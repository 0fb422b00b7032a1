// One side of a TLS 1.3 connection in which both sides show certificates (credentials.hpp).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/rpc/credentials.hpp"
#include "base/rpc/socket.hpp"

namespace weft::rpc {

/// What this side demands of the other's certificate, besides that it is of the authority and not revoked.
struct PeerDemand {
  bool dialled = false;      // this side connected: the other one is a worker or a master
  std::optional<Role> role;  // that it must have
  std::string host;          // that it must be for, if it is for hosts; empty: any
};

/// Does non-blocking I/O on a socket that somebody else owns. Bytes for the peer are kept here while the socket is full: send()
/// takes them along. One thread at a time.
class Tls {
 public:
  Tls(Credentials& credentials, int fd, PeerDemand demand);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  /// Goes on with the handshake as far as the peer's bytes allow. True: both sides are known, and bytes may be sent and received.
  /// invalid_argument: one side refuses the other, or the peer does not encrypt; unavailable: it is gone.
  Result<bool> shake_hands();
  /// As of a socket (socket.hpp), once hands are shaken. Less than there is room for: there is nothing more for now.
  Result<Received> receive(std::span<const iovec> into);
  Result<Sent> send(std::span<const iovec> pieces);
  /// Sends what is kept. False: some is left, the socket is full.
  Result<bool> flush();
  bool keeps_unsent() const { return out_begin_ != out_.size(); }
  /// A byte of the peer came, of whatever kind.
  bool heard() const { return heard_; }
  /// Null until hands are shaken.
  const Identity* peer() const { return open_ ? &*peer_ : nullptr; }
  /// The peer's certificate was revoked since.
  bool revoked();

 private:
  friend struct TlsHooks;
  int read(char* into, int room);
  int write(const char* bytes, int size);
  int verify(int ok, void* context);
  std::optional<std::string> refusal_of(void* certificate);
  Error failure(int error);
  Error not_encrypted();
  void send_alert();

  struct Session;
  Credentials& credentials_;
  const int fd_;
  const PeerDemand demand_;
  std::unique_ptr<Session> session_;
  std::optional<Identity> peer_;
  std::string serial_;   // of the peer's certificate
  std::string refusal_;  // why this side refuses the peer
  std::vector<std::byte> out_;
  std::size_t out_begin_ = 0;
  std::array<unsigned char, 4> first_{};  // bytes of the peer
  std::size_t first_size_ = 0;
  bool heard_ = false, ended_ = false, open_ = false;
  std::optional<Error> broken_;  // of the socket, or of what came after bytes that were still good
};

}  // namespace weft::rpc
