#include "shuffle/store/written.hpp"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "shuffle/store/task_shuffle.hpp"

namespace weft::shuffle {
namespace {

TEST(Written, NamesWhatHasBytesOrRecords) {
  std::vector<PartitionSize> sizes(10);
  EXPECT_EQ(written_of(sizes), Written(std::in_place));
  sizes[3] = {5, 1};
  sizes[8] = {0, 2};  // records may take no bytes
  EXPECT_EQ(written_of(sizes), (std::vector<std::uint32_t>{3, 8}));
  EXPECT_TRUE(may_have(written_of(sizes), 8));
  EXPECT_FALSE(may_have(written_of(sizes), 4));
  EXPECT_TRUE(may_have(std::nullopt, 4)) << "where it is not known, it may";
}

TEST(Written, AnOutputWithManyIsNotDescribed) {
  std::vector<PartitionSize> sizes(1000);
  for (std::size_t i = 0; i < kMostWritten; ++i) sizes[3 * i].bytes = 1;
  EXPECT_EQ(written_of(sizes)->size(), kMostWritten);
  sizes[999].records = 1;
  EXPECT_EQ(written_of(sizes), std::nullopt);
}

/// With an index and without one, what may have something is what a look at every output finds.
TEST(Written, AReaderFindsWhatALookAtEveryOutputFinds) {
  std::mt19937 engine(5);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(engine() % bound); };
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t partitions = 1 + below(12);
    KnownOutputs known;
    std::uint32_t map = below(3);
    for (std::uint32_t i = below(20); i > 0; --i, map += 1 + below(3)) {
      Written written;
      if (below(4) != 0) {
        written.emplace();
        for (std::uint32_t p = 0; p < partitions; ++p)
          if (below(4) == 0) written->push_back(p);
      }
      known.put({map, 0, NodeId(below(3))}, std::move(written));
    }
    if (below(3) == 0) known.written.resize(known.outputs.size() / 2);  // not known of the others
    if (below(3) == 0) known.forget(NodeId(1));
    for (const bool indexed : {false, true}) {
      if (indexed) known.make_index();
      for (std::uint32_t partition = 0; partition < partitions; ++partition) {
        const std::uint32_t first = below(20);
        const MapRange range{first, below(2) == 0 ? UINT32_MAX : first + below(20)};
        std::vector<std::uint32_t> expected, found;
        for (std::size_t i = 0; i < known.outputs.size(); ++i) {
          const std::uint32_t number = known.outputs[i].map;
          const bool described = i < known.written.size() && known.written[i].has_value();
          const bool has = !described || std::count(known.written[i]->begin(), known.written[i]->end(), partition) > 0;
          if (number >= range.first && number < range.end && has) expected.push_back(number);
        }
        for (const MapOutput& output : known.with(partition, range)) found.push_back(output.map);
        ASSERT_EQ(found, expected) << "round " << round << ", partition " << partition;
      }
    }
  }
}

TEST(Written, ReplacesWhatAnEarlierOutputOfTheMapHad) {
  KnownOutputs known;
  known.put({4, 0, NodeId(1)}, std::vector<std::uint32_t>{1});
  known.put({2, 0, NodeId(2)}, std::vector<std::uint32_t>{7});
  known.put({4, 1, NodeId(2)}, std::vector<std::uint32_t>{3});
  EXPECT_EQ(known.with(1, {}).size(), 0u);
  ASSERT_EQ(known.with(3, {}).size(), 1u);
  EXPECT_EQ(known.with(3, {})[0].attempt, 1u);
  known.forget(NodeId(1));
  EXPECT_EQ(known.outputs.size(), 2u);
  known.forget(NodeId(2));
  EXPECT_TRUE(known.with(7, {}).empty());
}

}  // namespace
}  // namespace weft::shuffle
