#include "storage/tables/partition_copy.hpp"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

namespace weft::storage::tables {
namespace {

class DatabasePages final : public PartitionPages {
 public:
  explicit DatabasePages(const Database& db) : at_(db.iterate()), db_(db) { at_->SeekToFirst(); }
  Result<Page> next(std::size_t bytes) override {
    Page page;
    for (std::size_t taken = 0; at_->Valid() && taken < bytes; at_->Next()) {
      page.emplace_back(at_->key().ToString(), at_->value().ToString());
      taken += at_->key().size() + at_->value().size();
    }
    WEFT_TRY(db_.read_well(*at_));
    return page;
  }

 private:
  Database::Iterator at_;
  const Database& db_;
};

class DatabaseCopy final : public PartitionCopy {
 public:
  explicit DatabaseCopy(std::unique_ptr<Database> db) : db_(std::move(db)) {}
  Result<void> add(const PartitionPages::Page& page) override {
    rocksdb::WriteBatch batch;
    for (const auto& [key, value] : page) batch.Put(key, value);
    return db_->write(batch, Database::Sync::no);
  }
  Result<void> finish() override { return db_->flush(); }

 private:
  const std::unique_ptr<Database> db_;
};

}  // namespace

std::unique_ptr<PartitionPages> make_pages(const Database& db) { return std::make_unique<DatabasePages>(db); }

Result<std::unique_ptr<PartitionCopy>> PartitionCopy::create(const std::filesystem::path& path) {
  WEFT_ASSIGN(auto db, Database::open(path, nullptr, OpenMode::create));
  return std::make_unique<DatabaseCopy>(std::move(db));
}

}  // namespace weft::storage::tables
