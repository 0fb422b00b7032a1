// What the tests of chunks share: contents that follow from a seed, stores, flipped bits.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/crc32c.hpp"
#include "base/random.hpp"
#include "storage/chunks/chunk_store.hpp"
#include "tests/support/process.hpp"

namespace weft::storage {

/// The same bytes for the same chunk, everywhere.
inline std::string content_of(std::uint64_t seed, std::size_t length) {
  Random random(seed, 77);
  std::string content(length, '\0');
  for (std::size_t at = 0; at < length; at += 8) {
    const std::uint64_t word = random();
    std::memcpy(content.data() + at, &word, std::min<std::size_t>(8, length - at));
  }
  return content;
}

inline void flip_bit(const std::string& path, std::uint64_t bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(bit / 8));
  const char before = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(bit / 8));
  file.put(static_cast<char>(before ^ (1 << (bit % 8))));
  ASSERT_TRUE(file.good()) << path;
}

/// Of a chunk's file.
inline std::string hex_name(std::uint64_t id) {
  char name[17];
  std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(id));
  return name;
}

inline std::uint64_t size_of(const std::string& path) { return std::filesystem::file_size(path); }

/// What a store told its listener.
class Events {
 public:
  ChunkListener listener() {
    return [this](ChunkEvent event, std::span<const ChunkInfo> chunks) {
      const std::lock_guard lock(mutex_);
      for (const ChunkInfo& info : chunks) seen_[event].insert(info.id);
    };
  }
  std::set<ChunkId> of(ChunkEvent event) const {
    const std::lock_guard lock(mutex_);
    const auto found = seen_.find(event);
    return found == seen_.end() ? std::set<ChunkId>{} : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::map<ChunkEvent, std::set<ChunkId>> seen_;
};

inline ChunkStoreOptions quiet_options(std::vector<std::filesystem::path> directories, ChunkListener listener = {}) {
  ChunkStoreOptions options;
  options.directories = std::move(directories);
  options.cluster_id = "test-cluster";
  options.reserve = 0;
  options.scrub_rate = 0;
  options.listener = std::move(listener);
  return options;
}

inline std::unique_ptr<ChunkStore> open_store(ChunkStoreOptions options) {
  auto store = ChunkStore::open(std::move(options));
  EXPECT_TRUE(store) << store.error().to_string();
  return store ? std::move(*store) : nullptr;
}

inline ChunkInfo put_chunk(ChunkStore& store, ChunkId id, const std::string& content) {
  auto appender = store.create(id, content.size());
  EXPECT_TRUE(appender) << appender.error().to_string();
  EXPECT_TRUE((*appender)->append(as_bytes(content)));
  auto info = (*appender)->seal();
  EXPECT_TRUE(info) << info.error().to_string();
  return info.value_or(ChunkInfo{});
}

/// All of a chunk through ChunkStore::read().
inline Result<std::string> read_chunk(ChunkStore& store, const ChunkInfo& info) {
  std::string content(info.length, '\0');
  WEFT_ASSIGN(const std::size_t got, store.read(info.id, 0, {reinterpret_cast<std::byte*>(content.data()), content.size()}));
  content.resize(got);
  return content;
}

class ChunkStoreTest : public testing::Test {
 protected:
  std::vector<std::filesystem::path> one() const { return {scratch_ / "a"}; }
  std::vector<std::filesystem::path> two() const { return {scratch_ / "a", scratch_ / "b"}; }
  std::string chunk_path(std::uint64_t id, const std::string& directory = "a") const {
    return scratch_ / (directory + "/chunks/" + hex_name(id));
  }
  static void expect_content(ChunkStore& store, const ChunkInfo& info) {
    const auto content = read_chunk(store, info);
    ASSERT_TRUE(content) << content.error().to_string();
    EXPECT_TRUE(*content == content_of(info.id.value(), info.length)) << to_string(info.id);
  }
  static Code error_of(ChunkStoreOptions options) {
    const auto store = ChunkStore::open(std::move(options));
    EXPECT_FALSE(store);
    if (store) return Code::internal;
    EXPECT_EQ(store.error().to_string().find('\n'), std::string::npos);
    return store.error().code();
  }

  test::ScratchDirectory scratch_;
  Events events_;
};

}  // namespace weft::storage
