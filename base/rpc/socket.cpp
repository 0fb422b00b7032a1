#include "base/rpc/socket.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/rpc/frame.hpp"
#include "base/text.hpp"

namespace weft::rpc {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// The error code of getaddrinfo, 0 when `list` was filled.
int look_up(const std::string& host, const std::string& port, int flags, AddressList& list) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  list.reset(found);
  return error;
}

std::vector<Address> addresses_of(const AddressList& list) {
  std::vector<Address> addresses;
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    addresses.push_back(Address::of(entry->ai_addr, entry->ai_addrlen));
  }
  return addresses;
}

Error broken(const char* what, int error) {
  if (error == EPIPE || error == ECONNRESET) return Error(Code::unavailable, "the peer is gone (connection reset)");
  return Error(Code::unavailable, errno_error(what, error).to_string());
}

bool try_connect(const Address& address) {
  const Fd probe(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  return ::connect(probe.get(), address.get(), address.size) == 0 || errno != ECONNREFUSED;
}

bool bind_to(int fd, const Address& address) {
  if (::bind(fd, address.get(), address.size) == 0) return true;
  const char* path = reinterpret_cast<const sockaddr_un*>(address.get())->sun_path;
  if (errno != EADDRINUSE || address.family() != AF_UNIX) return false;
  if (*path == '\0' || try_connect(address)) {
    errno = EADDRINUSE;
    return false;
  }
  ::unlink(path);
  return ::bind(fd, address.get(), address.size) == 0;
}

using Control = std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxFdsPerFrame)>;

std::vector<Fd> take_fds(msghdr& message) {
  std::vector<Fd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

void attach_fds(msghdr& message, std::span<const Fd> fds, Control& control) {
  WEFT_ASSERT(fds.size() <= kMaxFdsPerFrame);
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
  for (std::size_t i = 0; i < fds.size(); ++i) {
    const int fd = fds[i].get();
    std::memcpy(CMSG_DATA(part) + i * sizeof(int), &fd, sizeof fd);
  }
}

Error cannot_listen(const Address& address, int code) {
  Error error = errno_error(fmt::format("cannot listen on {}", address.to_string()), code);
  if (code != EADDRINUSE) return error;
  return {error.code(), error.to_string() + "; another process listens there: choose another port, or end that process"};
}

}  // namespace

Address Address::of(const void* address, std::size_t size) {
  Address result;
  result.size = static_cast<socklen_t>(std::min(size, sizeof result.storage));
  std::memcpy(&result.storage, address, result.size);
  return result;
}

std::optional<Address> Address::numeric(const std::string& host, const std::string& port) {
  AddressList list(nullptr, &::freeaddrinfo);
  if (look_up(host, port, AI_NUMERICHOST | AI_NUMERICSERV, list) != 0) return std::nullopt;
  return of(list->ai_addr, list->ai_addrlen);
}

Address Address::unix_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  WEFT_ASSERT(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (!is_abstract(path)) return of(&address, sizeof address);
  address.sun_path[0] = '\0';
  return of(&address, offsetof(sockaddr_un, sun_path) + path.size());
}

std::string Address::to_string() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
    return fmt::format("{}:{}", ::inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text), ntohs(v4->sin_port));
  }
  if (family() == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    return fmt::format("[{}]:{}", ::inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text), ntohs(v6->sin6_port));
  }
  const auto* local = reinterpret_cast<const sockaddr_un*>(&storage);
  if (family() != AF_UNIX || size <= sizeof local->sun_family) return "unix";
  if (local->sun_path[0] != '\0') return fmt::format("unix:{}", local->sun_path);
  return fmt::format("unix:@{}", std::string_view(local->sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1));
}

Result<EndpointParts> split_endpoint(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::invalid_argument,
                fmt::format("'{}' is not an address: {} (write HOST:PORT or unix:/path)", escaped(text), why));
  };
  if (text.starts_with("unix:")) {
    const auto path = text.substr(5);
    if (path.empty() || path.find('\0') != std::string_view::npos) return refuse("no path");
    if (path.size() >= sizeof(sockaddr_un::sun_path)) return refuse("the path is longer than 107 bytes");
    return EndpointParts{std::string(path), {}, {}};
  }
  const bool bracketed = text.starts_with('[');
  const auto end = bracketed ? text.find(']') : std::string_view::npos;
  if (bracketed && end == std::string_view::npos) return refuse("the bracket does not end");
  if (bracketed && text.size() > end + 1 && text[end + 1] != ':') return refuse("no port behind the bracket");
  const auto colon = bracketed ? text.find(':', end) : text.rfind(':');
  if (colon == std::string_view::npos) return refuse("no port");
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
    if (!host.empty() && host.find(':') == std::string_view::npos) return refuse("brackets are for IPv6 addresses");
  } else if (host.find(':') != std::string_view::npos) {
    return refuse("an IPv6 address needs brackets, as in [::1]:7077");
  }
  if (host.empty()) return refuse("no host");
  if (host.find_first_of(std::string_view(" \t\r\n/[]\0", 8)) != std::string_view::npos) return refuse("no such host name");
  if (!parse_number<std::uint16_t>(port)) return refuse("the port is not a number up to 65535");
  return EndpointParts{{}, std::string(host), std::string(port)};
}

Result<void> make_non_blocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return fail(errno_error("cannot set up a socket", errno));
  return {};
}

Result<Fd> open_socket(int family) {
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fail(errno_error("cannot create a socket", errno));
  disable_delay(fd.get());
  notice_dead_peers(fd.get());
  return fd;
}

Result<Fd> bind_socket(const Address& address) {
  WEFT_ASSIGN(Fd fd, open_socket(address.family()));
  const int on = 1;
  if (address.family() != AF_UNIX) ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!bind_to(fd.get(), address)) return fail(cannot_listen(address, errno));
  return fd;
}

Result<Fd> listen_on(const Address& address) {
  WEFT_ASSIGN(Fd fd, bind_socket(address));
  if (::listen(fd.get(), SOMAXCONN) != 0) return fail(cannot_listen(address, errno));
  return fd;
}

Result<std::vector<Address>> look_up_host(const std::string& host, const std::string& port) {
  AddressList list(nullptr, &::freeaddrinfo);
  const int error = look_up(host, port, AI_NUMERICSERV, list);
  if (error == EAI_NONAME || error == EAI_NODATA || error == EAI_ADDRFAMILY) {
    return fail(Code::not_found,
                fmt::format("cannot resolve host '{}': this machine knows no such name; correct it, or run this where "
                            "the hosts of the cluster are known",
                            host));
  }
  if (error != 0) return fail(Code::unavailable, fmt::format("cannot resolve host '{}': {}", host, ::gai_strerror(error)));
  return addresses_of(list);
}

Result<std::vector<Address>> resolve_blocking(const EndpointParts& parts) {
  if (!parts.path.empty()) return std::vector<Address>{Address::unix_path(parts.path)};
  AddressList list(nullptr, &::freeaddrinfo);
  if (const int error = look_up(parts.host, parts.port, AI_NUMERICSERV | AI_PASSIVE, list); error != 0) {
    return fail(Code::unavailable, fmt::format("cannot resolve host '{}': {}", parts.host, ::gai_strerror(error)));
  }
  return addresses_of(list);
}

bool same_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

Address local_address(int fd) {
  Address address;
  address.size = sizeof address.storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) address = {};
  return address;
}

Address peer_address(int fd) {
  Address address;
  address.size = sizeof address.storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) address = {};
  return address;
}

void disable_delay(int fd) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // refused by Unix sockets, which have no delay
}

void notice_dead_peers(int fd) {
  const int on = 1, idle_seconds = 15, interval_seconds = 5, probes = 3;
  const unsigned unanswered_milliseconds = 30'000;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_seconds, sizeof interval_seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unanswered_milliseconds, sizeof unanswered_milliseconds);
}

Result<Received> receive(int fd, std::span<const iovec> into, bool with_fds) {
  alignas(cmsghdr) Control control;
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(into.data());
  message.msg_iovlen = into.size();
  if (with_fds) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  ssize_t got = -1;
  do {
    got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received{};
  if (got < 0) return fail(broken("cannot receive", errno));
  Received received{got == 0 ? Received::State::end : Received::State::data, static_cast<std::size_t>(got), {}};
  if (with_fds) received.fds = take_fds(message);
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return fail(Code::resource_exhausted, "cannot take the peer's descriptors: too many open files (raise the limit, ulimit -n)");
  }
  return received;
}

Result<Sent> send(int fd, std::span<const iovec> pieces, std::span<const Fd> fds) {
  alignas(cmsghdr) Control control;
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());
  message.msg_iovlen = pieces.size();
  if (!fds.empty()) attach_fds(message, fds, control);
  ssize_t put = -1;
  do {
    put = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (put < 0 && errno == EINTR);
  if (put >= 0) return Sent{static_cast<std::size_t>(put), false};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return Sent{0, true};
  return fail(broken("cannot send", errno));
}

}  // namespace weft::rpc
