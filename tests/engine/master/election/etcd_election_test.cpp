// What is particular to etcd; what all elections promise is in election_test.cpp.

#include "engine/master/election/etcd_election.hpp"

#include <functional>

#include "engine/master/election/etcd_client.hpp"
#include "storage/http/web_text.hpp"
#include "tests/engine/master/election/stores.hpp"

namespace weft::test {
namespace {

using master::Election;
using master::EtcdOptions;
using storage::http::base64;
using namespace std::chrono_literals;

EtcdOptions options(std::vector<std::string> urls) {
  EtcdOptions options;
  options.urls = std::move(urls);
  options.member = "a";
  options.lease = 10min;
  options.patience = 20s;
  return options;
}

std::unique_ptr<Election> opened(const EtcdOptions& with) {
  auto election = etcd_election(with);
  EXPECT_TRUE(election) << election.error().to_string();
  return *std::move(election);
}

TEST(EtcdOptionsTest, WhatCannotBeIsRefusedInOneLine) {
  for (const char* const url : {"", "http://", "https://", "host:2379", "ftp://host", "http://host/v3", "http://user:word@host",
                                "http://h ost", "http://host?x", "http://:2379", "http://host\n"}) {
    const auto election = etcd_election(options({"http://127.0.0.1:1", url}));
    ASSERT_FALSE(election) << url;
    says(election.error(), Code::invalid_argument, "--etcd");
  }
  for (const auto& [change, text] : std::initializer_list<std::pair<std::function<void(EtcdOptions&)>, const char*>>{
           {[](EtcdOptions& o) { o.urls.clear(); }, "--etcd"},
           {[](EtcdOptions& o) { o.member.clear(); }, "id"},
           {[](EtcdOptions& o) { o.lease = o.patience = 1999ms; }, "from 2s to 1h"},
           {[](EtcdOptions& o) { o.lease = 2h; }, "from 2s to 1h"},
           {[](EtcdOptions& o) { o.patience = 0s; }, "patience"},
           {[](EtcdOptions& o) { o.patience = 11min; }, "patience"},
           {[](EtcdOptions& o) { o.prefix = "//"; }, "prefix"}}) {
    EtcdOptions wrong = options({"http://127.0.0.1:1"});
    change(wrong);
    const auto election = etcd_election(wrong);
    ASSERT_FALSE(election) << text;
    says(election.error(), Code::invalid_argument, text);
    EXPECT_EQ(election.error().to_string().find('\n'), std::string::npos);
  }
  EXPECT_TRUE(etcd_election(options({"http://127.0.0.1:1", "https://[::1]:2379/", "http://etcd.example"})));
}

TEST(EtcdClientTest, ACallWhoseTimeIsOverMayBeRepeated) {
  const auto client = master::EtcdClient::open(options({"http://127.0.0.1:1"})).value();
  const auto granted = client->grant(10, master::CallTime(0s));
  ASSERT_FALSE(granted);
  EXPECT_TRUE(says(granted.error(), Code::unavailable, "the time for an answer is over"));
}

class EtcdElectionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (etcd_program().empty()) GTEST_SKIP() << "etcd is not installed (scripts/setup does it)";
    etcd_ = std::make_unique<EtcdServer>();
  }
  std::unique_ptr<EtcdServer> etcd_;
};

TEST_F(EtcdElectionTest, AUrlWhereNobodyListensIsPassedOver) {
  const std::string nobody = "http://127.0.0.1:" + free_port();
  const auto a = opened(options({nobody, etcd_->url() + "/"}));
  EXPECT_EQ(lead(*a), true);
  EXPECT_EQ(a->renew(), true);
  etcd_->kill();
  const auto renewed = a->renew();
  ASSERT_FALSE(renewed);
  EXPECT_TRUE(says(renewed.error(), Code::unavailable, nobody + ", " + etcd_->url()));
}

TEST_F(EtcdElectionTest, AUrlThatDoesNotAnswerTakesItsPartOfThePatienceOnceOnly) {
  const FaultyProxy proxy(etcd_->port());
  EtcdOptions with = options({proxy.url(), etcd_->url()});
  with.patience = 4s;
  const auto a = opened(with);
  proxy.set("", "hang", 1);  // another one would end the test: see below
  EXPECT_TRUE(a->look());
  proxy.set("", "status", 1000, 503);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(a->look());  // by the URL that answered last
  EXPECT_EQ(http(proxy.address(), "GET", "/-/state").body, R"({"faults": 1, "held": 0})");
}

TEST_F(EtcdElectionTest, AnotherServerIsNoEtcd) {
  const LeaseServer other;
  const auto a = opened(options({other.url()}));
  const auto looked = a->look();
  ASSERT_FALSE(looked);
  EXPECT_TRUE(says(looked.error(), Code::invalid_argument, "--etcd has the URLs"));
}

TEST_F(EtcdElectionTest, ErrorsAreUnderstoodAsLaterReleasesWriteThem) {
  const FaultyProxy proxy(etcd_->port());
  const auto a = opened(options({proxy.url()}));
  proxy.set("", "status", 1, 401, R"({\"code\":16,\"message\":\"no token\",\"details\":[]})");
  const auto refused = a->look();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), Code::invalid_argument, "refuses the login (no token)"));
  proxy.set("", "status", 1, 503, R"({\"code\":14,\"message\":\"etcdserver: no leader\"})");
  const auto without = a->look();
  ASSERT_FALSE(without);
  EXPECT_TRUE(says(without.error(), Code::unavailable, "etcdserver: no leader"));
  proxy.set("", "status", 1, 429, R"({\"code\":8,\"message\":\"etcdserver: mvcc: database space exceeded\"})");
  const auto full = a->look();
  ASSERT_FALSE(full);
  EXPECT_TRUE(says(full.error(), Code::unavailable, "database space exceeded; see etcd's alarms (etcdctl alarm list)"));
  EXPECT_TRUE(a->look());
}

TEST_F(EtcdElectionTest, PrefixesAreGroupsOfTheirOwn) {
  EtcdOptions with = options({etcd_->url()});
  const auto a = opened(with);
  with.prefix = "/another/";
  const auto b = opened(with);
  EXPECT_EQ(lead(*a), true);
  EXPECT_FALSE(b->look()->record);
  EXPECT_EQ(lead(*b), true);
  EXPECT_NE(etcd_->ask("kv/range", R"({"key":")" + base64("/another/state") + "\"}").find("kvs"), std::string::npos);
}

TEST_F(EtcdElectionTest, ALeaderWhoseKeySomebodyRemovedDoesNotLead) {
  const auto a = opened(options({etcd_->url()})), b = opened(options({etcd_->url()}));
  ASSERT_EQ(lead(*a), true);
  etcd_->ask("kv/deleterange", R"({"key":")" + base64("/weft/leader") + "\"}");
  EXPECT_EQ(a->replace(kFirstRecord), false);
  EXPECT_EQ(a->renew(), false);
  EXPECT_EQ(lead(*b), true);
  etcd_->ask("kv/deleterange", R"({"key":")" + base64("/weft/leader") + "\"}");
  EXPECT_EQ(b->renew(), false);
  EXPECT_EQ(etcd_->ask("lease/leases", "{}").find("ID"), std::string::npos);  // none is left behind
}

TEST_F(EtcdElectionTest, ARefusedTakeLeavesNoLeaseBehind) {
  const auto a = opened(options({etcd_->url()})), b = opened(options({etcd_->url()}));
  const auto nothing = b->look();
  ASSERT_EQ(lead(*a), true);
  EXPECT_EQ(b->take(*nothing, kFirstRecord), false);
  const std::string leases = etcd_->ask("lease/leases", "{}");
  EXPECT_EQ(leases.find("\"ID\""), leases.rfind("\"ID\"")) << leases;
  EXPECT_EQ(a->renew(), true);
}

TEST_F(EtcdElectionTest, AStateThatSomebodyRemovedIsWrittenAgainByTheLeader) {
  const auto a = opened(options({etcd_->url()}));
  ASSERT_EQ(lead(*a), true);
  etcd_->ask("kv/deleterange", R"({"key":")" + base64("/weft/state") + "\"}");
  EXPECT_EQ(a->replace(kFirstRecord), true);
  EXPECT_EQ(a->look()->record, kFirstRecord);
}

TEST_F(EtcdElectionTest, AnAnswerWithMoreOrLessThanWasAskedForIsNone) {
  const FaultyProxy proxy(etcd_->port());
  const auto a = opened(options({proxy.url()}));
  ASSERT_EQ(lead(*a), true);
  const std::string range = R"({\"response_range\":{}})", header = R"(\"header\":{\"revision\":\"9\"},)";
  for (const std::string& answer : {"{" + header + R"(\"succeeded\":true,\"responses\":[)" + range + "]}",
                                    "{" + header + R"(\"responses\":[)" + range + "]}"}) {
    proxy.set("kv/txn", "status", 1, 200, answer);
    const auto replaced = a->replace(kFirstRecord);
    ASSERT_FALSE(replaced) << answer;
    EXPECT_TRUE(says(replaced.error(), Code::unavailable, "what was not asked"));
  }
  EXPECT_EQ(a->replace(kFirstRecord), true);
}

TEST_F(EtcdElectionTest, ALoginIsUsedAndRenewed) {
  etcd_->ask("auth/user/add", R"({"name":"root","password":"secret"})");
  etcd_->ask("auth/user/grant", R"({"user":"root","role":"root"})");
  etcd_->ask("auth/user/add", R"({"name":"weft","password":"word\"2"})");
  etcd_->ask("auth/enable", "{}");
  EtcdOptions with = options({etcd_->url()});
  auto refused = opened(with)->look();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), Code::invalid_argument, "refuses the login (etcdserver: user name is empty)"));
  with.user = "root";
  with.password = "wrong";
  refused = opened(with)->look();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), Code::invalid_argument, "refuses the login of root"));
  EXPECT_EQ(refused.error().to_string().find("wrong"), std::string::npos);
  with.user = "weft";
  with.password = "word\"2";
  refused = opened(with)->look();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), Code::invalid_argument, "/weft/state"));
  with.user = "root";
  with.password = "secret";
  const FaultyProxy proxy(etcd_->port());
  with.urls = {proxy.url()};
  const auto a = opened(with);
  EXPECT_EQ(lead(*a), true);
  const std::string expired =
      R"({\"error\":\"etcdserver: invalid auth token\",\"code\":16})";  // after five minutes without a request
  proxy.set("kv/txn", "status", 1, 401, expired);
  EXPECT_EQ(a->renew(), true);
  proxy.set("kv/txn", "status", 2, 401, expired);
  const auto renewed = a->renew();
  ASSERT_FALSE(renewed);
  EXPECT_TRUE(says(renewed.error(), Code::invalid_argument, "invalid auth token"));
  EXPECT_EQ(a->replace(kFirstRecord), true);
}

TEST_F(EtcdElectionTest, ACertificateThatIsNotTrustedIsRefused) {
  const ScratchDirectory scratch;
  const std::string certificate = scratch / "cert.pem", key = scratch / "key.pem";
  const auto made = run({"openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=weft test",
                         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate});
  if (made.exit_code != 0) GTEST_SKIP() << "openssl cannot make a certificate";
  const EtcdServer secure({certificate, key});
  EtcdOptions with = options({"https://" + secure.address()});
  const auto refused = opened(with)->look();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), Code::invalid_argument, "--etcd-certificates"));
  with.certificates = certificate;
  const auto a = opened(with);
  EXPECT_EQ(lead(*a), true);
  EXPECT_EQ(a->renew(), true);
  with.urls = {"http://" + secure.address()};
  EXPECT_FALSE(opened(with)->look());
}

}  // namespace
}  // namespace weft::test
