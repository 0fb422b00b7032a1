// Reads of partitions to which thousands of maps wrote little or nothing: what they cost in parts, descriptors and fetches,
// counted.
#include <algorithm>
#include <random>

#include "tests/shuffle/partition_reader_fixture.hpp"

namespace weft::shuffle::test {
namespace {

class ManyOutputs : public PartitionReaderTest {
 protected:
  static std::string text_of(std::uint32_t map, std::uint32_t partition) {
    return std::to_string(map) + "." + std::to_string(partition);
  }
  /// An output that has something for some of the partitions.
  void add_output(std::uint32_t map, NodeId node, const std::vector<std::uint32_t>& partitions, std::uint32_t of = kPartitions) {
    auto writer = SegmentWriter::in_memory(of).value();
    for (const std::uint32_t partition : partitions) ASSERT_TRUE(writer->append(partition, as_bytes(text_of(map, partition)), 1));
    SealedSegment sealed = writer->seal().value();
    Written written = written_of(sealed.partitions);
    ASSERT_TRUE((node == kSelf ? store_ : source_)->put({kJob, kShuffle, map, 0}, std::move(sealed)));
    tables_[kShuffle].put({map, 0, node}, std::move(written));
  }
  struct Read {
    std::map<std::uint32_t, std::string> texts;  // by map
    std::size_t parts = 0, descriptors = 0, most_descriptors = 0, fetches = 0;
    std::optional<LostOutput> lost;
  };
  Read read_one(std::uint32_t partition, std::uint64_t bytes, std::size_t descriptors = kDescriptorsPerPart) {
    const PartitionRead wanted{kJob, kShuffle, {partition, partition + 1}, {}, fetch_bytes_, bytes, descriptors};
    reactor_->run([&] {
      const ReadSources sources{*reactor_, *store_, *same_host_, *prefetcher_, *fetcher_, nodes_, tables_};
      reader_ = std::make_shared<PartitionReader>(sources, wanted);
    });
    Read read;
    for (bool end = false; !end;) {
      auto part = request().get();
      EXPECT_TRUE(part) << part.error().to_string();
      if (!part) return read;
      ++read.parts;
      read.descriptors += part->descriptors.size();
      read.most_descriptors = std::max(read.most_descriptors, part->descriptors.size());
      auto descriptor = part->descriptors.begin();
      for (const BlockSource& source : part->sources) {
        const auto segment = Segment::map(std::move(*descriptor++)).value();
        read.fetches += source.kind == BlockSource::Kind::fetched ? 1 : 0;
        const bool whole = source.kind == BlockSource::Kind::segment;
        for (std::uint32_t i = 0; i < source.maps.size(); ++i)
          for (const Extent& extent : segment->extents(whole ? partition : i))
            read.texts[source.maps[i].map] += as_chars(verified(*segment, extent).value());
      }
      if (part->lost) std::erase_if(read.texts, [&](const auto& text) { return text.first >= part->next_map; });
      read.lost = part->lost;
      end = part->end || part->lost;
    }
    return read;
  }
};

TEST_F(ManyOutputs, EmptyOnesCostNothing) {
  begin();
  std::map<std::uint32_t, std::string> expected;
  for (std::uint32_t map = 0; map < 3'000; ++map) {
    const bool has = map % 1000 == 7;
    add_output(map, map % 3 == 0 ? kSelf : kOther, has ? std::vector<std::uint32_t>{2, 5} : std::vector<std::uint32_t>{});
    if (has) expected[map] = text_of(map, 5);
  }
  tables_[kShuffle].make_index();
  const Read read = read_one(5, 30);
  EXPECT_EQ(read.texts, expected);
  EXPECT_LE(read.descriptors, 3u);
  EXPECT_LE(read.parts, 4u);
  const Read nothing = read_one(6, 0);
  EXPECT_TRUE(nothing.texts.empty());
  EXPECT_EQ(nothing.parts, 1u);
  EXPECT_EQ(nothing.descriptors, 0u);
}

/// Those that the reader knows to be empty are not asked for: that they are gone does not matter.
TEST_F(ManyOutputs, AnEmptyOneThatIsLostIsNotMissed) {
  begin();
  add_output(0, kSelf, {1});
  add_output(1, kSelf, {2});
  tables_[kShuffle].make_index();
  store_->release({kJob, kShuffle, 1, 0});
  EXPECT_EQ(read_one(1, 3).texts.size(), 1u);
  EXPECT_TRUE(read_one(2, 3).lost);
}

TEST_F(ManyOutputs, SmallBlocksComeTogetherBehindFewDescriptors) {
  share();  // the other worker's could be mapped, one by one
  begin();
  std::map<std::uint32_t, std::string> expected;
  for (std::uint32_t map = 0; map < 3'000; ++map) {
    add_output(map, map % 3 == 0 ? kSelf : kOther, {0, 3, 4});
    expected[map] = text_of(map, 3);
  }
  tables_[kShuffle].make_index();
  const Read read = read_one(3, 20'000);
  EXPECT_TRUE(read.texts == expected);
  EXPECT_LE(read.parts, 4u);
  EXPECT_LE(read.descriptors, 8u);
}

TEST_F(ManyOutputs, FewOrLargeOnesAreMapped) {
  share();
  begin();
  for (std::uint32_t map = 0; map < 600; ++map) add_output(map, map % 2 == 0 ? kSelf : kOther, {3});
  tables_[kShuffle].make_index();
  EXPECT_EQ(read_one(3, std::uint64_t{600} << 20).fetches, 0u) << "of a megabyte each, as far as the reader knows";
  EXPECT_EQ(read_one(3, UINT64_MAX).fetches, 0u) << "nothing is known of them";
  EXPECT_GT(read_one(3, 600).fetches, 0u);
}

TEST_F(ManyOutputs, APartBringsNoMoreDescriptorsThanItMay) {
  share();
  begin();
  for (std::uint32_t map = 0; map < 100; ++map) add_output(map, map % 2 == 0 ? kSelf : kOther, {3});
  for (const std::size_t most : {2u, 7u}) {
    const Read read = read_one(3, UINT64_MAX, most);
    EXPECT_EQ(read.texts.size(), 100u);
    EXPECT_LE(read.most_descriptors, most);
  }
}

TEST_F(ManyOutputs, OfSegmentsWithoutDescriptorsBlocksAreCopied) {
  share();
  begin();
  store_ = Store::open(dir_->path() / "few", 1u << 30, 1, {.descriptors = 10}).value();
  for (std::uint32_t map = 0; map < 100; ++map) add_output(map, kSelf, {3});
  const Read read = read_one(3, UINT64_MAX);
  EXPECT_EQ(read.texts.size(), 100u);
  EXPECT_LE(read.descriptors, 20u);
  EXPECT_GE(read.fetches, 1u);
  EXPECT_EQ(read.texts.at(99), text_of(99, 3));
}

TEST_F(ManyOutputs, ADamagedOneAmongCopiedOnesIsLost) {
  begin();
  store_ = Store::open(dir_->path() / "few", 1u << 30, 1, {.descriptors = 1}).value();
  for (std::uint32_t map = 0; map < 10; ++map) {
    auto writer = SegmentWriter::on_disk(dir_->path(), kPartitions).value();
    ASSERT_TRUE(writer->append(3, as_bytes(text_of(map, 3)), 1));
    SealedSegment sealed = writer->seal().value();
    if (map == 6) {
      ASSERT_EQ(::pwrite(sealed.fd.get(), "x", 1, 16), 1);
    }
    ASSERT_TRUE(store_->put({kJob, kShuffle, map, 0}, std::move(sealed)));
    tables_[kShuffle].put({map, 0, kSelf});
  }
  const Read read = read_one(3, 100);
  ASSERT_TRUE(read.lost);
  EXPECT_EQ(read.lost->output.map, 6u);
  EXPECT_EQ(read.texts.size(), 6u);
}

TEST_F(ManyOutputs, OneThatComesLaterAndHasNothingIsNotWaitedFor) {
  begin();
  tables_[kShuffle].maps = 3;
  add_output(0, kSelf, {3});
  add_output(1, kSelf, {4});
  add_output(2, kSelf, {3, 4});
  const Read read = read_one(3, UINT64_MAX);
  EXPECT_EQ(read.texts, (std::map<std::uint32_t, std::string>{{0, "0.3"}, {2, "2.3"}}));
  EXPECT_EQ(read.descriptors, 2u);
}

}  // namespace
}  // namespace weft::shuffle::test
