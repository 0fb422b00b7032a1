// What crosses between racks is counted, the same at both ends.
#include "tests/storage/transfer_fixture.hpp"

namespace weft::storage {
namespace {

using Counted = std::vector<RackBytes>;
constexpr std::size_t kBytesAcross = 2'000'003;
constexpr std::uint64_t kWithChecksums = kBytesAcross + 31 * sizeof(std::uint32_t);

TEST(RackTallyTest, CountsWhatCrosses) {
  RackTally tally;
  tally.sent("west", 1);
  EXPECT_TRUE(tally.total().empty()) << "its own rack is not known";
  tally.set_rack("east");
  tally.sent("west", 10);
  tally.received("west", 5);
  tally.received("east", 7);
  tally.received("", 7);
  EXPECT_EQ(tally.total(), (Counted{{"west", 5, 10}}));
  RackTally sum("east");
  sum.sent("west", 1);
  sum.add(tally.take());
  EXPECT_TRUE(tally.total().empty());
  EXPECT_EQ(sum.take(), (Counted{{"west", 5, 11}}));
}

TEST(RackTallyTest, RacksBeyondThoseNamedAreCountedTogether) {
  RackTally tally("east");
  tally.sent(std::string(RackTally::kMostNameBytes + 1, 'x'), 100);
  for (int i = 0; i < 20; ++i) tally.sent("rack" + std::to_string(i), 1);
  tally.sent("rack0", 1);
  const Counted total = tally.total();
  ASSERT_EQ(total.size(), RackTally::kMostRacks + 1);
  EXPECT_EQ(total[0], (RackBytes{"", 0, 112}));
  EXPECT_EQ(total[1], (RackBytes{"rack0", 0, 2}));
  RackTally sum("east");
  sum.add(total);
  EXPECT_EQ(sum.total(), total);
}

TEST(ChunkWireTest, RacksAreNotKnownToOrFromAnEarlierRelease) {
  const ChunkInfo info{ChunkId(1), 10, 10};
  const auto from_earlier = decode_open(encode_seal(info).view());  // whose form OpenChunk had then
  ASSERT_TRUE(from_earlier);
  EXPECT_EQ(from_earlier->info, info);
  EXPECT_EQ(from_earlier->rack, "");
  EXPECT_EQ(decode_seal(encode_open({info, "west"}).view()).value(), info);
  EXPECT_EQ(decode_open(encode_open({info, "west"}).view())->rack, "west");
  EXPECT_EQ(decode_damaged(encode_damaged({info, 0, 10, "west"}).view())->rack, "west");
  EXPECT_EQ(decode_begin(encode_begin({ChunkId(1), 10, "me", {"you"}, "west"}).view())->rack, "west");
  EXPECT_EQ(decode_served(encode_served("west").view()), "west");
  EXPECT_TRUE(encode_served("").empty());
  EXPECT_EQ(decode_served({}), "");
  EXPECT_EQ(decode_served(as_bytes("no message at all")), "");
}

class ChunkRacksTest : public ChunkTransferTest {
 protected:
  /// Workers in those racks, and a client that takes no descriptors.
  void start_in(const std::vector<std::string>& racks, const std::string& client) {
    for (std::size_t i = 0; i < racks.size(); ++i) {
      ChunkServerOptions options;
      options.copy_rate = 0;
      options.chain.racks = racks_.emplace_back(std::make_shared<RackTally>(racks[i]));
      workers_.push_back(std::make_unique<Worker>(quiet_options({directory(i)}, events_[i].listener()), options));
    }
    begin_client(client);
  }
  void begin_client(const std::string& rack) {
    auto options = quick_options(false);
    options.racks = own_ = std::make_shared<RackTally>(rack);
    client_ = std::make_unique<ChunkClient>(*reactor_, options);
  }
  Counted of_worker(std::size_t i) { return racks_[i]->take(); }

  std::vector<std::shared_ptr<RackTally>> racks_;  // the workers'
  std::shared_ptr<RackTally> own_;                 // the client's
};

TEST_F(ChunkRacksTest, Reads) {
  start_in({"west", "east"}, "east");
  const ChunkInfo info = put_chunk(workers_[0]->store(), ChunkId(1), content_of(1, kBytesAcross));
  put_chunk(workers_[1]->store(), ChunkId(1), content_of(1, kBytesAcross));
  expect_content(*client_, info, {addresses()[0]});
  EXPECT_EQ(own_->take(), (Counted{{"west", kWithChecksums, 0}}));
  EXPECT_EQ(of_worker(0), (Counted{{"east", 0, kWithChecksums}}));
  expect_content(*client_, info, {addresses()[1]});
  EXPECT_EQ(own_->take(), Counted());
  EXPECT_EQ(of_worker(1), Counted()) << "nothing left the rack";
  begin_client("");
  expect_content(*client_, info, {addresses()[0]});
  EXPECT_EQ(own_->take(), Counted());
  EXPECT_EQ(of_worker(0), Counted()) << "nobody knows where the reader is";
  ChunkClientOptions near = quick_options();
  near.racks = std::make_shared<RackTally>("east");
  ChunkClient neighbour(*reactor_, near);
  expect_content(neighbour, info, {addresses()[0]});
  EXPECT_EQ(near.racks->take(), Counted()) << "a descriptor crosses nothing";
}

TEST_F(ChunkRacksTest, NothingIsReadAheadBehindWhatWillBeRead) {
  start_in({"west"}, "east");
  const ChunkInfo info = put_chunk(workers_[0]->store(), ChunkId(1), content_of(1, kBytesAcross));
  const std::string content = content_of(1, kBytesAcross);
  auto reader = client_->open({info, {addresses()[0]}}).value();
  own_->take();  // checksums
  const auto expect_read = [&](std::uint64_t offset, std::size_t size, std::uint64_t crossed) {
    SCOPED_TRACE(offset);
    std::string got(size, ' ');
    ASSERT_EQ(reader->read(offset, {reinterpret_cast<std::byte*>(got.data()), size}).value(), size);
    EXPECT_TRUE(got == content.substr(offset, size));
    EXPECT_EQ(own_->take(), crossed == 0 ? Counted() : (Counted{{"west", crossed, 0}}));
  };
  expect_read(0, 4'000, kPageBytes);  // as who looks what a file is
  reader = client_->open({info, {addresses()[0]}}).value();
  own_->take();
  reader->will_read(4'000);
  expect_read(0, 4'000, kPageBytes);
  expect_read(4'000, kPageBytes, kPageBytes);
  expect_read(4'000 + kPageBytes, 8'000, 0);
  reader->will_read(8 * kPageBytes - 1);
  expect_read(3 * kPageBytes, 5 * kPageBytes, 5 * kPageBytes);
  expect_read(8 * kPageBytes, 100, kPageBytes);
  reader->will_read(kBytesAcross - 1);  // in its last page, which is not full
  expect_read(8 * kPageBytes + 100, kBytesAcross - 8 * kPageBytes - 101, kBytesAcross - 9 * kPageBytes);
}

TEST_F(ChunkRacksTest, ChainsOfWritersAndCopies) {
  start_in({"west", "east", "east", ""}, "east");
  put(ChunkId(1), kBytesAcross);
  EXPECT_EQ(own_->take(), (Counted{{"west", 0, kBytesAcross}}));
  EXPECT_EQ(of_worker(0), (Counted{{"east", kBytesAcross, kBytesAcross}})) << "from the client, and on to the next";
  EXPECT_EQ(of_worker(1), (Counted{{"west", kBytesAcross, 0}}));
  EXPECT_EQ(of_worker(2), Counted());
  EXPECT_EQ(of_worker(3), Counted()) << "does not know where it is";

  put_chunk(workers_[2]->store(), ChunkId(2), content_of(2, kBytesAcross));
  const auto copied = workers_[2]->copy(ChunkId(2), {addresses()[1], addresses()[0]});
  ASSERT_TRUE(copied) << copied.error().to_string();
  EXPECT_EQ(of_worker(2), Counted());
  EXPECT_EQ(of_worker(1), (Counted{{"west", 0, kBytesAcross}}));
  EXPECT_EQ(of_worker(0), (Counted{{"east", kBytesAcross, 0}}));
}

TEST_F(ChunkRacksTest, PagesFromSeveralReplicas) {
  start_in({"west", "east", "north"}, "");
  const ChunkInfo info = put_chunk(workers_[0]->store(), ChunkId(1), content_of(1, kBytesAcross));
  put_chunk(workers_[1]->store(), ChunkId(1), content_of(1, kBytesAcross));
  flip_bit(file(0, 1), 8 * kPageBytes);
  const auto copied = workers_[2]->copy({info, {addresses()[0], addresses()[1]}}, {addresses()[2]});
  ASSERT_TRUE(copied) << copied.error().to_string();
  const Counted counted = of_worker(2);
  ASSERT_EQ(counted.size(), 2u);
  EXPECT_EQ(counted[0], (RackBytes{"east", kPageBytes, 0})) << "the page that is damaged in the other";
  EXPECT_EQ(counted[1], (RackBytes{"west", kWithChecksums, 0}));
  EXPECT_EQ(of_worker(0), (Counted{{"north", 0, kWithChecksums}}));
  EXPECT_EQ(of_worker(1), (Counted{{"north", 0, kPageBytes}}));
}

}  // namespace
}  // namespace weft::storage
