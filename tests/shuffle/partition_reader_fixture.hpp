// Reads of partitions whose blocks lie on this worker, on another one, or on one that is gone.
#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shuffle/read/partition_reader.hpp"
#include "tests/shuffle/prefetch_fixture.hpp"

namespace weft::shuffle::test {

constexpr NodeId kSelf{1}, kOther{2}, kGone{3};

/// What a task would have made of a read.
struct Outcome {
  std::map<std::uint32_t, std::vector<std::uint32_t>> maps;  // by partition, as visited
  std::vector<ReadPart> parts;                               // as they came
  std::optional<LostOutput> lost;
  std::optional<Error> error;

  std::size_t count(BlockSource::Kind kind) const {
    std::size_t sum = 0;
    for (const ReadPart& part : parts)
      for (const BlockSource& source : part.sources) sum += source.kind == kind ? 1 : 0;
    return sum;
  }
};

/// This worker is kSelf with `store_`, and `source_` belongs to kOther.
class PartitionReaderTest : public PrefetchTest {
 protected:
  void SetUp() override {
    PrefetchTest::SetUp();
    nodes_.self = kSelf;
    nodes_.nodes[kOther] = {"other", address_};
    nodes_.nodes[kGone] = {"gone", "127.0.0.1:1"};
  }
  void TearDown() override {
    reactor_->run([&] {
      reader_.reset();
      fetcher_.reset();
    });
    PrefetchTest::TearDown();
  }
  void begin() {
    open();
    FetchOptions options;
    options.pull.backoff = 1ms;
    reactor_->run([&] { fetcher_ = std::make_unique<BlockFetcher>(*reactor_, options); });
  }
  /// A row of the table; its output is put where it says.
  void add(std::uint32_t map, NodeId node, std::uint32_t attempt = 0) {
    make(map, node, attempt);
    tables_[kShuffle].put({map, attempt, node});
  }
  void make(std::uint32_t map, NodeId node, std::uint32_t attempt) {
    if (node == kOther) put(map, attempt);
    if (node == kSelf) {
      auto writer = SegmentWriter::in_memory(kPartitions).value();
      for (std::uint32_t i = 0; i < kPartitions; ++i) EXPECT_TRUE(writer->append(i, as_bytes(block_of(map, i)), 1));
      EXPECT_TRUE(store_->put({kJob, kShuffle, map, attempt}, writer->seal().value()));
    }
  }
  /// Whether the part brought what its map wrote; the map is added to the outcome.
  void visit(std::uint32_t map, std::uint32_t partition, const std::shared_ptr<const Segment>& blocks, std::uint32_t position,
             Outcome& outcome) {
    std::string text;
    for (const Extent& extent : blocks->extents(position)) text += as_chars(verified(*blocks, extent).value());
    EXPECT_EQ(text, block_of(map, partition)) << "map " << map << ", partition " << partition;
    outcome.maps[partition].push_back(map);
  }
  void start(PartitionRange partitions, MapRange maps = {}) {
    PartitionRead wanted{kJob, kShuffle, partitions, maps, fetch_bytes_};
    wanted.longest_wait = longest_wait_;
    reactor_->run([&] {
      const ReadSources sources{*reactor_, *store_, *same_host_, *prefetcher_, *fetcher_, nodes_, tables_};
      reader_ = std::make_shared<PartitionReader>(sources, wanted);
    });
  }
  std::future<Result<ReadPart>> request(std::vector<MapAttempt> known = {}) {
    const auto promise = std::make_shared<std::promise<Result<ReadPart>>>();
    reactor_->run([&] { reader_->next(known, [promise](Result<ReadPart> part) { promise->set_value(std::move(part)); }); });
    return promise->get_future();
  }
  /// Reads as an executor does, which knows these segments.
  Outcome read(PartitionRange partitions, MapRange maps = {},
               const std::map<std::uint32_t, std::shared_ptr<const Segment>>& known = {}) {
    struct Blocks {
      std::shared_ptr<const Segment> segment;
      std::uint32_t position = 0;
    };
    start(partitions, maps);
    std::vector<MapAttempt> told;
    for (const auto& [map, segment] : known) told.push_back({map, 0});
    Outcome outcome;
    std::map<std::uint32_t, Blocks> pending;
    while (true) {
      auto part = request(told).get();
      if (!part) {
        outcome.error = part.error();
        return outcome;
      }
      EXPECT_LE(part->descriptors.size(), kDescriptorsPerPart);
      auto descriptor = part->descriptors.begin();
      for (const BlockSource& source : part->sources) {
        const bool whole = source.kind == BlockSource::Kind::segment || source.kind == BlockSource::Kind::known;
        const auto segment = source.kind == BlockSource::Kind::known ? known.at(source.maps[0].map)
                                                                     : Segment::open(std::move(*descriptor++)).value();
        for (std::uint32_t i = 0; i < source.maps.size(); ++i)
          if (source.maps[i].map != kNoMap) pending[source.maps[i].map] = {segment, whole ? part->partition : i};
      }
      while (!pending.empty() && pending.begin()->first < part->next_map) {
        const auto next = pending.extract(pending.begin());
        visit(next.key(), part->partition, next.mapped().segment, next.mapped().position, outcome);
      }
      outcome.lost = part->lost;
      const bool last = part->end || part->lost;
      outcome.parts.push_back(std::move(*part));
      if (last) break;
    }
    EXPECT_TRUE(outcome.lost || pending.empty());
    return outcome;
  }
  static std::vector<std::uint32_t> all(std::uint32_t count) {
    std::vector<std::uint32_t> numbers(count);
    for (std::uint32_t i = 0; i < count; ++i) numbers[i] = i;
    return numbers;
  }

  OutputNodes nodes_;
  OutputTables tables_;
  std::uint64_t fetch_bytes_ = 32u << 20;
  Duration longest_wait_ = std::chrono::seconds(30);
  std::unique_ptr<BlockFetcher> fetcher_;
  std::shared_ptr<PartitionReader> reader_;
};

}  // namespace weft::shuffle::test
