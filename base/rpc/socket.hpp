// The system calls of sockets, with errors as values. Non-blocking throughout.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::rpc {

/// A socket address of any family.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  static Address of(const void* address, std::size_t size);
  /// From a numeric IPv4 or IPv6 address.
  static std::optional<Address> numeric(const std::string& host, const std::string& port);
  /// "@name": a name without a file, in the abstract namespace of the machine (of the network namespace).
  static Address unix_path(const std::string& path);

  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  /// "127.0.0.1:4711", "[::1]:4711", "unix:/path", "unix:@name" or "unix".
  std::string to_string() const;
};

/// An endpoint's text, taken apart. Exactly one of `path` and (`host`, `port`) is given.
struct EndpointParts {
  std::string path;
  std::string host, port;
};
Result<EndpointParts> split_endpoint(std::string_view text);
inline bool is_abstract(std::string_view unix_path) { return unix_path.starts_with('@'); }

Result<void> make_non_blocking(int fd);
/// A new non-blocking stream socket of the family.
Result<Fd> open_socket(int family);
/// Bound and listening. A Unix path that no process listens on any more is taken over.
Result<Fd> listen_on(const Address& address);
/// Bound, not listening.
Result<Fd> bind_socket(const Address& address);
/// The addresses to connect to for a name. Blocks. Code `not_found` when the name servers know no such name, `unavailable` when
/// they do not answer.
Result<std::vector<Address>> look_up_host(const std::string& host, const std::string& port);
/// The addresses to listen on for an endpoint. Blocks.
Result<std::vector<Address>> resolve_blocking(const EndpointParts& parts);

/// The peer of a Unix socket runs as this process's user, or as root.
bool same_user(int fd);

Address local_address(int fd);
Address peer_address(int fd);

/// Turns off the delay of small segments on TCP; nothing on others.
void disable_delay(int fd);
/// Lets TCP find out within half a minute that the other machine is gone. Does nothing to Unix sockets.
void notice_dead_peers(int fd);

/// What one receive gave.
struct Received {
  enum class State { data, end, would_block } state = State::would_block;
  std::size_t bytes = 0;
  std::vector<Fd> fds;
};
/// unavailable when the connection broke, resource_exhausted when the process could not take the descriptors.
Result<Received> receive(int fd, std::span<const iovec> into, bool with_fds);
/// What one send took.
struct Sent {
  std::size_t bytes = 0;
  bool blocked = false;  // the socket is full: no more for now
};
/// unavailable when the connection broke.
Result<Sent> send(int fd, std::span<const iovec> pieces, std::span<const Fd> fds);

}  // namespace weft::rpc
