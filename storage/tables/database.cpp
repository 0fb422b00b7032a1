#include "storage/tables/database.hpp"

#include <fmt/core.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include "base/text.hpp"
#include "storage/rocks.hpp"

namespace weft::storage::tables {
namespace {

constexpr const char* kFormatKey = "mformat";
constexpr const char* kFormat = "weft table partition 2";

rocksdb::Options options_with(std::shared_ptr<rocksdb::CompactionFilterFactory> filter, OpenMode mode) {
  rocksdb::Options options = store_options();
  options.create_if_missing = mode == OpenMode::create;
  options.compaction_filter_factory = std::move(filter);
  options.disable_auto_compactions = true;
  options.write_buffer_size = 16u << 20;
  options.max_open_files = 128;
  options.paranoid_checks = true;
  // What a crash cut short was never acknowledged; damage before it is an error.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  return options;
}

Error nothing_there(const std::string& path) {
  return {Code::not_found, fmt::format("there is no table partition in {}; is its disk mounted?", path)};
}

/// A database that lost the file that says where it begins: RocksDB would make a new one over it.
Result<void> check_whole(const std::filesystem::path& path, OpenMode mode) {
  std::error_code error;
  if (std::filesystem::exists(path / "CURRENT", error)) return {};
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("MANIFEST") || name.ends_with(".sst") || name.ends_with(".log"))
      return fail(Code::corrupt, fmt::format("the table partition {} is damaged: its file CURRENT is missing", path.string()));
  }
  if (mode == OpenMode::existing) return fail(nothing_there(path.string()));
  return {};
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::filesystem::path& path,
                                                 std::shared_ptr<rocksdb::CompactionFilterFactory> filter, OpenMode mode) {
  WEFT_TRY(check_whole(path, mode));
  std::unique_ptr<RocksStore> opened;
  if (const auto status = RocksStore::open(options_with(std::move(filter), mode), path.string(), opened); !status.ok()) {
    const Code code = code_of(status);
    return fail(code, fmt::format("the table partition {} cannot be opened{}: {}", path.string(),
                                  code == Code::already_exists ? " (another process has it)" : "", words_of(status)));
  }
  std::unique_ptr<Database> database(new Database(path.string(), std::move(opened)));
  WEFT_TRY(database->check_format(mode));
  return database;
}

Result<void> Database::check_format(OpenMode mode) {
  WEFT_ASSIGN(const auto format, get(kFormatKey));
  if (format && *format != kFormat)
    return fail(Code::version_mismatch, fmt::format("{} holds a '{}'; this program reads '{}'", path_, escaped(*format), kFormat));
  if (format) return {};
  const auto any = iterate();
  any->SeekToFirst();
  WEFT_TRY(read_well(*any));
  if (any->Valid())
    return fail(Code::version_mismatch, fmt::format("{} holds a database of something else than '{}'", path_, kFormat));
  if (mode == OpenMode::existing) return fail(nothing_there(path_));  // its making was cut short
  rocksdb::WriteBatch batch;
  batch.Put(kFormatKey, kFormat);
  return write(batch);
}

Result<void> Database::start_compactions() {
  if (!store_->writable().ok()) return {};  // when it is opened again
  if (const auto status = store_->db()->SetOptions({{"disable_auto_compactions", "false"}}); !status.ok())
    return fail(failed("set up", status));
  return {};
}

std::optional<Error> Database::refusal() const {
  const auto status = store_->writable();
  if (status.ok()) return std::nullopt;
  return failed("written", status);
}

Result<void> Database::reopen() {
  if (const auto status = store_->reopen(); !status.ok()) return fail(failed("written", status));
  return {};
}

Database::Iterator Database::iterate() const {
  auto db = store_->db();
  rocksdb::Iterator* const at = db->NewIterator({});
  return {at, HoldsDatabase{std::move(db)}};
}

Result<std::optional<std::string>> Database::get(const std::string& key) const {
  std::string value;
  const auto status = store_->db()->Get({}, key, &value);
  if (status.IsNotFound()) return std::nullopt;
  if (!status.ok()) return fail(failed("read", status));
  return value;
}

Result<void> Database::write(rocksdb::WriteBatch& batch, Sync sync) {
  rocksdb::WriteOptions options;
  options.sync = sync == Sync::yes;
  options.disableWAL = sync == Sync::no;
  if (const auto status = store_->write(options, batch); !status.ok()) return fail(failed("written", status));
  return {};
}

Result<void> Database::flush() {
  if (const auto status = store_->flush(); !status.ok()) return fail(failed("written", status));
  return {};
}

Result<void> Database::compact() {
  rocksdb::CompactRangeOptions all;
  all.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  if (const auto status = store_->compact(all); !status.ok()) return fail(failed("compacted", status));
  return {};
}

std::uint64_t Database::bytes() const {
  std::uint64_t files = 0, memory = 0;
  const auto db = store_->db();
  db->GetIntProperty("rocksdb.total-sst-files-size", &files);
  db->GetIntProperty("rocksdb.cur-size-all-mem-tables", &memory);
  return files + memory;
}

Error Database::failed(const char* what, const rocksdb::Status& status) const {
  return {code_of(status), fmt::format("the table partition {} cannot be {}: {}", path_, what, words_of(status))};
}

Error Database::damaged(const char* what) const {
  return {Code::corrupt, fmt::format("the table partition {} is damaged: {} is malformed", path_, what)};
}

Result<void> Database::read_well(const rocksdb::Iterator& at) const {
  if (!at.status().ok()) return fail(failed("read", at.status()));
  return {};
}

}  // namespace weft::storage::tables
