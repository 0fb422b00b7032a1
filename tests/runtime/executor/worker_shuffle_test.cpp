// A task's reads, answered by a worker that is a few lines of this test.
#include "runtime/executor/worker_shuffle.hpp"

#include <array>
#include <deque>
#include <future>
#include <mutex>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
using Kind = shuffle::BlockSource::Kind;
constexpr AttemptId kAttempt{{JobId(7), StageId(2), 0}, 0};
constexpr ShuffleId kShuffle{3};

/// Partition i of it holds one record, the text of the i-th.
shuffle::SealedSegment segment_of(const std::vector<std::string>& texts) {
  auto writer = shuffle::SegmentWriter::in_memory(static_cast<std::uint32_t>(texts.size())).value();
  for (std::uint32_t i = 0; i < texts.size(); ++i) EXPECT_TRUE(writer->append(i, as_bytes(texts[i]), 1));
  return writer->seal().value();
}
/// The same in a file, with a wrong bit in its first record.
Fd damaged(const std::vector<std::string>& texts) {
  const auto good = segment_of(texts);
  std::string bytes(good.size, '\0');
  EXPECT_EQ(::pread(good.fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  bytes[16] ^= 4;
  FILE* file = std::tmpfile();
  Fd fd(::dup(::fileno(file)));
  std::fclose(file);
  EXPECT_TRUE(write_all(fd.get(), as_bytes(bytes)));
  return fd;
}

class WorkerShuffleTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    rpc::Handler handler;
    handler.on_request = [this](const rpc::ConnectionPtr&, rpc::Message message, rpc::Responder responder) {
      auto request = protocol::decode<protocol::ReadRequest>(message);
      ASSERT_TRUE(request && !answers_.empty());
      requests_.push_back(*std::move(request));
      responder.reply(protocol::encode_part(std::move(answers_.front())));
      answers_.pop_front();
    };
    std::promise<rpc::ConnectionPtr> connected;
    worker_->post([&, end = std::make_shared<Fd>(ends[0]), handler] {
      worker_->adopt(std::move(*end), 10s, handler, {}, [](const Result<rpc::ConnectionPtr>&) {});
    });
    executor_->post([&, end = std::make_shared<Fd>(ends[1])] {
      executor_->adopt(std::move(*end), 10s, {}, {},
                       [&](Result<rpc::ConnectionPtr> connection) { connected.set_value(std::move(connection).value()); });
    });
    link_.emplace(*executor_, connected.get_future().get(), 64u << 20);
    shuffle_.emplace(*link_, kAttempt, shuffle::SegmentMemory(), 64u << 20, stop_);
  }
  void TearDown() override {
    worker_->stop();
    executor_->stop();
  }

  shuffle::ReadPart& answer(std::uint32_t partition, std::uint32_t next_map, bool end) {
    shuffle::ReadPart& part = answers_.emplace_back();
    part.partition = partition;
    part.next_map = next_map;
    part.end = end;
    return part;
  }
  static void add(shuffle::ReadPart& part, Kind kind, std::vector<std::uint32_t> maps, Fd fd) {
    shuffle::BlockSource source{kind, {}};
    for (std::uint32_t map : maps) source.maps.push_back({map, 0, NodeId(map)});
    part.sources.push_back(std::move(source));
    if (fd.valid()) part.descriptors.push_back(std::move(fd));
  }
  Result<std::vector<std::string>> read(shuffle::PartitionRange partitions) {
    std::vector<std::string> texts;
    costs_.clear();
    auto done = shuffle_->read(kShuffle, partitions, {}, [&](const shuffle::Block& block) -> Result<void> {
      texts.emplace_back(as_chars(block.bytes));
      costs_.push_back(block.cost);
      if (texts.back() == stop_at_) stop_ = true;
      return {};
    });
    if (!done) return fail(std::move(done).error());
    return texts;
  }

  std::unique_ptr<rpc::Reactor> worker_ = rpc::Reactor::start("worker");
  std::unique_ptr<rpc::Reactor> executor_ = rpc::Reactor::start("executor");
  std::deque<shuffle::ReadPart> answers_;
  std::vector<protocol::ReadRequest> requests_;
  std::vector<std::uint64_t> costs_;
  std::optional<WorkerLink> link_;
  std::atomic<bool> stop_{false};
  std::string stop_at_ = "never";
  std::optional<WorkerShuffle> shuffle_;
};

TEST_F(WorkerShuffleTest, VisitsMapsInOrderWhateverTheOrderOfTheirBlocks) {
  auto& first = answer(1, 2, false);
  add(first, Kind::prefetched, {4, 0}, segment_of({"four", "zero"}).fd);
  add(first, Kind::segment, {1}, segment_of({"-", "one"}).fd);
  auto& second = answer(1, shuffle::kNoMap, true);
  add(second, Kind::fetched, {2, 3}, segment_of({"two", "three"}).fd);
  EXPECT_EQ(read({1, 2}).value(), (std::vector<std::string>{"zero", "one", "two", "three", "four"}));
  EXPECT_EQ(costs_[0], 0u) << "the store accounts for what was prefetched";
  EXPECT_EQ(costs_[1], 0u);
  EXPECT_GT(costs_[2], 0u);
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_EQ(requests_[0].attempt, kAttempt);
  EXPECT_EQ(requests_[0].part, 0u);
  EXPECT_EQ(requests_[1].part, 1u);
  EXPECT_EQ(requests_[0].read, requests_[1].read);
  EXPECT_GT(requests_[0].fetch_bytes, 0u);
}

TEST_F(WorkerShuffleTest, TellsWhichSegmentsAreMappedAndReadsThemAgain) {
  add(answer(0, shuffle::kNoMap, false), Kind::segment, {5}, segment_of({"a", "b"}).fd);
  add(answer(1, shuffle::kNoMap, true), Kind::known, {5}, Fd());
  EXPECT_EQ(read({0, 2}).value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(requests_[0].known.empty());
  EXPECT_EQ(requests_[1].known, (std::vector<shuffle::MapAttempt>{{5, 0}}));
  link_->mapped().forget(kShuffle);
  add(answer(0, shuffle::kNoMap, true), Kind::known, {5}, Fd());
  EXPECT_EQ(read({0, 1}).error().code(), Code::corrupt) << "it was not told of that one";
}

TEST_F(WorkerShuffleTest, ALostOutputIsTheReadsFailureAfterWhatCameBefore) {
  auto& part = answer(0, 1, false);
  add(part, Kind::segment, {0}, segment_of({"zero"}).fd);
  part.lost = shuffle::LostOutput{{1, 2, NodeId(9)}, "nobody has it"};
  const auto done = read({0, 1});
  EXPECT_EQ(done.error().code(), Code::unavailable);
  EXPECT_NE(done.error().to_string().find("nobody has it"), std::string::npos);
  EXPECT_EQ(costs_.size(), 1u);
  const auto failure = shuffle_->fetch_failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->shuffle, kShuffle);
  EXPECT_EQ(failure->map, 1u);
  EXPECT_EQ(failure->map_attempt, 2u);
  EXPECT_EQ(failure->node, NodeId(9));
}

TEST_F(WorkerShuffleTest, ASegmentThatProvesDamagedIsALostOutput) {
  add(answer(0, shuffle::kNoMap, true), Kind::segment, {3}, damaged({"a record that was right"}));
  EXPECT_EQ(read({0, 1}).error().code(), Code::unavailable);
  EXPECT_EQ(shuffle_->fetch_failure().value().map, 3u);
}

TEST_F(WorkerShuffleTest, ADescriptorThatIsNoSegmentIsALostOutput) {
  FILE* file = std::tmpfile();
  auto& part = answer(0, shuffle::kNoMap, true);
  add(part, Kind::segment, {2}, segment_of({"two"}).fd);
  add(part, Kind::segment, {3}, Fd(::dup(::fileno(file))));
  add(part, Kind::segment, {4}, segment_of({"four"}).fd);
  std::fclose(file);
  EXPECT_EQ(read({0, 1}).error().code(), Code::unavailable);
  EXPECT_EQ(costs_.size(), 1u) << "what comes before it was visited";
  EXPECT_EQ(shuffle_->fetch_failure().value().map, 3u);
}

TEST_F(WorkerShuffleTest, ASegmentThatThisProcessCannotMapIsNoLostOutput) {
  FILE* file = std::tmpfile();
  EXPECT_EQ(::ftruncate(::fileno(file), 1 << 20), 0);
  const std::string path = "/proc/self/fd/" + std::to_string(::fileno(file));
  add(answer(0, shuffle::kNoMap, true), Kind::segment, {3}, Fd(::open(path.c_str(), O_WRONLY)));
  std::fclose(file);
  EXPECT_EQ(read({0, 1}).error().code(), Code::io);
  EXPECT_FALSE(shuffle_->fetch_failure()) << "the output may be whole";
}

TEST_F(WorkerShuffleTest, BlocksOfOtherMapsThanAnnouncedAreRefused) {
  add(answer(0, shuffle::kNoMap, true), Kind::fetched, {1, 2, 3}, segment_of({"one", "two"}).fd);
  EXPECT_EQ(read({0, 1}).error().code(), Code::corrupt);
  EXPECT_FALSE(shuffle_->fetch_failure());
}

TEST_F(WorkerShuffleTest, ATaskThatIsToStopStopsBetweenMaps) {
  auto& part = answer(0, shuffle::kNoMap, true);
  add(part, Kind::fetched, {0, 1, 2}, segment_of({"zero", "one", "two"}).fd);
  stop_at_ = "one";
  EXPECT_EQ(read({0, 1}).error().code(), Code::cancelled);
  EXPECT_EQ(costs_.size(), 2u);
}

}  // namespace
}  // namespace weft::runtime
