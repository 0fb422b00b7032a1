// Good tokens are accepted; stolen, expired, forged and truncated ones are refused (the threat table of SECURITY.md).
#include <ctime>
#include <filesystem>

#include <sys/stat.h>

#include "base/certificates/x509.hpp"
#include "base/rpc/credentials_impl.hpp"
#include "base/rpc/token.hpp"
#include "base/text.hpp"
#include "tests/base/raw_tls_client.hpp"
#include "tests/base/rpc_fixture.hpp"
#include "tests/base/tls_server.hpp"

namespace weft::rpc::testing {
namespace {

using certificates::Authority;

struct TokenCluster {
  TempDir directory = std::move(TempDir::create()).value();
  Authority authority = Authority::create(directory.path() / "ca").value();

  std::string issue(Role role, const std::string& name) { return authority.issue({role, name, {}}).value(); }
  std::string token_directory(const std::string& user) { return authority.issue_token(user, std::chrono::hours(1)).value(); }
  std::string token(const std::string& user) { return std::string(trim(read_file(token_directory(user) + "/token").value())); }
  certificates::Pair key() const {
    certificates::Pair pair;
    pair.key = read_file(directory.path() / "ca/ca.key").value();
    return pair;
  }
  /// Of whatever the authority would not make.
  std::string signed_token(const std::string& payload) const {
    return written_token(payload, certificates::sign(key(), signed_text(payload)).value());
  }
};

class TokenTest : public TlsServer {
 protected:
  TokenTest() { serve(cluster_.issue(Role::master, "master")); }

  void serve(const std::string& identity) { TlsServer::serve({Credentials::open(identity).value(), false}); }
  Result<std::string> ask(const std::string& identity, Handler handler = {}) {
    WEFT_ASSIGN(auto credentials, Credentials::open(identity));
    return ask_at(endpoint_, {std::move(credentials), false}, std::move(handler));
  }
  /// Whether somebody who checks nothing himself gets in with this text as his token.
  bool lets_in(const std::string& token) const {
    const OpenSsl& openssl = *load_openssl().value();
    const Key key(openssl.EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), {&openssl});
    const auto carrier = carry_token(openssl, token, key);
    RawClient client(TLS1_3_VERSION);
    client.show(carrier.value().get(), key.get());
    return client.gets_in(endpoint_);
  }

  TokenCluster cluster_;
};

TEST_F(TokenTest, WhoeverHasItIsThatUser) {
  const auto answer = ask(cluster_.token_directory("alice"));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(*answer, "hello");
  EXPECT_EQ(accepted_.get(), (Identity{Role::user, "alice"}));
  EXPECT_TRUE(lets_in(cluster_.token("bob")));  // so that the tests that expect the contrary mean something
}

TEST_F(TokenTest, AnExpiredOneIsRefused) {
  const std::string late = cluster_.signed_token(fmt::format("AB {} alice", std::time(nullptr) - 1));
  EXPECT_FALSE(lets_in(late));
  EXPECT_TRUE(lets_in(cluster_.signed_token(fmt::format("AB {} alice", std::time(nullptr) + 600))));
  const std::string directory = cluster_.token_directory("alice");
  ASSERT_TRUE(write_file(directory + "/token", late));
  const auto refused = Credentials::open(directory);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().to_string().find("it has expired"), std::string::npos) << refused.error().to_string();
}

TEST_F(TokenTest, AForgedOneIsRefused) {
  TokenCluster other;
  EXPECT_FALSE(lets_in(other.token("alice")));
  const std::string alices = cluster_.token("alice");
  const TokenParts parts = split_token(alices).value();
  Token said = parse_payload(parts.payload).value();
  said.name = "admin";
  EXPECT_FALSE(lets_in(written_token(payload_of(said), parts.signature)));
  said.name = "alice";
  said.expires += 1;
  EXPECT_FALSE(lets_in(written_token(payload_of(said), parts.signature)));
  EXPECT_FALSE(lets_in(written_token(parts.payload, std::string(parts.signature.size(), 'x'))));
  EXPECT_FALSE(
      lets_in(written_token(parts.payload, certificates::sign(cluster_.key(), parts.payload).value())));  // of another purpose
  EXPECT_TRUE(lets_in(alices));
}

TEST_F(TokenTest, ATruncatedOneIsRefused) {
  const std::string token = cluster_.token("alice");
  for (std::size_t size = 0; size < token.size(); size += size + 1 < token.size() ? 16 : 1)
    EXPECT_FALSE(lets_in(token.substr(0, size)));
  EXPECT_FALSE(lets_in(token.substr(0, token.size() - 1)));
  for (const std::string& wrong : {token + "0", token + "00", token + ".", " " + token, "weft2" + token.substr(5),
                                   std::string("weft1.."), std::string(2 * kMostTokenBytes, 'a'), cluster_.signed_token("AB"),
                                   cluster_.signed_token("AB x alice"), cluster_.signed_token("AB 99999999999 alice more")})
    EXPECT_FALSE(lets_in(wrong)) << wrong;
}

TEST_F(TokenTest, AStolenOneIsCutOffWhenItIsRevoked) {
  const std::string certificate = cluster_.issue(Role::user, "alice");
  const std::string directory = cluster_.token_directory("alice"),
                    stolen = std::string(trim(read_file(directory + "/token").value()));
  Awaited<Error> closed;
  Handler handler;
  handler.on_close = [&](const ConnectionPtr&, const Error& error) { closed.set(error); };
  ASSERT_TRUE(ask(directory, handler).has_value());
  EXPECT_TRUE(lets_in(stolen));
  ASSERT_TRUE(cluster_.authority.revoke_tokens("alice"));
  (void)closed.get();
  EXPECT_FALSE(lets_in(stolen));  // replayed
  EXPECT_TRUE(ask(certificate).has_value());
  EXPECT_TRUE(lets_in(cluster_.token("alice")));
  ASSERT_TRUE(cluster_.authority.revoke("alice"));  // all that is of that name
  const std::string bob = cluster_.token("bob");
  for (const TimePoint end = SystemClock().now() + kLong; ask(certificate).has_value() && SystemClock().now() < end;) {
  }
  EXPECT_FALSE(ask(certificate).has_value());
  EXPECT_FALSE(ask(directory).has_value());
  EXPECT_TRUE(lets_in(bob));
}

TEST_F(TokenTest, ItIsShownToTheOwnClusterOnly) {
  TokenCluster other;
  const std::string alice = cluster_.token_directory("alice");
  serve(other.issue(Role::master, "master"));
  const auto refused = ask(alice);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().to_string().find("another authority than the one in ca.crt"), std::string::npos);
}

TEST_F(TokenTest, ItServesNothing) {
  const std::string alice = cluster_.token_directory("alice");
  serve(alice);
  EXPECT_FALSE(ask(cluster_.issue(Role::user, "bob")).has_value());
}

TEST_F(TokenTest, OneThatOthersCanReadIsRefused) {
  const std::string alice = cluster_.token_directory("alice");
  struct stat info {};
  ASSERT_EQ(::stat((alice + "/token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  ASSERT_EQ(::chmod((alice + "/token").c_str(), 0644), 0);
  const auto refused = Credentials::open(alice);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().to_string().find("chmod 600"), std::string::npos) << refused.error().to_string();
}

TEST_F(TokenTest, ItIsForUsersOnly) {
  EXPECT_FALSE(cluster_.authority.issue_token("master", std::chrono::hours(1)).has_value());
  EXPECT_FALSE(cluster_.authority.issue_token("../x", std::chrono::hours(1)).has_value());
  EXPECT_FALSE(cluster_.authority.issue_token("alice", Duration(0)).has_value());
  EXPECT_FALSE(cluster_.authority.revoke_tokens("master").has_value());
}

}  // namespace
}  // namespace weft::rpc::testing
