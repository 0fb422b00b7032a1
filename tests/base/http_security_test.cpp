// Which clients the HTTP server answers: with HTTPS those that show a certificate, without it those of its own user.
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/certificates/authority.hpp"
#include "base/file.hpp"
#include "base/http/server.hpp"
#include "base/rpc/credentials.hpp"
#include "tests/support/http_connection.hpp"

namespace weft::http {
namespace {

using std::chrono::seconds;
using test::HttpConnection;

Response say_yes(const Request&) { return {.type = "text/plain", .body = "yes"}; }

int status_of(const std::string& answer) { return answer.size() < 12 ? 0 : std::stoi(answer.substr(9, 3)); }

std::string question(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
}

class HttpsTest : public testing::Test {
 protected:
  HttpsTest() {
    const auto master = authority_.issue({rpc::Role::master, "master", {}}).value();
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.security.credentials = rpc::Credentials::open(master).value();
    auto started = Server::start(options, say_yes);
    EXPECT_TRUE(started.has_value()) << started.error().to_string();
    if (started) server_ = *std::move(started);
  }

  /// The whole answer; empty when there is none. `identity`: the directory of a certificate that is shown.
  std::string get(const std::string& path, const std::string& identity = "", int version = TLS1_3_VERSION) const {
    SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, version);
    SSL_CTX_set_max_proto_version(context, version);
    if (!identity.empty()) {
      EXPECT_EQ(SSL_CTX_use_certificate_file(context, (identity + "/identity.pem").c_str(), SSL_FILETYPE_PEM), 1);
      EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context, (identity + "/identity.pem").c_str(), SSL_FILETYPE_PEM), 1);
    }
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(server_->address().substr(server_->address().rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    SSL* const ssl = SSL_new(context);
    SSL_set_fd(ssl, socket.get());
    std::string answer;
    if (SSL_connect(ssl) == 1) {
      const std::string asked = question(path);
      SSL_write(ssl, asked.data(), static_cast<int>(asked.size()));
      char bytes[4096];
      for (int got = 0; (got = SSL_read(ssl, bytes, sizeof bytes)) > 0;) answer.append(bytes, static_cast<std::size_t>(got));
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    return answer;
  }

  const TempDir directory_ = std::move(TempDir::create()).value();
  certificates::Authority authority_ = certificates::Authority::create(directory_.path() / "ca").value();
  std::unique_ptr<Server> server_;
};

TEST_F(HttpsTest, OnlyThoseWithACertificateAreAnswered) {
  EXPECT_TRUE(server_->url().starts_with("https://127.0.0.1:"));
  const std::string alice = authority_.issue({rpc::Role::user, "alice", {}}).value();
  EXPECT_EQ(status_of(get("/jobs", alice)), 200);
  const std::string refused = get("/jobs");
  EXPECT_EQ(status_of(refused), 403);
  EXPECT_NE(refused.find("show a certificate of this cluster"), std::string::npos) << refused;
  EXPECT_EQ(status_of(get("/healthz")), 200);
  EXPECT_EQ(status_of(get("/readyz")), 200);
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
  EXPECT_EQ(status_of(get("/jobs", bob)), 403);
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
