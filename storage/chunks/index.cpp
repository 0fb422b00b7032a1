#include "storage/chunks/index.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <string>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

#include "storage/rocks.hpp"

namespace weft::storage {
namespace {

// Keys: 'c' and the id (big-endian, so that the order is that of ids) → length, digest. "scrubbed" → id.
constexpr char kChunkPrefix = 'c';
constexpr std::size_t kKeyBytes = 9;
constexpr std::size_t kValueBytes = 12;
const rocksdb::Slice kScrubbedKey = "scrubbed";

Error failed(const std::string& what, const rocksdb::Status& status) {
  return Error(code_of(status), "the index of chunks cannot be " + what + ": " + words_of(status));
}

using Key = std::array<char, kKeyBytes>;
Key key_of(ChunkId id) {
  Key key;
  key[0] = kChunkPrefix;
  for (std::size_t i = 1; i < kKeyBytes; ++i) key[i] = static_cast<char>(id.value() >> (8 * (kKeyBytes - 1 - i)));
  return key;
}

rocksdb::Slice slice(const Key& key) { return {key.data(), key.size()}; }

ChunkId id_of_key(const rocksdb::Slice& key) {
  std::uint64_t id = 0;
  for (std::size_t i = 1; i < kKeyBytes; ++i) id = id << 8 | static_cast<unsigned char>(key[i]);
  return ChunkId(id);
}

/// Small: a million chunks are some 20 MB.
rocksdb::Options options() {
  rocksdb::Options options = store_options();
  options.create_if_missing = true;
  options.write_buffer_size = 2u << 20;
  options.max_write_buffer_number = 2;
  options.max_open_files = 32;
  options.compression = rocksdb::kNoCompression;
  options.manifest_preallocation_size = 64u << 10;
  options.allow_fallocate = false;  // its logs would take megabytes of small disks
  return options;
}

class RocksIndex final : public ChunkIndex {
 public:
  explicit RocksIndex(std::unique_ptr<RocksStore> store) : store_(std::move(store)) {}

  Result<std::vector<ChunkInfo>> load() const override {
    std::vector<ChunkInfo> chunks;
    const auto db = store_->db();
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator({}));
    for (at->Seek(rocksdb::Slice(&kChunkPrefix, 1)); at->Valid() && at->key()[0] == kChunkPrefix; at->Next()) {
      if (at->key().size() != kKeyBytes || at->value().size() != kValueBytes)
        return fail(Code::corrupt, "the index of chunks holds what is no chunk");
      ChunkInfo info{id_of_key(at->key()), 0, 0};
      std::memcpy(&info.length, at->value().data(), sizeof info.length);
      std::memcpy(&info.digest, at->value().data() + sizeof info.length, sizeof info.digest);
      chunks.push_back(info);
    }
    if (!at->status().ok()) return fail(failed("read", at->status()));
    return chunks;
  }

  Result<void> put(const ChunkInfo& info) override {
    std::array<char, kValueBytes> value;
    std::memcpy(value.data(), &info.length, sizeof info.length);
    std::memcpy(value.data() + sizeof info.length, &info.digest, sizeof info.digest);
    rocksdb::WriteBatch batch;
    batch.Put(slice(key_of(info.id)), {value.data(), value.size()});
    return write(batch);
  }

  Result<void> erase(ChunkId id) override {
    rocksdb::WriteBatch batch;
    batch.Delete(slice(key_of(id)));
    return write(batch);
  }

  Result<ChunkId> scrubbed() const override {
    std::string value;
    const auto status = store_->db()->Get({}, kScrubbedKey, &value);
    if (status.IsNotFound()) return ChunkId{};
    if (!status.ok()) return fail(failed("read", status));
    if (value.size() != kKeyBytes) return fail(Code::corrupt, "the index of chunks holds what is no chunk");
    return id_of_key(value);
  }

  Result<void> set_scrubbed(ChunkId id) override {
    rocksdb::WriteBatch batch;
    batch.Put(kScrubbedKey, slice(key_of(id)));
    return write(batch);
  }

 private:
  /// One that was opened on a full disk holds what the disk holds until the first write.
  Result<void> write(rocksdb::WriteBatch& batch) {
    if (!written_ && !store_->writable().ok()) store_->reopen().PermitUncheckedError();
    written_ = true;
    if (const auto status = store_->write({}, batch); !status.ok()) return fail(failed("written", status));
    return {};
  }

  const std::unique_ptr<RocksStore> store_;
  std::atomic<bool> written_ = false;
};

}  // namespace

Result<std::unique_ptr<ChunkIndex>> ChunkIndex::open(const std::filesystem::path& path) {
  std::unique_ptr<RocksStore> store;
  const auto status = RocksStore::open(options(), path.string(), store);
  if (!status.ok()) return fail(failed("opened", status));
  return std::make_unique<RocksIndex>(std::move(store));
}

}  // namespace weft::storage
