#include "storage/namespace/namespace_store.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "base/unguessable.hpp"
#include "storage/rocks.hpp"

namespace weft::storage {
namespace {

constexpr std::string_view kFormatKey = "!format";  // sorts before every record
constexpr std::string_view kClusterKey = "!cluster";
constexpr std::string_view kJournalKey = "!journal";
constexpr std::string_view kFormat = "weft namespace 1";
constexpr std::string_view kTablePrefix = "t";
constexpr std::size_t kMostPending = 64u << 20;          // bytes that one batch takes
constexpr auto kRetry = std::chrono::milliseconds(500);  // while its disk is full

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

/// RocksDB's statuses become errors here and nowhere else.
Error error_of(const rocksdb::Status& status, const std::string& directory, std::string_view what) {
  const Code code = code_of(status);
  std::string_view remedy;
  if (code == Code::corrupt) remedy = "; RocksDB's `ldb repair` may save what is left";
  if (code == Code::already_exists) remedy = "; another master has it open";
  return Error(code, fmt::format("{} the namespace in {}: {}{}", what, directory, words_of(status), remedy));
}

std::string new_cluster_id() { return fmt::format("{:016x}{:016x}", unguessable_number(), unguessable_number()); }

class Records final : public NamespaceRecords {
 public:
  Records(std::string directory, std::shared_ptr<rocksdb::DB> db) : directory_(std::move(directory)), db_(std::move(db)) {
    rocksdb::ReadOptions options;
    options.fill_cache = false;
    at_.reset(db_->NewIterator(options));
    at_->SeekToFirst();
  }

  Result<std::vector<Change>> next(std::size_t bytes) override {
    std::vector<Change> records;
    for (std::size_t size = 0; size < bytes && at_->Valid(); at_->Next()) {
      size += at_->key().size() + at_->value().size();
      records.push_back({at_->key().ToString(), at_->value().ToString()});
    }
    if (!at_->status().ok()) return fail(error_of(at_->status(), directory_, "cannot read"));
    return records;
  }

 private:
  const std::string directory_;
  const std::shared_ptr<rocksdb::DB> db_;
  std::unique_ptr<rocksdb::Iterator> at_;
};

class Store final : public NamespaceStore {
 public:
  Store(std::string directory, std::unique_ptr<RocksStore> records)
      : directory_(std::move(directory)), records_(std::move(records)) {}
  ~Store() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_one();
    if (writer_.joinable()) writer_.join();
  }

  Result<void> begin() {
    const auto db = records_->db();
    std::string format;
    const rocksdb::Status known = db->Get(rocksdb::ReadOptions(), slice(kFormatKey), &format);
    if (known.IsNotFound()) {
      WEFT_TRY(initialise());
    } else if (!known.ok()) {
      return fail(error_of(known, directory_, "cannot read"));
    } else if (format != kFormat) {
      return fail(Code::version_mismatch,
                  fmt::format("{} holds a '{}'; this program reads '{}'", directory_, escaped(format), kFormat));
    } else if (const auto got = db->Get(rocksdb::ReadOptions(), slice(kClusterKey), &cluster_id_); !got.ok()) {
      return fail(error_of(got, directory_, "cannot read"));
    }
    std::string none;
    const rocksdb::Status noted = db->Get(rocksdb::ReadOptions(), slice(kJournalKey), &none);
    if (!noted.ok() && !noted.IsNotFound()) return fail(error_of(noted, directory_, "cannot read"));
    has_journal_ = noted.ok();
    if (const auto writable = records_->writable(); !writable.ok()) full_ = error_of(writable, directory_, "cannot write");
    writer_ = std::thread([this] { write_all(); });
    return {};
  }

  const std::string& cluster_id() const override { return cluster_id_; }
  bool has_journal() const override { return has_journal_; }

  Result<void> load(Namespace& into, Time now, std::int64_t clock_ms) override {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    options.readahead_size = 4u << 20;
    const auto db = records_->db();
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(options));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      const std::string_view key(at->key().data(), at->key().size());
      const bool of_lease = key.starts_with(kFileLeaseTimes) || key.starts_with(kLeasedDirectories);
      if ((key.starts_with('!') && !of_lease) || key.starts_with(kTablePrefix)) continue;
      WEFT_TRY(named(into.restore(key, {at->value().data(), at->value().size()})));
    }
    if (!at->status().ok()) return fail(error_of(at->status(), directory_, "cannot read"));
    return named(into.restored(now, clock_ms));
  }

  Result<void> load_tables(const Visit& visit) override {
    const auto db = records_->db();
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
    for (const std::string_view prefix : {kTableLeaseTimes, kTablePrefix})
      for (at->Seek(slice(prefix)); at->Valid() && at->key().starts_with(slice(prefix)); at->Next())
        WEFT_TRY(named(visit({at->key().data(), at->key().size()}, {at->value().data(), at->value().size()})));
    if (!at->status().ok()) return fail(error_of(at->status(), directory_, "cannot read"));
    return {};
  }

  void commit(std::vector<Change> changes, std::function<void(Result<void>)> done) override {
    {
      const std::lock_guard lock(mutex_);
      pending_.push_back({std::move(changes), std::move(done)});
    }
    wake_.notify_one();
  }

  std::unique_ptr<NamespaceRecords> records() const override { return std::make_unique<Records>(directory_, records_->db()); }

  std::optional<Error> full() const override {
    const std::lock_guard lock(mutex_);
    return full_;
  }

 private:
  struct Pending {
    std::vector<Change> changes;
    std::function<void(Result<void>)> done;
  };

  Result<void> named(Result<void> result) const {
    if (result) return result;
    return fail(std::move(result).error().wrap(fmt::format("cannot read the namespace in {}", directory_)));
  }

  Result<void> initialise() {
    const auto db = records_->db();
    const std::unique_ptr<rocksdb::Iterator> any(db->NewIterator(rocksdb::ReadOptions()));
    any->SeekToFirst();
    if (any->Valid())
      return fail(Code::version_mismatch, fmt::format("{} holds a database of something else than weft's namespace", directory_));
    cluster_id_ = new_cluster_id();
    rocksdb::WriteBatch batch;
    batch.Put(slice(kFormatKey), slice(kFormat));
    batch.Put(slice(kClusterKey), cluster_id_);
    if (const auto written = write(batch); !written.ok()) return fail(error_of(written, directory_, "cannot write"));
    return {};
  }

  rocksdb::Status write(rocksdb::WriteBatch& batch) {
    rocksdb::WriteOptions options;
    options.sync = true;
    return records_->write(options, batch);
  }

  void write_all() {
    std::unique_lock lock(mutex_);
    std::deque<Pending> group;  // what was given and is not on the disk
    while (true) {
      if (full_)
        wake_.wait_for(lock, kRetry, [this] { return closing_; });
      else
        wake_.wait(lock, [this] { return closing_ || !pending_.empty(); });
      std::move(pending_.begin(), pending_.end(), std::back_inserter(group));
      pending_.clear();
      if (group.empty() && closing_) return;
      const bool last = closing_, full = full_.has_value();
      lock.unlock();
      if (!full || begin_again()) write_group(group);
      if (last) give_up(group);
      lock.lock();
    }
  }

  /// Whether there is room again: then the database is what the disk has, and what was refused is written once more.
  bool begin_again() {
    const auto opened = records_->reopen();
    if (opened.IsNoSpace()) return false;
    if (!opened.ok()) failed_ = error_of(opened, directory_, "cannot open");
    const std::lock_guard lock(mutex_);
    full_.reset();
    return true;
  }

  /// In order, until the disk is full: what was not written stays in the group.
  void write_group(std::deque<Pending>& group) {
    while (!group.empty()) {
      rocksdb::WriteBatch batch;
      std::size_t count = 0;
      for (; count < group.size() && (count == 0 || batch.GetDataSize() < kMostPending); ++count)
        for (const Change& change : group[count].changes)
          change.value ? batch.Put(change.key, *change.value) : batch.Delete(change.key);
      if (!failed_ && batch.Count() > 0) {
        const auto written = write(batch);
        if (written.IsNoSpace()) {
          const std::lock_guard lock(mutex_);
          full_ = error_of(written, directory_, "cannot write");
          return;
        }
        if (!written.ok()) failed_ = error_of(written, directory_, "cannot write");
      }
      for (; count > 0; --count, group.pop_front()) group.front().done(failed_ ? Result<void>(fail(*failed_)) : Result<void>());
    }
  }

  /// The store is closed while its disk is full.
  void give_up(std::deque<Pending>& group) {
    for (; !group.empty(); group.pop_front()) group.front().done(fail(Code::unavailable, "the namespace is closed"));
  }

  const std::string directory_;
  const std::unique_ptr<RocksStore> records_;
  std::string cluster_id_;
  bool has_journal_ = false;
  std::optional<Error> failed_;  // writer thread only, while there is one
  mutable std::mutex mutex_;     // of what follows
  std::condition_variable wake_;
  std::optional<Error> full_;
  std::vector<Pending> pending_;
  bool closing_ = false;
  std::thread writer_;
};

constexpr std::string_view kFirstManifest = "MANIFEST-000001";  // RocksDB writes it before CURRENT

rocksdb::Options options_of() {
  rocksdb::Options options = store_options();
  options.create_if_missing = true;
  options.write_buffer_size = 16u << 20;
  options.max_total_wal_size = 64u << 20;
  options.max_open_files = 256;
  options.compression = rocksdb::kNoCompression;
  options.paranoid_checks = true;
  // What a crash cut short was never acknowledged; damage before it is an error.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  return options;
}

}  // namespace

Change NamespaceStore::journal_note() { return {std::string(kJournalKey), std::string()}; }

Result<std::unique_ptr<NamespaceStore>> NamespaceStore::open(const std::string& directory) {
  WEFT_TRY(make_private_directory(directory));
  std::error_code error;
  const bool fresh = !std::filesystem::exists(std::filesystem::path(directory) / "CURRENT", error);
  if (fresh) {
    // A directory with other things in it, or a namespace that lost the file that says where it begins. One that was being made
    // when its master was killed has nothing in it.
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name == "IDENTITY" || name == kFirstManifest || name.ends_with(".dbtmp")) continue;
      if (name.starts_with("MANIFEST") || name.starts_with("OPTIONS-") || name.ends_with(".sst") || name.ends_with(".log"))
        return fail(Code::corrupt,
                    fmt::format("the namespace in {} is incomplete: its file CURRENT is missing, so it was copied in "
                                "part; copy it again, with the master stopped, or restore it from a copy",
                                directory));
      if (name != "LOCK" && name != "LOG" && !name.starts_with("LOG.old"))
        return fail(Code::version_mismatch,
                    fmt::format("{} is no namespace of weft and not empty ({}); name another directory", directory, name));
    }
  }
  std::unique_ptr<RocksStore> records;
  const rocksdb::Status status = RocksStore::open(options_of(), directory, records);
  if (!status.ok()) return fail(error_of(status, directory, "cannot open"));
  auto store = std::make_unique<Store>(directory, std::move(records));
  WEFT_TRY(store->begin());
  return std::unique_ptr<NamespaceStore>(std::move(store));
}

}  // namespace weft::storage
