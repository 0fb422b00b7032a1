#include "engine/master/replication/follower.hpp"

#include <chrono>
#include <future>

#include <gtest/gtest.h>

#include "base/rpc/responder.hpp"
#include "tests/engine/master/replication/slow_snapshot.hpp"

namespace weft::master {
namespace {

rpc::Responder nobody() { return rpc::Responder(std::make_shared<rpc::Responder::Impl>(std::weak_ptr<rpc::Channel>(), 1)); }
LogEntry entry() { return {Store::journal, SharedBytes(Buffer::copy_of(as_bytes(std::string_view("x"))))}; }

/// Of a log whose fourth entry is the last one that all snapshots have.
class AFollower : public testing::Test {
 protected:
  ~AFollower() override {
    reactor->run([this] { follower.reset(); });
    disk->stop();
    reactor->stop();
  }
  template <class Do>
  void run(Do action) {
    reactor->run(action);
  }

  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("leader"), disk = rpc::Reactor::start("disk");
  std::unique_ptr<Follower> follower = std::make_unique<Follower>(*reactor, *disk, 0, 4, [](const Error&) {});
};

TEST_F(AFollower, KeepsWhatItsSnapshotsHaveFromTheBeginning) {
  run([&] { EXPECT_EQ(follower->kept(), 4u); });
}

TEST_F(AFollower, IsBehindUntilItKeepsWhatItWasSent) {
  run([&] {
    EXPECT_FALSE(follower->behind_since());
    follower->append(5, entry());
    EXPECT_FALSE(follower->behind_since()) << "nothing was sent yet";
    ASSERT_TRUE(follower->pull(0, false, nobody()));
    const auto since = follower->behind_since();
    ASSERT_TRUE(since);
    follower->progressed();
    EXPECT_GT(*follower->behind_since(), *since) << "it gets on with it";
    ASSERT_TRUE(follower->pull(1, false, nobody()));
    EXPECT_FALSE(follower->behind_since());
    EXPECT_EQ(follower->kept(), 5u);
  });
}

TEST_F(AFollower, CannotKeepMoreThanItWasSentOrLessThanBefore) {
  run([&] {
    EXPECT_FALSE(follower->pull(1, false, nobody()));
    follower->append(5, entry());
    ASSERT_TRUE(follower->pull(0, false, nobody()));
    ASSERT_TRUE(follower->pull(1, false, nobody()));
    EXPECT_FALSE(follower->pull(0, false, nobody()));
  });
}

/// The leader's disk may take longer for a piece of a snapshot than a pull waits.
TEST_F(AFollower, WasNotSentWhatWasReadAfterItsPullWasAnswered) {
  std::promise<void> ready;
  run([&] {
    follower = std::make_unique<Follower>(*reactor, *disk, 1, 4, [](const Error&) {});
    follower->add(std::make_unique<test::SlowSnapshot>(ready.get_future(), std::vector{entry()}));
    EXPECT_TRUE(follower->pull(0, false, nobody()));
    follower->answer_if_older(SystemClock().now() + std::chrono::hours(1));
  });
  ready.set_value();
  disk->run([] {});  // it is read, and the follower hears of it before what comes now
  run([&] {
    EXPECT_FALSE(follower->behind_since());
    EXPECT_FALSE(follower->near());
    EXPECT_FALSE(follower->pull(1, false, nobody())) << "it cannot keep that yet";
    ASSERT_TRUE(follower->pull(0, false, nobody()));
    EXPECT_TRUE(follower->behind_since());
    EXPECT_TRUE(follower->pull(1, false, nobody()));
  });
}

}  // namespace
}  // namespace weft::master
