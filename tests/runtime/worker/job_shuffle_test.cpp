// What a worker does with the shuffles of a job, asked by an executor that is a few lines of this test.
#include "runtime/worker/job_shuffle.hpp"

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/file.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr JobId kJob{7}, kOtherJob{8};

class JobShuffleTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = shuffle::Store::open((directory_.path() / "store").string(), 1u << 20).value();
    context_.store = store_.get();
    WorkerOptions options;
    options.listen = "127.0.0.1:0";
    options.advertise = "127.0.0.1";
    options.share = false;
    reactor_->run([&] {
      data_ = DataPlane::open(*reactor_, *background_, *store_, options, [](rpc::Handler handler) { return handler; }).value();
      context_.data = data_.get();
      shuffle_ = std::make_unique<JobShuffle>(context_, kJob, shuffle::Mode::memory, 1);
    });
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr&, rpc::Message message, rpc::Responder responder) {
      shuffle_->on_request(std::move(message), std::move(responder));
      came_.release();
    };
    reactor_->post([&, end = std::make_shared<Fd>(ends[0]), handler] {
      reactor_->adopt(std::move(*end), 10s, handler, {}, [](const Result<rpc::ConnectionPtr>&) {});
    });
    std::promise<rpc::ConnectionPtr> connected;
    executor_->post([&, end = std::make_shared<Fd>(ends[1])] {
      executor_->adopt(std::move(*end), 10s, {}, {},
                       [&](Result<rpc::ConnectionPtr> connection) { connected.set_value(std::move(connection).value()); });
    });
    connection_ = connected.get_future().get();
  }
  void TearDown() override {
    executor_->stop();
    reactor_->run([&] {
      shuffle_.reset();
      data_.reset();
    });
    reactor_->stop();
    background_->stop();
  }

  static shuffle::SealedSegment segment(std::size_t bytes) {
    auto writer = shuffle::SegmentWriter::in_memory(1).value();
    EXPECT_TRUE(writer->append(0, as_bytes(std::string(bytes, 'x')), 1));
    return writer->seal().value();
  }
  /// So much is in the store that the next segment is put in the background.
  void fill() {
    ASSERT_TRUE(store_->put({kOtherJob, ShuffleId(0), 0, 0}, segment(950'000)));
    ASSERT_TRUE(store_->prefers_disk());
  }
  /// Nothing is done in the background until go_on_.
  void hold_background() {
    background_->post([held = go_on_.get_future().share()] { held.wait(); });
  }
  /// The answer to a commit, which has come to the worker.
  std::future<Result<rpc::Message>> commit() { return commit(segment(100)); }
  std::future<Result<rpc::Message>> commit(shuffle::SealedSegment sealed) {
    protocol::Commit commit{{{kJob, StageId(2), 0}, 0}, sealed.size, sealed.partitions};
    rpc::Payload payload = protocol::encode(std::move(commit));
    payload.fds.push_back(std::move(sealed.fd));
    return request(protocol::kCommit, std::move(payload));
  }
  std::future<Result<rpc::Message>> request(rpc::MessageType type, rpc::Payload payload) {
    const auto answer = std::make_shared<std::promise<Result<rpc::Message>>>();
    const auto shared = std::make_shared<rpc::Payload>(std::move(payload));
    executor_->run([&] {
      connection_->request(type, std::move(*shared), 60s,
                           [answer](Result<rpc::Message> reply) { answer->set_value(std::move(reply)); });
    });
    came_.acquire();
    return answer->get_future();
  }
  bool has_segments_of(JobId job) const {
    for (const shuffle::SegmentKey& key : store_->segments())
      if (key.job == job) return true;
    return false;
  }

  TempDir directory_ = TempDir::create().value();
  std::unique_ptr<shuffle::Store> store_;
  std::unique_ptr<rpc::Reactor> background_ = rpc::Reactor::start("background"), reactor_ = rpc::Reactor::start("worker"),
                                executor_ = rpc::Reactor::start("executor");
  WorkerContext context_{*reactor_, *background_, *background_, {}, {}};
  std::unique_ptr<DataPlane> data_;
  std::unique_ptr<JobShuffle> shuffle_;
  rpc::ConnectionPtr connection_;
  std::counting_semaphore<> came_{0};
  std::promise<void> go_on_;
};

TEST_F(JobShuffleTest, AFullStoreTakesASegmentInTheBackground) {
  fill();
  EXPECT_TRUE(commit().get());
  EXPECT_TRUE(has_segments_of(kJob));
}

TEST_F(JobShuffleTest, ASegmentThatComesIntoTheStoreAfterItsJobIsDropped) {
  fill();
  hold_background();
  auto answer = commit();
  reactor_->run([&] {
    shuffle_->end_job();
    shuffle_.reset();
    store_->release(kJob);
  });
  go_on_.set_value();
  EXPECT_EQ(answer.get().error().code(), Code::cancelled);
  EXPECT_FALSE(has_segments_of(kJob));
}

TEST_F(JobShuffleTest, ASegmentThatComesWhileItsJobEndsIsDropped) {
  fill();
  hold_background();
  auto answer = commit();
  reactor_->run([&] { shuffle_->end_job(); });  // its executor is not gone yet
  go_on_.set_value();
  EXPECT_EQ(answer.get().error().code(), Code::cancelled);
  EXPECT_FALSE(has_segments_of(kJob));
}

/// An executor is anybody's program: its file may be on a file system of its own, which answers nobody.
TEST_F(JobShuffleTest, ASegmentIsInSealedMemoryOrOnTheDiskOfTheWorker) {
  auto writer = shuffle::SegmentWriter::on_disk(directory_.path(), 1).value();
  ASSERT_TRUE(writer->append(0, as_bytes("a record"), 1));
  shuffle::SealedSegment sealed = writer->seal().value();
  const std::string bytes = read_file(fmt::format("/proc/self/fd/{}", sealed.fd.get())).value();
  shuffle::SealedSegment elsewhere{Fd(::memfd_create("not-sealed", MFD_CLOEXEC)), sealed.size, sealed.partitions, {}};
  ASSERT_TRUE(write_all(elsewhere.fd.get(), as_bytes(bytes)));
  EXPECT_EQ(commit(std::move(elsewhere)).get().error().code(), Code::invalid_argument);
  EXPECT_FALSE(has_segments_of(kJob));
  const auto committed = commit(std::move(sealed)).get();
  EXPECT_TRUE(committed) << committed.error().to_string();
}

/// An executor is anybody's program.
TEST_F(JobShuffleTest, APartThatIsAskedForBeforeTheOneBeforeItHasComeIsRefused) {
  protocol::ShuffleLocations locations{NodeId(), kJob, ShuffleId(1)};
  locations.maps = 1;  // which has not ended
  protocol::Launch launch;
  launch.attempt = {{kJob, StageId(2), 0}, 0};
  reactor_->run([&] {
    shuffle_->set_locations(locations);
    shuffle_->begin(launch);
  });
  protocol::ReadRequest read{launch.attempt, 0, 0, ShuffleId(1), {0, 1}};
  auto first = request(protocol::kRead, protocol::encode(read));
  read.part = 1;
  EXPECT_EQ(request(protocol::kRead, protocol::encode(read)).get().error().code(), Code::invalid_argument);
  reactor_->run([&] { shuffle_->stop_waiting(launch.attempt); });
  EXPECT_TRUE(first.get()) << "what it has so far";
}

}  // namespace
}  // namespace weft::runtime
