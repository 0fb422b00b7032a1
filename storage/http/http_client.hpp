// HTTP exchanges by one thread: many under way at once, tried again when that may help, slower when the server asks for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"

namespace weft::storage::http {

/// The keys that sign a request (AWS Signature Version 4), and what the signature is for.
struct Signer {
  std::string access_key, secret_key;
  std::string session_token;  // of keys that expire; empty: none
  std::string scope;          // for libcurl (CURLOPT_AWS_SIGV4): "aws:amz:REGION:SERVICE"
};

/// A body that is made while it is sent, of unknown length. Both are called by the client's thread and do not block.
class HttpBody {
 public:
  struct Taken {
    std::size_t bytes = 0;  // none, and not the end: more comes, and HttpClient::wake() says when
    bool end = false;
  };
  virtual ~HttpBody() = default;
  /// The next bytes, at most `room`. A failure gives up the exchange.
  virtual Result<Taken> take(char* into, std::size_t room) = 0;
  /// The exchange has an outcome. Nothing more is taken, however much is left.
  virtual void ended() = 0;
};

struct HttpResponse {
  long status = 0;
  std::vector<std::pair<std::string, std::string>> headers{};  // names in small letters
  std::string body{};
  std::uint32_t tries = 1;  // including the one that it answers
  /// Empty when there is none of this name.
  std::string header(std::string_view name) const;
};

struct HttpRequest {
  std::string method = "GET";  // GET, HEAD, PUT, POST, DELETE
  std::string url;             // encoded, its query sorted: it is signed as it is
  std::vector<std::string> headers{};
  SharedBytes body{};
  std::shared_ptr<HttpBody> stream{};      // instead of `body`, of a PUT; tried once only, because it cannot begin again
  std::shared_ptr<const Signer> signer{};  // null: it is not signed
  std::uint64_t most_bytes = 64u << 20;    // a longer answer is an error
  std::uint64_t likely_bytes = 0;          // room made for it at once
  /// Whether an answer of another status than those of HttpClient::start() is tried again, too; null: none. Of the client's thread.
  bool (*is_passing)(const HttpResponse& answer) = nullptr;
  std::uint32_t most_tries = 0;  // 0: as many as HttpOptions::patience allows
  Duration timeout{};            // of each try, from its beginning to the end of its answer; zero: minutes
  bool follow = true;            // redirects; else they are answers
  /// Each try on a connection of its own: else libcurl repeats it by itself, uncounted, when one that was used before breaks.
  bool fresh_connection = false;
};

struct HttpOptions {
  std::string certificates{};         // file of the authorities that are trusted; empty: those of the system
  bool direct = false;                // through no proxy, whatever the environment says
  std::string server_setting{};       // for errors: what says where the server is
  std::string redirect_hint{};        // " and …": what else may be the reason of redirects without end
  std::string certificate_setting{};  // what names the file of authorities
  std::uint32_t most_in_flight = 32;  // exchanges at once
  Duration connect_timeout = std::chrono::seconds(10);
  Duration stall_timeout = std::chrono::seconds(20);  // without a byte
  Duration patience = std::chrono::seconds(120);      // from the first try to the last; a server that never answered gets 5 s
  Duration first_pause = std::chrono::milliseconds(50);
  Duration longest_pause = std::chrono::seconds(5);
};

/// An exchange under way. Dropped before its end, it is cancelled, and what it holds is freed soon.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  /// Blocks until the answer or the last failure, at most HttpOptions::patience and one try. Once. Any status is an answer; an
  /// error is a failure to get one: unavailable, deadline_exceeded, invalid_argument (a certificate that is not trusted, redirects
  /// without end), and says what to do.
  virtual Result<HttpResponse> wait() = 0;
  /// After wait(): the URL that was asked last, where redirects led.
  virtual const std::string& reached() const = 0;
  /// Whether wait() would not block. Before it only.
  virtual bool done() const = 0;
};

/// Any thread. Outlives its exchanges.
class HttpClient {
 public:
  static Result<std::unique_ptr<HttpClient>> open(HttpOptions options = {});
  virtual ~HttpClient() = default;
  /// Starts the exchange when fewer than HttpOptions::most_in_flight run. Network failures and the answers 408, 429, 500, 502, 503,
  /// 504 are tried again after pauses that double and are drawn at random (or as Retry-After says, within what has doubled). After
  /// 429 and 503 half as many run at once, then slowly more. An exchange with a `stream` is not counted: it lasts as long as its
  /// writer takes.
  virtual std::unique_ptr<HttpExchange> start(HttpRequest request) = 0;
  /// To be called when an HttpBody has more to give.
  virtual void wake() = 0;
  /// Takes the memory of a body that was read, for a later answer: new memory costs as much as reading into it. Optional.
  virtual void recycle(std::string body) = 0;
  Result<HttpResponse> exchange(HttpRequest request) { return start(std::move(request))->wait(); }
};

}  // namespace weft::storage::http
