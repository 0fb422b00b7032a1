#include "engine/master/standby/lease_keeper.hpp"

#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/master/standby/pretended_election.hpp"
#include "tests/support/process.hpp"

namespace weft::master {
namespace {

using test::ElectionStore;
using test::PretendedElection;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

class ALease : public testing::Test {
 protected:
  ALease() {
    store.holder = "a";
    store.record = record;
  }
  void keep(Duration lease, LeasePatience patience = {}) {
    keeper.emplace(election, record, lease, SystemClock().now() + lease, patience);
  }
  template <class Look>
  bool eventually_in_store(Look look) {
    return weft::test::eventually([&] {
      const std::lock_guard lock(store.mutex);
      return look();
    });
  }
  std::future<Result<void>> announce(const std::vector<std::string>& members) {
    const auto done = std::make_shared<std::promise<Result<void>>>();
    Leadership::MarkedMembers marked;
    for (const std::string& member : members) marked[member] = member == "b" ? "4.1" : "";
    keeper->set_in_sync(std::move(marked), [done](const Result<void>& result) { done->set_value(result); });
    return done->get_future();
  }
  void set_full(bool full) {
    const std::lock_guard lock(store.mutex);
    store.full = full;
  }
  void set_away(bool away) {
    const std::lock_guard lock(store.mutex);
    store.away = away;
  }

  ElectionStore store;
  PretendedElection election{store, "a"};
  const LeaderRecord record{"c", 4, "a", "h:1", {"a"}, {{"a", "4.0"}}};
  std::optional<LeaseKeeper> keeper;
};

TEST_F(ALease, IsProlongedAgainAndAgainAndGivenBackAtTheEnd) {
  keep(200ms);
  EXPECT_EQ(keeper->epoch(), 4u);
  EXPECT_EQ(keeper->cluster(), "c");
  EXPECT_EQ(keeper->member(), "a");
  EXPECT_TRUE(eventually_in_store([&] { return store.renewals >= 10; }));
  keeper.reset();
  EXPECT_EQ(store.holder, "");
}

TEST_F(ALease, IsLostWhenTheStoreIsAwayForItsWholeLength) {
  keep(300ms);
  EXPECT_FALSE(keeper->lost());
  set_away(true);
  ASSERT_TRUE(weft::test::eventually([&] { return keeper->lost().has_value(); }));
  EXPECT_THAT(keeper->lost()->to_string(), HasSubstr("could not be prolonged: the store is away"));
}

TEST_F(ALease, IsLetGoWhenTheMasterHangs) {
  const Duration lease = 2s;
  for (const bool begun : {true, false}) {
    keep(lease, begun ? LeasePatience{10ms, 1h} : LeasePatience{1h, 10ms});
    if (begun) {
      EXPECT_FALSE(keeper->lost());
    }
    std::this_thread::sleep_until(std::chrono::steady_clock::now() + 2 * lease);  // without a question
    ASSERT_TRUE(keeper->lost()) << begun;
    EXPECT_THAT(keeper->lost()->to_string(), HasSubstr(begun ? "could not be prolonged: it hung" : "it took too long to begin"));
    keeper.reset();
    store.holder = "a";
  }
}

TEST_F(ALease, IsKeptWhileTheMasterBegins) {
  keep(1s, {1ms, 1h});
  EXPECT_TRUE(eventually_in_store([&] { return store.renewals >= 10; }));
  EXPECT_FALSE(keeper->lost());
}

TEST_F(ALease, IsLostForEverWhenAnotherHasIt) {
  keep(1h);
  {
    const std::lock_guard lock(store.mutex);
    store.holder = "b";
  }
  EXPECT_FALSE(announce({"b"}).get());
  ASSERT_TRUE(keeper->lost());
  EXPECT_THAT(keeper->lost()->to_string(), HasSubstr("another master leads"));
  EXPECT_FALSE(announce({}).get()) << "at once";
  keeper.reset();
  EXPECT_EQ(store.holder, "b") << "it is not this one's to give back";
}

TEST_F(ALease, AnnouncesInOrderWhoIsInSync) {
  keep(1h);
  auto first = announce({"b", "c"}), second = announce({"c"});
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
  EXPECT_THAT(store.record->in_sync, ElementsAre("a", "c"));
  EXPECT_EQ(store.record->epoch, 4u);
  EXPECT_EQ(store.replacements, 2);
}

TEST_F(ALease, WritesTheMarksOfThoseThatHaveOne) {
  keep(1h);
  EXPECT_TRUE(announce({"b", "c"}).get());
  EXPECT_EQ(store.record->marks, (std::map<std::string, std::string>{{"a", "4.0"}, {"b", "4.1"}}));
  EXPECT_TRUE(announce({"c"}).get());
  EXPECT_EQ(store.record->marks, (std::map<std::string, std::string>{{"a", "4.0"}}));
}

TEST_F(ALease, AnnouncesWhenTheStoreIsBack) {
  keep(1h);
  set_away(true);
  auto announced = announce({"b"});
  EXPECT_EQ(announced.wait_for(250ms), std::future_status::timeout);
  set_away(false);
  EXPECT_TRUE(announced.get());
  EXPECT_THAT(store.record->in_sync, ElementsAre("a", "b"));
}

TEST_F(ALease, SaysOnceThatTheStoreTakesNoRecordAndOnceThatItDoesAgain) {
  keep(1h);
  EXPECT_FALSE(keeper->announcement_failure());
  set_full(true);
  testing::internal::CaptureStderr();
  auto announced = announce({"b"});
  ASSERT_TRUE(weft::test::eventually([&] { return keeper->announcement_failure().has_value(); }));
  EXPECT_EQ(announced.wait_for(450ms), std::future_status::timeout) << "some tries";
  EXPECT_THAT(keeper->announcement_failure()->to_string(), HasSubstr("the store has no space"));
  EXPECT_FALSE(keeper->lost());
  set_full(false);
  EXPECT_TRUE(announced.get());
  EXPECT_FALSE(keeper->announcement_failure());
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string refused = "the record of masters cannot be written: the store has no space", taken = "can be written again";
  EXPECT_THAT(said, HasSubstr(refused));
  EXPECT_EQ(said.find(refused), said.rfind(refused)) << said;
  EXPECT_THAT(said, HasSubstr(taken));
  EXPECT_EQ(said.find(taken), said.rfind(taken)) << said;
}

TEST_F(ALease, FailsWhatItCannotAnnounceAnyMore) {
  keep(1h);
  set_away(true);
  auto announced = announce({"b"});
  keeper.reset();
  EXPECT_THAT(announced.get().error().to_string(), HasSubstr("the master ends"));
}

}  // namespace
}  // namespace weft::master
