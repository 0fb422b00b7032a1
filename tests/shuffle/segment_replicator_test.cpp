// Whole segments copied from one store to another over TCP, and all that may go wrong on the way.
#include "shuffle/transfer/segment_replicator.hpp"

#include <future>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/random.hpp"
#include "base/rpc/capnp.hpp"
#include "shuffle/transfer/block_server.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

using namespace std::chrono_literals;
constexpr JobId kReplicatedJob{7};
constexpr ShuffleId kReplicatedShuffle{3};

SegmentKey key(std::uint32_t map) { return {kReplicatedJob, kReplicatedShuffle, map, 1}; }

/// A store that serves and a store that copies, each with a reactor.
class SegmentReplicatorTest : public testing::Test {
 protected:
  void SetUp() override {
    auto directory = TempDir::create();
    ASSERT_TRUE(directory);
    directory_.emplace(std::move(*directory));
    options_.pull.backoff = 1ms;
    source_ = open("source", 64u << 20);
    target_ = open("target", 64u << 20);
  }
  void TearDown() override {
    client_reactor_->run([&] { replicator_.reset(); });
    server_reactor_->run([&] { listener_.reset(); });
    client_reactor_->stop();
    background_->stop();
    server_reactor_->stop();
  }

  std::unique_ptr<Store> open(const std::string& name, std::uint64_t budget) {
    auto store = Store::open(directory_->path() / name, budget);
    EXPECT_TRUE(store) << store.error().to_string();
    return std::move(*store);
  }
  void serve() {
    server_.emplace(*source_, JobKeys::none());
    listen([this] { return server_->handler(); });
  }
  using OnRequest = std::function<void(const rpc::ConnectionPtr&, rpc::Message, rpc::Responder)>;
  void serve(OnRequest on_request) {
    server_.emplace(*source_, JobKeys::none());
    listen([on_request = std::move(on_request)] {
      rpc::Handler handler;
      handler.on_request = on_request;
      return handler;
    });
  }
  void listen(std::function<rpc::Handler()> handler) {
    server_reactor_->run([&] {
      auto listener =
          server_reactor_->listen({"127.0.0.1:0"}, transfer_limits(), [handler](const rpc::ConnectionPtr&) { return handler(); });
      ASSERT_TRUE(listener) << listener.error().to_string();
      listener_ = std::move(*listener);
      address_ = listener_->endpoint().text;
    });
  }

  /// Some partitions of random extents, `bytes` in all or a little more.
  SealedSegment make(std::uint64_t bytes, std::uint64_t seed, bool on_disk = false) {
    Random random(seed);
    auto writer = on_disk ? SegmentWriter::on_disk(directory_->path(), 5) : SegmentWriter::in_memory(5);
    EXPECT_TRUE(writer);
    for (std::uint64_t written = 0; written < bytes;) {
      std::string piece(1 + random.below(100'000), 'x');
      for (std::size_t i = 0; i < piece.size(); i += 16) piece[i] = static_cast<char>(random());
      EXPECT_TRUE((*writer)->append(static_cast<std::uint32_t>(random.below(5)), as_bytes(piece), 1));
      written += piece.size();
    }
    auto sealed = (*writer)->seal();
    EXPECT_TRUE(sealed);
    return std::move(*sealed);
  }

  std::future<Result<void>> start(std::uint32_t map, std::string address = {}, bool to_disk = false) {
    auto promise = std::make_shared<std::promise<Result<void>>>();
    auto future = promise->get_future();
    client_reactor_->run([&] {
      if (!replicator_) replicator_ = std::make_unique<SegmentReplicator>(*client_reactor_, *background_, *target_, options_);
      replicator_->replicate({address.empty() ? address_ : std::move(address), key(map), to_disk},
                             [promise](Result<void> done) { promise->set_value(std::move(done)); });
    });
    return future;
  }
  Result<void> copy(std::uint32_t map, std::string address = {}, bool to_disk = false) {
    return start(map, std::move(address), to_disk).get();
  }
  void expect_equal(std::uint32_t map) {
    const auto here = target_->get(key(map)), there = source_->get(key(map));
    ASSERT_TRUE(here) << here.error().to_string();
    ASSERT_TRUE(there);
    EXPECT_EQ(as_chars((*here)->file()), as_chars((*there)->file()));
  }
  void expect_nothing_left() {
    const StoreStats stats = target_->stats();
    EXPECT_EQ(stats.segments, 0u);
    EXPECT_EQ(stats.reserved_bytes, 0u);
  }

  std::optional<TempDir> directory_;
  ReplicationOptions options_;
  std::unique_ptr<Store> source_, target_;
  std::unique_ptr<rpc::Reactor> server_reactor_ = rpc::Reactor::start("server");
  std::unique_ptr<rpc::Reactor> client_reactor_ = rpc::Reactor::start("client");
  std::unique_ptr<rpc::Reactor> background_ = rpc::Reactor::start("background");
  std::optional<BlockServer> server_;
  std::unique_ptr<rpc::Listener> listener_;
  std::unique_ptr<SegmentReplicator> replicator_;
  std::string address_;
};

TEST_F(SegmentReplicatorTest, CopiesSegmentsOfAnySizeByteForByte) {
  options_.piece_bytes = 64u << 10;
  serve();
  std::vector<std::future<Result<void>>> copies;
  const std::vector<std::uint64_t> sizes{0, 1, 65'000, 1'000'000, 5'000'000, 100'000};
  for (std::uint32_t map = 0; map < sizes.size(); ++map) {
    ASSERT_TRUE(source_->put(key(map), make(sizes[map], map, map % 2 == 1)));
    copies.push_back(start(map));
  }
  for (std::uint32_t map = 0; map < sizes.size(); ++map) {
    const auto done = copies[map].get();
    ASSERT_TRUE(done) << map << ": " << done.error().to_string();
    expect_equal(map);
    EXPECT_EQ((*target_->get(key(map)))->home(), SegmentHome::memory);
  }
  client_reactor_->run([] {});  // rooms are given back before anybody is told
  EXPECT_EQ(target_->stats().reserved_bytes, 0u);
}

TEST_F(SegmentReplicatorTest, IsNoFasterThanTheCapOfTheLink) {
  options_.pull.links = std::make_shared<Links>(10u << 20);
  serve();
  ASSERT_TRUE(source_->put(key(0), make(4u << 20, 0, false)));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(copy(0));
  expect_equal(0);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(250));  // the last piece is waited for by the next
}

TEST_F(SegmentReplicatorTest, GoesToDiskWithoutRoomAndWhereThatIsWanted) {
  target_ = open("small", 1u << 20);
  serve();
  ASSERT_TRUE(source_->put(key(0), make(5'000'000, 1)));
  ASSERT_TRUE(source_->put(key(1), make(1'000, 2)));
  for (const std::uint32_t map : {0u, 1u}) {
    const auto done = copy(map, {}, map == 1);
    ASSERT_TRUE(done) << done.error().to_string();
    expect_equal(map);
    EXPECT_EQ((*target_->get(key(map)))->home(), SegmentHome::file);
  }
  EXPECT_EQ(target_->stats().memory_bytes, 0u);
}

TEST_F(SegmentReplicatorTest, WhatThePeerDoesNotHaveIsKnownAtOnce) {
  options_.pull.backoff = 1h;  // a retry would hang the test
  serve();
  const auto done = copy(5);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::not_found);
  EXPECT_NE(done.error().to_string().find("map 5"), std::string::npos);
  expect_nothing_left();
}

TEST_F(SegmentReplicatorTest, ADamagedSegmentIsNotStored) {
  serve();
  const SealedSegment good = make(300'000, 3);
  std::string bytes(good.size, '\0');
  ASSERT_EQ(::pread(good.fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  bytes[bytes.size() / 3] ^= 4;
  FILE* file = std::tmpfile();
  Fd fd(::dup(::fileno(file)));
  std::fclose(file);
  ASSERT_TRUE(write_all(fd.get(), as_bytes(bytes)));
  ASSERT_TRUE(source_->put(key(0), {std::move(fd), bytes.size(), {}, {}}));
  for (const bool to_disk : {false, true}) {
    const auto done = copy(0, {}, to_disk);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::corrupt) << done.error().to_string();
    expect_nothing_left();
  }
}

TEST_F(SegmentReplicatorTest, ResumesWhenThePeerHangsUp) {
  options_.piece_bytes = 64u << 10;
  auto served = std::make_shared<int>(0);
  serve([this, served](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
    if (++*served % 3 == 0) return connection->close();
    server_->serve(connection, message, std::move(responder));
  });
  ASSERT_TRUE(source_->put(key(0), make(1'000'000, 4)));
  const auto done = copy(0);
  ASSERT_TRUE(done) << done.error().to_string();
  expect_equal(0);
  EXPECT_LT(*served, 40) << "every piece once";
}

TEST_F(SegmentReplicatorTest, RepliesThatMakeNoSenseAreRefused) {
  struct Lie {
    std::uint64_t size;
    std::size_t bytes;
  };
  const auto lie = std::make_shared<Lie>();
  serve([lie](const rpc::ConnectionPtr&, const rpc::Message&, rpc::Responder responder) {
    capnp::MallocMessageBuilder message;
    message.initRoot<SegmentPiece>().setSize(lie->size);
    rpc::Payload payload{rpc::flatten(message), {}, {}};
    if (lie->bytes > 0) payload.bulk.emplace_back(Buffer::copy_of(as_bytes(std::string(lie->bytes, 'x'))));
    responder.reply(std::move(payload));
  });
  // Longer than announced, empty, nothing at all, absurd, and the right length of no segment.
  for (const Lie& told : {Lie{100, 200}, Lie{100, 0}, Lie{0, 0}, Lie{UINT64_MAX, 10}, Lie{1000, 1000}}) {
    server_reactor_->run([&] { *lie = told; });
    const auto done = copy(0);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::corrupt) << told.size << ": " << done.error().to_string();
    expect_nothing_left();
  }
}

TEST_F(SegmentReplicatorTest, ASegmentThatChangesItsSizeIsRefused) {
  const auto size = std::make_shared<std::uint64_t>(100'000);
  serve([size](const rpc::ConnectionPtr&, const rpc::Message&, rpc::Responder responder) {
    capnp::MallocMessageBuilder message;
    message.initRoot<SegmentPiece>().setSize((*size)++);
    rpc::Payload payload{rpc::flatten(message), {}, {}};
    payload.bulk.emplace_back(Buffer::copy_of(as_bytes(std::string(1000, 'x'))));
    responder.reply(std::move(payload));
  });
  const auto done = copy(0);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::corrupt) << done.error().to_string();
  EXPECT_LT(*size, 100'010u) << "at the second piece, however often it is tried";
  expect_nothing_left();
}

TEST_F(SegmentReplicatorTest, APeerThatStopsAnsweringMeetsTheDeadline) {
  options_.pull.attempts = 2;
  options_.pull.reply_deadline = 50ms;
  options_.piece_bytes = 64u << 10;
  auto kept = std::make_shared<std::vector<rpc::Responder>>();
  auto served = std::make_shared<int>(0);
  serve([this, kept, served](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
    if (++*served <= 2) return server_->serve(connection, message, std::move(responder));
    kept->push_back(std::move(responder));
  });
  ASSERT_TRUE(source_->put(key(0), make(1'000'000, 4)));
  const auto done = copy(0);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::deadline_exceeded);
  expect_nothing_left();
  server_reactor_->run([&] { kept->clear(); });
}

TEST_F(SegmentReplicatorTest, NobodyThere) {
  serve();
  const std::string address = address_;
  server_reactor_->run([&] { listener_.reset(); });
  EXPECT_EQ(copy(0, address).error().code(), Code::unavailable);
  EXPECT_EQ(copy(0, "nonsense").error().code(), Code::invalid_argument);
}

TEST_F(SegmentReplicatorTest, OfOneNodeOneIsUnderWay) {
  struct Requests {
    int now = 0, most = 0;
  };
  auto requests = std::make_shared<Requests>();
  serve([this, requests](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
    requests->most = std::max(requests->most, ++requests->now);
    auto later = std::make_shared<std::pair<rpc::Message, rpc::Responder>>(std::move(message), std::move(responder));
    server_reactor_->post([this, requests, connection, later] {
      --requests->now;
      server_->serve(connection, later->first, std::move(later->second));
    });
  });
  std::vector<std::future<Result<void>>> copies;
  for (std::uint32_t map = 0; map < 20; ++map) {
    ASSERT_TRUE(source_->put(key(map), make(10'000, map)));
    copies.push_back(start(map));
  }
  for (auto& done : copies) EXPECT_TRUE(done.get());
  EXPECT_EQ(requests->most, 1);
}

TEST_F(SegmentReplicatorTest, WhatIsDroppedOnTheWayDoesNotComeIntoTheStore) {
  options_.piece_bytes = 64u << 10;
  auto requests = std::make_shared<int>(0);
  std::promise<std::function<void()>> third;
  serve([&, requests](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
    auto asked = std::make_shared<std::pair<rpc::Message, rpc::Responder>>(std::move(message), std::move(responder));
    auto answer = [this, connection, asked] { server_->serve(connection, asked->first, std::move(asked->second)); };
    ++*requests == 3 ? third.set_value(answer) : answer();
  });
  ASSERT_TRUE(source_->put(key(0), make(1'000'000, 4)));
  ASSERT_TRUE(source_->put(key(1), make(1'000, 5)));
  auto dropped = start(0);
  const auto answer = third.get_future().get();
  auto in_line = start(1);
  client_reactor_->run([&] { replicator_->drop(kReplicatedJob, kReplicatedShuffle); });
  server_reactor_->run(answer);
  EXPECT_THROW(dropped.get(), std::future_error) << "nobody is told";
  EXPECT_THROW(in_line.get(), std::future_error);
  client_reactor_->run([] {});
  expect_nothing_left();
  EXPECT_TRUE(copy(1)) << "it goes on with others";
  EXPECT_EQ(target_->stats().segments, 1u);
}

TEST_F(SegmentReplicatorTest, ForgettingAPeerEndsItsCopies) {
  options_.pull.reply_deadline = 1h;
  options_.pull.backoff = 1h;
  auto asked = std::make_shared<std::promise<void>>();
  auto kept = std::make_shared<std::vector<rpc::Responder>>();
  serve([kept, asked](const rpc::ConnectionPtr&, const rpc::Message&, rpc::Responder responder) {
    kept->push_back(std::move(responder));
    asked->set_value();
  });
  auto under_way = start(0);
  auto in_line = start(1);
  asked->get_future().wait();
  client_reactor_->run([&] { replicator_->forget(address_, Error(Code::unavailable, "it was lost")); });
  for (auto* copying : {&under_way, &in_line}) {
    const auto done = copying->get();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().to_string().find("it was lost"), std::string::npos) << done.error().to_string();
  }
  server_reactor_->run([&] { kept->clear(); });
  expect_nothing_left();
}

/// Stops its connection in the middle of a reply, until told to go on.
class Stalling final : public rpc::BulkSink {
 public:
  void begin(ByteView, std::uint64_t) override {}
  MutableBytes room(std::uint64_t) override {
    if (!std::exchange(stalled_, true)) {
      begun_.set_value();
      go_on_.get_future().wait();
    }
    return {};
  }
  void filled(std::size_t) override {}
  void wait_until_begun() { begun_.get_future().wait(); }
  void go_on() { go_on_.set_value(); }

 private:
  bool stalled_ = false;
  std::promise<void> begun_, go_on_;
};

TEST_F(SegmentReplicatorTest, APeerThatStopsReadingHoldsUpNobodyElse) {
  serve();
  ASSERT_TRUE(source_->put(key(0), make(20'000'000, 4)));
  auto stalled = rpc::Reactor::start("stalled");
  auto connection = rpc::connect(*stalled, {address_}, 10s, {}, transfer_limits());
  ASSERT_TRUE(connection);
  auto sink = std::make_shared<Stalling>();
  stalled->run([&] {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<FetchSegment>();
    root.setJob(kReplicatedJob.value());
    root.setShuffle(kReplicatedShuffle.value());
    root.setAttempt(1);
    root.setMaxBytes(4u << 20);
    (*connection)
        ->request(
            kFetchSegment, {rpc::flatten(message), {}, {}}, 1h, [](const Result<rpc::Message>&) {}, sink);
  });
  sink->wait_until_begun();
  const auto done = copy(0);
  ASSERT_TRUE(done) << done.error().to_string();
  expect_equal(0);
  sink->go_on();
  stalled->stop();
}

TEST_F(SegmentReplicatorTest, NonsenseInRequestsIsRefused) {
  serve();
  ASSERT_TRUE(source_->put(key(0), make(1'000, 4)));
  auto connection = rpc::connect(*client_reactor_, {address_}, 10s);
  ASSERT_TRUE(connection);
  for (const std::string_view header : {std::string_view("garbage!"), std::string_view("")}) {
    auto reply = rpc::call(*client_reactor_, *connection, kFetchSegment, {Buffer::copy_of(as_bytes(header)), {}, {}}, 10s);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code(), Code::corrupt);
  }
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<FetchSegment>();
  root.setJob(kReplicatedJob.value());
  root.setShuffle(kReplicatedShuffle.value());
  root.setAttempt(1);
  root.setOffset(UINT64_MAX);
  auto reply = rpc::call(*client_reactor_, *connection, kFetchSegment, {rpc::flatten(message), {}, {}}, 10s);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace weft::shuffle
