// Partitions that are held, for a snapshot or the commit of a transaction.
#include "tests/storage/tables/replica_fixture.hpp"

namespace weft::storage::tables {
namespace {

using namespace std::chrono_literals;

class ReplicaHolds : public ReplicaFixture {
 protected:
  /// Of a table of one partition, at "a".
  void make_row() {
    start("a");
    make(1);
    ASSERT_TRUE(put("k", "0"));
  }
};

TEST_F(ReplicaHolds, AHoldThatIsReleasedBeforeItComesHoldsNothing) {
  ASSERT_NO_FATAL_FAILURE(make_row());
  EXPECT_TRUE(done(order(Release{5})));
  EXPECT_FALSE(done(order(Hold{5, false})));
  EXPECT_FALSE(done(order(Hold{4, false})));
  EXPECT_FALSE(done(order(Hold{0, false})));
  EXPECT_TRUE(put("k", "1"));
  EXPECT_TRUE(done(order(Hold{6, false})));
}

TEST_F(ReplicaHolds, AReleaseEndsAnEarlierHoldToo) {
  ASSERT_NO_FATAL_FAILURE(make_row());
  ASSERT_TRUE(done(order(Hold{5, false})));
  const PartitionRequest request = request_of(PutRows{{{"k", "1"}}});
  EXPECT_TRUE(done(order(Release{4})));
  EXPECT_FALSE(ask("a", request, 1s)) << "that was another one";
  EXPECT_TRUE(done(order(Release{6})));
  EXPECT_TRUE(turn([&] { return get("k").value() == "1"; }, 1s)) << "its own release was lost";
}

TEST_F(ReplicaHolds, AHoldThatIsForgottenEnds) {
  ASSERT_NO_FATAL_FAILURE(make_row());
  ASSERT_TRUE(done(order(Hold{5, false})));
  const PartitionRequest request = request_of(PutRows{{{"k", "v"}}});
  EXPECT_FALSE(ask("a", request, 20s)) << "it is held";
  EXPECT_TRUE(turn([&] { return get("k").value() == "v"; }, 20s));
  EXPECT_FALSE(done(order(Mark{5, SnapshotId(1000)}))) << "it may have been written to since";
}

TEST_F(ReplicaHolds, AHoldForACommitLastsWhileThatIsDecided) {
  ASSERT_NO_FATAL_FAILURE(make_row());
  const auto id = catalogue_.begin("t", now());
  ASSERT_TRUE(id);
  spread_changes();
  reactor_.pass(1s);
  ASSERT_TRUE(ask_primary(request_of(StageRows{*id, 3, {{"k", "v"}}})));
  ASSERT_TRUE(done(order(Hold{5, true})));
  ASSERT_TRUE(catalogue_.decide("t", {*id, {3}}));
  spread_changes();
  const PartitionRequest read = request_of(GetRows{{}, {"k"}});
  EXPECT_FALSE(ask("a", read, 100s)) << "another partition may not have it yet";
  ASSERT_TRUE(catalogue_.complete_commit("t", *id));
  spread_changes();
  reactor_.pass(2s);
  EXPECT_EQ(get("k").value(), "v");
}

TEST_F(ReplicaHolds, AHoldForACommitLastsWhileTheMasterCannotSayWhatItDecided) {
  ASSERT_NO_FATAL_FAILURE(make_row());
  ASSERT_TRUE(done(order(Hold{5, true})));
  workers_.at("a").context->withheld = true;
  EXPECT_FALSE(ask("a", request_of(GetRows{{}, {"k"}}), 100s)) << "another partition may show what was decided";
  workers_.at("a").context->withheld = false;
  reactor_.pass(2s);
  EXPECT_EQ(get("k").value(), "0");
}

TEST_F(ReplicaHolds, ACommitIsDecidedOnlyWhereThereIsRoomForItsRows) {
  start("a");
  std::uint64_t free = std::uint64_t{1} << 40;
  workers_.at("a").context->free_space = [&](const std::string&) -> Result<std::uint64_t> { return free; };
  make(1);
  ASSERT_TRUE(put("k", "0"));
  const TransactionId id = *catalogue_.begin("t", now());
  spread_changes();
  constexpr std::uint64_t kRowBytes = 1u << 20;
  const auto stage = [&](const char* key) {
    return ask_primary(request_of(StageRows{id, 3, {{key, std::string(kRowBytes, 'v')}}}));
  };
  for (const char* key : {"k", "l", "m"}) ASSERT_TRUE(stage(key));
  free = 5 * kRowBytes;  // enough for one more row, and not for the commit of all of them as well
  EXPECT_EQ(stage("n").error().code(), Code::resource_exhausted);
  EXPECT_TRUE(put("small", "1")) << "that is no row of the transaction";
  const auto refused = ask("a", order(Hold{5, true}));
  ASSERT_TRUE(refused && !*refused);
  EXPECT_EQ(refused->error().code(), Code::resource_exhausted) << refused->error().to_string();
  EXPECT_TRUE(turn([&] { return fault().find("is full") != std::string::npos; })) << "another one may have room: " << fault();
  EXPECT_TRUE(done(order(Hold{6, false}))) << "a snapshot takes no room";
  EXPECT_TRUE(done(order(Release{6})));
  free = 7 * kRowBytes;
  EXPECT_TRUE(done(order(Hold{7, true})));
  ASSERT_TRUE(done(order(Commit{7, {id, {3}}})));
  EXPECT_TRUE(done(order(Release{7})));
  free = kRowBytes;
  EXPECT_TRUE(done(order(Hold{8, true}))) << "nothing is staged any more";
}

}  // namespace
}  // namespace weft::storage::tables
