// The log of a leader, followed over real connections; who may lead after it is announced when the test says so.
#include "engine/master/replication/replication_log.hpp"

#include <atomic>
#include <future>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/master/replication/pretended_leadership.hpp"
#include "tests/engine/master/replication/slow_snapshot.hpp"
#include "tests/support/process.hpp"

namespace weft::master {
namespace {

using test::PretendedLeadership;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

LogEntry entry(std::string_view text) { return {Store::journal, SharedBytes(Buffer::copy_of(as_bytes(text)))}; }

/// A follower that pulls when the test says so.
class Peer {
 public:
  explicit Peer(const rpc::Endpoint& leader, std::string name = "b") : listens(name + ":1"), name_(std::move(name)) {
    connection_ = rpc::connect(*reactor_, leader, 10s).value();
  }
  ~Peer() {
    leave();
    reactor_->stop();
  }
  void leave() {
    reactor_->run([this] { connection_->close(); });
  }
  Result<Following> follow(const std::string& cluster = "") {
    auto answer = rpc::call(*reactor_, connection_, kFollow, to_payload(Follow{name_, cluster, listens, page, keeps_mark}), 20s);
    if (!answer) return fail(answer.error());
    auto following = from_message<Following>(*answer);
    if (following) session_ = following->session;
    return following;
  }
  Result<Pulled> pull(std::uint64_t kept) {
    WEFT_ASSIGN(const rpc::Message answer, rpc::call(*reactor_, connection_, kPull, to_payload(Pull{session_, kept}), 20s));
    return from_message<Pulled>(answer);
  }
  /// Pulls until it has this many entries more, and returns them. All are kept that came before the last answer.
  std::vector<std::string> pull_entries(std::size_t count) {
    std::vector<std::string> entries;
    while (entries.size() < count) {
      const auto pulled = pull(has_);
      if (!pulled) {
        ADD_FAILURE() << pulled.error().to_string();
        return entries;
      }
      in_sync = pulled->in_sync;
      has_ += pulled->entries.size();
      for (const LogEntry& each : pulled->entries) entries.emplace_back(as_chars(each.bytes.bytes));
    }
    return entries;
  }
  /// Says that it keeps everything it has.
  void keep() { in_sync = pull(has_).value().in_sync; }

  bool in_sync = false;
  std::string page;     // that it says it has
  std::string listens;  // address, when it leads
  bool keeps_mark = true;

 private:
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("peer");
  rpc::ConnectionPtr connection_;
  std::string name_;
  std::uint64_t session_ = 0, has_ = 0;
};

class TheLog : public testing::Test {
 protected:
  void SetUp() override {
    reactor->run([this] {
      log = std::make_unique<ReplicationLog>(leadership, *reactor, [this](const Error& why) {
        deposed = why.to_string();
        ++times_deposed;
      });
      log->add([this](auto then) { then(std::make_unique<ListedSnapshot>(copy)); });
      rpc::Handler handler;
      handler.on_request = [this](const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
        if (message.type == kFollow) return log->on_follow(connection, message, std::move(responder));
        log->on_pull(connection, message, std::move(responder));
      };
      handler.on_close = [this](const rpc::ConnectionPtr& connection, const Error& why) {
        if (log) log->on_close(connection, why);
      };
      listener = reactor->listen({"127.0.0.1:0"}, {}, [handler](const rpc::ConnectionPtr&) { return handler; }).value();
      address = listener->endpoint();
    });
  }
  void TearDown() override {
    reactor->run([this] {
      listener->close();
      log.reset();
    });
    reactor->stop();
  }
  void append(std::string_view text) {
    reactor->run([&] {
      log->append(entry(text));
      log->when_kept(log->appended(), [this](const Result<void>& kept) { kept ? ++promises : ++broken_promises; });
    });
  }
  /// What the reactor was given before is done.
  int kept_promises() {
    int kept = 0;
    reactor->run([&] { kept = promises; });
    return kept;
  }
  void await_promises(int count) {
    while (kept_promises() < count) std::this_thread::yield();
  }
  /// It has everything, and that is announced.
  void bring_in_sync(Peer& peer, std::size_t entries) {
    EXPECT_EQ(peer.pull_entries(entries).size(), entries);
    peer.keep();
    leadership.announcement();
    leadership.answer({});
  }

  PretendedLeadership leadership;
  std::unique_ptr<rpc::Reactor> reactor = rpc::Reactor::start("leader");
  std::vector<LogEntry> copy{entry("old")};
  std::unique_ptr<ReplicationLog> log;
  std::unique_ptr<rpc::Listener> listener;
  rpc::Endpoint address;
  int promises = 0, broken_promises = 0;
  std::string deposed;
  std::atomic<int> times_deposed{0};
};

TEST_F(TheLog, KeepsAPromiseAtOnceWhileNobodyFollows) {
  append("a");
  EXPECT_EQ(kept_promises(), 1);
}

TEST_F(TheLog, HasAnObstacleOnlyWhileItCannotBeAnnouncedThatAFollowerIsGone) {
  const auto obstacle = [this] {
    std::optional<Error> why;
    reactor->run([&] { why = log->obstacle(); });
    return why;
  };
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  EXPECT_EQ(peer.pull_entries(1).size(), 1u);
  peer.keep();
  leadership.announcement();
  leadership.refuse(Error(Code::unavailable, "no space"));
  EXPECT_FALSE(obstacle()) << "the follower keeps what is promised";
  leadership.answer({});
  EXPECT_FALSE(obstacle());
  peer.leave();
  EXPECT_THAT(leadership.announcement(), IsEmpty());
  ASSERT_TRUE(obstacle());
  EXPECT_EQ(obstacle()->code(), Code::unavailable);
  EXPECT_THAT(obstacle()->to_string(), HasSubstr("the record of masters cannot be written: no space"));
  leadership.refuse({});
  EXPECT_FALSE(obstacle()) << "it is being written";
  leadership.refuse(Error(Code::unavailable, "no space"));
  leadership.answer({});
  EXPECT_TRUE(weft::test::eventually([&] { return !obstacle(); })) << "promises do not wait for it any more";
}

TEST_F(TheLog, IsSentBehindACopyOfWhatWasThereBefore) {
  Peer peer(address);
  const auto following = peer.follow("c");
  ASSERT_TRUE(following) << following.error().to_string();
  EXPECT_EQ(following->epoch, 7u);
  EXPECT_EQ(following->cluster, "c");
  append("a");
  append("b");
  EXPECT_THAT(peer.pull_entries(3), ElementsAre("old", "a", "b"));
}

TEST_F(TheLog, DoesNotWaitForAFollowerThatIsStillCopying) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  append("a");
  EXPECT_EQ(kept_promises(), 1);
}

/// Whoever may lead next must have it: that may be so from the moment at which the announcement is made.
TEST_F(TheLog, WaitsForAFollowerBeforeThatIsAnnounced) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  EXPECT_THAT(peer.pull_entries(1), ElementsAre("old"));
  peer.keep();
  EXPECT_THAT(leadership.announcement(), ElementsAre("b"));
  append("a");
  EXPECT_EQ(kept_promises(), 0);
  EXPECT_THAT(peer.pull_entries(1), ElementsAre("a"));
  EXPECT_FALSE(peer.in_sync) << "that is not known to all";
  EXPECT_EQ(kept_promises(), 0) << "it was sent, and may not be on the follower's disk";
  leadership.answer({});
  peer.keep();
  await_promises(1);
  peer.keep();
  EXPECT_TRUE(peer.in_sync);
}

/// A copy of its data directory from before this session has another mark. A release that keeps none gets none.
TEST_F(TheLog, MarksTheSessionInWhichAFollowerCameIntoSync) {
  for (const bool keeps_mark : {true, false}) {
    Peer peer(address);
    peer.keeps_mark = keeps_mark;
    const auto session = peer.follow();
    ASSERT_TRUE(session);
    EXPECT_THAT(peer.pull_entries(1), ElementsAre("old"));
    peer.keep();
    EXPECT_THAT(leadership.announcement(), ElementsAre("b"));
    EXPECT_EQ(leadership.mark_of("b"), keeps_mark ? mark_of(*session) : "");
    leadership.answer({});
    peer.leave();
    EXPECT_THAT(leadership.announcement(), IsEmpty());
    leadership.answer({});
  }
  EXPECT_NE(mark_of({1, "c", 7}), mark_of({2, "c", 7}));
  EXPECT_NE(mark_of({1, "c", 7}), mark_of({1, "c", 8}));
}

/// What was acknowledged while it copied is not in its copy; as long as it lacks that, it must not lead.
TEST_F(TheLog, AnnouncesAFollowerWhenItKeepsWhatWasAcknowledgedBefore) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  append("a");
  EXPECT_EQ(kept_promises(), 1);
  EXPECT_THAT(peer.pull_entries(2), ElementsAre("old", "a"));
  int more = 0;
  ASSERT_TRUE(weft::test::eventually([&] {
    append("b");
    return kept_promises() < 1 + ++more;
  })) << "from now on promises wait for it";
  EXPECT_FALSE(leadership.announces()) << "it may not have written a";
  EXPECT_EQ(peer.pull_entries(static_cast<std::size_t>(more)).size(), static_cast<std::size_t>(more));
  peer.keep();
  EXPECT_THAT(leadership.announcement(), ElementsAre("b"));
  await_promises(1 + more);
  leadership.answer({});
}

TEST_F(TheLog, DoesNotWaitForAFollowerThatLeavesBeforeItIsAnnounced) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  append("a");
  EXPECT_THAT(peer.pull_entries(2), ElementsAre("old", "a"));
  int more = 0;
  ASSERT_TRUE(weft::test::eventually([&] {
    append("b");
    return kept_promises() < 1 + ++more;
  }));
  peer.leave();
  await_promises(1 + more);
  EXPECT_FALSE(leadership.announces());
}

TEST_F(TheLog, SendsNothingOfItselfBeforeASnapshotThatComesLate) {
  std::function<void(Result<std::unique_ptr<StoreSnapshot>>)> late;
  reactor->run([&] { log->add([&late](auto then) { late = std::move(then); }); });
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  append("a");
  EXPECT_THAT(peer.pull_entries(1), ElementsAre("old"));
  peer.keep();
  EXPECT_FALSE(leadership.announces());
  reactor->run([&] { late(std::make_unique<ListedSnapshot>(std::vector{entry("old too")})); });
  EXPECT_THAT(peer.pull_entries(2), ElementsAre("old too", "a"));
}

TEST_F(TheLog, WaitsForAFollowerThatIsGoneUntilNobodyCountsOnItAnyMore) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  bring_in_sync(peer, 1);
  peer.leave();
  EXPECT_THAT(leadership.announcement(), IsEmpty());
  append("a");
  EXPECT_EQ(kept_promises(), 0) << "it may lead, and it does not have this";
  leadership.answer({});
  await_promises(1);
  append("b");
  EXPECT_EQ(kept_promises(), 2);
}

/// Its old copy is about to be replaced by one that is not whole.
TEST_F(TheLog, BeginsWithAMemberThatIsBackOnlyWhenThatCannotLeadAnyMore) {
  {
    Peer before(address);
    ASSERT_TRUE(before.follow());
    bring_in_sync(before, 1);
  }
  leadership.announcement();  // that it is gone: not carried out yet
  Peer after(address);
  std::atomic<bool> begun{false};
  std::thread follower([&] {
    EXPECT_TRUE(after.follow());
    begun = true;
  });
  append("a");
  EXPECT_EQ(kept_promises(), 0);
  EXPECT_FALSE(begun);
  copy.push_back(entry("a"));
  leadership.answer({});
  follower.join();
  EXPECT_THAT(after.pull_entries(2), ElementsAre("old", "a"));
}

TEST_F(TheLog, IsFollowedAnewByAMemberWhoseFirstConnectionHangs) {
  Peer first(address);
  ASSERT_TRUE(first.follow());
  Peer second(address);
  ASSERT_TRUE(second.follow());
  EXPECT_FALSE(first.pull(0));
  append("a");
  EXPECT_THAT(second.pull_entries(2), ElementsAre("old", "a"));
}

/// Two processes on copies of one data directory would end each other's sessions for ever.
TEST_F(TheLog, RefusesASecondProcessWithTheIdOfOneThatIsThere) {
  Peer first(address), copy_of_it(address);
  ASSERT_TRUE(first.follow());
  copy_of_it.listens = "elsewhere:1";
  const auto refused = copy_of_it.follow();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::already_exists);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("another process, at b:1, has the member id b: this data directory was co"));
  append("a");
  EXPECT_THAT(first.pull_entries(2), ElementsAre("old", "a"));
  first.leave();
  EXPECT_TRUE(weft::test::eventually([&] { return copy_of_it.follow().has_value(); }));
}

TEST_F(TheLog, WaitsForTheSlowestOfTwo) {
  Peer one(address, "b"), two(address, "c");
  ASSERT_TRUE(one.follow());
  bring_in_sync(one, 1);
  ASSERT_TRUE(two.follow());
  bring_in_sync(two, 1);
  append("a");
  EXPECT_THAT(one.pull_entries(1), ElementsAre("a"));
  one.keep();
  EXPECT_EQ(kept_promises(), 0);
  EXPECT_THAT(two.pull_entries(1), ElementsAre("a"));
  two.keep();
  await_promises(1);
}

TEST_F(TheLog, BreaksAllPromisesOfAMasterThatDoesNotLeadAnyMore) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  bring_in_sync(peer, 1);
  append("a");
  peer.leave();
  leadership.announcement();
  leadership.answer(fail(Code::unavailable, "another leads"));
  while (times_deposed == 0) std::this_thread::yield();
  reactor->run([&] { EXPECT_THAT(deposed, HasSubstr("another leads")); });
  EXPECT_EQ(kept_promises(), 0);
  reactor->run([this] { log.reset(); });
  EXPECT_EQ(broken_promises, 1) << "who waits is told";
}

TEST_F(TheLog, MayEndWithItsReactorWhileAnAnnouncementIsUnderWay) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  EXPECT_EQ(peer.pull_entries(1).size(), 1u);
  peer.keep();
  EXPECT_THAT(leadership.announcement(), ElementsAre("b"));
  TearDown();
  reactor = rpc::Reactor::start("another");
  leadership.answer(fail(Code::unavailable, "the master ends"));
  EXPECT_EQ(times_deposed, 0);
  SetUp();
}

TEST_F(TheLog, GivesUpOnAFollowerThatIsSilent) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  bring_in_sync(peer, 1);
  append("a");
  EXPECT_THAT(leadership.announcement(), IsEmpty()) << "after a while";
  leadership.answer({});
  await_promises(1);
  EXPECT_FALSE(peer.pull(1));
}

TEST_F(TheLog, DropsAFollowerThatKeepsWhatItWasNotSent) {
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  EXPECT_FALSE(peer.pull(1));
  Peer another(address, "c");
  EXPECT_TRUE(another.follow());
}

TEST_F(TheLog, RefusesThoseThatAreNoFollowers) {
  Peer stranger(address);
  EXPECT_THAT(stranger.follow("another").error().to_string(), HasSubstr("this is a master of cluster c, not of another"));
  Peer nameless(address, "");
  EXPECT_FALSE(nameless.follow());
  Peer itself(address, "leader");
  EXPECT_FALSE(itself.follow());
  EXPECT_THAT(stranger.pull(0).error().to_string(), HasSubstr("not known"));
}

TEST_F(TheLog, KnowsWhereThePagesOfFollowersAre) {
  Peer with(address, "b"), without(address, "c"), long_one(address, "d");
  with.page = "https://b:7078";
  long_one.page = "http://" + std::string(10'000, 'd');
  for (Peer* peer : {&with, &without, &long_one}) ASSERT_TRUE(peer->follow());
  std::vector<std::string> pages;
  reactor->run([&] {
    for (const auto& follower : log->followers()) pages.push_back(follower.page);
  });
  EXPECT_THAT(pages, ElementsAre("https://b:7078", "", "")) << "a part of one would lead to another place";
}

TEST_F(TheLog, DropsAFollowerWhoseSnapshotCannotBeRead) {
  struct Broken final : StoreSnapshot {
    Result<std::vector<LogEntry>> next(std::size_t) override { return fail(Code::io, "the disk is gone"); }
  };
  reactor->run([this] { log->add([](auto then) { then(std::make_unique<Broken>()); }); });
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  ASSERT_TRUE(peer.pull(0));
  EXPECT_FALSE(peer.pull(1));
  EXPECT_FALSE(leadership.announces());
}

/// A follower that hears nothing for two seconds takes its leader for dead, and its copy begins again.
TEST_F(TheLog, AnswersAFollowerWhileTheDiskReadsASnapshot) {
  std::promise<void> ready;
  reactor->run([&] {
    log->add([&ready](auto then) {
      then(std::make_unique<test::SlowSnapshot>(ready.get_future(), std::vector{entry("slow"), entry("too")}));
    });
  });
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  append("a");
  EXPECT_THAT(peer.pull_entries(1), ElementsAre("old"));
  for (int answers = 0; answers < 3; ++answers) {
    const auto pulled = peer.pull(1);
    EXPECT_TRUE(pulled && pulled->entries.empty()) << answers;
  }
  ready.set_value();
  EXPECT_THAT(peer.pull_entries(3), ElementsAre("slow", "too", "a"));
}

TEST_F(TheLog, SendsALargeSnapshotInPieces) {
  struct Large final : StoreSnapshot {
    int left = 20;
    Result<std::vector<LogEntry>> next(std::size_t) override {
      if (left-- == 0) return std::vector<LogEntry>{};
      return std::vector{entry(std::string(1u << 20, 'x'))};
    }
  };
  reactor->run([this] { log->add([](auto then) { then(std::make_unique<Large>()); }); });
  Peer peer(address);
  ASSERT_TRUE(peer.follow());
  append("a");
  const auto entries = peer.pull_entries(22);
  ASSERT_EQ(entries.size(), 22u);
  EXPECT_EQ(entries.back(), "a");
}

}  // namespace
}  // namespace weft::master
