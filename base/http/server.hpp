// A small HTTP/1.1 server for daemons: pages, REST, metrics. libmicrohttpd inside, in server.cpp only.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/http/event_stream.hpp"
#include "base/http/request.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::http {

/// A request that is refused because of who sends it, or because another server's page may have sent it.
struct RefusedRequest {
  int status = 0;                       // 401 or 403
  std::string address{};                // of the other end, "10.0.0.9:41234"
  std::optional<rpc::Identity> peer{};  // nothing: it has shown nothing that is good
  std::string method{}, path{};         // as they came: anything, up to ServerOptions::header_bytes
  std::string error{};                  // why
};

struct ServerOptions {
  std::string listen{};              // "host:port"; port 0 takes any
  std::vector<std::string> names{};  // besides the host in `listen`, for clients that are not on loopback (refused())
  unsigned connections = 500;        // more wait until one ends
  /// Encrypted: HTTPS, and only those who show a certificate or a token (`Authorization: Bearer`, or the cookie of a browser that
  /// has signed in, sign_in.hpp) are answered, also on connections that were there before it was revoked; streams end within
  /// seconds then. A certificate that is renewed is shown to connections that begin after that. Insecure: everybody is. Otherwise
  /// it listens on loopback only, and answers to the user who runs it, and to root.
  rpc::Security security{};
  /// Which paths everybody may read who can connect.
  std::function<bool(std::string_view path)> open = [](std::string_view path) { return path == "/healthz" || path == "/readyz"; };
  /// Called for each request that is refused before the function that answers is asked, with 401 or 403, and for each sign-in that
  /// is; on one of the server's threads, before the client has the answer. Must not block. May be empty.
  std::function<void(const RefusedRequest&)> on_refused{};
  std::size_t header_bytes = 32u << 10;           // of a request, with its line; more is answered with 431 or 414
  std::size_t body_bytes = 1u << 20;              // more is answered with 413
  unsigned threads = 2;                           // that answer
  std::size_t queued = 256;                       // requests that wait for them; more are answered with 503
  Duration request = std::chrono::seconds(20);    // until a connection has sent a whole request; then it is closed
  Duration response = std::chrono::minutes(2);    // until it has taken the answer; not for streams of events
  Duration keep_alive = std::chrono::seconds(1);  // how often streams are written to: the second write finds the client gone
};

/// Answers a request on one of the server's threads; may block, which delays the others. What it throws is answered with 500.
using Answer = std::function<Response(const Request&)>;

class Server {
 public:
  /// Serves until destroyed. Errors: address not ours or in use (already_exists), no descriptors; invalid_argument where it would
  /// serve other machines, and nothing says who may ask.
  static Result<std::unique_ptr<Server>> start(ServerOptions options, Answer answer);
  /// Ends all connections and waits for the answers under way.
  virtual ~Server() = default;
  /// "host:port" as bound.
  virtual const std::string& address() const = 0;
  /// "http://host:port", or https.
  virtual std::string url() const = 0;
};

}  // namespace weft::http
