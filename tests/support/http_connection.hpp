// A client of HTTP servers that does what tests want, also what no client should.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/fd.hpp"

namespace weft::test {

/// A connection that sends what it is told, byte for byte.
class HttpConnection {
 public:
  explicit HttpConnection(const std::string& address) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  bool connected() const { return connected_; }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Reads until the text is there (true), or the connection ends or the time is over (false).
  bool read_until(std::string_view text, std::chrono::milliseconds longest = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (got_.find(text) == std::string::npos)
      if (!read_some(end)) return false;
    return true;
  }
  /// Whether the server closes the connection in that time.
  bool closed_within(std::chrono::milliseconds longest) {
    const auto end = std::chrono::steady_clock::now() + longest;
    while (read_some(end)) {
    }
    return ended_;
  }
  /// The server is told that nothing follows; what it sends can be read on.
  void send_no_more() { ::shutdown(fd_.get(), SHUT_WR); }
  const std::string& got() const { return got_; }
  void forget() { got_.clear(); }

 private:
  bool read_some(std::chrono::steady_clock::time_point end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd poll{fd_.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&poll, 1, static_cast<int>(left.count())) <= 0) return false;
    char bytes[4096];
    const ssize_t size = ::recv(fd_.get(), bytes, sizeof bytes, 0);
    ended_ = size <= 0;
    if (size > 0) got_.append(bytes, static_cast<std::size_t>(size));
    return !ended_;
  }

  Fd fd_;
  bool connected_ = false, ended_ = false;
  std::string got_;
};

struct HttpAnswer {
  int status = 0;  // 0: there was none
  std::string head, body;
};

/// One request on a connection of its own; `headers` are lines with their ends.
inline HttpAnswer http(const std::string& address, const std::string& method, const std::string& target,
                       const std::string& headers = "", const std::string& body = "") {
  HttpConnection connection(address);
  std::string request = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers;
  if (!body.empty()) request += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  if (!connection.send(request + "\r\n" + body)) return {};
  (void)connection.closed_within(std::chrono::seconds(30));
  const std::string& got = connection.got();
  const std::size_t end = got.find("\r\n\r\n");
  if (end == std::string::npos) return {};
  return {std::stoi(got.substr(9, 3)), got.substr(0, end), got.substr(end + 4)};
}

}  // namespace weft::test
