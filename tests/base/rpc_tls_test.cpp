// Encrypted connections, and everybody who must not have one: each test attempts an attack of SECURITY.md.
#include <filesystem>
#include <thread>

#include <fmt/core.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/certificates/x509.hpp"
#include "base/rpc/socket.hpp"
#include "tests/base/raw_tls_client.hpp"
#include "tests/base/rpc_fixture.hpp"
#include "tests/base/tls_server.hpp"

namespace weft::rpc::testing {
namespace {

using certificates::Authority;

/// A cluster's authority in a directory of its own, and reactors with certificates of it.
struct Cluster {
  TempDir directory = std::move(TempDir::create()).value();
  Authority authority = Authority::create(directory.path() / "ca").value();

  std::string issue(Role role, const std::string& name, std::vector<std::string> hosts = {}) {
    return authority.issue({role, name, std::move(hosts)}).value();
  }
  static Security security(const std::string& identity) { return {Credentials::open(identity).value(), false}; }
};

/// A server with a master's certificate; connections to it as its peers see them.
class TlsTest : public TlsServer {
 protected:
  TlsTest() { serve(Cluster::security(cluster_.issue(Role::master, "master"))); }

  Result<std::string> ask(Security security, std::optional<Role> wanted = std::nullopt, const std::string& host = "") {
    Endpoint to = endpoint_;
    if (!host.empty()) to.text = host + endpoint_.text.substr(endpoint_.text.rfind(':'));
    to.role = wanted;
    return ask_at(to, std::move(security));
  }
  std::string refusal(Security security, std::optional<Role> wanted = std::nullopt, const std::string& host = "") {
    const auto answer = ask(std::move(security), wanted, host);
    EXPECT_FALSE(answer.has_value()) << *answer;
    return answer ? "" : answer.error().to_string();
  }

  Cluster cluster_;
};

/// The authority's key and its certificate, for certificates that it would not make.
certificates::Pair authority_of(const Cluster& cluster) {
  certificates::Pair authority;
  authority.key = read_file(cluster.directory.path() / "ca/ca.key").value();
  authority.certificate = read_file(cluster.directory.path() / "ca/ca.crt").value();
  return authority;
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(TlsTest, BothSidesLearnWhoTheOtherIs) {
  const auto answer = ask(Cluster::security(cluster_.issue(Role::user, "alice")), Role::master);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(*answer, "hello");
  EXPECT_EQ(accepted_.get(), (Identity{Role::user, "alice"}));
  ASSERT_NE(connection_->identity(), nullptr);
  EXPECT_EQ(*connection_->identity(), (Identity{Role::master, "master"}));
}

TEST_F(TlsTest, NobodyGetsInWithoutACertificate) { EXPECT_FALSE(RawClient(TLS1_3_VERSION).gets_in(endpoint_)); }

TEST_F(TlsTest, ARawClientWithACertificateGetsIn) {  // so that the tests that expect the contrary mean something
  const auto made = certificates::make_certificate(authority_of(cluster_), {"weft:user", "raw", {}, false}, std::chrono::hours(1));
  EXPECT_TRUE(RawClient(TLS1_3_VERSION, &made.value()).gets_in(endpoint_));
}

TEST_F(TlsTest, AnExpiredCertificateIsRefused) {
  const auto expired =
      certificates::make_certificate(authority_of(cluster_), {"weft:user", "late", {}, false}, -std::chrono::seconds(5));
  EXPECT_FALSE(RawClient(TLS1_3_VERSION, &expired.value()).gets_in(endpoint_));
}

TEST_F(TlsTest, ACertificateWithoutARoleIsRefused) {
  const auto other =
      certificates::make_certificate(authority_of(cluster_), {"another purpose", "x", {}, false}, std::chrono::hours(1));
  EXPECT_FALSE(RawClient(TLS1_3_VERSION, &other.value()).gets_in(endpoint_));
}

TEST_F(TlsTest, NobodySpeaksAnOlderVersion) {
  const auto made = certificates::make_certificate(authority_of(cluster_), {"weft:user", "old", {}, false}, std::chrono::hours(1));
  EXPECT_FALSE(RawClient(TLS1_2_VERSION, &made.value()).gets_in(endpoint_));
}

TEST_F(TlsTest, ACertificateOfAnotherClusterIsRefusedByBothSides) {
  Cluster other;
  const std::string why = refusal(Cluster::security(other.issue(Role::user, "alice")));
  EXPECT_TRUE(contains(why, "another authority than the one in ca.crt")) << why;
  // One that trusts this cluster, but is of the other: the server refuses it, and says why.
  const std::string mixed = other.directory.path() / "ca/alice";
  std::filesystem::copy_file(cluster_.directory.path() / "ca/ca.crt", mixed + "/ca.crt",
                             std::filesystem::copy_options::overwrite_existing);
  const std::string refused = refusal(Cluster::security(mixed));
  EXPECT_TRUE(contains(refused, "the peer refuses this side's certificate")) << refused;
}

TEST_F(TlsTest, AWorkerIsNotTakenForAMaster) {
  serve(Cluster::security(cluster_.issue(Role::worker, "worker")));
  const Security alice = Cluster::security(cluster_.issue(Role::user, "alice"));
  EXPECT_TRUE(ask(alice, Role::worker).has_value());
  const std::string why = refusal(alice, Role::master);
  EXPECT_TRUE(contains(why, "it is that of worker worker, and a master is wanted")) << why;
}

TEST_F(TlsTest, AUserServesNothing) {
  serve(Cluster::security(cluster_.issue(Role::user, "mallory")));
  const std::string why = refusal(Cluster::security(cluster_.issue(Role::user, "alice")));
  EXPECT_TRUE(contains(why, "certificate is refused: it is")) << why;
}

/// An address of this machine that is not on loopback; none in a network namespace of its own.
std::optional<std::string> outside_address() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto far = Address::numeric("198.51.100.1", "9").value();
  if (::connect(socket.get(), far.get(), far.size) != 0) return std::nullopt;
  const std::string text = local_address(socket.get()).to_string();
  return text.substr(0, text.rfind(':'));
}

TEST_F(TlsTest, ACertificateIsForItsHostsOnly) {
  const auto address = outside_address();
  if (!address) GTEST_SKIP() << "this machine has no address besides loopback";
  const Security alice = Cluster::security(cluster_.issue(Role::user, "alice"));
  serve(Cluster::security(cluster_.issue(Role::master, "elsewhere", {"elsewhere.example"})), {}, *address + ":0");
  const std::string why = refusal(alice, Role::master);
  EXPECT_TRUE(contains(why, fmt::format("which is not for the host {}", *address))) << why;
  serve(Cluster::security(cluster_.issue(Role::master, "here", {"elsewhere.example", *address})), {}, *address + ":0");
  EXPECT_TRUE(ask(alice, Role::master).has_value());
}

TEST_F(TlsTest, ARevokedCertificateIsRefusedByAProcessThatRuns) {
  const std::string alice = cluster_.issue(Role::user, "alice");
  ASSERT_TRUE(ask(Cluster::security(alice)).has_value());
  Awaited<Error> closed;
  Handler handler;
  handler.on_close = [&](const ConnectionPtr&, const Error& error) { closed.set(error); };
  const auto open = connect(*client_, endpoint_, kLong, handler);
  ASSERT_TRUE(open.has_value());
  ASSERT_TRUE(cluster_.authority.revoke("alice"));
  (void)closed.get();  // the connection that is there ends, too
  const std::string why = refusal(Cluster::security(alice));
  EXPECT_TRUE(contains(why, "the peer refuses this side's certificate: it is revoked")) << why;
  // Another one of that name gets in.
  const std::string again = cluster_.issue(Role::user, "alice");
  EXPECT_TRUE(ask(Cluster::security(again)).has_value());
}

TEST_F(TlsTest, ARenewedCertificateIsUsedByAProcessThatRuns) {
  const Security master = Cluster::security(cluster_.directory.path() / "ca/master");
  const std::int64_t before = master.credentials->expires();
  ASSERT_TRUE(cluster_.authority.rotate("master", std::chrono::hours(1)));
  for (const TimePoint end = SystemClock().now() + kLong; master.credentials->expires() == before && SystemClock().now() < end;)
    std::this_thread::yield();
  EXPECT_LT(master.credentials->expires(), before);
  EXPECT_TRUE(ask(Cluster::security(cluster_.issue(Role::user, "alice"))).has_value());
}

TEST_F(TlsTest, AnAuthorityIsReplacedWhileBothSidesRun) {
  const std::string alice = cluster_.issue(Role::user, "alice");
  ASSERT_TRUE(cluster_.authority.rotate_authority());
  EXPECT_TRUE(ask(Cluster::security(alice)).has_value());  // the old one's
  ASSERT_TRUE(cluster_.authority.rotate("alice", std::chrono::hours(1)));
  ASSERT_TRUE(cluster_.authority.rotate("master", std::chrono::hours(1)));
  serve(Cluster::security(cluster_.directory.path() / "ca/master"));
  EXPECT_TRUE(ask(Cluster::security(alice)).has_value());
  ASSERT_TRUE(cluster_.authority.retire_authorities());
  EXPECT_TRUE(ask(Cluster::security(alice)).has_value());
}

TEST_F(TlsTest, PlainTextToAnEncryptedPortIsRefusedInALine) {
  const std::string why = refusal({});
  EXPECT_TRUE(contains(why, "the peer encrypts its connections: this side needs --security DIR")) << why;
}

TEST_F(TlsTest, AnEncryptedConnectionToAPlainPortIsRefusedInALine) {
  serve({});
  const std::string why = refusal(Cluster::security(cluster_.issue(Role::user, "alice")));
  EXPECT_TRUE(contains(why, "the process there does not encrypt its connections")) << why;
}

TEST_F(TlsTest, APeerThatDoesNotGoOnWithTheHandshakeIsGivenUp) {
  Limits limits;
  limits.handshake_timeout = std::chrono::milliseconds(50);
  serve(Cluster::security(cluster_.directory.path() / "ca/master"), limits);
  const auto address = resolve_blocking(split_endpoint(endpoint_.text).value()).value().front();
  const Fd silent(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(silent.get(), address.get(), address.size), 0);
  const unsigned char begun[] = {22, 3, 1, 0x40, 0};  // a record of 16 KiB, of which nothing comes
  ASSERT_EQ(::send(silent.get(), begun, sizeof begun, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof begun));
  pollfd ready{silent.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 30'000), 1);
  char byte = 0;
  EXPECT_LE(::recv(silent.get(), &byte, 1, 0), 0);
}

TEST(Credentials, AKeyThatOthersCanReadIsRefused) {
  Cluster cluster;
  const std::string alice = cluster.issue(Role::user, "alice");
  ASSERT_EQ(::chmod((alice + "/identity.pem").c_str(), 0644), 0);
  const auto opened = Credentials::open(alice);
  ASSERT_FALSE(opened.has_value());
  EXPECT_TRUE(contains(opened.error().to_string(), "others can read the key")) << opened.error().to_string();
  ASSERT_EQ(::chmod((alice + "/identity.pem").c_str(), 0600), 0);
  EXPECT_TRUE(Credentials::open(alice).has_value());
}

TEST(Credentials, WhatIsWrongIsSaidInALine) {
  Cluster cluster;
  const auto why = [](const std::string& directory) {
    const auto opened = Credentials::open(directory);
    return opened ? std::string() : opened.error().to_string();
  };
  EXPECT_TRUE(contains(why("/nonexistent"), "there is no /nonexistent/identity.pem"));
  const std::string alice = cluster.issue(Role::user, "alice"), bob = cluster.issue(Role::user, "bob");
  const auto identity = [](const std::string& of) { return read_file(of + "/identity.pem").value(); };
  const std::string good = identity(alice);
  const std::string key = good.substr(0, good.find("-----BEGIN CERT")), others = identity(bob);
  const mode_t before = ::umask(077);
  ASSERT_TRUE(write_file(alice + "/identity.pem", key + others.substr(others.find("-----BEGIN CERT"))));
  EXPECT_TRUE(contains(why(alice), "do not belong together")) << why(alice);
  ASSERT_TRUE(write_file(alice + "/identity.pem", key));
  EXPECT_TRUE(contains(why(alice), "holds no certificate")) << why(alice);
  ASSERT_TRUE(write_file(alice + "/identity.pem", good));
  ASSERT_TRUE(write_file(alice + "/ca.crt", "nothing"));
  EXPECT_TRUE(contains(why(alice), "ca.crt holds no certificate")) << why(alice);
  ::umask(before);
}

TEST(Authority, NamesThatLeadElsewhereAreRefused) {
  Cluster cluster;
  for (const char* name : {"", "..", "../x", "a/b", "-x", "revoked", "issued", "tokens", "ca.key", "ca.crt", "a b", "a\nb"})
    EXPECT_FALSE(cluster.authority.issue({Role::user, name, {}}).has_value()) << name;
  EXPECT_TRUE(cluster.authority.issue({Role::user, "a.b_c@d-e", {}}).has_value());
  EXPECT_FALSE(cluster.authority.issue({Role::master, "m", {"a,DNS:b"}}).has_value());
  EXPECT_FALSE(cluster.authority.revoke("nobody").has_value());
  EXPECT_FALSE(cluster.authority.rotate("nobody", std::chrono::hours(1)).has_value());
}

TEST(Authority, NothingIsRecordedOfACertificateThatCannotBeMade) {
  Cluster cluster;
  const std::size_t before = cluster.authority.issued().value().size();
  ASSERT_TRUE(write_file(cluster.directory.path() / "ca/notes", "a file of the user's own"));
  for (const char* name : {"notes", "ca.key"}) {
    EXPECT_FALSE(cluster.authority.issue({Role::user, name, {}}).has_value()) << name;
    EXPECT_EQ(cluster.authority.issued().value().size(), before) << name;
  }
}

}  // namespace
}  // namespace weft::rpc::testing
