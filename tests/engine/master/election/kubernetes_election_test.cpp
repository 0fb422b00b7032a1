// What is particular to Lease objects; what all elections promise is in election_test.cpp.

#include "engine/master/election/kubernetes_election.hpp"

#include <cstdlib>
#include <functional>

#include "base/json.hpp"
#include "tests/engine/master/election/stores.hpp"

namespace weft::test {
namespace {

using master::Election;
using master::KubernetesOptions;
using namespace std::chrono_literals;

std::unique_ptr<Election> opened(const KubernetesOptions& with) {
  auto election = kubernetes_election(with);
  EXPECT_TRUE(election) << election.error().to_string();
  return *std::move(election);
}

class KubernetesElectionTest : public testing::Test {
 protected:
  KubernetesOptions options(const std::string& member = "a") {
    KubernetesOptions options;
    options.server = leases_.url();
    options.name_space = "weft";
    options.member = member;
    options.lease = 10s;
    options.patience = 10s;
    options.clock = &clock_;
    return options;
  }
  LeaseServer leases_;
  ManualClock clock_;
};

TEST_F(KubernetesElectionTest, WhatCannotBeIsRefusedInOneLine) {
  for (const auto& [change, text] : std::initializer_list<std::pair<std::function<void(KubernetesOptions&)>, const char*>>{
           {[](KubernetesOptions& o) { o.server = "host:6443"; }, "--kubernetes-server"},
           {[](KubernetesOptions& o) { o.name_space = "We ft"; }, "namespace"},
           {[](KubernetesOptions& o) { o.lease_name = "../pods"; }, "Lease"},
           {[](KubernetesOptions& o) { o.lease_name = ""; }, "Lease"},
           {[](KubernetesOptions& o) { o.member = ""; }, "id"},
           {[](KubernetesOptions& o) { o.lease = o.patience = 1s; }, "from 2s to 1h"},
           {[](KubernetesOptions& o) { o.patience = 11s; }, "patience"},
           {[](KubernetesOptions& o) {
              o.name_space = "";
              o.pod_directory = "/nowhere";
            },
            "this is no pod"}}) {
    KubernetesOptions wrong = options();
    change(wrong);
    const auto election = kubernetes_election(wrong);
    ASSERT_FALSE(election) << text;
    says(election.error(), Code::invalid_argument, text);
    EXPECT_EQ(election.error().to_string().find('\n'), std::string::npos);
  }
}

TEST_F(KubernetesElectionTest, ALeaseSeenUnchangedForItsDurationIsOver) {
  const auto a = opened(options("a")), b = opened(options("b"));
  ASSERT_EQ(lead(*a), true);
  EXPECT_TRUE(b->look()->led);
  clock_.advance(9s);
  EXPECT_TRUE(b->look()->led);
  EXPECT_EQ(a->renew(), true);
  clock_.advance(9s);
  EXPECT_TRUE(b->look()->led);  // changed since
  clock_.advance(9s);
  EXPECT_TRUE(b->look()->led);
  clock_.advance(1s);
  const auto over = b->look();
  EXPECT_FALSE(over->led);
  const auto c = opened(options("c"));
  EXPECT_TRUE(c->look()->led);  // has not watched it for so long
  EXPECT_EQ(a->renew(), true);  // nobody has taken it
  EXPECT_EQ(b->take(*over, {"c", 2, "b", "h:2", {"b"}}), false);
  EXPECT_TRUE(b->look()->led);
  clock_.advance(10s);
  EXPECT_EQ(lead(*b, {"c", 2, "b", "h:2", {"b"}}), true);
  EXPECT_EQ(a->renew(), false);
}

TEST_F(KubernetesElectionTest, TheDurationIsThatOfTheHolder) {
  KubernetesOptions longer = options("a");
  longer.lease = 59500ms;
  const auto a = opened(longer), b = opened(options("b"));
  ASSERT_EQ(lead(*a), true);
  EXPECT_TRUE(leases_.has(R"("leaseDurationSeconds": 60)"));
  EXPECT_TRUE(b->look()->led);
  clock_.advance(59s);
  EXPECT_TRUE(b->look()->led);
  clock_.advance(1s);
  EXPECT_FALSE(b->look()->led);
}

TEST_F(KubernetesElectionTest, PeopleSeeWhoLeads) {
  const auto a = opened(options("a")), b = opened(options("b"));
  ASSERT_EQ(lead(*a), true);
  EXPECT_TRUE(leases_.has(R"("holderIdentity": "a_)"));
  EXPECT_TRUE(leases_.has(R"("leaseTransitions": 0)"));
  a->resign();
  EXPECT_TRUE(leases_.has(R"("holderIdentity": "")"));
  ASSERT_EQ(lead(*b, {"c", 2, "b", "h:2", {"b"}}), true);
  EXPECT_TRUE(leases_.has(R"("holderIdentity": "b_)"));
  EXPECT_TRUE(leases_.has(R"("leaseTransitions": 1)"));
}

TEST_F(KubernetesElectionTest, WhatOthersWroteIntoTheObjectStays) {
  leases_.store(
      "weft/weft-master",
      R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"weft-master","labels":{"team":"data"}}})");
  const auto a = opened(options());
  const auto seen = a->look();
  ASSERT_TRUE(seen) << seen.error().to_string();
  EXPECT_FALSE(seen->record);
  EXPECT_FALSE(seen->led);
  ASSERT_EQ(a->take(*seen, kFirstRecord), true);
  ASSERT_EQ(a->renew(), true);
  EXPECT_TRUE(leases_.has(R"("labels": {"team": "data"})"));
  EXPECT_EQ(a->look()->record, kFirstRecord);
}

TEST_F(KubernetesElectionTest, AChangeByOthersDoesNotEndTheLease) {
  const auto a = opened(options());
  ASSERT_EQ(lead(*a), true);
  std::string state = leases_.state();
  const std::string holder = state.substr(state.find("a_"), 18);
  leases_.store(
      "weft/weft-master",
      R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"weft-master","labels":{"team":"data"}},"spec":{"holderIdentity":")" +
          holder + "\"}}");
  EXPECT_EQ(a->replace(kFirstRecord), true);
  EXPECT_EQ(a->look()->record, kFirstRecord);
  EXPECT_TRUE(leases_.has("team"));
}

TEST_F(KubernetesElectionTest, ALeaseThatWasRemovedIsNotLed) {
  const auto a = opened(options());
  ASSERT_EQ(lead(*a), true);
  const auto seen = a->look();
  leases_.remove("weft/weft-master");
  EXPECT_EQ(a->renew(), false);
  EXPECT_EQ(a->replace(kFirstRecord), false);
  EXPECT_EQ(a->take({seen->record, false, seen->version}, kFirstRecord), false);
  EXPECT_TRUE(a->look()->version.empty());
  EXPECT_EQ(lead(*a), true);
}

TEST_F(KubernetesElectionTest, TheTokenIsReadForEachCall) {
  const ScratchDirectory scratch;
  KubernetesOptions with = options();
  with.token_file = scratch / "token";
  leases_.set(R"({"token":"first"})");
  write_file(with.token_file, "first\n");
  const auto a = opened(with);
  ASSERT_EQ(lead(*a), true);
  leases_.set(R"({"token":"second"})");
  const auto refused = a->renew();
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error(), Code::invalid_argument, with.token_file));
  EXPECT_EQ(refused.error().to_string().find("first"), std::string::npos);
  write_file(with.token_file, "second");
  EXPECT_EQ(a->renew(), true);
  for (const char* const token : {"", " \n", "two\r\nlines"}) {
    write_file(with.token_file, token);
    const auto renewed = a->renew();
    ASSERT_FALSE(renewed);
    EXPECT_TRUE(says(renewed.error(), Code::invalid_argument, "has no token"));
  }
  std::filesystem::remove(with.token_file);
  const auto missing = a->renew();
  ASSERT_FALSE(missing);
  EXPECT_TRUE(says(missing.error(), Code::invalid_argument, "token"));
}

TEST_F(KubernetesElectionTest, RefusalsSayWhatIsNeeded) {
  leases_.set(R"({"deny":true})");
  const auto denied = opened(options())->look();
  ASSERT_FALSE(denied);
  EXPECT_TRUE(says(denied.error(), Code::invalid_argument, "the verbs get, create and update for the resource leases"));
  leases_.set(R"({"deny":false,"token":"x"})");
  const auto nobody = opened(options())->look();
  ASSERT_FALSE(nobody);
  EXPECT_TRUE(says(nobody.error(), Code::invalid_argument, "no file of a token is named"));
  leases_.set(R"({"token":""})");
  KubernetesOptions elsewhere = options();
  elsewhere.name_space = "elsewhere";
  const auto missing = lead(*opened(elsewhere));
  ASSERT_FALSE(missing);
  EXPECT_TRUE(says(missing.error(), Code::invalid_argument, "elsewhere"));
}

TEST_F(KubernetesElectionTest, APodKnowsItsServer) {
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  KubernetesOptions with = options();
  with.server.clear();
  const auto outside = kubernetes_election(with);
  ASSERT_FALSE(outside);
  EXPECT_TRUE(says(outside.error(), Code::invalid_argument, "KUBERNETES_SERVICE_HOST"));

  const ScratchDirectory pod;
  with.pod_directory = pod.path();
  with.name_space.clear();
  write_file(pod / "namespace", "weft\n");
  write_file(pod / "token", "x");
  ::setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1);
  ::setenv("KUBERNETES_SERVICE_PORT", leases_.port().c_str(), 1);
  const auto looked = opened(with)->look();  // by TLS, which the server of this test does not know
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  ::unsetenv("KUBERNETES_SERVICE_PORT");
  ASSERT_FALSE(looked);
  EXPECT_NE(looked.error().to_string().find("https://127.0.0.1:" + leases_.port()), std::string::npos)
      << looked.error().to_string();

  with.server = leases_.url();
  EXPECT_EQ(lead(*opened(with)), true);
  EXPECT_TRUE(leases_.has("weft/weft-master"));
}

}  // namespace
}  // namespace weft::test
