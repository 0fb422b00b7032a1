// Map outputs of a job are given to workers that show its key. Workers of an earlier release, which know no keys, get them without
// one.
#include "shuffle/transfer/job_keys.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/rpc/capnp.hpp"
#include "shuffle/transfer/block_fetcher.hpp"
#include "shuffle/transfer/block_server.hpp"
#include "shuffle/transfer/same_host.hpp"
#include "shuffle/transfer/segment_replicator.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

using namespace std::chrono_literals;

constexpr JobId kKeyedJob(7);
constexpr std::uint64_t kRightKey = 0x1234'5678'9abc'def0;
constexpr rpc::ProtocolRange kOfBefore{1, kKeysSince - 1};

/// A worker that has one map output of the job, and one that wants it.
class JobKeysTest : public testing::Test {
 protected:
  JobKeysTest() {
    auto writer = SegmentWriter::in_memory(1).value();
    EXPECT_TRUE(writer->append(0, as_bytes(std::string("what the map wrote")), 1));
    EXPECT_TRUE(store_->put(output_, writer->seal().value()));
    server_keys_->set(kKeyedJob, kRightKey);
    reactor_->run([&] {
      listener_ = reactor_->listen({"127.0.0.1:0"}, transfer_limits(), [&](const rpc::ConnectionPtr&) { return server_.handler(); })
                      .value();
      address_ = listener_->endpoint().text;
      local_ = reactor_
                   ->listen(same_host_endpoint(address_).value(), same_host_limits(),
                            [&](const rpc::ConnectionPtr&) { return same_host_handler(*store_, server_keys_); })
                   .value();
    });
  }
  ~JobKeysTest() override {
    reactor_->run([&] { listener_.reset(), local_.reset(); });
    background_->stop();
    reactor_->stop();
  }

  /// Of one that shows `key` (0: none): the three ways in which a worker gets a map output.
  FetchOutcome fetch(std::uint64_t key) {
    std::optional<BlockFetcher> fetcher;
    std::promise<FetchOutcome> outcome;
    reactor_->run([&] {
      fetcher.emplace(*reactor_, FetchOptions{.pull = pull(key)});
      fetcher->fetch({address_, kKeyedJob, output_.shuffle, 0, {{output_.map, output_.attempt}}},
                     [&](FetchOutcome done) { outcome.set_value(std::move(done)); });
    });
    FetchOutcome done = outcome.get_future().get();
    reactor_->run([&] { fetcher.reset(); });
    return done;
  }
  Result<void> replicate(std::uint64_t key) {
    const auto store = Store::open((directory_.path() / "replicas").string(), 1u << 20).value();
    std::optional<SegmentReplicator> replicator;
    std::promise<Result<void>> outcome;
    reactor_->run([&] {
      replicator.emplace(*reactor_, *background_, *store, ReplicationOptions{.pull = pull(key)});
      replicator->replicate({address_, output_}, [&](Result<void> done) { outcome.set_value(std::move(done)); });
    });
    Result<void> done = outcome.get_future().get();
    reactor_->run([&] { replicator.reset(); });
    return done;
  }
  Result<std::vector<Fd>> open(std::uint64_t key) {
    std::optional<SameHost> same_host;
    std::promise<Result<std::vector<Fd>>> outcome;
    reactor_->run([&] {
      same_host.emplace(*reactor_, true, keys(key));
      same_host->open(address_, kKeyedJob, output_.shuffle, {{output_.map, output_.attempt}},
                      [&](Result<std::vector<Fd>> done) { outcome.set_value(std::move(done)); });
    });
    auto done = outcome.get_future().get();
    reactor_->run([&] { same_host.reset(); });
    return done;
  }
  /// Of a peer that speaks these protocols, and shows no key.
  Result<rpc::Message> ask(rpc::ProtocolRange protocols) {
    rpc::Limits limits = transfer_limits();
    limits.protocols = protocols;
    const auto connection = rpc::connect(*reactor_, {address_}, 10s, {}, limits).value();
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<FetchSegment>();
    root.setJob(kKeyedJob.value());
    root.setShuffle(output_.shuffle.value());
    auto answer = rpc::call(*reactor_, connection, kFetchSegment, {rpc::flatten(message), {}, {}}, 10s);
    reactor_->run([&] { connection->close(); });
    return answer;
  }

  static std::shared_ptr<const JobKeys> keys(std::uint64_t key) {
    auto made = std::make_shared<JobKeys>();
    if (key != 0) made->set(kKeyedJob, key);
    return made;
  }
  static PullOptions pull(std::uint64_t key) { return {.attempts = 1, .keys = keys(key)}; }

  TempDir directory_ = TempDir::create().value();
  const SegmentKey output_{kKeyedJob, ShuffleId(3), 0, 0};
  std::unique_ptr<Store> store_ = Store::open((directory_.path() / "store").string(), 1u << 20).value();
  std::atomic<int> refused_ = 0;
  std::shared_ptr<JobKeys> server_keys_ = std::make_shared<JobKeys>([this](const std::string&) { ++refused_; });
  BlockServer server_{*store_, server_keys_, Compression::never};
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("workers"), background_ = rpc::Reactor::start("background");
  std::unique_ptr<rpc::Listener> listener_, local_;
  std::string address_;
};

TEST_F(JobKeysTest, WhoShowsTheKeyIsGivenWhatHeAsksFor) {
  EXPECT_TRUE(fetch(kRightKey).blocks);
  EXPECT_TRUE(replicate(kRightKey));
  const auto opened = open(kRightKey);
  ASSERT_TRUE(opened) << opened.error().to_string();
  EXPECT_TRUE(opened->at(0).valid());
}

TEST_F(JobKeysTest, WhoShowsAnotherKeyOrNoneIsRefused) {
  for (const std::uint64_t key : {std::uint64_t{0}, kRightKey + 1}) {
    const FetchOutcome fetched = fetch(key);
    ASSERT_FALSE(fetched.blocks);
    EXPECT_EQ(fetched.blocks.error().code(), Code::permission_denied);
    EXPECT_NE(fetched.blocks.error().to_string().find("map outputs of job 7 are for workers that know its key"), std::string::npos)
        << fetched.blocks.error().to_string();
    EXPECT_EQ(replicate(key).error().code(), Code::permission_denied);
    EXPECT_EQ(open(key).error().code(), Code::permission_denied);
  }
}

TEST_F(JobKeysTest, AJobWithoutAKeyIsServedToAll) {
  server_keys_->set(kKeyedJob, 0);
  EXPECT_TRUE(fetch(0).blocks);
  EXPECT_TRUE(fetch(kRightKey).blocks) << "the other worker may have heard of it from another master";
}

TEST_F(JobKeysTest, OfAJobThatIsForgottenNothingIsServed) {
  server_keys_->forget(kKeyedJob);
  EXPECT_EQ(server_keys_->of(kKeyedJob), 0U);
  EXPECT_EQ(fetch(kRightKey).blocks.error().code(), Code::not_found) << "though the store may still have it";
}

TEST_F(JobKeysTest, WhoShowsNoneIsServedOnlyWhileNotAllKnowKeys) {
  EXPECT_EQ(ask(rpc::kProtocols).error().code(), Code::permission_denied);
  EXPECT_EQ(ask(kOfBefore).error().code(), Code::unavailable) << "the master may be about to say that such workers are there";
  EXPECT_EQ(refused_.load(), 2);
  server_keys_->set_lowest(kOfBefore.highest);
  EXPECT_TRUE(ask(kOfBefore));
  EXPECT_TRUE(ask(rpc::kProtocols)) << "a master of before may have told it none";
  EXPECT_EQ(fetch(kRightKey + 1).blocks.error().code(), Code::permission_denied) << "a wrong one is wrong";
  server_keys_->set_lowest(kKeysSince);
  EXPECT_FALSE(ask(kOfBefore));
}

}  // namespace
}  // namespace weft::shuffle
