#include "storage/tables/partition.hpp"

#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/sanitized.hpp"
#include "storage/tables/versioned_key.hpp"
#include "tests/support/process.hpp"

namespace weft::storage::tables {
namespace {

using Rows = std::map<std::string, std::string>;

/// What a partition should hold: all of it at every version.
class Model {
 public:
  void apply(const LogEntry& entry) {
    Rows rows = at_.rbegin()->second;
    for (const TableWrite& write : entry.writes) {
      if (write.value) rows[write.key] = *write.value;
      if (!write.value) rows.erase(write.key);
    }
    at_[entry.version] = std::move(rows);
  }
  const Rows& at(std::uint64_t version) const { return at_.at(version); }

 private:
  std::map<std::uint64_t, Rows> at_ = {{0, {}}};
};

/// Few keys, so that they meet; with zeros and prefixes of each other among them.
std::string random_key(Random& random) {
  static const std::string kBytes(
      "\0\1\xff\xfe"
      "ab",
      6);
  std::string key;
  do key += kBytes[random.below(kBytes.size())];
  while (key.size() < 3 && random.chance(0.5));
  return key;
}

LogEntry random_entry(std::uint64_t version, Random& random) {
  LogEntry entry{version, {}};
  for (std::uint64_t writes = random.below(8); entry.writes.size() < writes;) {
    entry.writes.push_back({random_key(random), std::nullopt});
    if (random.chance(0.7)) entry.writes.back().value = std::string(random.below(50), static_cast<char>('a' + version % 26));
  }
  return entry;
}

class PartitionTest : public testing::Test {
 protected:
  std::unique_ptr<TablePartition> open(const std::string& name = "p") const {
    auto partition = TablePartition::open(scratch_ / name);
    EXPECT_TRUE(partition) << partition.error().to_string();
    return partition ? std::move(*partition) : nullptr;
  }
  static Rows all(const TablePartition& partition, std::uint64_t at) {
    Rows rows;
    const auto scanned = partition.scan("", "", 1'000'000, at);
    EXPECT_TRUE(scanned);
    for (const TableRow& row : *scanned) EXPECT_TRUE(rows.emplace(row.key, row.value).second);
    return rows;
  }

  static LogEntry special(const TablePartition& partition, EntryKind kind, std::uint64_t id) {
    LogEntry entry{partition.last() + 1, {}};
    entry.kind = kind, entry.id = id;
    return entry;
  }
  static void apply(TablePartition& partition, const LogEntry& entry, Model* model = nullptr) {
    const auto applied = partition.apply(entry);
    ASSERT_TRUE(applied) << applied.error().to_string();
    if (model != nullptr) model->apply({entry.version, entry.kind == EntryKind::write ? entry.writes : std::vector<TableWrite>()});
  }

  test::ScratchDirectory scratch_;
};

TEST_F(PartitionTest, KeysSortAsTheirBytesDo) {
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string a = random_key(random), b = random_key(random);
    EXPECT_EQ(a < b, data_prefix(a) < data_prefix(b));
    EXPECT_EQ(key_of_prefix(data_prefix(a)), a);
    EXPECT_LT(data_key(a, 7), data_key(a, 6));
    if (a < b) {
      EXPECT_LT(data_key(a, 0), data_key(b, ~std::uint64_t{0}));
    }
  }
}

TEST_F(PartitionTest, EverySnapshotShowsItsVersionWhateverIsWrittenAndCompacted) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 2u : 4u); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Model model;
    std::map<SnapshotId, std::uint64_t> live;
    const std::string name = "s" + std::to_string(seed);
    auto partition = open(name);
    for (std::uint64_t step = 0; step < 150; ++step) {
      const LogEntry entry = random_entry(partition->last() + 1, random);
      ASSERT_TRUE(partition->apply(entry));
      model.apply(entry);
      if (random.chance(0.1)) {
        apply(*partition, special(*partition, EntryKind::mark, step + 1), &model);
        live.emplace(SnapshotId(step + 1), partition->last());
      }
      if (!live.empty() && random.chance(0.05)) {
        apply(*partition, special(*partition, EntryKind::unmark, live.begin()->first.value()), &model);
        live.erase(live.begin());
      }
      if (random.chance(0.05)) {
        ASSERT_TRUE(partition->compact());
      }
      if (random.chance(0.05)) {
        partition.reset();
        partition = open(name);
        EXPECT_EQ(partition->snapshots(), live);
      }
      if (!random.chance(0.2)) continue;
      EXPECT_EQ(all(*partition, partition->last()), model.at(partition->last()));
      for (const auto& [id, version] : live) EXPECT_EQ(all(*partition, version), model.at(version)) << "version " << version;
    }
    for (const auto& [id, version] : live) {
      for (int i = 0; i < 50; ++i) {
        const std::string key = random_key(random);
        const auto value = partition->get(key, version);
        ASSERT_TRUE(value);
        const auto expected = model.at(version).find(key);
        EXPECT_EQ(value->has_value(), expected != model.at(version).end());
        if (*value) {
          EXPECT_EQ(**value, expected->second);
        }
      }
      apply(*partition, special(*partition, EntryKind::unmark, id.value()), &model);
    }
    partition->set_committed(partition->last());
    ASSERT_TRUE(partition->compact());
    EXPECT_EQ(partition->stored_versions().value(), model.at(partition->last()).size());  // what nobody sees is gone
    EXPECT_EQ(all(*partition, partition->last()), model.at(partition->last()));
  }
}

TEST_F(PartitionTest, RangesAndLimitsHold) {
  auto partition = open();
  ASSERT_TRUE(partition->apply({1, {{"a", "1"}, {"b", "2"}, {"ba", "3"}, {"c", "4"}, {"d", "5"}}}));
  ASSERT_TRUE(partition->apply({2, {{"b", std::nullopt}, {"c", "six"}}}));
  using List = std::vector<TableRow>;
  EXPECT_EQ(partition->scan("a", "c", 10, 1).value(), (List{{"a", "1"}, {"b", "2"}, {"ba", "3"}}));
  EXPECT_EQ(partition->scan("aa", "", 2, 2).value(), (List{{"ba", "3"}, {"c", "six"}}));
  EXPECT_EQ(partition->scan("b", "b", 10, 2).value(), List{});
  EXPECT_EQ(partition->scan("", "", 10, 0).value(), List{});
  EXPECT_EQ(partition->get("b", 1).value(), "2");
  EXPECT_EQ(partition->get("b", 2).value(), std::nullopt);
  EXPECT_EQ(partition->get("ab", 2).value(), std::nullopt);
}

TEST_F(PartitionTest, AReplicaThatFellBehindCatchesUpFromTheLog) {
  Random random(5);
  auto first = open("first"), second = open("second");
  for (std::uint64_t version = 1; version <= 60; ++version) ASSERT_TRUE(first->apply(random_entry(version, random)));
  while (second->last() < first->last()) {
    const auto entries = first->log_after(second->last(), 200);
    ASSERT_TRUE(entries);
    ASSERT_FALSE(entries->empty());
    for (const LogEntry& entry : *entries) ASSERT_TRUE(second->apply(entry));
    ASSERT_TRUE(second->apply(entries->front()));  // heard twice
  }
  EXPECT_TRUE(first->log_after(60, 200)->empty());
  EXPECT_EQ(all(*second, 60), all(*first, 60));
  ASSERT_TRUE(first->trim_log(40));
  EXPECT_EQ(first->log_after(20, 200).error().code(), Code::not_found);
  EXPECT_EQ(first->log_after(40, 1u << 20)->size(), 20u);
  EXPECT_EQ(all(*first, 60), all(*second, 60));
}

TEST_F(PartitionTest, RefusesWhatCannotBe) {
  auto partition = open();
  EXPECT_EQ(partition->apply({2, {{"a", "1"}}}).error().code(), Code::invalid_argument);
  EXPECT_EQ(partition->apply({1, {{"", "1"}}}).error().code(), Code::invalid_argument);
  EXPECT_EQ(partition->apply({1, {{std::string(kLargestKeyBytes + 1, 'k'), "1"}}}).error().code(), Code::invalid_argument);
  EXPECT_EQ(partition->last(), 0u);
  EXPECT_EQ(TablePartition::open(scratch_ / "p").error().code(), Code::already_exists);
  apply(*partition, special(*partition, EntryKind::unmark, 9));  // unknown ones are fine
}

TEST_F(PartitionTest, ADirectoryOfSomethingElseOrDamagedSaysSoAndStaysAsItIs) {
  std::filesystem::create_directory(scratch_ / "lost");
  test::write_file(scratch_ / "lost/MANIFEST-000004", "?");
  const auto lost = TablePartition::open(scratch_ / "lost");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code(), Code::corrupt);
  EXPECT_EQ(test::read_file(scratch_ / "lost/MANIFEST-000004"), "?");
  {
    auto partition = open("p");
    apply(*partition, {1, {{"a", std::string(100'000, 'x')}}});
  }
  bool found = false;
  for (const auto& entry : std::filesystem::directory_iterator(scratch_ / "p"))
    if (entry.path().filename().string().starts_with("MANIFEST")) {
      test::write_file(entry.path(), "nonsense");
      found = true;
    }
  ASSERT_TRUE(found);
  const auto damaged = TablePartition::open(scratch_ / "p");
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().code(), Code::corrupt) << damaged.error().to_string();
  EXPECT_NE(damaged.error().to_string().find("/p cannot be opened"), std::string::npos) << damaged.error().to_string();
}

TEST_F(PartitionTest, RowsSetAsideAppearTogetherWhenTheyAreCommitted) {
  auto partition = open();
  const auto stage = [&](std::uint64_t transaction, std::uint64_t token, std::vector<TableWrite> writes) {
    LogEntry entry = special(*partition, EntryKind::stage, transaction);
    entry.token = token, entry.writes = std::move(writes);
    apply(*partition, entry);
  };
  apply(*partition, {1, {{"a", "old"}, {"b", "old"}}});
  EXPECT_EQ(partition->staged_bytes(), 0u);
  stage(7, 1, {{"a", "one"}, {"b", std::nullopt}});
  stage(7, 2, {{"a", "lost attempt"}, {"z", "lost attempt"}});
  stage(8, 1, {{"a", "another job"}});
  stage(7, 3, {{"c", "three"}});
  EXPECT_EQ(all(*partition, partition->last()), (Rows{{"a", "old"}, {"b", "old"}}));
  EXPECT_EQ(partition->staged(), (std::set{TransactionId(7), TransactionId(8)}));
  stage(8, 2, {{"large", std::string(10'000, 'v')}});
  apply(*partition, special(*partition, EntryKind::mark, 1));
  const std::uint64_t before = partition->last();
  EXPECT_NEAR(static_cast<double>(partition->staged_bytes()), 10'300, 300);
  partition.reset();
  partition = open();
  EXPECT_EQ(partition->staged(), (std::set{TransactionId(7), TransactionId(8)}));
  EXPECT_NEAR(static_cast<double>(partition->staged_bytes()), 10'300, 300) << "counted again";
  LogEntry commit = special(*partition, EntryKind::commit, 7);
  commit.tokens = {3, 1};
  apply(*partition, commit);
  EXPECT_TRUE(partition->committed(TransactionId(7)));
  EXPECT_EQ(all(*partition, before), (Rows{{"a", "old"}, {"b", "old"}}));
  EXPECT_EQ(all(*partition, partition->last()), (Rows{{"a", "one"}, {"c", "three"}}));
  EXPECT_NEAR(static_cast<double>(partition->staged_bytes()), 10'150, 150) << "those of the other one";
  apply(*partition, special(*partition, EntryKind::abort, 8));
  EXPECT_TRUE(partition->staged().empty());
  EXPECT_EQ(partition->staged_bytes(), 0u);
  partition.reset();
  partition = open();
  EXPECT_TRUE(partition->committed(TransactionId(7)));
  EXPECT_TRUE(partition->staged().empty());
  EXPECT_EQ(all(*partition, partition->last()), (Rows{{"a", "one"}, {"c", "three"}}));
}

TEST_F(PartitionTest, TheLastRequestsOfClientsAreKnown) {
  auto partition = open();
  const auto write = [&](std::vector<std::uint64_t> requests) {
    LogEntry entry{partition->last() + 1, {{"k", "v"}}};
    entry.tokens = std::move(requests);
    apply(*partition, entry);
  };
  write({1001, 1002});
  EXPECT_TRUE(partition->carried_out(1001) && partition->carried_out(1002));
  EXPECT_FALSE(partition->carried_out(1));
  LogEntry commit = special(*partition, EntryKind::commit, 7);
  commit.tokens = {1};
  apply(*partition, commit);
  EXPECT_FALSE(partition->carried_out(1)) << "that is no request";
  partition.reset();
  partition = open();
  write({1003});
  EXPECT_FALSE(partition->carried_out(1001));
  EXPECT_FALSE(partition->recalled_requests());
  ASSERT_TRUE(partition->recall_requests());
  EXPECT_TRUE(partition->recalled_requests());
  for (const std::uint64_t request : {1001u, 1002u, 1003u}) EXPECT_TRUE(partition->carried_out(request)) << request;
  std::vector<std::uint64_t> many(65'535);
  std::iota(many.begin(), many.end(), 10'000);
  write(many);
  EXPECT_FALSE(partition->carried_out(1002)) << "it was so long ago that nobody asks again";
  EXPECT_TRUE(partition->carried_out(1003));
  partition.reset();
  partition = open();
  write({1004});
  ASSERT_TRUE(partition->recall_requests());
  EXPECT_FALSE(partition->carried_out(1003));
  EXPECT_TRUE(partition->carried_out(10'000) && partition->carried_out(1004));
}

TEST_F(PartitionTest, EntriesAreKnownByTheirEpochs) {
  auto partition = open();
  const std::vector<std::uint64_t> epochs{1, 1, 3, 3, 4};
  for (std::size_t i = 0; i < epochs.size(); ++i) {
    LogEntry entry{i + 1, {{"a", std::to_string(i)}}};
    entry.epoch = epochs[i];
    apply(*partition, entry);
  }
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < epochs.size(); ++i) EXPECT_EQ(partition->epoch_at(i + 1), epochs[i]);
    EXPECT_EQ(partition->epoch_at(0), std::nullopt);
    EXPECT_EQ(partition->epoch_at(6), std::nullopt);
    partition.reset();
    partition = open();
  }
}

TEST_F(PartitionTest, ReadersWithoutASnapshotSeeWhatIsCommitted) {
  auto partition = open();
  apply(*partition, {1, {{"a", "1"}}});
  partition->set_committed(1);
  apply(*partition, {2, {{"a", "2"}, {"b", "2"}}});
  ASSERT_TRUE(partition->compact());
  EXPECT_EQ(partition->get("a", kNewest).value(), "1");
  EXPECT_EQ(partition->get("b", kNewest).value(), std::nullopt);
  EXPECT_EQ(partition->scan("", "", 10, kNewest)->size(), 1u);
  partition->set_committed(2);
  EXPECT_EQ(partition->get("a", kNewest).value(), "2");
}

TEST_F(PartitionTest, ASnapshotThatIsMarkedAgainKeepsItsLaterVersionOnly) {
  auto partition = open();
  const auto write = [&](const char* value) { apply(*partition, {partition->last() + 1, {{"a", value}}}); };
  write("1");
  apply(*partition, special(*partition, EntryKind::mark, 5));
  write("2");
  apply(*partition, special(*partition, EntryKind::mark, 5));
  write("3");
  partition->set_committed(partition->last());
  ASSERT_TRUE(partition->compact());
  EXPECT_EQ(partition->stored_versions().value(), 2u);
  EXPECT_EQ(partition->get("a", partition->snapshots().at(SnapshotId(5))).value(), "2");
}

TEST_F(PartitionTest, ACopyIsEqualWhateverIsWrittenMeanwhile) {
  Random random(9);
  Model model;
  auto partition = open();
  for (std::uint64_t version = 1; version <= 40; ++version) {
    const LogEntry entry = version == 20 ? special(*partition, EntryKind::mark, 5) : random_entry(version, random);
    apply(*partition, entry, &model);
  }
  const auto pages = partition->pages();
  auto copy = PartitionCopy::create(scratch_ / "copy");
  ASSERT_TRUE(copy) << copy.error().to_string();
  for (std::uint64_t version = 41;; ++version) {
    const auto page = pages->next(100);
    ASSERT_TRUE(page);
    if (page->empty()) break;
    ASSERT_TRUE((*copy)->add(*page));
    apply(*partition, random_entry(version, random), &model);
  }
  ASSERT_TRUE((*copy)->finish());
  copy->reset();
  auto second = open("copy");
  EXPECT_EQ(second->last(), 40u);
  EXPECT_EQ(second->snapshots(), partition->snapshots());
  EXPECT_EQ(all(*second, 20), model.at(20));
  EXPECT_EQ(all(*second, 40), model.at(40));
  const auto entries = partition->log_after(40, 1u << 20);
  ASSERT_TRUE(entries);
  for (const LogEntry& entry : *entries) apply(*second, entry);
  EXPECT_EQ(all(*second, second->last()), model.at(partition->last()));
}

TEST_F(PartitionTest, APinnedLogStaysWhateverIsWritten) {
  auto partition = open();
  const auto write = [&](int times) {
    for (int i = 0; i < times; ++i) apply(*partition, {partition->last() + 1, {{"k", std::string(8u << 20, 'v')}}});
  };
  apply(*partition, {1, {{"k", "v"}}});
  auto pin = partition->pin_log();
  write(10);
  const auto entries = partition->log_after(1, 1);
  ASSERT_TRUE(entries) << entries.error().to_string();
  EXPECT_EQ(entries->at(0).version, 2u);
  ASSERT_TRUE(partition->trim_log(10));
  EXPECT_TRUE(partition->log_after(1, 1));
  pin.reset();
  write(4);
  EXPECT_EQ(partition->log_after(1, 1).error().code(), Code::not_found);
  pin = partition->pin_log();
  partition.reset();  // who reads a copy may hold on for longer
}

TEST_F(PartitionTest, ACommitOfManyRowsIsOneVersionAndCarriedOutWhenItWasCutShort) {
  auto partition = open();
  const auto stage = [&](std::uint64_t token, const std::string& key) {
    LogEntry entry = special(*partition, EntryKind::stage, 7);
    entry.token = token, entry.writes = {{key, std::string(3u << 20, 'v')}, {"same", key}};
    apply(*partition, entry);
  };
  apply(*partition, {1, {{"row-0", "old"}, {"other", "old"}}});
  for (int i = 0; i < 8; ++i) stage(1, "row-" + std::to_string(i));
  stage(2, "lost attempt");
  apply(*partition, special(*partition, EntryKind::mark, 3));  // or compaction may drop what the commit writes over
  LogEntry commit = special(*partition, EntryKind::commit, 7);
  commit.tokens = {1};
  // As a crash leaves it: the commit has begun, and one of its rows is there.
  Encoder encoded;
  Codec<LogEntry>::encode(commit, encoded);
  auto copy = PartitionCopy::create(scratch_ / "cut");
  ASSERT_TRUE(copy);
  for (const auto pages = partition->pages(); true;) {
    const auto page = pages->next(1u << 20);
    ASSERT_TRUE(page);
    if (page->empty()) break;
    ASSERT_TRUE((*copy)->add(*page));
  }
  ASSERT_TRUE((*copy)->add({{"mcommit", std::string(as_chars(encoded.view()))}, {data_key("row-0", commit.version), "\1half"}}));
  ASSERT_TRUE((*copy)->finish());
  copy->reset();
  const auto check = [&](const TablePartition& there) {
    EXPECT_EQ(there.last(), commit.version);
    EXPECT_TRUE(there.committed(TransactionId(7)));
    EXPECT_TRUE(there.staged().empty());
    const Rows rows = all(there, there.last());
    EXPECT_EQ(rows.size(), 10u);
    EXPECT_EQ(rows.at("row-0").size(), 3u << 20);
    EXPECT_EQ(rows.at("same"), "row-7");
    EXPECT_EQ(there.scan("", "", 100, commit.version - 1)->size(), 2u) << "the version before is as it was";
    EXPECT_EQ(there.log_after(commit.version - 1, 1)->at(0).id, 7u);
  };
  const auto cut = open("cut");
  ASSERT_NE(cut, nullptr);
  check(*cut);
  apply(*partition, commit);
  check(*partition);
  partition.reset();
  partition = open();
  check(*partition);
}

}  // namespace
}  // namespace weft::storage::tables
