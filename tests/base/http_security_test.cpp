// Which clients the HTTP server answers: with HTTPS those that show a certificate, without it those of its own user.
#include <array>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/certificates/authority.hpp"
#include "base/file.hpp"
#include "base/http/server.hpp"
#include "base/rpc/credentials.hpp"
#include "base/text.hpp"
#include "tests/support/http_connection.hpp"

namespace weft::http {
namespace {

using std::chrono::seconds;
using test::HttpConnection;

Response say_yes(const Request&) { return {.type = "text/plain", .body = "yes"}; }

int status_of(const std::string& answer) { return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3)); }

/// With this header, if any.
std::string question(const std::string& path, const std::string& header = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + header + "\r\n";
}

/// An encrypted connection.
class HttpsConnection {
 public:
  /// `identity`: the directory of a certificate that is shown; empty: none.
  HttpsConnection(const std::string& address, const std::string& identity, int version = TLS1_3_VERSION)
      : context_(SSL_CTX_new(TLS_client_method())), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    SSL_CTX_set_min_proto_version(context_, version);
    SSL_CTX_set_max_proto_version(context_, version);
    if (!identity.empty()) {
      EXPECT_EQ(SSL_CTX_use_certificate_file(context_, (identity + "/identity.pem").c_str(), SSL_FILETYPE_PEM), 1);
      EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_, (identity + "/identity.pem").c_str(), SSL_FILETYPE_PEM), 1);
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{60, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, socket_.get());
    ::signal(SIGPIPE, SIG_IGN);  // that the server has closed it is for the test to say
    open_ = SSL_connect(ssl_) == 1;
  }
  ~HttpsConnection() {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  HttpsConnection(const HttpsConnection&) = delete;
  HttpsConnection& operator=(const HttpsConnection&) = delete;

  bool open() const { return open_; }
  void ask(const std::string& text) { SSL_write(ssl_, text.data(), static_cast<int>(text.size())); }
  /// Until what came has this text, or until the end where it is empty. Nothing came for a minute: fails.
  std::string read_until(const std::string& text = "") {
    std::string got;
    std::array<char, 4096> bytes{};
    while (text.empty() || got.find(text) == std::string::npos) {
      const int size = SSL_read(ssl_, bytes.data(), static_cast<int>(bytes.size()));
      if (size <= 0) {
        EXPECT_FALSE(errno == EAGAIN && SSL_get_error(ssl_, size) == SSL_ERROR_SYSCALL) << "nothing came: " << got;
        return got;
      }
      got.append(bytes.data(), static_cast<std::size_t>(size));
    }
    return got;
  }
  /// The certificate of the server, in PEM.
  std::string shown() const {
    X509* const certificate = SSL_get1_peer_certificate(ssl_);
    BIO* const text = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(text, certificate);
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(text, &bytes);
    std::string pem(bytes, static_cast<std::size_t>(size));
    BIO_free(text);
    X509_free(certificate);
    return pem;
  }

 private:
  SSL_CTX* const context_;
  const Fd socket_;
  SSL* ssl_ = nullptr;
  bool open_ = false;
};

class HttpsTest : public testing::Test {
 protected:
  HttpsTest() {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.security.credentials = rpc::Credentials::open(master_).value();
    options.on_refused = [this](const RefusedRequest& one) {
      const std::lock_guard lock(mutex_);
      refused_.push_back(one);
    };
    auto started = Server::start(options, [this](const Request& request) { return answer(request); });
    EXPECT_TRUE(started.has_value()) << started.error().to_string();
    if (started) server_ = *std::move(started);
  }

  /// A stream at /events, which has one event at its beginning.
  Response answer(const Request& request) {
    if (request.path != "/events") return say_yes(request);
    Response response;
    response.events = std::make_shared<EventStream>();
    response.events->send("begun", "1");
    return response;
  }

  /// The whole answer; empty when there is none. `identity`: the directory of a certificate that is shown.
  std::string get(const std::string& path, const std::string& identity = "", int version = TLS1_3_VERSION) const {
    HttpsConnection connection(server_->address(), identity, version);
    if (!connection.open()) return "";
    connection.ask(question(path));
    return connection.read_until();
  }
  std::string shown(const std::string& identity) const { return HttpsConnection(server_->address(), identity).shown(); }

  std::vector<RefusedRequest> refused() const {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

  mutable std::mutex mutex_;
  std::vector<RefusedRequest> refused_;
  const TempDir directory_ = std::move(TempDir::create()).value();
  certificates::Authority authority_ = certificates::Authority::create(directory_.path() / "ca").value();
  const std::string master_ = authority_.issue({rpc::Role::master, "master", {}}).value();
  std::unique_ptr<Server> server_;
};

TEST_F(HttpsTest, OnlyThoseWithACertificateAreAnswered) {
  EXPECT_TRUE(server_->url().starts_with("https://127.0.0.1:"));
  const std::string alice = authority_.issue({rpc::Role::user, "alice", {}}).value();
  EXPECT_EQ(status_of(get("/jobs", alice)), 200);
  const std::string refused = get("/jobs");
  EXPECT_EQ(status_of(refused), 401);
  EXPECT_NE(refused.find("show a certificate of this cluster"), std::string::npos) << refused;
  EXPECT_EQ(status_of(get("/healthz")), 200);
  EXPECT_EQ(status_of(get("/readyz")), 200);
}

TEST_F(HttpsTest, WhatIsRefusedIsReported) {
  const std::string alice = authority_.issue({rpc::Role::user, "alice", {}}).value();
  get("/jobs", alice);
  get("/healthz");
  EXPECT_EQ(refused().size(), 0u);
  get("/jobs/7");
  ASSERT_EQ(refused().size(), 1u);
  const RefusedRequest stranger = refused()[0];
  EXPECT_EQ(stranger.status, 401);
  EXPECT_FALSE(stranger.peer);
  EXPECT_EQ(stranger.method + " " + stranger.path, "GET /jobs/7");
  EXPECT_TRUE(stranger.address.starts_with("127.0.0.1:")) << stranger.address;
  EXPECT_TRUE(stranger.error.starts_with("show a certificate of this cluster")) << stranger.error;
  HttpsConnection forged(server_->address(), alice);
  forged.ask(
      "POST /jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\nX-Weft: 1\r\nOrigin: https://x\r\n\r\n");
  forged.read_until();
  ASSERT_EQ(refused().size(), 2u);
  EXPECT_EQ(refused()[1].status, 403);
  ASSERT_TRUE(refused()[1].peer);
  EXPECT_EQ(refused()[1].peer->name, "alice");
  EXPECT_EQ(refused()[1].error, "the request comes from a page of another server");
  HttpsConnection signs_in(server_->address(), "");
  signs_in.ask("POST /sign-in HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1\r\nX-Weft: 1\r\n\r\nx");
  signs_in.read_until();
  ASSERT_EQ(refused().size(), 3u);
  EXPECT_EQ(refused()[2].path, "/sign-in");
}

TEST_F(HttpsTest, CertificatesOfOthersAndRevokedOnesAreRefused) {
  auto other = certificates::Authority::create(directory_.path() / "other").value();
  EXPECT_NE(status_of(get("/jobs", other.issue({rpc::Role::user, "alice", {}}).value())), 200);
  const std::string bob = authority_.issue({rpc::Role::user, "bob", {}}).value();
  ASSERT_EQ(status_of(get("/jobs", bob)), 200);
  ASSERT_TRUE(authority_.revoke("bob"));
  const auto end = SystemClock().now() + seconds(30);
  while (status_of(get("/jobs", bob)) == 200 && SystemClock().now() < end) {
  }
  EXPECT_EQ(status_of(get("/jobs", bob)), 401);
}

TEST_F(HttpsTest, ConnectionsThatAUserHadBeforeHeWasRevokedAreOfNoUseToHim) {
  const std::string bob = authority_.issue({rpc::Role::user, "bob", {}}).value();
  const std::string alice = authority_.issue({rpc::Role::user, "alice", {}}).value();
  const std::string again = "GET /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n";
  HttpsConnection stream(server_->address(), bob), requests(server_->address(), bob), other(server_->address(), alice);
  for (HttpsConnection* const one : {&stream, &other}) {
    one->ask(question("/events"));
    EXPECT_NE(one->read_until("begun").find("200"), std::string::npos);
  }
  requests.ask(again);
  EXPECT_EQ(status_of(requests.read_until("yes")), 200);
  ASSERT_TRUE(authority_.revoke("bob"));
  stream.read_until();  // its end
  requests.ask(again);
  EXPECT_EQ(status_of(requests.read_until("revoked")), 401);
  server_.reset();
  EXPECT_EQ(other.read_until().find("HTTP/1.1"), std::string::npos);
}

TEST_F(HttpsTest, ATokenIsAnsweredUntilItIsRevoked) {
  certificates::Authority other = certificates::Authority::create(directory_.path() / "other").value();
  const auto token_of = [](certificates::Authority& authority, const std::string& user) {
    return std::string(trim(read_file(authority.issue_token(user, std::chrono::hours(1)).value() + "/token").value()));
  };
  const auto status_with = [&](const std::string& authorization) {
    HttpsConnection connection(server_->address(), "");
    connection.ask(question("/jobs", "Authorization: " + authorization + "\r\n"));
    return status_of(connection.read_until());
  };
  const std::string token = token_of(authority_, "carol");
  EXPECT_EQ(status_with("Bearer " + token), 200);
  EXPECT_EQ(status_with("bearer  " + token), 200);
  const std::vector<std::string> others{token,
                                        "Basic " + token,
                                        "Bearer",
                                        "Bearer x",
                                        "Bearer " + token.substr(0, token.size() - 2),
                                        "Bearer " + token_of(other, "carol"),
                                        "Bearer " + token + "00"};
  for (const std::string& wrong : others) EXPECT_EQ(status_with(wrong), 401) << wrong;
  HttpsConnection stream(server_->address(), "");
  stream.ask(question("/events", "Authorization: Bearer " + token + "\r\n"));
  stream.read_until("begun");
  ASSERT_TRUE(authority_.revoke_tokens("carol"));
  stream.read_until();  // its end
  EXPECT_EQ(status_with("Bearer " + token), 401);
  EXPECT_EQ(status_with("Bearer " + token_of(authority_, "carol")), 200);
}

TEST_F(HttpsTest, ABrowserSignsInWithATokenAndOutAgain) {
  const std::string token =
      std::string(trim(read_file(authority_.issue_token("carol", std::chrono::hours(1)).value() + "/token").value()));
  const auto send = [&](const std::string& method, const std::string& path, const std::string& headers,
                        const std::string& body = "") {
    HttpsConnection connection(server_->address(), "");
    connection.ask(fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{}\r\n{}", method,
                               path, body.size(), headers, body));
    return connection.read_until();
  };
  const std::string in = send("POST", "/sign-in", "X-Weft: 1\r\n", token + "\n");
  EXPECT_EQ(status_of(in), 200) << in;
  EXPECT_NE(in.find("{\"user\":\"carol\"}"), std::string::npos) << in;
  const std::string cookie = "__Host-weft-token=" + token;
  EXPECT_NE(in.find("Set-Cookie: " + cookie + "; Path=/; Secure; HttpOnly; SameSite=Strict\r\n"), std::string::npos) << in;
  EXPECT_EQ(status_of(send("GET", "/jobs", "Cookie: theme=dark; " + cookie + "\r\n")), 200);
  EXPECT_EQ(status_of(send("GET", "/jobs", "Cookie: weft-token=" + token + "\r\n")), 401) << "that one can come from elsewhere";
  EXPECT_EQ(status_of(send("GET", "/jobs", "Authorization: Bearer x\r\nCookie: " + cookie + "\r\n")), 401) << "what is said counts";
  // A cookie comes with what other pages send, too, which is why it is not enough to change something.
  EXPECT_EQ(status_of(send("POST", "/jobs", "Cookie: " + cookie + "\r\n")), 403);
  EXPECT_EQ(status_of(send("POST", "/jobs", "X-Weft: 1\r\nOrigin: https://evil.example\r\nCookie: " + cookie + "\r\n")), 403);
  EXPECT_EQ(status_of(send("POST", "/sign-in", "", token)), 403) << "nobody is signed in by another page";
  for (const std::string& wrong : {std::string(), std::string("x"), token + "00", std::string(2000, '0')}) {
    const std::string refused = send("POST", "/sign-in", "X-Weft: 1\r\n", wrong);
    EXPECT_EQ(status_of(refused), 401) << wrong;
    EXPECT_EQ(refused.find("Set-Cookie"), std::string::npos) << refused;
  }
  const std::string out = send("DELETE", "/sign-in", "X-Weft: 1\r\n");
  EXPECT_NE(out.find("Set-Cookie: __Host-weft-token=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0"), std::string::npos)
      << out;
  EXPECT_EQ(status_of(send("GET", "/sign-in", "")), 405);
  ASSERT_TRUE(authority_.revoke_tokens("carol"));
  const auto end = SystemClock().now() + seconds(30);
  const auto status = [&] { return status_of(send("GET", "/jobs", "Cookie: " + cookie + "\r\n")); };
  while (status() == 200 && SystemClock().now() < end) {
  }
  EXPECT_EQ(status(), 401);
}

TEST_F(HttpsTest, ARenewedCertificateIsShownToConnectionsThatBeginAfterThat) {
  const std::string alice = authority_.issue({rpc::Role::user, "alice", {}}).value();
  HttpsConnection before(server_->address(), alice);
  const std::string first = before.shown();
  ASSERT_TRUE(authority_.rotate("master", std::chrono::hours(1)));
  const auto end = SystemClock().now() + seconds(30);
  while (shown(alice) == first && SystemClock().now() < end) {
  }
  const std::string second = shown(alice);
  EXPECT_NE(second, first);
  EXPECT_NE(read_file(master_ + "/identity.pem").value().find(second), std::string::npos);
  EXPECT_EQ(status_of(get("/jobs", alice)), 200);
  before.ask(question("/jobs"));
  EXPECT_EQ(status_of(before.read_until()), 200);
}

TEST_F(HttpsTest, TheAuthorityIsReplacedWhileItRuns) {
  const std::string alice = authority_.issue({rpc::Role::user, "alice", {}}).value();
  const std::string first = shown(alice);
  ASSERT_TRUE(authority_.rotate_authority());
  ASSERT_TRUE(authority_.rotate("master", std::chrono::hours(1)));
  ASSERT_TRUE(authority_.rotate("alice", std::chrono::hours(1)));
  ASSERT_TRUE(authority_.retire_authorities());
  const auto end = SystemClock().now() + seconds(30);
  while ((shown(alice) == first || status_of(get("/jobs", alice)) != 200) && SystemClock().now() < end) {
  }
  EXPECT_EQ(status_of(get("/jobs", alice)), 200);
}

TEST_F(HttpsTest, NeitherPlainTextNorAnOlderVersionIsSpoken) {
  HttpConnection plain(server_->address());
  plain.send(question("/jobs"));
  EXPECT_TRUE(plain.closed_within(seconds(20)));
  EXPECT_EQ(plain.got().find("yes"), std::string::npos);
  EXPECT_EQ(get("/healthz", "", TLS1_2_VERSION), "");
}

TEST(HttpUserTest, OtherUsersOfTheMachineAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  for (const bool insecure : {false, true}) {
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.security.insecure = insecure;
    const auto server = Server::start(options, say_yes).value();
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
      HttpConnection page(server->address()), health(server->address());
      page.send(question("/jobs"));
      health.send(question("/healthz"));
      const bool answered = page.closed_within(seconds(20)) && health.closed_within(seconds(20));
      ::_exit(answered && status_of(health.got()) == 200 && status_of(page.got()) == (insecure ? 200 : 403) ? 7 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), 7) << insecure;
    HttpConnection own(server->address());
    own.send(question("/jobs"));
    EXPECT_TRUE(own.closed_within(seconds(20)));
    EXPECT_EQ(status_of(own.got()), 200);
  }
}

TEST(HttpUserTest, APageForOtherMachinesNeedsAnIdentityOrInsecureByName) {
  ServerOptions options;
  options.listen = "0.0.0.0:0";
  const auto refused = Server::start(options, say_yes);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().to_string().find("weft security init"), std::string::npos);
  options.security.insecure = true;
  EXPECT_TRUE(Server::start(options, say_yes).has_value());
}

}  // namespace
}  // namespace weft::http
