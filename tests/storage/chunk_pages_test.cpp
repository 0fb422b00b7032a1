// Chunks of which no replica is whole: read and copied page by page.
#include "base/sanitized.hpp"
#include "tests/storage/transfer_fixture.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kEightPages = 500'003;  // the last one is not full

std::uint64_t bit_of_page(std::uint64_t page, Random& random) { return 8 * (page * kPageBytes + random.below(1000)); }

TEST_F(ChunkTransferTest, AChunkIsReadWhenEachOfItsPagesIsGoodSomewhere) {
  start(3);
  const ChunkWritten written = put(ChunkId(1), kEightPages);
  for (std::size_t worker : {0u, 1u, 2u}) flip_bit(file(worker, 1), bit_of_page(1 + 2 * worker, random_));
  ChunkClient remote(*reactor_, quick_options(false));
  for (ChunkClient* client : {client_.get(), &remote}) expect_content(*client, written.info, addresses());
  // All are set aside by now, or soon.
  EXPECT_TRUE(test::eventually([&] {
    for (const auto& worker : workers_)
      if (worker->store().find(ChunkId(1))) return false;
    return true;
  }));
  for (ChunkClient* client : {client_.get(), &remote}) expect_content(*client, written.info, addresses());
  auto reader = client_->open({written.info, {}, addresses()});  // as the master tells it by then
  ASSERT_TRUE(reader) << reader.error().to_string();
  EXPECT_TRUE(read_all(**reader).value() == content_of(1, kEightPages));
}

TEST_F(ChunkTransferTest, AChunkIsCopiedWholeWhenEachOfItsPagesIsGoodSomewhere) {
  start(3);
  const ChunkWritten written = put(ChunkId(1), kEightPages);
  for (std::size_t worker : {0u, 1u, 2u}) flip_bit(file(worker, 1), bit_of_page(1 + 2 * worker, random_));
  for (std::size_t target : {1u, 2u}) {
    // Its own replica is found damaged on the way the first time, and is set aside the second.
    const auto copied = workers_[0]->copy({written.info, addresses()}, {addresses()[target]});
    if (workers_[target]->store().find(ChunkId(1))) {
      EXPECT_FALSE(copied) << "it is there, as far as its worker knows";
      EXPECT_FALSE(workers_[target]->store().check(ChunkId(1)));
      const auto again = workers_[0]->copy({written.info, addresses()}, {addresses()[target]});
      ASSERT_TRUE(again) << again.error().to_string();
    }
    EXPECT_TRUE(workers_[target]->store().check(ChunkId(1)));
    EXPECT_TRUE(workers_[target]->store().quarantined().empty()) << "what was damaged is replaced";
  }
  const auto mended = workers_[1]->copy({written.info, addresses()}, {addresses()[0]});
  ASSERT_TRUE(mended) << mended.error().to_string();
  for (const auto& worker : workers_) EXPECT_TRUE(worker->store().check(ChunkId(1)));
}

TEST_F(ChunkTransferTest, WhatIsLostOfAChunkIsNamedAndTheRestSalvaged) {
  start(2);
  const ChunkWritten written = put(ChunkId(1), kEightPages);
  for (std::size_t worker : {0u, 1u}) {
    flip_bit(file(worker, 1), bit_of_page(3, random_));
    flip_bit(file(worker, 1), bit_of_page(7, random_));
    flip_bit(file(worker, 1), bit_of_page(worker, random_));
  }
  auto reader = client_->open({written.info, addresses()});
  ASSERT_TRUE(reader);
  const auto all = read_all(**reader);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code(), Code::corrupt);
  EXPECT_NE(all.error().to_string().find("bytes 196608 to 262143"), std::string::npos) << all.error().to_string();
  std::string got(kEightPages, 'x'), expected = content_of(1, kEightPages);
  const Salvaged some = (*reader)->salvage(0, {reinterpret_cast<std::byte*>(got.data()), got.size()});
  EXPECT_EQ(some.bytes, kEightPages);
  EXPECT_EQ(some.missing, (std::vector<ByteRange>{{3 * kPageBytes, kPageBytes}, {7 * kPageBytes, kEightPages - 7 * kPageBytes}}));
  for (const ByteRange& range : some.missing)
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(range.offset), range.length, '\0');
  EXPECT_TRUE(got == expected);
  const auto copied = workers_[0]->copy({written.info, addresses()}, {addresses()[1]});
  EXPECT_FALSE(copied) << "a copy is whole or none";
}

TEST_F(ChunkTransferTest, WhateverPartsOfTheFilesAreDamagedWhatIsGoodSomewhereIsRead) {
  start(3);
  const std::uint64_t pages = page_count(kEightPages);
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 5u : 20u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const ChunkWritten written = put(ChunkId(seed), kEightPages);
    std::vector<unsigned> bad(pages);           // a bit for each worker
    const std::size_t sound = random.below(3);  // keeps the checksums of its pages
    for (std::size_t worker = 0; worker < 3; ++worker) {
      if (worker != sound) flip_bit(file(worker, seed), 8 * kEightPages + random.below(8 * 4 * pages));
      for (std::uint64_t page = 0; page < pages; ++page) {
        if (!random.chance(0.6)) continue;
        bad[page] |= 1u << worker;
        flip_bit(file(worker, seed), bit_of_page(page, random));
      }
      if (worker == sound || !random.chance(0.3)) continue;
      std::filesystem::resize_file(file(worker, seed), 5 * kPageBytes);
      for (std::uint64_t page = 5; page < pages; ++page) bad[page] |= 1u << worker;
    }
    const auto reader = client_->open({written.info, addresses()});
    ASSERT_TRUE(reader) << reader.error().to_string();
    std::string got(kEightPages, 'x'), expected = content_of(seed, kEightPages);
    const Salvaged some = (*reader)->salvage(0, {reinterpret_cast<std::byte*>(got.data()), got.size()});
    std::vector<ByteRange> missing;
    for (std::uint64_t page = 0; page < pages; ++page) {
      const std::uint64_t from = page * kPageBytes, size = std::min<std::uint64_t>(kPageBytes, kEightPages - from);
      if (bad[page] != 7) continue;
      append(missing, {from, size});
      std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(from), size, '\0');
    }
    EXPECT_EQ(some.missing, missing);
    EXPECT_TRUE(got == expected);
  }
}

}  // namespace
}  // namespace weft::storage
