// Compactions of some files only: what a live snapshot, or who names none, can see stays the same, whatever is compacted in which
// order.
#include "storage/tables/version_filter.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "storage/tables/versioned_key.hpp"

namespace weft::storage::tables {
namespace {

using File = std::map<std::string, std::string>;  // keys of the database, in its order

/// What a reader at `version` finds.
std::map<std::string, std::string> seen(const std::vector<File>& files, std::uint64_t version) {
  File all;
  for (const File& file : files) all.insert(file.begin(), file.end());
  std::map<std::string, std::string> rows;
  std::string before;
  for (const auto& [key, value] : all) {
    const auto data = parse_data_key(key);
    if (data->version > version || data->prefix == before) continue;
    before = data->prefix;
    if (value.size() > 1) rows.emplace(before, value);
  }
  return rows;
}

class VersionFilterTest : public testing::Test {
 protected:
  /// As RocksDB does it: chosen files become one, without what the filter drops.
  void compact(std::vector<File>& files, std::vector<std::size_t> chosen) {
    rocksdb::CompactionFilter::Context context;
    context.is_full_compaction = chosen.size() == files.size();
    context.is_manual_compaction = false;
    const auto filter = make_version_filter(kept_)->CreateCompactionFilter(context);
    File all, left;
    for (const std::size_t i : chosen) all.insert(files[i].begin(), files[i].end());
    bool changed = false;
    std::string ignored;
    for (const auto& [key, value] : all)
      if (filter->Filter(0, key, value, &ignored, &changed))
        ++dropped_;
      else
        left.emplace(key, value);
    std::sort(chosen.rbegin(), chosen.rend());
    for (const std::size_t i : chosen) files.erase(files.begin() + static_cast<std::ptrdiff_t>(i));
    files.push_back(std::move(left));
  }

  std::shared_ptr<KeptVersions> kept_ = std::make_shared<KeptVersions>();
  std::size_t dropped_ = 0;
};

TEST_F(VersionFilterTest, WhatSomebodyCanSeeStaysInAnyCompactionOfAnyFiles) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    kept_ = std::make_shared<KeptVersions>();
    std::vector<File> files(1);
    std::set<std::uint64_t> live;
    std::uint64_t last = 0;
    for (int step = 0; step < 120; ++step) {
      ++last;
      const std::string key(1, static_cast<char>('a' + random.below(4)));
      files.back()[data_key(key, last)] = random.chance(0.3) ? std::string(1, '\0') : "\1" + std::to_string(last);
      kept_->set_committed(last - (random.chance(0.3) ? 1 : 0));
      if (random.chance(0.1) && live.insert(last).second) kept_->add(last);
      if (!live.empty() && random.chance(0.07)) {
        auto which = live.begin();
        std::advance(which, random.below(live.size()));
        kept_->remove(*which);
        live.erase(which);
      }
      if (random.chance(0.3)) files.emplace_back();  // a flush
      if (files.size() < 2 || !random.chance(0.2)) continue;
      std::vector<std::size_t> chosen;
      for (std::size_t i = 0; i + 1 < files.size(); ++i)  // never what is in memory
        if (random.chance(0.6)) chosen.push_back(i);
      if (chosen.empty()) continue;
      const std::uint64_t committed = kept_->committed();
      std::map<std::uint64_t, std::map<std::string, std::string>> before;
      for (const std::uint64_t version : live) before[version] = seen(files, version);
      before[committed] = seen(files, committed);
      before[last] = seen(files, last);
      File memory = std::move(files.back());
      files.pop_back();
      compact(files, chosen);
      files.push_back(std::move(memory));
      for (const auto& [version, rows] : before) ASSERT_EQ(seen(files, version), rows) << "at version " << version;
    }
  }
  EXPECT_GT(dropped_, 1000u);
}

TEST_F(VersionFilterTest, ADeletionStaysWhileAnotherFileMayHoldWhatItHides) {
  kept_->set_committed(9);
  std::vector<File> files{{{data_key("k", 1), "\1x"}}, {{data_key("k", 2), std::string(1, '\0')}}};
  compact(files, {1});
  EXPECT_TRUE(seen(files, 9).empty());
  EXPECT_EQ(dropped_, 0u);
  compact(files, {0, 1});
  EXPECT_TRUE(files.at(0).empty());
}

}  // namespace
}  // namespace weft::storage::tables
