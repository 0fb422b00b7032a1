// What every election promises, whatever store decides it.

#include "engine/master/election/election.hpp"

#include <barrier>
#include <memory>
#include <thread>

#include "base/json.hpp"
#include "base/random.hpp"
#include "engine/master/election/etcd_election.hpp"
#include "engine/master/election/kubernetes_election.hpp"
#include "storage/http/web_text.hpp"
#include "tests/engine/master/election/stores.hpp"

namespace weft::test {
namespace {

using master::Election;
using master::LeaderRecord;
using namespace std::chrono_literals;

/// A store as members of an election have it.
struct Store {
  virtual ~Store() = default;
  virtual std::unique_ptr<Election> member(const std::string& id, const std::string& url, Duration lease, Duration patience) = 0;
  virtual StoreServer& server() = 0;
  /// "METHOD PATH" of requests that make somebody the leader of a store that is empty, and of those that replace the record.
  virtual std::string takes() const = 0;
  virtual std::string writes() const = 0;
  /// Keeps the text where the record is.
  virtual void keep(const std::string& text) = 0;
  virtual std::string key() const = 0;
};

struct EtcdStore final : Store {
  std::unique_ptr<Election> member(const std::string& id, const std::string& url, Duration lease, Duration patience) override {
    master::EtcdOptions options;
    options.urls = {url};
    options.member = id;
    options.lease = lease;
    options.patience = patience;
    auto election = etcd_election(options);
    EXPECT_TRUE(election) << election.error().to_string();
    return *std::move(election);
  }
  StoreServer& server() override { return etcd; }
  std::string takes() const override { return "kv/txn"; }
  std::string writes() const override { return "kv/txn"; }
  void keep(const std::string& text) override {
    using storage::http::base64;
    etcd.ask("kv/put", R"({"key":")" + base64("/weft/state") + R"(","value":")" + base64(text) + "\"}");
  }
  std::string key() const override { return "/weft/state of etcd"; }

  EtcdServer etcd;
};

struct KubernetesStore final : Store {
  std::unique_ptr<Election> member(const std::string& id, const std::string& url, Duration lease, Duration patience) override {
    master::KubernetesOptions options;
    options.server = url;
    options.name_space = "weft";
    options.member = id;
    options.lease = lease;
    options.patience = patience;
    auto election = kubernetes_election(options);
    EXPECT_TRUE(election) << election.error().to_string();
    return *std::move(election);
  }
  StoreServer& server() override { return leases; }
  std::string takes() const override { return "POST /apis"; }
  std::string writes() const override { return "PUT /apis"; }
  void keep(const std::string& text) override {
    leases.store(
        "weft/weft-master",
        R"({"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"weft-master","annotations":{"weft/leader-record":)" +
            json_quoted(text) + "}}}");
  }
  std::string key() const override { return "weft/leader-record of the Lease weft/weft-master"; }

  LeaseServer leases;
};

LeaderRecord record(const std::string& leader, std::uint64_t epoch, std::vector<std::string> in_sync = {}) {
  if (in_sync.empty()) in_sync = {leader};
  return {"cluster-1", epoch, leader, "host-of-" + leader + ":7077", std::move(in_sync)};
}

class ElectionTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string_view("etcd")) {
      if (etcd_program().empty()) GTEST_SKIP() << "etcd is not installed (scripts/setup does it)";
      store_ = std::make_unique<EtcdStore>();
    } else {
      store_ = std::make_unique<KubernetesStore>();
    }
  }
  /// Patient, and with a lease that does not end during the test.
  std::unique_ptr<Election> member(const std::string& id) { return store_->member(id, store_->server().url(), 10min, 20s); }
  /// One with a lease that ends soon.
  std::unique_ptr<Election> brief(const std::string& id) {
    return store_->member(id, store_->server().url(), master::kShortestLease, master::kShortestLease);
  }
  /// One that gives up soon, through a proxy.
  std::unique_ptr<Election> impatient(const std::string& id) { return store_->member(id, proxy().url(), 10min, 1s); }
  /// A patient one through the proxy: what it is refused it is refused at once.
  std::unique_ptr<Election> proxied(const std::string& id) { return store_->member(id, proxy().url(), 10min, 20s); }
  const FaultyProxy& proxy() {
    if (!proxy_) proxy_ = std::make_unique<FaultyProxy>(store_->server().port());
    return *proxy_;
  }

  static Election::Seen seen(Election& election) {
    auto seen = election.look();
    EXPECT_TRUE(seen) << seen.error().to_string();
    return seen ? *seen : Election::Seen{};
  }
  static bool yes(const Result<bool>& answer) {
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer && *answer;
  }
  static bool no(const Result<bool>& answer) {
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer && !*answer;
  }
  template <class T>
  static bool unavailable(const Result<T>& answer) {
    EXPECT_TRUE(answer || answer.error().code() == Code::unavailable) << answer.error().to_string();
    return !answer && answer.error().code() == Code::unavailable;
  }
  /// A leads with that record.
  static void lead(Election& election, const LeaderRecord& with) {
    ASSERT_TRUE(yes(election.take(seen(election), with)));
    ASSERT_TRUE(yes(election.renew()));
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<FaultyProxy> proxy_;
};

INSTANTIATE_TEST_SUITE_P(Stores, ElectionTest, testing::Values("etcd", "kubernetes"),
                         [](const auto& about) { return std::string(about.param); });

TEST_P(ElectionTest, TheFirstLeaderMakesTheRecordAndAnotherIsRefused) {
  const auto a = member("a"), b = member("b");
  const auto nothing = seen(*b);
  EXPECT_FALSE(nothing.record);
  EXPECT_FALSE(nothing.led);
  EXPECT_TRUE(nothing.version.empty());
  lead(*a, record("a", 1));
  for (Election* const who : {a.get(), b.get()}) {
    const auto now = seen(*who);
    EXPECT_EQ(now.record, record("a", 1));
    EXPECT_TRUE(now.led);
  }
  EXPECT_TRUE(no(b->take(nothing, record("b", 1))));
  EXPECT_TRUE(no(b->take(seen(*b), record("b", 2))));
  auto pretended = seen(*b);
  pretended.version.clear();
  EXPECT_TRUE(no(b->take(pretended, record("b", 2))));
  EXPECT_EQ(seen(*b).record, record("a", 1));
  EXPECT_TRUE(yes(a->renew()));
}

TEST_P(ElectionTest, WhoHasNotLedDoesNotRenewOrReplace) {
  const auto a = member("a"), b = member("b");
  EXPECT_TRUE(no(b->renew()));
  lead(*a, record("a", 1));
  EXPECT_TRUE(no(b->renew()));
  EXPECT_TRUE(no(b->replace(record("b", 2))));
  b->resign();
  (void)seen(*b);
  EXPECT_TRUE(no(b->renew()));
  EXPECT_TRUE(no(b->replace(record("b", 2))));
  b->resign();
  EXPECT_EQ(seen(*b).record, record("a", 1));
  EXPECT_TRUE(seen(*b).led);
}

TEST_P(ElectionTest, ALeaderThatRenewsLeadsOn) {
  const auto a = brief("a");
  const auto b = member("b");
  // A machine that stands still for longer than the lease ends it, and then it is tried again.
  const auto leads_for_twice_the_lease = [&](std::uint64_t epoch) {
    if (!yes(a->take(seen(*a), record("a", epoch)))) return false;
    const auto twice = SystemClock().now() + 2 * master::kShortestLease;
    while (SystemClock().now() < twice)
      if (!a->renew().value_or(false) || !seen(*b).led) return false;
    return no(b->take(seen(*b), record("b", epoch + 1)));
  };
  bool led = false;
  for (std::uint64_t epoch = 1; epoch <= 5 && !led; ++epoch) {
    led = leads_for_twice_the_lease(epoch);
    a->resign();
  }
  EXPECT_TRUE(led);
}

TEST_P(ElectionTest, AnotherTakesOverWhenTheLeaseHasEnded) {
  const auto a = brief("a");
  const auto b = member("b");
  ASSERT_TRUE(yes(a->take(seen(*a), record("a", 1, {"a", "b"}))));
  EXPECT_TRUE(seen(*b).led);
  ASSERT_TRUE(eventually([&] { return !seen(*b).led; }));
  const auto free = seen(*b);
  EXPECT_EQ(free.record, record("a", 1, {"a", "b"}));
  EXPECT_TRUE(yes(b->take(free, record("b", 2))));
  EXPECT_TRUE(no(a->replace(record("a", 1, {"a"}))));
  EXPECT_TRUE(no(a->renew()));
  EXPECT_TRUE(no(a->replace(record("a", 1, {"a"}))));
  a->resign();
  EXPECT_EQ(seen(*a).record, record("b", 2));
  EXPECT_TRUE(seen(*a).led);
  EXPECT_TRUE(yes(b->renew()));
}

TEST_P(ElectionTest, AfterResignAnotherTakesOverAtOnce) {
  const auto a = member("a"), b = member("b");
  lead(*a, record("a", 1));
  EXPECT_TRUE(seen(*b).led);
  a->resign();
  const auto free = seen(*b);
  EXPECT_FALSE(free.led);
  EXPECT_TRUE(no(a->renew()));
  EXPECT_TRUE(no(a->replace(record("a", 1, {"a", "c"}))));
  EXPECT_TRUE(yes(b->take(free, record("b", 2))));
  b->resign();
  EXPECT_TRUE(yes(a->take(seen(*a), record("a", 3))));
  EXPECT_EQ(seen(*b).record, record("a", 3));
}

TEST_P(ElectionTest, ARecordThatChangedSinceItWasSeenRefusesTake) {
  const auto a = member("a"), b = member("b");
  lead(*a, record("a", 1, {"a", "b"}));
  auto before = seen(*b);
  ASSERT_TRUE(yes(a->replace(record("a", 1, {"a"}))));
  a->resign();
  before.led = false;
  EXPECT_TRUE(no(b->take(before, record("b", 2))));
  EXPECT_FALSE(seen(*b).led);
  EXPECT_TRUE(no(b->take(before, record("b", 2))));  // what was seen since does not count
  EXPECT_EQ(seen(*b).record, record("a", 1, {"a"}));
}

TEST_P(ElectionTest, TheLeaderReplacesTheRecord) {
  const auto a = member("a"), b = member("b");
  lead(*a, record("a", 1));
  for (int i = 0; i < 5; ++i) {
    const auto next = record("a", 1, {"a", "m" + std::to_string(i), "\"\\ \xC3\xA4"});
    ASSERT_TRUE(yes(a->replace(next)));
    EXPECT_EQ(seen(*b).record, next);
    EXPECT_EQ(seen(*a).record, next);
  }
  EXPECT_TRUE(yes(a->renew()));
  EXPECT_TRUE(seen(*b).led);
}

TEST_P(ElectionTest, AMemberThatBeginsAnewDoesNotHoldItsEarlierLease) {
  const auto before = member("a");
  lead(*before, record("a", 1));
  const auto after = member("a");
  EXPECT_TRUE(seen(*after).led);
  EXPECT_TRUE(no(after->renew()));
  EXPECT_TRUE(no(after->replace(record("a", 2))));
  EXPECT_TRUE(no(after->take(seen(*after), record("a", 2))));
  EXPECT_TRUE(yes(before->renew()));
}

TEST_P(ElectionTest, OfTwoThatRaceExactlyOneLeadsInEachEpoch) {
  const auto watcher = member("w");
  std::barrier round(2);
  std::atomic<int> leaders{0}, wrong{0};
  const auto race = [&](const std::string& id) {
    const auto election = member(id);
    for (std::uint64_t epoch = 1; epoch <= 50; ++epoch) {
      const auto before = election->look();
      round.arrive_and_wait();
      const auto won = before ? election->take(*before, record(id, epoch)) : fail(before.error());
      if (!won || before->led || (before->record ? before->record->epoch : 0) != epoch - 1) ++wrong;
      if (won && *won) ++leaders;
      round.arrive_and_wait();
      if (leaders != static_cast<int>(epoch)) ++wrong;
      const auto renewed = election->renew();
      if (!renewed || !won || *renewed != *won) ++wrong;
      round.arrive_and_wait();
      if (won && *won) election->resign();
      round.arrive_and_wait();
    }
  };
  { const std::jthread a(race, "a"), b(race, "b"); }
  EXPECT_EQ(leaders, 50);
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen(*watcher).record->epoch, 50);
}

// ---- answers that are lost, and requests that come late

TEST_P(ElectionTest, ATakeWhoseAnswerWasLostEndsInTrue) {
  const auto a = proxied("a");
  const auto b = member("b");
  const auto nothing = seen(*a);
  proxy().set(store_->takes(), "lose", 2);  // libcurl repeats the first by itself
  EXPECT_TRUE(unavailable(a->take(nothing, record("a", 1))));
  proxy().end_faults();
  EXPECT_EQ(seen(*b).record, record("a", 1));
  EXPECT_TRUE(seen(*b).led);
  EXPECT_TRUE(yes(a->take(nothing, record("a", 1))));
  EXPECT_TRUE(yes(a->renew()));
  EXPECT_TRUE(yes(a->replace(record("a", 1, {"a", "b"}))));
  EXPECT_EQ(seen(*b).record, record("a", 1, {"a", "b"}));
}

TEST_P(ElectionTest, ATakeThatLibcurlRepeatsByItselfIsTrue) {
  const auto a = proxied("a");
  const auto nothing = seen(*a);
  proxy().set(store_->takes(), "lose", 1);
  EXPECT_TRUE(yes(a->take(nothing, record("a", 1))));
  EXPECT_TRUE(yes(a->renew()));
}

TEST_P(ElectionTest, AfterATakeWhoseAnswerWasLostRenewTellsTheTruth) {
  const auto a = proxied("a");
  for (const char* const fault : {"lose", "cut", "garbage"}) {
    const auto before = seen(*a);
    const auto next = record("a", before.record ? before.record->epoch + 1 : 1);
    proxy().set(before.record ? store_->writes() : store_->takes(), fault, 2);
    EXPECT_TRUE(unavailable(a->take(before, next))) << fault;
    proxy().end_faults();
    EXPECT_EQ(seen(*a).record, next);
    EXPECT_TRUE(seen(*a).led);
    EXPECT_TRUE(yes(a->renew()));
    a->resign();
    EXPECT_FALSE(seen(*a).led);
  }
}

TEST_P(ElectionTest, AfterATakeThatNeverArrivedRenewTellsTheTruth) {
  const auto a = proxied("a");
  const auto b = member("b");
  const auto nothing = seen(*a);
  proxy().set(store_->takes(), "refuse", 2);
  EXPECT_TRUE(unavailable(a->take(nothing, record("a", 1))));
  proxy().end_faults();
  EXPECT_FALSE(seen(*b).led);
  EXPECT_TRUE(no(a->renew()));
  EXPECT_TRUE(no(a->replace(record("a", 1))));
  EXPECT_FALSE(seen(*b).record);
  EXPECT_TRUE(yes(b->take(seen(*b), record("b", 1))));
}

TEST_P(ElectionTest, AReplacementWhoseAnswerWasLostIsRepeated) {
  const auto a = proxied("a");
  const auto b = member("b");
  lead(*a, record("a", 1));
  for (const char* const fault : {"lose", "refuse", "cut", "garbage"}) {
    proxy().set(store_->writes(), fault, 2);
    EXPECT_TRUE(unavailable(a->replace(record("a", 1, {"a", fault})))) << fault;
    proxy().end_faults();
    EXPECT_TRUE(yes(a->replace(record("a", 1, {"a", fault}))));
    EXPECT_EQ(seen(*b).record, record("a", 1, {"a", fault}));
    proxy().set(store_->writes(), fault, 2);
    EXPECT_TRUE(unavailable(a->replace(record("a", 1, {"a", "b", fault})))) << fault;
    proxy().end_faults();
    EXPECT_TRUE(yes(a->replace(record("a", 1, {"a", "c"}))));
    EXPECT_EQ(seen(*b).record, record("a", 1, {"a", "c"}));
    EXPECT_TRUE(yes(a->renew()));
  }
}

TEST_P(ElectionTest, AReplacementThatComesLateUndoesNoLaterOne) {
  const auto a = impatient("a");
  const auto b = member("b");
  lead(*a, record("a", 1));
  proxy().set(store_->writes(), "hold", 1);
  EXPECT_TRUE(unavailable(a->replace(record("a", 1, {"a", "late"}))));
  EXPECT_TRUE(yes(a->replace(record("a", 1, {"a", "later"}))));
  proxy().release();
  EXPECT_EQ(seen(*b).record, record("a", 1, {"a", "later"}));

  proxy().set(store_->writes(), "hold", 1);
  EXPECT_TRUE(unavailable(a->replace(record("a", 1, {"a", "late"}))));
  proxy().release();  // carried out now
  EXPECT_EQ(seen(*b).record, record("a", 1, {"a", "late"}));
  EXPECT_TRUE(yes(a->replace(record("a", 1, {"a", "last"}))));
  EXPECT_EQ(seen(*b).record, record("a", 1, {"a", "last"}));
}

TEST_P(ElectionTest, ATakeThatComesLateIsRefusedWhenAnotherLeads) {
  const auto a = impatient("a");
  const auto b = member("b");
  const auto nothing = seen(*a);
  proxy().set(store_->takes(), "hold", 1);
  EXPECT_TRUE(unavailable(a->take(nothing, record("a", 1))));
  EXPECT_TRUE(yes(b->take(seen(*b), record("b", 1))));
  proxy().release();
  EXPECT_EQ(seen(*b).record, record("b", 1));
  EXPECT_TRUE(no(a->renew()));
  EXPECT_TRUE(no(a->take(nothing, record("a", 1))));
  EXPECT_TRUE(yes(b->renew()));
}

TEST_P(ElectionTest, ATakeThatComesLateCountsWhenItIsTried) {
  const auto a = impatient("a");
  const auto b = member("b");
  const auto nothing = seen(*a);
  proxy().set(store_->takes(), "hold", 1);
  EXPECT_TRUE(unavailable(a->take(nothing, record("a", 1))));
  proxy().release();
  EXPECT_TRUE(seen(*b).led);
  EXPECT_TRUE(yes(a->take(nothing, record("a", 1))));
  EXPECT_TRUE(yes(a->renew()));
}

// ---- stores that do not answer, or answer nonsense

TEST_P(ElectionTest, AStoreThatDoesNotAnswerIsUnavailableWithinThePatience) {
  const auto a = store_->member("a", store_->server().url(), 10min, 500ms);
  const auto b = store_->member("b", store_->server().url(), 10min, 500ms);
  ASSERT_TRUE(eventually([&] { return a->take(seen(*a), record("a", 1)).value_or(false); }));
  store_->server().pause();
  const auto began = SystemClock().now();
  EXPECT_TRUE(unavailable(a->look()));
  EXPECT_TRUE(unavailable(a->renew()));
  EXPECT_TRUE(unavailable(a->replace(record("a", 1, {"a", "b"}))));
  EXPECT_TRUE(unavailable(b->take({}, record("b", 1))));
  a->resign();
  EXPECT_LT(SystemClock().now() - began, 20s);  // five times the patience, and how slow machines are
  store_->server().resume();
  const auto c = member("c");
  ASSERT_TRUE(eventually([&] { return c->look().has_value(); }));
  EXPECT_EQ(seen(*c).record->leader, "a");
}

TEST_P(ElectionTest, AStoreThatIsBackGoesOn) {
  const auto a = member("a"), b = member("b");
  lead(*a, record("a", 1));
  store_->server().kill();
  for (const auto& answer : {a->renew(), a->replace(record("a", 1, {"a", "b"}))}) {
    ASSERT_TRUE(unavailable(answer));
    EXPECT_NE(answer.error().to_string().find(store_->server().url()), std::string::npos) << answer.error().to_string();
    EXPECT_NE(answer.error().to_string().find("check that it runs"), std::string::npos) << answer.error().to_string();
  }
  EXPECT_TRUE(unavailable(b->look()));
  store_->server().start();
  ASSERT_TRUE(eventually([&] { return a->renew().value_or(false); }));
  EXPECT_EQ(seen(*b).record, record("a", 1));
  EXPECT_TRUE(seen(*b).led);
  EXPECT_TRUE(yes(a->replace(record("a", 1, {"a", "b"}))));
  a->resign();
  EXPECT_TRUE(yes(b->take(seen(*b), record("b", 2))));
}

TEST_P(ElectionTest, AnswersThatMakeNoSenseAreUnavailable) {
  const auto a = proxied("a");
  lead(*a, record("a", 1));
  for (const char* const fault : {"garbage", "cut", "lose", "refuse"}) {
    proxy().set("", fault, 100);
    EXPECT_TRUE(unavailable(a->look())) << fault;
    EXPECT_TRUE(unavailable(a->renew())) << fault;
    proxy().end_faults();
    EXPECT_TRUE(yes(a->renew())) << fault;
  }
  for (const int status : {500, 503, 429, 302}) {
    proxy().set("", "status", 100, status, "no");
    EXPECT_TRUE(unavailable(a->look())) << status;
    EXPECT_TRUE(unavailable(a->renew())) << status;
    proxy().end_faults();
    EXPECT_TRUE(yes(a->renew())) << status;
  }
  for (const char* const body : {"", "{}", "[]", "null", "1", R"({\"header\":{}})", R"({\"kind\":\"Lease\",\"metadata\":{}})"}) {
    proxy().set("", "status", 100, 200, body);
    EXPECT_TRUE(unavailable(a->look())) << body;
    EXPECT_TRUE(unavailable(a->renew())) << body;
    proxy().end_faults();
    EXPECT_TRUE(yes(a->renew())) << body;
  }
}

TEST_P(ElectionTest, AnAnswerThatNeverEndsIsCutOffWithinThePatience) {
  const auto a = impatient("a");
  lead(*a, record("a", 1));
  proxy().set("", "hang", 100);
  const auto began = SystemClock().now();
  EXPECT_TRUE(unavailable(a->look()));
  EXPECT_TRUE(unavailable(a->renew()));
  EXPECT_LT(SystemClock().now() - began, 20s);
  proxy().end_faults();
  EXPECT_TRUE(yes(a->renew()));
}

// ---- records

TEST_P(ElectionTest, ARecordOfALaterReleaseIsReadAndLedOn) {
  store_->keep(
      R"({"cluster":"c","epoch":7,"weights":{"a":[1,2.5,null]},"leader":"x","address":"h:1","in_sync":["x","a"],"more":true})");
  const auto a = member("a");
  const auto found = seen(*a);
  EXPECT_FALSE(found.led);
  EXPECT_EQ(found.record, (LeaderRecord{"c", 7, "x", "h:1", {"x", "a"}}));
  EXPECT_TRUE(yes(a->take(found, {"c", 8, "a", "h:2", {"a"}})));
  EXPECT_EQ(seen(*a).record, (LeaderRecord{"c", 8, "a", "h:2", {"a"}}));
}

TEST_P(ElectionTest, WhatIsNoRecordOfOursIsCorruptAndNamesTheKey) {
  const auto a = member("a");
  for (const char* const text :
       {"", "hello", "{}", R"({"cluster":"c"})", R"({"cluster":1,"epoch":1,"leader":"","address":"","in_sync":[]})",
        R"({"cluster":"c","epoch":-1,"leader":"","address":"","in_sync":[]})"}) {
    store_->keep(text);
    const auto looked = a->look();
    ASSERT_FALSE(looked) << text;
    EXPECT_EQ(looked.error().code(), Code::corrupt) << looked.error().to_string();
    EXPECT_NE(looked.error().to_string().find(store_->key()), std::string::npos) << looked.error().to_string();
  }
}

}  // namespace
}  // namespace weft::test
