#include "shuffle/transfer/block_fetcher.hpp"

#include <future>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "shuffle/transfer/block_server.hpp"

namespace weft::shuffle {
namespace {

using namespace std::chrono_literals;
constexpr JobId kJob{7};
constexpr ShuffleId kShuffle{3};
using Pieces = std::vector<std::string>;

/// Segments by map, some of them made to lie.
class FakeStore final : public Store {
 public:
  SegmentRoom reserve(JobId, ShuffleId) override { return {}; }
  SegmentRoom reserve_exactly(JobId, std::uint64_t) override { return {}; }
  bool prefers_disk() const override { return false; }
  const std::string& directory() const override { return directory_; }
  const std::shared_ptr<PagePool>& pages() const override { return pages_; }
  Result<void> put(const SegmentKey& key, SealedSegment sealed) override {
    auto segment = Segment::open(std::move(sealed.fd));
    EXPECT_TRUE(segment) << segment.error().to_string();
    const std::lock_guard lock(mutex_);
    segments_[key] = *segment;
    return {};
  }
  Result<std::shared_ptr<const Segment>> get(const SegmentKey& key) const override {
    const std::lock_guard lock(mutex_);
    ++gets_;
    const auto found = segments_.find(key);
    if (found == segments_.end()) return fail(Code::not_found, "no such map output");
    return found->second;
  }
  void release(const SegmentKey&) override {}
  void release(JobId, ShuffleId) override {}
  void release(JobId) override {}
  StoreStats stats() const override { return {}; }
  std::vector<SegmentKey> segments() const override { return {}; }
  int gets() const {
    const std::lock_guard lock(mutex_);
    return gets_;
  }

 private:
  void give_back(JobId, std::uint64_t, bool) override {}

  std::string directory_;
  std::shared_ptr<PagePool> pages_;
  mutable std::mutex mutex_;
  mutable int gets_ = 0;
  std::map<SegmentKey, std::shared_ptr<const Segment>> segments_;
};

/// One worker that serves and one that fetches, each with a reactor, over TCP.
class BlockFetcherTest : public testing::Test {
 protected:
  void SetUp() override {
    server_reactor_ = rpc::Reactor::start("server");
    client_reactor_ = rpc::Reactor::start("client");
  }
  void TearDown() override {
    client_reactor_->run([&] { fetcher_.reset(); });
    if (listener_) server_reactor_->run([&] { listener_.reset(); });
    client_reactor_->stop();
    server_reactor_->stop();
  }

  void serve(Compression compression = Compression::automatic) {
    server_.emplace(store_, JobKeys::none(), compression);
    listen([this] { return server_->handler(); });
  }
  void listen(std::function<rpc::Handler()> handler, const std::string& where = "127.0.0.1:0") {
    server_reactor_->run([&] {
      auto listener =
          server_reactor_->listen({where}, transfer_limits(), [handler](const rpc::ConnectionPtr&) { return handler(); });
      ASSERT_TRUE(listener) << listener.error().to_string();
      listener_ = std::move(*listener);
      address_ = listener_->endpoint().text;
    });
  }

  void put(std::uint32_t map, std::uint32_t partition, const Pieces& pieces, std::uint32_t attempt = 0, JobId job = kJob) {
    auto writer = SegmentWriter::in_memory(partition + 2);
    ASSERT_TRUE(writer);
    for (const auto& piece : pieces) {
      ASSERT_TRUE((*writer)->append(partition, as_bytes(piece), static_cast<std::uint32_t>(piece.size() / 10)));
      ASSERT_TRUE((*writer)->append(partition + 1, as_bytes("of another partition"), 1));
    }
    auto sealed = (*writer)->seal();
    ASSERT_TRUE(sealed);
    ASSERT_TRUE(store_.put({job, kShuffle, map, attempt}, std::move(*sealed)));
  }

  std::future<std::shared_ptr<FetchOutcome>> start(std::uint32_t partition, std::vector<MapAttempt> maps, std::string address = {},
                                                   JobId job = kJob) {
    auto promise = std::make_shared<std::promise<std::shared_ptr<FetchOutcome>>>();
    auto future = promise->get_future();
    client_reactor_->run([&] {
      if (!fetcher_) fetcher_ = std::make_unique<BlockFetcher>(*client_reactor_, options_);
      FetchRequest request{address.empty() ? address_ : address, job, kShuffle, partition, std::move(maps)};
      fetcher_->fetch(std::move(request),
                      [promise](FetchOutcome outcome) { promise->set_value(std::make_shared<FetchOutcome>(std::move(outcome))); });
    });
    return future;
  }
  std::shared_ptr<FetchOutcome> fetch(std::uint32_t partition, std::vector<MapAttempt> maps, std::string address = {}) {
    return start(partition, std::move(maps), std::move(address)).get();
  }

  static std::vector<Pieces> pieces_of(FetchOutcome& outcome) {
    EXPECT_TRUE(outcome.blocks) << outcome.blocks.error().to_string();
    EXPECT_FALSE(outcome.lost);
    std::vector<Pieces> found;
    if (!outcome.blocks) return found;
    auto segment = Segment::open(std::move(outcome.blocks->fd));
    EXPECT_TRUE(segment);
    for (std::uint32_t i = 0; i < (*segment)->partitions(); ++i) {
      found.emplace_back();
      for (const Extent& extent : (*segment)->extents(i)) {
        EXPECT_TRUE(verify((*segment)->bytes(extent), extent));
        EXPECT_EQ(extent.records, extent.length / 10);
        found.back().emplace_back(as_chars((*segment)->bytes(extent)));
      }
    }
    return found;
  }

  FakeStore store_;
  FetchOptions options_;
  std::unique_ptr<rpc::Reactor> server_reactor_;
  std::unique_ptr<rpc::Reactor> client_reactor_;
  std::optional<BlockServer> server_;
  std::unique_ptr<rpc::Listener> listener_;
  std::unique_ptr<BlockFetcher> fetcher_;
  std::string address_;
};

std::string random_piece(Random& random) {
  static constexpr std::size_t kLongest[] = {10, 1'000, 20'000, 100'000, 1'000'000};
  std::string piece(1 + random.below(kLongest[random.below(random.chance(0.1) ? 5 : 4)]), 'x');
  if (random.chance(0.5))
    for (auto& c : piece) c = static_cast<char>(random());
  return piece;
}

TEST_F(BlockFetcherTest, BringsEveryExtentInOrderWhateverTheCompressionAndReplySize) {
  for (const auto compression : {Compression::automatic, Compression::always, Compression::never}) {
    for (const std::uint64_t reply_bytes : {std::uint64_t{1}, std::uint64_t{4} << 20}) {
      Random random(reply_bytes + static_cast<std::uint64_t>(compression));
      options_.reply_bytes = reply_bytes;
      client_reactor_->run([&] { fetcher_.reset(); });
      serve(compression);
      std::vector<Pieces> expected;
      std::vector<MapAttempt> maps;
      for (std::uint32_t map = 0; map < 20; ++map) {
        Pieces pieces;
        for (auto n = random.below(12); n > 0; --n) pieces.push_back(random_piece(random));
        put(map, 4, pieces, map % 3);
        expected.push_back(std::move(pieces));
        maps.push_back({map, map % 3});
      }
      auto outcome = fetch(4, maps);
      EXPECT_TRUE(pieces_of(*outcome) == expected);
    }
  }
}

TEST_F(BlockFetcherTest, ManyTinyExtentsAndManyFetchesAtOnce) {
  serve();
  for (std::uint32_t map = 0; map < 30; ++map) put(map, 0, Pieces(2'000, std::string("0123456789") + std::to_string(map)));
  std::vector<std::future<std::shared_ptr<FetchOutcome>>> futures;
  for (std::uint32_t map = 0; map < 30; ++map) futures.push_back(start(0, {{map, 0}, {(map + 1) % 30, 0}}));
  for (std::uint32_t map = 0; map < 30; ++map) {
    auto outcome = futures[map].get();
    const auto pieces = pieces_of(*outcome);
    ASSERT_EQ(pieces.size(), 2u);
    EXPECT_EQ(pieces[0], Pieces(2'000, std::string("0123456789") + std::to_string(map)));
    EXPECT_EQ(pieces[1].size(), 2'000u);
  }
}

TEST_F(BlockFetcherTest, AMissingMapIsNamedAtOnce) {
  serve();
  options_.pull.backoff = 1h;  // a retry would hang the test
  put(0, 0, {"a"});
  put(1, 0, {"b"}, 2);
  auto outcome = fetch(0, {{0, 0}, {1, 1}, {2, 0}});
  ASSERT_FALSE(outcome->blocks);
  EXPECT_EQ(outcome->blocks.error().code(), Code::not_found);
  EXPECT_EQ(outcome->lost, (MapAttempt{1, 1}));
  EXPECT_NE(outcome->blocks.error().to_string().find("map 1"), std::string::npos);
}

/// A segment one of whose extents has a flipped bit: the index keeps the checksum of the good bytes. In memory, which servers do
/// not check before they send it, so that the damage is as one on the way.
SealedSegment damaged_segment(const std::string& good) {
  auto writer = SegmentWriter::in_memory(1);
  EXPECT_TRUE((*writer)->append(0, as_bytes(good), 1));
  auto sealed = (*writer)->seal();
  std::string bytes(sealed->size, '\0');
  EXPECT_EQ(::pread(sealed->fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  bytes[16 + good.size() / 2] ^= 4;
  Fd fd(::memfd_create("damaged", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_TRUE(write_all(fd.get(), as_bytes(bytes)));
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
  return {std::move(fd), bytes.size(), {}};
}

TEST_F(BlockFetcherTest, ADamagedBlockIsNeverDelivered) {
  for (const auto compression : {Compression::never, Compression::always}) {
    options_.pull.backoff = 1ms;
    serve(compression);
    put(0, 0, {"good"});
    ASSERT_TRUE(store_.put({kJob, kShuffle, 1, 0}, damaged_segment(std::string(50'000, 'x'))));
    const int before = store_.gets();
    auto outcome = fetch(0, {{0, 0}, {1, 0}});
    ASSERT_FALSE(outcome->blocks);
    EXPECT_EQ(outcome->blocks.error().code(), Code::corrupt);
    EXPECT_EQ(outcome->lost, (MapAttempt{1, 0}));
    EXPECT_GT(store_.gets() - before, 3) << "it should have been tried again";
  }
}

TEST_F(BlockFetcherTest, ReachesNobody) {
  options_.pull.backoff = 1ms;
  serve();
  const std::string address = address_;
  server_reactor_->run([&] { listener_.reset(); });
  auto outcome = fetch(0, {{5, 1}}, address);
  ASSERT_FALSE(outcome->blocks);
  EXPECT_EQ(outcome->blocks.error().code(), Code::unavailable);
  EXPECT_EQ(outcome->lost, (MapAttempt{5, 1}));
  EXPECT_NE(outcome->blocks.error().to_string().find(address), std::string::npos);
  EXPECT_EQ(fetch(0, {{5, 1}}, "nonsense")->blocks.error().code(), Code::invalid_argument);
  EXPECT_EQ(fetch(0, {})->blocks.error().code(), Code::invalid_argument);
}

TEST_F(BlockFetcherTest, JobsTakeTurns) {
  serve();
  for (std::uint32_t map = 0; map < 8; ++map) put(map, 0, {std::string(1000, 'x')});
  put(8, 0, {std::string(1000, 'y')}, 0, JobId(2));
  options_.pull.in_flight = options_.pull.in_flight_per_node = 1;
  std::vector<JobId> ended;
  std::promise<void> all;
  client_reactor_->run([&] {
    fetcher_ = std::make_unique<BlockFetcher>(*client_reactor_, options_);
    const auto fetch = [&](std::uint32_t map, JobId job) {
      fetcher_->fetch({address_, job, kShuffle, 0, {{map, 0}}}, [&, job](const FetchOutcome& outcome) {
        EXPECT_TRUE(outcome.blocks);
        ended.push_back(job);
        if (ended.size() == 9) all.set_value();
      });
    };
    for (std::uint32_t map = 0; map < 8; ++map) fetch(map, kJob);
    fetch(8, JobId(2));
  });
  all.get_future().get();
  EXPECT_EQ(std::find(ended.begin(), ended.end(), JobId(2)) - ended.begin(), 1);
}

TEST_F(BlockFetcherTest, ALinkIsNoFasterThanItsCap) {
  serve(Compression::never);
  for (std::uint32_t map = 0; map < 4; ++map) put(map, 0, {std::string(1u << 20, 'x')});
  options_.pull.links = std::make_shared<Links>(10u << 20);
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::future<std::shared_ptr<FetchOutcome>>> fetches;
  for (std::uint32_t map = 0; map < 4; ++map) fetches.push_back(start(0, {{map, 0}}));
  for (auto& fetch : fetches) EXPECT_TRUE(fetch.get()->blocks);
  // Two may be asked for at once, and what the last one takes is waited for by the next only.
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(100));
}

TEST_F(BlockFetcherTest, ResumesWhenThePeerClosesInTheMiddle) {
  options_.pull.backoff = 1ms;
  options_.reply_bytes = 1;  // 64 KiB: many replies
  server_.emplace(store_, JobKeys::none(), Compression::never);
  auto served = std::make_shared<int>(0);
  listen([this, served] {
    rpc::Handler handler;
    handler.on_request = [this, served](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
      if (++*served % 3 == 0) return connection->close();  // answers every third request by hanging up
      server_->serve(connection, message, std::move(responder));
    };
    return handler;
  });
  Pieces pieces;
  for (char c = 'a'; c <= 'z'; ++c) pieces.emplace_back(50'000, c);
  put(0, 0, pieces);
  put(1, 0, pieces);
  auto outcome = fetch(0, {{0, 0}, {1, 0}});
  EXPECT_TRUE(pieces_of(*outcome) == (std::vector<Pieces>{pieces, pieces}));
  EXPECT_GT(*served, 26);
}

TEST_F(BlockFetcherTest, ASilentPeerMeetsTheDeadline) {
  options_.pull.attempts = 2;
  options_.pull.backoff = 1ms;
  options_.pull.reply_deadline = 50ms;
  auto kept = std::make_shared<std::vector<rpc::Responder>>();
  listen([kept] {
    rpc::Handler handler;
    handler.on_request = [kept](const rpc::ConnectionPtr&, rpc::Message, rpc::Responder responder) {
      kept->push_back(std::move(responder));
    };
    return handler;
  });
  auto outcome = fetch(0, {{0, 0}});
  ASSERT_FALSE(outcome->blocks);
  EXPECT_EQ(outcome->blocks.error().code(), Code::deadline_exceeded);
  server_reactor_->run([&] { kept->clear(); });
}

TEST_F(BlockFetcherTest, ForgettingAPeerEndsItsFetches) {
  options_.pull.reply_deadline = 1h;
  options_.pull.backoff = 1h;
  options_.pull.in_flight = 1;
  auto asked = std::make_shared<std::promise<void>>();
  auto kept = std::make_shared<std::vector<rpc::Responder>>();
  listen([kept, asked] {
    rpc::Handler handler;
    handler.on_request = [kept, asked](const rpc::ConnectionPtr&, rpc::Message, rpc::Responder responder) {
      kept->push_back(std::move(responder));
      asked->set_value();
    };
    return handler;
  });
  auto future = start(0, {{0, 0}});
  auto in_line = start(0, {{1, 0}});
  asked->get_future().wait();
  client_reactor_->run([&] { fetcher_->forget(address_, Error(Code::unavailable, "it was lost")); });
  for (auto* fetching : {&future, &in_line}) {
    const auto outcome = fetching->get();
    ASSERT_FALSE(outcome->blocks);
    EXPECT_NE(outcome->blocks.error().to_string().find("it was lost"), std::string::npos) << outcome->blocks.error().to_string();
  }
  server_reactor_->run([&] { kept->clear(); });
}

TEST_F(BlockFetcherTest, NonsenseInRepliesAndRequestsIsRefused) {
  options_.pull.backoff = 1ms;
  const auto answer = std::make_shared<std::string>();
  listen([answer] {
    rpc::Handler handler;
    handler.on_request = [answer](const rpc::ConnectionPtr&, rpc::Message, rpc::Responder responder) {
      responder.reply({Buffer::copy_of(as_bytes(*answer)), {}, {}});
    };
    return handler;
  });
  for (const std::string& text : {std::string(), std::string("garbage!"), std::string(64, '\xff'), std::string(16, '\0')}) {
    server_reactor_->run([&] { *answer = text; });
    auto outcome = fetch(0, {{0, 0}});
    ASSERT_FALSE(outcome->blocks);
    EXPECT_EQ(outcome->blocks.error().code(), Code::corrupt);
  }
  client_reactor_->run([&] { fetcher_.reset(); });

  serve();
  auto connection = rpc::connect(*client_reactor_, {address_}, 10s);
  ASSERT_TRUE(connection);
  const auto ask = [&](rpc::MessageType type, std::string_view header) {
    auto reply = rpc::call(*client_reactor_, *connection, type, {Buffer::copy_of(as_bytes(header)), {}, {}}, 10s);
    return reply ? std::optional<Code>() : reply.error().code();
  };
  EXPECT_EQ(ask(kFetchBlocks, "garbage!"), Code::corrupt);
  EXPECT_EQ(ask(kFetchBlocks, ""), Code::corrupt);
  EXPECT_EQ(ask(kFetchBlocks, std::string(16, '\0')), Code::corrupt);
  EXPECT_EQ(ask(1, ""), Code::invalid_argument);
}

TEST_F(BlockFetcherTest, WhatAReaderHoldsNeverChangesWhileMemoryIsRecycled) {
  Random random(5);
  serve();
  constexpr std::uint32_t kMaps = 12;
  std::vector<Pieces> written;
  for (std::uint32_t map = 0; map < kMaps; ++map) {
    written.push_back(Pieces(4 + map, std::string(100'000, static_cast<char>('a' + map))));
    put(map, 0, written.back());
  }
  struct Held {
    std::uint32_t map;
    std::shared_ptr<const Segment> segment;
  };
  std::vector<Held> held;
  options_.reply_bytes = 1u << 20;
  for (int round = 0; round < 150; ++round) {
    const auto map = static_cast<std::uint32_t>(random.below(kMaps));
    auto outcome = fetch(0, {{map, 0}});
    ASSERT_TRUE(outcome->blocks);
    auto segment = Segment::open(std::move(outcome->blocks->fd));
    ASSERT_TRUE(segment) << segment.error().to_string();
    EXPECT_EQ((*segment)->home(), SegmentHome::memory);
    if (held.size() < 5) held.push_back({map, *segment});
    held[random.below(held.size())] = {map, *std::move(segment)};
    for (const Held& of : held) {
      const auto extents = of.segment->extents(0);
      ASSERT_EQ(extents.size(), written[of.map].size());
      for (const Extent& extent : extents) ASSERT_TRUE(verify(of.segment->bytes(extent), extent));
    }
  }
}

TEST_F(BlockFetcherTest, ADamagedExtentIsAskedForAgainAndOverwritten) {
  options_.pull.backoff = 1ms;
  server_.emplace(store_, JobKeys::none(), Compression::never);
  const Pieces pieces{std::string(300'000, 'y')};
  auto served = std::make_shared<int>(0);
  listen([this, served, pieces] {
    rpc::Handler handler;
    handler.on_request = [this, served, pieces](const rpc::ConnectionPtr& connection, rpc::Message message,
                                                rpc::Responder responder) {
      if (++*served == 2) put(1, 0, pieces);
      server_->serve(connection, message, std::move(responder));
    };
    return handler;
  });
  put(0, 0, pieces);
  ASSERT_TRUE(store_.put({kJob, kShuffle, 1, 0}, damaged_segment(std::string(300'000, 'x'))));
  put(2, 0, pieces);
  auto outcome = fetch(0, {{0, 0}, {1, 0}, {2, 0}});
  EXPECT_TRUE(pieces_of(*outcome) == (std::vector<Pieces>{pieces, pieces, pieces}));
  EXPECT_EQ(*served, 2);
}

TEST_F(BlockFetcherTest, ASegmentWithFewerPartitionsIsRefused) {
  serve();
  put(0, 0, {"a"});
  EXPECT_EQ(fetch(77, {{0, 0}})->blocks.error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace weft::shuffle
