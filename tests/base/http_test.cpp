// The HTTP server as clients meet it: what is answered, what is refused, and who cannot hold it up.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/http/server.hpp"
#include "tests/support/http_connection.hpp"

namespace weft::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HttpConnection;

/// Says what it was asked; /events is a stream that the test may write to.
struct Echo {
  std::mutex mutex;
  std::vector<std::shared_ptr<EventStream>> streams;

  Response operator()(const Request& request) {
    if (request.path == "/throws") throw std::runtime_error("as asked");
    if (request.path == "/events") {
      const std::lock_guard lock(mutex);
      streams.push_back(std::make_shared<EventStream>());
      return {.events = streams.back()};
    }
    std::string text = request.method + " " + request.path;
    for (const auto& [name, value] : request.query) text += " " + name + "=" + value;
    return {.type = "text/plain", .body = text + " [" + request.body + "]"};
  }
};

class Http : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    auto started = Server::start(options, [this](const Request& request) { return echo_(request); });
    ASSERT_TRUE(started) << started.error().to_string();
    server_ = std::move(*started);
  }
  const std::string& address() const { return server_->address(); }
  /// The whole answer to one request.
  std::string ask(const std::string& request) {
    HttpConnection client(address());
    EXPECT_TRUE(client.send(request));
    EXPECT_TRUE(client.closed_within(seconds(20))) << client.got();
    return client.got();
  }
  std::string get(const std::string& target, const std::string& headers = "Host: localhost\r\n",
                  const std::string& method = "GET") {
    return ask(method + " " + target + " HTTP/1.1\r\n" + headers + "Connection: close\r\n\r\n");
  }
  static int status(const std::string& answer) { return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3)); }

  Echo echo_;
  std::unique_ptr<Server> server_;
};

TEST_F(Http, AnswersWithPathQueryAndBody) {
  start();
  EXPECT_NE(get("/a%20b?x=1&y=%3C&z").find("GET /a b x=1 y=< z= []"), std::string::npos);
  const std::string posted =
      ask("POST /kill HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: "
          "4\r\nConnection: close\r\n\r\n{\"\"}");
  EXPECT_NE(posted.find("POST /kill [{\"\"}]"), std::string::npos) << posted;
  EXPECT_NE(get("/", "Host: localhost\r\nX-Weft: 1\r\n", "DELETE").find("DELETE / []"), std::string::npos);
}

/// The answer is made on another thread, which has to wake the one that writes it: without that each would take a tenth of a
/// second.
TEST_F(Http, WritesAnAnswerWhenItIsThere) {
  start();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(status(get("/")), 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(5));
}

TEST_F(Http, HeadIsGetWithoutTheBody) {
  start();
  const std::string answer = get("/page", "Host: localhost\r\n", "HEAD");
  EXPECT_EQ(status(answer), 200);
  EXPECT_NE(answer.find("Content-Length: 12"), std::string::npos) << answer;
  EXPECT_EQ(answer.find("GET /page"), std::string::npos);
  EXPECT_EQ(status(get("/page", "Host: localhost\r\nRange: bytes=2-3\r\n")), 200);  // ranges are not needed: the whole
}

TEST_F(Http, NothingIsCachedFramedOrSniffed) {
  start();
  const std::string answer = get("/");
  for (const char* header : {"Cache-Control: no-store", "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
                             "Content-Security-Policy: default-src 'none'", "Referrer-Policy: no-referrer"})
    EXPECT_NE(answer.find(header), std::string::npos) << header;
  EXPECT_EQ(answer.find("Access-Control"), std::string::npos);
}

TEST_F(Http, ALoopbackServerAnswersToLoopbackNamesOnly) {
  start();
  for (const char* host : {"localhost", "LOCALHOST:7078", "127.0.0.1", "127.0.0.1:1", "[::1]:7078"})
    EXPECT_EQ(status(get("/", std::string("Host: ") + host + "\r\n")), 200) << host;
  for (const char* host : {"evil.example", "localhost.evil.example:7078", "10.0.0.1", "master", "127.0.0.1.evil.example"})
    EXPECT_EQ(status(get("/", std::string("Host: ") + host + "\r\n")), 421) << host;
  EXPECT_EQ(status(get("/", "")), 400);
}

TEST(HttpRefused, OtherServersAnswerToAddressesAndTheirNames) {
  const auto status = [](const char* host) {
    const auto answer = refused({.method = "GET", .host = host}, false, {"node.example"});
    return answer ? answer->status : 200;
  };
  for (const char* host : {"node.example:7078", "10.0.0.1:7078", "[fe80::1]", "master:7078", "localhost"})
    EXPECT_EQ(status(host), 200) << host;
  for (const char* host : {"evil.example", "node.example.evil.example", ""}) EXPECT_EQ(status(host), 421) << host;
}

TEST_F(Http, PagesOfOthersChangeNothing) {
  start();
  const std::string form = "Host: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\n";
  EXPECT_EQ(status(get("/", form, "POST")), 403);
  EXPECT_EQ(status(get("/", "Host: localhost\r\n", "DELETE")), 403);
  EXPECT_EQ(status(get("/", "Host: localhost\r\nX-Weft: 1\r\nOrigin: http://evil.example\r\n", "DELETE")), 403);
  EXPECT_EQ(status(get("/", "Host: localhost:1\r\nX-Weft: 1\r\nOrigin: http://localhost:1\r\n", "DELETE")), 200);
  EXPECT_EQ(status(get("/", "Host: localhost:1\r\nX-Weft: 1\r\nOrigin: https://localhost:1\r\n", "DELETE")), 403);
  for (const auto& [site, answer] : {std::pair("cross-site", 403), {"same-site", 403}, {"same-origin", 200}, {"none", 200}})
    EXPECT_EQ(status(get("/", "Host: localhost:1\r\nX-Weft: 1\r\nSec-Fetch-Site: " + std::string(site) + "\r\n", "DELETE")), answer)
        << site;
  EXPECT_EQ(status(get("/", "Host: localhost\r\n", "OPTIONS")), 405);  // no consent to other sites
  EXPECT_EQ(status(get("/", "Host: localhost\r\n", "PUT")), 405);
}

TEST_F(Http, WhatIsTooLargeIsRefused) {
  start({.header_bytes = 16u << 10, .body_bytes = 1000});
  EXPECT_GE(status(get("/" + std::string(1u << 20, 'a'))), 400);
  EXPECT_GE(status(get("/", "Host: localhost\r\nX-Long: " + std::string(1u << 20, 'a') + "\r\n")), 400);
  const std::string json = "Host: localhost\r\nContent-Type: application/json\r\n";
  EXPECT_EQ(status(get("/", json + "Content-Length: 1001\r\n", "POST")), 413);
  EXPECT_EQ(status(get("/", json + "Content-Length: 99999999999999999999\r\n", "POST")), 413);
  HttpConnection chunked(address());
  EXPECT_TRUE(chunked.send("POST / HTTP/1.1\r\n" + json + "Transfer-Encoding: chunked\r\n\r\n"));
  for (int i = 0; i < 5 && chunked.send("190\r\n" + std::string(400, 'b') + "\r\n"); ++i) {
  }
  EXPECT_TRUE(chunked.closed_within(seconds(20)));
  EXPECT_EQ(status(get("/")), 200);
}

TEST_F(Http, NoiseIsAnsweredOrClosed) {
  start({.request = seconds(1)});
  for (const char* noise : {"\r\n\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", "\x16\x03\x01\x02\x00\x01",
                            "GET / HTTP/1.1\r\n: x\r\n\r\n",
                            "POST / HTTP/1.1\r\nHost: localhost\r\nX-Weft: 1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    HttpConnection client(address());
    EXPECT_TRUE(client.send(noise));
    EXPECT_TRUE(client.closed_within(seconds(20))) << noise;
  }
  EXPECT_EQ(status(get("/")), 200);
}

/// Requests with bytes changed, removed, repeated, at random: each is answered or its connection is closed, and the server goes on.
TEST_F(Http, DamagedRequestsAreAnsweredOrClosed) {
  start({.connections = 600, .request = milliseconds(500)});
  const std::string requests[] = {
      "GET /a?b=c&d=%3C HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
      "POST /kill HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"a\":\"b\"}",
      "POST /x HTTP/1.1\r\nHost: localhost\r\nX-Weft: 1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
      "HEAD /a HTTP/1.0\r\nHost: [::1]\r\nRange: bytes=0-1\r\nConnection: keep-alive\r\n\r\n"};
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&random](std::size_t n) { return random() % n; };
  std::vector<std::unique_ptr<HttpConnection>> sent;
  for (int i = 0; i < 300; ++i) {
    std::string text = requests[below(std::size(requests))];
    for (std::size_t change = 1 + below(4); change > 0 && !text.empty(); --change) {
      const std::size_t at = below(text.size()), size = std::min(1 + below(8), text.size() - at);
      if (below(3) == 0)
        text.erase(at, size);
      else if (below(2) == 0)
        text.insert(at, text.substr(at, size));
      else
        text[at] = static_cast<char>(below(256));
    }
    sent.push_back(std::make_unique<HttpConnection>(address()));
    (void)sent.back()->send(text);
  }
  for (const auto& connection : sent) EXPECT_TRUE(connection->closed_within(seconds(30)) || !connection->got().empty());
  EXPECT_EQ(status(get("/")), 200);
}

TEST_F(Http, WhoDripsBytesIsClosedInTime) {
  start({.request = milliseconds(700)});
  HttpConnection slow(address());
  ASSERT_TRUE(slow.send("GET / HTTP/1.1\r\nHost: localhost\r\n"));
  const auto end = std::chrono::steady_clock::now() + seconds(20);
  bool closed = false;
  while (!closed && std::chrono::steady_clock::now() < end) {
    (void)slow.send("X-A: b\r\n");
    closed = slow.closed_within(milliseconds(50));
  }
  EXPECT_TRUE(closed);
}

TEST_F(Http, ManyIdleConnectionsKeepNobodyOutForLong) {
  start({.connections = 20, .request = milliseconds(700)});
  std::vector<std::unique_ptr<HttpConnection>> idle;
  for (int i = 0; i < 60; ++i) idle.push_back(std::make_unique<HttpConnection>(address()));
  EXPECT_EQ(status(get("/")), 200);
}

TEST_F(Http, AKeptConnectionServesManyRequests) {
  start();
  HttpConnection client(address());
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(client.send("GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_TRUE(client.read_until("GET /" + std::to_string(i) + " []")) << client.got();
    client.forget();
  }
}

TEST_F(Http, WhatAnAnswerThrowsIsAnError) {
  start();
  EXPECT_EQ(status(get("/throws")), 500);
  EXPECT_EQ(status(get("/")), 200);
}

TEST_F(Http, EventsComeWhenTheyAreSent) {
  start({.keep_alive = milliseconds(100)});
  HttpConnection client(address());
  ASSERT_TRUE(client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(client.read_until("text/event-stream"));
  ASSERT_TRUE(client.read_until(":\n\n"));  // nothing happens: the line that keeps it alive
  const auto events = echo_.streams.at(0);
  events->send("jobs", "[1]\n");
  ASSERT_TRUE(client.read_until("event: jobs\ndata: [1]\n\n")) << client.got();
  events->send("jobs", "[2]");
  ASSERT_TRUE(client.read_until("data: [2]\n\n"));
  EXPECT_FALSE(events->closed());
  events->close();
  EXPECT_TRUE(client.read_until("\r\n0\r\n"));
}

TEST_F(Http, AStreamNoticesThatItsClientIsGone) {
  start({.keep_alive = milliseconds(50)});
  {
    HttpConnection client(address());
    ASSERT_TRUE(client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_TRUE(client.read_until("text/event-stream"));
  }
  const auto events = echo_.streams.at(0);
  const auto end = std::chrono::steady_clock::now() + seconds(20);
  while (!events->closed() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(events->closed());
}

TEST_F(Http, AStreamNoticesThatSoonUnlessOptionsSayOtherwise) {
  start();
  {
    HttpConnection client(address());
    ASSERT_TRUE(client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_TRUE(client.read_until("text/event-stream"));
  }
  const auto events = echo_.streams.at(0);
  const auto end = std::chrono::steady_clock::now() + seconds(12);
  while (!events->closed() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_TRUE(events->closed());
}

TEST_F(Http, EndsWithStreamsAndHalfRequestsOpen) {
  start();
  HttpConnection stream(address()), half(address());
  ASSERT_TRUE(stream.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(stream.read_until("text/event-stream"));
  ASSERT_TRUE(half.send("GET / HT"));
  server_.reset();
  EXPECT_TRUE(stream.closed_within(seconds(20)));
  EXPECT_TRUE(half.closed_within(seconds(20)));
}

TEST_F(Http, APortInUseIsAnErrorThatNamesIt) {
  start();
  const auto second = Server::start({.listen = address()}, [](const Request&) { return Response{}; });
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().to_string().find(address()), std::string::npos);
  EXPECT_FALSE(Server::start({.listen = "unix:/tmp/x"}, [](const Request&) { return Response{}; }));
  EXPECT_FALSE(Server::start({.listen = "nonsense"}, [](const Request&) { return Response{}; }));
}

TEST(EventStream, KeepsTheNewestOfEachName) {
  EventStream events;
  events.send("a", "1");
  events.send("b", "1");
  events.send("a", "2");
  std::string got;
  char piece[7];
  std::size_t taken = 0;
  while (events.take(
             piece, sizeof piece, taken, [] {}, [] {}) == EventStream::Took::some)
    got.append(piece, taken);
  EXPECT_EQ(got, "event: a\ndata: 2\n\nevent: b\ndata: 1\n\n");
}

}  // namespace
}  // namespace weft::http
