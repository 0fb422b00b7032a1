// The HTTP server among very many clients, and among clients that do what is allowed but unusual or not allowed at all: each is
// answered or closed, and others are served meanwhile.
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/http/server.hpp"
#include "base/rpc/descriptors.hpp"
#include "tests/support/http_connection.hpp"

namespace weft::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::HttpConnection;
using Connections = std::vector<std::unique_ptr<HttpConnection>>;

constexpr int kCrowd = 1000;
constexpr seconds kLong{60};  // none of these tests ends by it

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

class HttpCrowd : public testing::Test {
 protected:
  void SetUp() override { rpc::raise_descriptor_limit(); }
  void start(ServerOptions options = {}) {
    options.listen = "127.0.0.1:0";
    auto started = Server::start(options, [](const Request& request) {
      return Response{.type = "text/plain", .body = "<" + request.method + " " + request.path + " " + request.body + ">"};
    });
    ASSERT_TRUE(started) << started.error().to_string();
    server_ = std::move(*started);
  }
  Connections crowd() {
    Connections made;
    for (int i = 0; i < kCrowd; ++i) made.push_back(std::make_unique<HttpConnection>(server_->address()));
    return made;
  }
  /// What came until the server closed the connection, which it does.
  std::string all_of(const std::string& sent, bool half_close = false) {
    HttpConnection client(server_->address());
    (void)client.send(sent);  // it may be closed before all of it is sent
    if (half_close) client.send_no_more();
    EXPECT_TRUE(client.closed_within(kLong)) << sent.substr(0, 200) << "\n" << client.got().substr(0, 500);
    return client.got();
  }
  /// A machine that is busy may make one of them late for the deadlines that these tests set, but not all.
  bool serves() {
    for (int i = 0; i < 5; ++i)
      if (serves_one()) return true;
    return false;
  }
  bool serves_one() {
    return all_of("GET /well HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").find("<GET /well >") != std::string::npos;
  }

  std::unique_ptr<Server> server_;
};

TEST_F(HttpCrowd, AThousandConnectionsAreAllServed) {
  start();  // with room for half of them at a time
  const Connections clients = crowd();
  for (int i = 0; i < kCrowd; ++i)
    ASSERT_TRUE(clients[static_cast<std::size_t>(i)]->send("GET /" + std::to_string(i) +
                                                           " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"));
  int answered = 0, refused = 0;
  for (int i = 0; i < kCrowd; ++i) {
    HttpConnection& client = *clients[static_cast<std::size_t>(i)];
    EXPECT_TRUE(client.closed_within(kLong)) << i;
    answered += client.got().find("<GET /" + std::to_string(i) + " >") != std::string::npos ? 1 : 0;
    refused += client.got().starts_with("HTTP/1.1 503") ? 1 : 0;  // too many waited
  }
  EXPECT_EQ(answered + refused, kCrowd);
  EXPECT_GT(answered, kCrowd / 4);
  EXPECT_TRUE(serves());
}

TEST_F(HttpCrowd, AThousandThatSayNothingAreClosedAndOthersServed) {
  start({.request = milliseconds(700)});
  const Connections silent = crowd();
  EXPECT_TRUE(serves());
  for (const auto& client : silent) EXPECT_TRUE(client->closed_within(kLong));
}

TEST_F(HttpCrowd, AThousandThatDripAreClosedAndOthersServed) {
  start({.request = milliseconds(700)});
  const Connections slow = crowd();
  for (const auto& client : slow) (void)client->send("GET / HTTP/1.1\r\nHost: loc");
  for (const auto& client : slow) (void)client->send("alhost\r\nX-A: b\r\n");
  EXPECT_TRUE(serves());
  for (const auto& client : slow) EXPECT_TRUE(client->closed_within(kLong));
}

TEST_F(HttpCrowd, WhoTakesNoAnswerIsClosed) {
  ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.connections = 1;        // so that others are served when it is closed, and not before
  options.response = seconds(3);  // the thread sanitizer takes one to make the answer
  auto started = Server::start(options, [](const Request& request) {
    return Response{.body = request.path == "/well" ? "<GET /well >" : std::string(16u << 20, 'x')};  // more than sockets hold
  });
  ASSERT_TRUE(started);
  server_ = std::move(*started);
  HttpConnection lazy(server_->address());
  ASSERT_TRUE(lazy.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_TRUE(lazy.read_until("HTTP/1.1 200"));  // and no more of it
  EXPECT_TRUE(serves());
}

TEST_F(HttpCrowd, PipelinedRequestsAreAnsweredInTheirOrder) {
  start();
  std::string sent;
  for (int i = 0; i < 200; ++i)
    sent += i % 3 == 0 ? "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\nX-Weft: 1\r\nContent-Length: 2\r\n\r\nab"
                       : "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string got = all_of(sent + "GET /end HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(times(got, "HTTP/1.1 200"), 201u);
  std::size_t at = 0;
  for (int i = 0; i < 200; ++i) {
    at = got.find(i % 3 == 0 ? "<POST /" + std::to_string(i) + " ab>" : "<GET /" + std::to_string(i) + " >", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(HttpCrowd, HalfClosedConnectionsAreAnsweredOrClosed) {
  start({.request = milliseconds(700)});
  const std::string whole = "GET /whole HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string answer = all_of(whole, true);
  EXPECT_TRUE(answer.empty() || answer.find("<GET /whole >") != std::string::npos) << answer;
  for (const std::size_t cut : {0u, 1u, 10u, 30u})
    EXPECT_EQ(all_of(whole.substr(0, cut), true).find("200 OK"), std::string::npos) << cut;
  const std::string post = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Weft: 1\r\nContent-Length: 100\r\n\r\nonly this";
  EXPECT_EQ(all_of(post, true).find("200 OK"), std::string::npos);  // half a body changes nothing
  EXPECT_TRUE(serves());
}

TEST_F(HttpCrowd, AMegabyteOfHeadersIsRefusedHoweverItComes) {
  start({.request = seconds(2)});
  const std::string line = "GET / HTTP/1.1\r\nHost: localhost\r\n";
  std::string many = line;
  while (many.size() < (1u << 20)) many += "X-" + std::to_string(many.size()) + ": b\r\n";
  for (const std::string& sent :
       {line + "X-Long: " + std::string(1u << 20, 'a') + "\r\n\r\n", many + "\r\n", "GET /" + std::string(1u << 20, 'a'),
        std::string(1u << 20, 'G'), line + "Cookie: " + std::string(1u << 20, ';')})
    EXPECT_EQ(all_of(sent).find("200 OK"), std::string::npos) << sent.substr(0, 60);
  EXPECT_TRUE(serves());
}

TEST_F(HttpCrowd, BodiesThatAreTooLongAreRefusedBeforeTheyCome) {
  start({.body_bytes = 1000, .request = seconds(2)});
  const std::string post = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Weft: 1\r\n";
  EXPECT_NE(all_of(post + "Expect: 100-continue\r\nConnection: close\r\nContent-Length: 1001\r\n\r\n").find("413"),
            std::string::npos);
  for (const char* length : {"-1", "1e3", "0x10", "18446744073709551616", "99999999999999999999999999"})
    EXPECT_EQ(all_of(post + "Content-Length: " + length + "\r\n\r\n").find("200 OK"), std::string::npos) << length;
  std::string chunks = post + "Transfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 20; ++i) chunks += "64\r\n" + std::string(100, 'b') + "\r\n";
  EXPECT_EQ(all_of(chunks + "0\r\n\r\n").find("200 OK"), std::string::npos);
  for (const char* size : {"fffffffffffffff1", "-4", "10000000000000000", ""})
    EXPECT_EQ(all_of(post + "Transfer-Encoding: chunked\r\n\r\n" + size + "\r\nabcd\r\n0\r\n\r\n").find("200 OK"),
              std::string::npos)
        << size;
  EXPECT_TRUE(serves());
}

/// What follows a body whose length is told in two ways is not taken for a request.
TEST_F(HttpCrowd, NoRequestIsSmuggledInABody) {
  start({.request = seconds(2)});
  const std::string post = "POST / HTTP/1.1\r\nHost: localhost\r\nX-Weft: 1\r\n";
  const std::string inner = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const std::string size = "Content-Length: " + std::to_string(inner.size()) + "\r\n";
  const std::string chunked = "Transfer-Encoding: chunked\r\n";
  for (const std::string& lengths : {"Content-Length: 0\r\n" + size, size + "Content-Length: 0\r\n",
                                     "Content-Length: 0\r\n" + chunked, chunked + "Content-Length: 0\r\n", chunked + chunked}) {
    const std::string got = all_of(post + lengths + "\r\n" + inner);
    EXPECT_EQ(got.find("<GET /smuggled"), std::string::npos) << lengths << got;
  }
  EXPECT_NE(all_of(post + size + "Connection: close\r\n\r\n" + inner).find("<POST / " + inner), std::string::npos);
  EXPECT_TRUE(serves());
}

TEST_F(HttpCrowd, RangesAreAnsweredWhole) {
  start();
  for (const char* range :
       {"bytes=0-0", "bytes=5-1", "bytes=-1", "bytes=0-,0-,0-,0-,0-", "bytes=18446744073709551615-", "lines=1-2"}) {
    const std::string got =
        all_of(std::string("GET /all HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nRange: ") + range + "\r\n\r\n");
    EXPECT_TRUE(got.starts_with("HTTP/1.1 200") && got.find("<GET /all >") != std::string::npos) << range << "\n" << got;
  }
}

}  // namespace
}  // namespace weft::http
