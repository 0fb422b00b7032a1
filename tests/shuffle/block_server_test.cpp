// What a data port answers, asked by hand.
#include "shuffle/transfer/block_server.hpp"

#include <numeric>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/rpc/capnp.hpp"
#include "base/sanitized.hpp"
#include "shuffle/transfer/transfer.capnp.h"
#include "tests/shuffle/no_descriptors.hpp"

namespace weft::shuffle {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kExtent = 40'000;

/// A reply to a request for blocks.
struct Answer {
  std::vector<std::uint32_t> maps;  // of each extent
  std::uint64_t stored = 0, raw = 0, bulk = 0;
  bool complete = false, lost = false;
  std::uint32_t next_map = 0, next_extent = 0, lost_map = 0;
};

class BlockServerTest : public testing::Test {
 protected:
  void SetUp() override {
    store_ = Store::open((directory_.path() / "store").string(), 64u << 20).value();
    for (std::uint32_t map = 0; map < 3; ++map) {
      auto writer = SegmentWriter::in_memory(2).value();
      for (int extent = 0; extent < 4; ++extent)
        EXPECT_TRUE(writer->append(1, as_bytes(std::string(kExtent, static_cast<char>('a' + map))), 1));
      EXPECT_TRUE(store_->put({JobId(7), ShuffleId(3), map, 0}, writer->seal().value()));
    }
  }
  void TearDown() override {
    reactor_->run([&] { listener_.reset(); });
    reactor_->stop();
  }
  void serve(Compression compression) {
    server_.emplace(*store_, JobKeys::none(), compression, links_);
    reactor_->run([&] {
      listener_ =
          reactor_->listen({"127.0.0.1:0"}, transfer_limits(), [&](const rpc::ConnectionPtr&) { return server_->handler(); })
              .value();
    });
    connection_ = rpc::connect(*reactor_, listener_->endpoint(), 10s).value();
  }
  Result<rpc::Message> call(rpc::MessageType type, capnp::MallocMessageBuilder& message) {
    return rpc::call(*reactor_, connection_, type, {rpc::flatten(message), {}, {}}, 10s);
  }
  Result<Answer> fetch(std::vector<std::uint32_t> maps, std::uint32_t partition, std::uint64_t most, std::uint32_t first_map = 0,
                       std::uint32_t first_extent = 0) {
    capnp::MallocMessageBuilder message;
    auto root = message.initRoot<FetchBlocks>();
    root.setJob(7);
    root.setShuffle(3);
    root.setPartition(partition);
    auto list = root.initMaps(static_cast<unsigned>(maps.size()));
    for (unsigned i = 0; i < list.size(); ++i) list[i].setMap(maps[i]);
    root.setFirstMap(first_map);
    root.setFirstExtent(first_extent);
    root.setMaxBytes(most);
    root.setAcceptLz4(true);
    root.setFrom("reader:1");
    WEFT_ASSIGN(const rpc::Message reply, call(kFetchBlocks, message));
    return rpc::read_message<Blocks>(reply.header.view(), "blocks", [&](Blocks::Reader in) -> Result<Answer> {
      Answer answer;
      for (const auto extent : in.getExtents()) {
        answer.maps.push_back(extent.getMap());
        answer.stored += extent.getStoredLength();
        answer.raw += extent.getRawLength();
      }
      answer.bulk = reply.bulk.size();
      answer.complete = in.getComplete();
      answer.lost = in.getLost();
      answer.lost_map = in.getLostMap();
      answer.next_map = in.getNextMap();
      answer.next_extent = in.getNextExtent();
      return answer;
    });
  }
  LinkBytes sent_to(const std::string& peer) {
    LinkBytes bytes;
    reactor_->run([&] { bytes = links_->traffic().by_peer[peer]; });
    return bytes;
  }

  TempDir directory_ = TempDir::create().value();
  std::unique_ptr<Store> store_;
  std::unique_ptr<rpc::Reactor> reactor_ = rpc::Reactor::start("server");
  std::shared_ptr<Links> links_ = std::make_shared<Links>();
  std::optional<BlockServer> server_;
  std::unique_ptr<rpc::Listener> listener_;
  rpc::ConnectionPtr connection_;
};

TEST_F(BlockServerTest, SendsOnePartitionOfManyMapsInOrder) {
  serve(Compression::never);
  const auto answer = fetch({2, 0}, 1, 64u << 20).value();
  EXPECT_EQ(answer.maps, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1})) << "places in the request's list";
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.raw, 8 * kExtent);
  EXPECT_EQ(answer.bulk, 8 * kExtent);
  EXPECT_TRUE(fetch({0, 1, 2}, 0, 64u << 20).value().complete) << "an empty partition";
}

TEST_F(BlockServerTest, AReplyIsAboutAsLargeAsWantedAndSaysWhereToGoOn) {
  serve(Compression::never);
  auto answer = fetch({0, 1}, 1, 0).value();  // at least 64 KiB
  EXPECT_EQ(answer.maps.size(), 1u);
  EXPECT_FALSE(answer.complete);
  EXPECT_EQ(answer.next_map, 0u);
  EXPECT_EQ(answer.next_extent, 1u);
  answer = fetch({0, 1}, 1, 5 * kExtent, 0, 1).value();
  EXPECT_EQ(answer.maps, (std::vector<std::uint32_t>{0, 0, 0, 1, 1}));
  EXPECT_EQ(answer.next_map, 1u);
  EXPECT_EQ(answer.next_extent, 2u);
}

TEST_F(BlockServerTest, CompressesWhereThatIsWanted) {
  serve(Compression::always);
  const auto answer = fetch({0, 1, 2}, 1, 64u << 20).value();
  EXPECT_EQ(answer.raw, 12 * kExtent);
  EXPECT_LT(answer.stored, answer.raw / 10);
  EXPECT_EQ(answer.bulk, answer.stored);
}

TEST_F(BlockServerTest, WhatIsNotThereIsNamedAfterWhatIs) {
  serve(Compression::never);
  auto answer = fetch({0, 9, 1}, 1, 64u << 20).value();
  EXPECT_FALSE(answer.lost);
  EXPECT_EQ(answer.next_map, 1u);
  answer = fetch({0, 9, 1}, 1, 64u << 20, 1).value();
  EXPECT_TRUE(answer.lost);
  EXPECT_EQ(answer.lost_map, 1u);
  EXPECT_EQ(answer.bulk, 0u);
}

TEST_F(BlockServerTest, WhatADiskDoesNotDeliverIsLostAndNoSignal) {
  for (const std::uint32_t map : {10u, 11u}) {
    auto writer = SegmentWriter::on_disk(directory_.path().string(), 1).value();
    for (int extent = 0; extent < 4; ++extent) EXPECT_TRUE(writer->append(0, as_bytes(std::string(kExtent, 'x')), 1));
    SealedSegment sealed = writer->seal().value();
    const Fd file(::dup(sealed.fd.get()));
    ASSERT_TRUE(store_->put({JobId(7), ShuffleId(3), map, 0}, std::move(sealed)));
    // As if a sector of the second one could not be read.
    ASSERT_EQ(map == 11 ? ::ftruncate(file.get(), 2 * kExtent) : 0, 0);
  }
  for (const auto compression : {Compression::never, Compression::always}) {
    serve(compression);
    auto answer = fetch({10, 11}, 0, 64u << 20).value();
    EXPECT_FALSE(answer.lost);
    EXPECT_EQ(answer.raw, 5 * kExtent) << "all that can be read before";
    EXPECT_EQ(answer.next_map, 1u);
    EXPECT_EQ(answer.next_extent, 1u);
    answer = fetch({10, 11}, 0, 64u << 20, 1, 1).value();
    EXPECT_TRUE(answer.lost);
    EXPECT_EQ(answer.lost_map, 1u);
    EXPECT_EQ(answer.bulk, 0u);
  }
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<FetchSegment>();
  root.setJob(7);
  root.setShuffle(3);
  root.setMap(11);
  root.setMaxBytes(4 * kExtent);
  const auto piece = call(kFetchSegment, message).value();
  EXPECT_EQ(piece.bulk.size(), 0u);
  EXPECT_TRUE(rpc::read_message<SegmentPiece>(piece.header.view(), "a piece", [](SegmentPiece::Reader in) -> Result<bool> {
                return in.getLost();
              }).value());
}

TEST_F(BlockServerTest, WhatCannotBeOpenedForWantOfDescriptorsIsNotLost) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs a descriptor to look at memory";
  const std::string directory = (directory_.path() / "small").string();
  store_ = Store::open(directory, 64u << 20, 1, {.descriptors = 0, .mappings = 4}).value();
  for (std::uint32_t map = 0; map < 8; ++map) {
    auto writer = SegmentWriter::in_memory(1).value();
    EXPECT_TRUE(writer->append(0, as_bytes(std::string(kExtent, 'x')), 1));
    EXPECT_TRUE(store_->put({JobId(7), ShuffleId(3), map, 0}, writer->seal().value()));
  }
  const auto in_a_file = [&]() -> std::optional<std::uint32_t> {
    for (std::uint32_t map = 0; map < 8; ++map)
      if ((*store_->get({JobId(7), ShuffleId(3), map, 0}))->home() == SegmentHome::file) return map;
    return std::nullopt;
  };
  for (const auto end = std::chrono::steady_clock::now() + 60s; !in_a_file();) ASSERT_LT(std::chrono::steady_clock::now(), end);
  const std::uint32_t map = *in_a_file();
  serve(Compression::never);
  ASSERT_TRUE(fetch({map}, 0, 1000));
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<FetchSegment>();
  root.setJob(7);
  root.setShuffle(3);
  root.setMap(map);
  root.setMaxBytes(kExtent);
  {
    const test::NoDescriptors none;
    EXPECT_EQ(fetch({map}, 0, 1000).error().code(), Code::unavailable);
    EXPECT_EQ(call(kFetchSegment, message).error().code(), Code::unavailable);
  }
  EXPECT_FALSE(fetch({map}, 0, 1000).value().lost);
}

TEST_F(BlockServerTest, RefusesWhatNoShuffleHas) {
  serve(Compression::never);
  EXPECT_EQ(fetch({0}, 2, 1000).error().code(), Code::invalid_argument);
  EXPECT_EQ(fetch({}, 1, 1000).error().code(), Code::invalid_argument);
  EXPECT_EQ(fetch({0}, 1, 1000, 1).error().code(), Code::invalid_argument);
}

TEST_F(BlockServerTest, CountsWhatItSendsByTheAddressOfWhoReads) {
  serve(Compression::never);
  const auto answer = fetch({0, 1}, 1, 64u << 20).value();
  EXPECT_EQ(sent_to("reader:1"), (LinkBytes{0, answer.bulk}));
  capnp::MallocMessageBuilder message;
  auto root = message.initRoot<FetchSegment>();
  root.setJob(7);
  root.setShuffle(3);
  root.setMaxBytes(100'000);
  root.setFrom("replica:1");
  const auto piece = call(kFetchSegment, message).value();
  EXPECT_EQ(piece.bulk.size(), 100'000u);
  EXPECT_EQ(sent_to("replica:1"), (LinkBytes{0, 100'000}));
  root.setFrom(std::string(10'000, 'x'));
  EXPECT_TRUE(call(kFetchSegment, message));
  EXPECT_EQ(sent_to(std::string(10'000, 'x')), LinkBytes()) << "no address";
}

}  // namespace
}  // namespace weft::shuffle
