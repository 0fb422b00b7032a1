// Writes that clients repeat because an answer was lost: each takes effect once, whoever is primary by then.
#include <filesystem>
#include <string>
#include <variant>

#include "tests/storage/tables/replica_fixture.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;

class RepeatedRequests : public ReplicaFixture {};

TEST_F(RepeatedRequests, AWriteThatIsRepeatedTakesEffectOnce) {
  start("a"), start("b");
  make(2);
  PartitionRequest first = request_of(PutRows{{{"k", "first"}}, 7});
  ASSERT_TRUE(ask_primary(first));  // suppose that its answer was lost
  ASSERT_TRUE(put("k", "second"));
  const auto repeated = [&](bool says) {
    std::get<PutRows>(first.operation).repeated = says;
    return ask_primary(first).has_value();
  };
  EXPECT_TRUE(repeated(true));
  EXPECT_EQ(get("k").value(), "second");
  EXPECT_TRUE(repeated(false)) << "the first request may come late, behind its repetition";
  EXPECT_EQ(get("k").value(), "second");
  // The follower, which applied the entry, recognises the request. So does a replica that has it only in its log.
  const std::string primary = status().primary;
  kill(primary);
  EXPECT_TRUE(repeated(true));
  EXPECT_EQ(get("k").value(), "second");
  const std::string other = status().primary;
  ASSERT_NE(other, primary);
  kill(other);
  start(other);
  EXPECT_TRUE(repeated(true));
  EXPECT_EQ(get("k").value(), "second");
  // A replica that copied the partition has the log as well.
  std::filesystem::remove_all(path(primary, places_[0]));
  start(primary);
  ASSERT_TRUE(whole()) << fault();
  kill(other);
  EXPECT_TRUE(repeated(true));
  EXPECT_EQ(get("k").value(), "second");
  std::get<PutRows>(first.operation).request = 8;
  EXPECT_TRUE(repeated(true)) << "another request that nobody has heard of";
  EXPECT_EQ(get("k").value(), "first");
}

TEST_F(RepeatedRequests, ARepeatedWriteThatIsUnderWayIsAnsweredWithTheFirst) {
  start("a"), start("b");
  make(2);
  const std::string primary = status().primary;
  holds_ = [](const PartitionRequest& request) { return std::holds_alternative<AppendEntries>(request.operation); };
  const PartitionRequest request = request_of(PutRows{{{"k", "v"}}, 7, true});
  const std::uint64_t before = workers_.at(primary).replicas.at(places_[0])->report().last;
  EXPECT_FALSE(ask(primary, request, 1s)) << "the follower has not answered";
  EXPECT_FALSE(ask(primary, request, 1s));
  let_go();
  const auto answered = ask(primary, request);
  ASSERT_TRUE(answered && *answered);
  EXPECT_EQ(workers_.at(primary).replicas.at(places_[0])->report().last, before + 1);
}

TEST_F(RepeatedRequests, ARepeatedWriteThatAnEarlierEpochBeganIsAcknowledgedWhenEverybodyHasIt) {
  start("a"), start("b");
  make(2);
  const std::string primary = status().primary;
  const std::uint64_t epoch = status().epoch;
  // It is on the primary's disk only, and both are in sync, when the primary dies and comes back.
  holds_ = [](const PartitionRequest& request) {
    return std::holds_alternative<AppendEntries>(request.operation) || std::holds_alternative<BeginStream>(request.operation);
  };
  const PartitionRequest request = request_of(PutRows{{{"k", "v"}}, 7, true});
  EXPECT_FALSE(ask(primary, request, 1s));
  kill(primary);
  start(primary);
  ASSERT_TRUE(turn([&] { return status().primary == primary && status().epoch > epoch; }));
  reactor_.pass(1s);
  const auto early = ask(primary, request, 1s);
  EXPECT_TRUE(early && !*early) << "the other one has not got it";
  let_go();
  EXPECT_TRUE(ask_primary(request));
  kill(primary);
  EXPECT_EQ(get("k").value(), "v");
}

TEST_F(RepeatedRequests, RowsOfATransactionThatAreRepeatedLateDoNotReplaceLaterOnes) {
  start("a");
  make(1);
  const TransactionId id = *catalogue_.begin("t", now());
  spread_changes();
  const auto staged = [&](const char* value, std::uint64_t number) {
    return ask_primary(request_of(StageRows{id, 5, {{"k", value}}, number, true})).has_value();
  };
  ASSERT_TRUE(staged("first", 1));
  ASSERT_TRUE(staged("second", 2));
  ASSERT_TRUE(staged("first", 1));
  ASSERT_TRUE(done(order(Commit{1, {id, {5}}})));
  EXPECT_EQ(get("k").value(), "second");
}

}  // namespace
}  // namespace weft::storage::tables
