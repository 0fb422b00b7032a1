// Commits of tasks that are stopped meanwhile, to a store that is a few lines of this test.
#include <array>
#include <future>
#include <optional>
#include <utility>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/file.hpp"
#include "runtime/worker/job_shuffle.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr JobId kStoppedJob(7);

/// Short of memory, on a disk that is as slow as the test wants.
class SlowStore final : public shuffle::Store {
 public:
  shuffle::SegmentRoom reserve(JobId, ShuffleId) override { return {}; }
  shuffle::SegmentRoom reserve_exactly(JobId, std::uint64_t) override { return {}; }
  bool prefers_disk() const override { return true; }
  const std::string& directory() const override { return directory_; }
  const std::shared_ptr<PagePool>& pages() const override { return pages_; }
  Result<void> put(const shuffle::SegmentKey& key, shuffle::SealedSegment) override {
    putting.set_value(key);
    may_end.get_future().wait();
    return {};
  }
  Result<std::shared_ptr<const shuffle::Segment>> get(const shuffle::SegmentKey&) const override {
    return fail(Code::not_found, "no such map output");
  }
  void release(const shuffle::SegmentKey& key) override { released.push_back(key); }
  void release(JobId, ShuffleId) override {}
  void release(JobId) override {}
  shuffle::StoreStats stats() const override { return {}; }
  std::vector<shuffle::SegmentKey> segments() const override { return {}; }

  std::promise<shuffle::SegmentKey> putting;
  std::promise<void> may_end;
  std::vector<shuffle::SegmentKey> released;  // on the worker's reactor

 private:
  void give_back(JobId, std::uint64_t, bool) override {}

  std::string directory_;
  std::shared_ptr<PagePool> pages_;
};

class StoppedCommits : public testing::Test {
 protected:
  void SetUp() override {
    context_.store = &store_;
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    std::promise<rpc::ConnectionPtr> connected;
    reactor_->post([&, end = std::make_shared<Fd>(ends[0])] {
      shuffle_.emplace(context_, kStoppedJob, shuffle::Mode::pull, 2);
      rpc::Handler handler;
      handler.on_request = [this](const rpc::ConnectionPtr&, rpc::Message message, rpc::Responder responder) {
        shuffle_->on_request(std::move(message), std::move(responder));
      };
      reactor_->adopt(std::move(*end), 10s, handler, {}, [](const Result<rpc::ConnectionPtr>&) {});
    });
    executor_->post([&, end = std::make_shared<Fd>(ends[1])] {
      executor_->adopt(std::move(*end), 10s, {}, {},
                       [&](Result<rpc::ConnectionPtr> connection) { connected.set_value(std::move(connection).value()); });
    });
    connection_ = connected.get_future().get();
  }
  void TearDown() override {
    let_put_end();
    executor_->stop();
    background_->stop();
    reactor_->stop();
  }
  static AttemptId attempt(std::uint32_t task) { return {{kStoppedJob, StageId(2), task}, 0}; }
  void begin(std::uint32_t task) {
    protocol::Launch launch;
    launch.attempt = attempt(task);
    reactor_->run([&] { shuffle_->begin(launch); });
  }
  std::future<Result<rpc::Message>> commit(std::uint32_t task) {
    return std::async(std::launch::async, [this, task] {
      auto segment = shuffle::SegmentWriter::in_memory(1).value()->seal().value();
      rpc::Payload payload = protocol::encode(protocol::Commit{attempt(task), segment.size, std::move(segment.partitions)});
      payload.fds.push_back(std::move(segment.fd));
      return rpc::call(*executor_, connection_, protocol::kCommit, std::move(payload), 20s);
    });
  }
  void stop_task(std::uint32_t task) {
    reactor_->run([&] { shuffle_->stop_waiting(attempt(task)); });
  }
  void let_put_end() {
    if (!std::exchange(put_may_end_, true)) store_.may_end.set_value();
  }
  /// What was posted to the reactors before is done.
  void settle() {
    background_->run([] {});
    reactor_->run([] {});
  }

  SlowStore store_;
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("worker");
  std::unique_ptr<rpc::Reactor> background_ = rpc::Reactor::start("background");
  std::unique_ptr<rpc::Reactor> executor_ = rpc::Reactor::start("executor");
  WorkerContext context_{*reactor_, *background_, *background_, {}, {}};
  std::optional<JobShuffle> shuffle_;
  rpc::ConnectionPtr connection_;
  bool put_may_end_ = false;
};

TEST_F(StoppedCommits, ACommitIsAnsweredWhenTheStoreHasTheOutput) {
  begin(0);
  auto committed = commit(0);
  EXPECT_EQ(store_.putting.get_future().get().map, 0u);
  EXPECT_EQ(committed.wait_for(20ms), std::future_status::timeout);
  let_put_end();
  EXPECT_TRUE(committed.get());
  settle();
  EXPECT_TRUE(store_.released.empty());
}

TEST_F(StoppedCommits, ATaskThatIsToStopDoesNotWaitForTheDiskAndNobodyKeepsItsOutput) {
  begin(0);
  begin(1);
  auto committed = commit(0);
  const auto key = store_.putting.get_future().get();
  stop_task(1);
  EXPECT_EQ(committed.wait_for(20ms), std::future_status::timeout) << "it was another";
  stop_task(0);
  EXPECT_EQ(committed.get().error().code(), Code::cancelled);
  EXPECT_TRUE(store_.released.empty());
  let_put_end();
  settle();
  ASSERT_EQ(store_.released.size(), 1u);
  EXPECT_EQ(store_.released[0].map, key.map);
}

TEST_F(StoppedCommits, OfATaskThatEndsBeforeTheStoreHasItsOutputNobodyKeepsThat) {
  begin(0);
  auto committed = commit(0);
  const auto key = store_.putting.get_future().get();
  reactor_->run([&] { shuffle_->end(attempt(0)); });  // it gave up, say
  let_put_end();
  settle();
  ASSERT_EQ(store_.released.size(), 1u);
  EXPECT_EQ(store_.released[0].map, key.map);
  (void)committed.get();
}

TEST_F(StoppedCommits, ATaskThatWasAskedToStopCommitsNothing) {
  begin(0);
  stop_task(0);
  EXPECT_EQ(commit(0).get().error().code(), Code::cancelled);
  let_put_end();
  settle();
  EXPECT_EQ(store_.putting.get_future().wait_for(0s), std::future_status::timeout);
}

}  // namespace
}  // namespace weft::runtime
