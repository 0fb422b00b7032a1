#include "engine/master/profiles/profile_database.hpp"

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include "base/directory_claim.hpp"
#include "base/log.hpp"
#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "storage/rocks.hpp"

namespace weft::master {

namespace {

constexpr std::string_view kFormatKey = "!format";  // sorts before every record
constexpr std::string_view kFormat = "weft profiles 1";
constexpr int kMostSetAside = 1000;
constexpr auto kRetry = std::chrono::milliseconds(500);  // while its disk is full
constexpr std::size_t kBatchBytes = 256u << 10;  // of one write; a memtable and its log grow to no less than the largest batch

rocksdb::Options profile_options() {
  rocksdb::Options options = storage::store_options();
  options.create_if_missing = true;
  // Small files, merged early: what has been replaced is soon gone, however often each profile is put.
  options.write_buffer_size = 1u << 20;
  options.max_total_wal_size = 2u << 20;
  options.level0_file_num_compaction_trigger = 2;
  options.level0_slowdown_writes_trigger = 4;
  options.level0_stop_writes_trigger = 6;
  options.max_bytes_for_level_base = 16u << 20;
  options.target_file_size_base = 1u << 20;
  options.max_open_files = 64;
  options.compression = rocksdb::kLZ4Compression;
  options.paranoid_checks = true;
  // What a crash cut short is learned again; damage before it sets the store aside.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  return options;
}

Error store_error(const rocksdb::Status& status, const std::string& directory, std::string_view what) {
  return Error(storage::code_of(status), fmt::format("{} the profiles in {}: {}", what, directory, storage::words_of(status)));
}

class ProfileDatabase final : public ProfileStore {
 public:
  ProfileDatabase(std::string directory, Fd claim, std::unique_ptr<storage::RocksStore> records)
      : directory_(std::move(directory)),
        claim_(std::move(claim)),
        records_(std::move(records)),
        writer_([this] { write_all(); }) {}
  ~ProfileDatabase() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_one();
    writer_.join();
  }

  void put(std::map<std::string, std::optional<std::string>> records) override {
    {
      const std::lock_guard lock(mutex_);
      records.merge(pending_);  // a later record takes the place of an earlier one
      pending_ = std::move(records);
    }
    wake_.notify_one();
  }

 private:
  void write_all() {
    std::unique_lock lock(mutex_);
    while (true) {
      if (full_)
        wake_.wait_for(lock, kRetry, [this] { return closing_; });
      else
        wake_.wait(lock, [this] { return closing_ || !pending_.empty(); });
      if (pending_.empty() && (closing_ || !full_)) return;
      auto records = std::exchange(pending_, {});
      const bool last = closing_;
      lock.unlock();
      write(records);
      lock.lock();
      if (last) return;
      pending_.merge(records);  // what is not written; a later record of the same key stays
    }
  }

  /// Takes out what is written, or lost. Not synced: what the kernel has outlives the process, and a machine that fails costs no
  /// more than the last seconds' learning.
  void write(std::map<std::string, std::optional<std::string>>& records) {
    if (failed_) return records.clear();
    if (full_) {
      const rocksdb::Status opened = records_->reopen();
      if (!opened.ok()) return note(opened, records);
      full_ = false;
      Log("master").info("the profiles in {} are written again", directory_);
    }
    while (!records.empty()) {
      rocksdb::WriteBatch batch;
      auto to = records.begin();
      for (; to != records.end() && batch.GetDataSize() < kBatchBytes; ++to)
        to->second ? batch.Put(to->first, *to->second) : batch.Delete(to->first);
      if (const rocksdb::Status written = records_->write(rocksdb::WriteOptions(), batch); !written.ok())
        return note(written, records);
      records.erase(records.begin(), to);
    }
  }

  /// A full disk is waited for; what was learned meanwhile is kept in memory, the last of each profile.
  void note(const rocksdb::Status& why, std::map<std::string, std::optional<std::string>>& records) {
    const Error error = store_error(why, directory_, "cannot write");
    if (error.code() == Code::resource_exhausted) {
      if (!std::exchange(full_, true)) Log("master").warn("{}", error.to_string());
      return;
    }
    failed_ = true;
    records.clear();
    Log("master").error("{}; what is learned from now on is lost with this master", error.to_string());
  }

  const std::string directory_;
  const Fd claim_;
  const std::unique_ptr<storage::RocksStore> records_;
  bool failed_ = false, full_ = false;  // writer thread only
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::optional<std::string>> pending_;
  bool closing_ = false;
  std::thread writer_;
};

Result<ProfileRecords> read_records(storage::RocksStore& store, const std::string& directory) {
  const auto held = store.db();
  rocksdb::DB& db = *held;
  std::string format;
  const rocksdb::Status known = db.Get(rocksdb::ReadOptions(), std::string(kFormatKey), &format);
  if (known.IsNotFound()) {
    rocksdb::WriteBatch batch;
    batch.Put(std::string(kFormatKey), std::string(kFormat));
    const rocksdb::Status written = store.write(rocksdb::WriteOptions(), batch);
    if (!written.ok()) return fail(store_error(written, directory, "cannot write"));
    format = kFormat;
  } else if (!known.ok()) {
    return fail(store_error(known, directory, "cannot read"));
  }
  if (format != kFormat)
    return fail(Code::version_mismatch, fmt::format("{} holds '{}'; this program reads '{}'", directory, escaped(format), kFormat));
  ProfileRecords records;
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(rocksdb::ReadOptions()));
  for (at->SeekToFirst(); at->Valid(); at->Next())
    if (at->key().ToStringView() != kFormatKey) records.emplace_back(at->key().ToString(), at->value().ToString());
  if (!at->status().ok()) return fail(store_error(at->status(), directory, "cannot read"));
  return records;
}

Result<std::unique_ptr<ProfileStore>> open_store(const std::string& directory,
                                                 const std::function<Result<void>(ProfileRecords)>& restore) {
  WEFT_TRY(make_private_directory(directory));
  WEFT_ASSIGN(Fd claim, claim_directory(directory, "master"));
  std::unique_ptr<storage::RocksStore> store;
  const rocksdb::Status status = storage::RocksStore::open(profile_options(), directory, store);
  if (!status.ok()) return fail(store_error(status, directory, "cannot open"));
  WEFT_ASSIGN(ProfileRecords records, read_records(*store, directory));
  WEFT_TRY(restore(std::move(records)));
  return std::unique_ptr<ProfileStore>(std::make_unique<ProfileDatabase>(directory, std::move(claim), std::move(store)));
}

/// Under the first name that is free. Empty: it could not be moved.
std::string set_aside(const std::string& directory) {
  for (int i = 1; i <= kMostSetAside; ++i) {
    const std::string aside = fmt::format("{}.damaged-{}", directory, i);
    std::error_code error;
    if (std::filesystem::exists(aside, error)) continue;
    std::filesystem::rename(directory, aside, error);
    return error ? std::string() : aside;
  }
  return {};
}

}  // namespace

ProfileStoreFactory profile_database(std::string directory) {
  return [directory = std::move(directory)](
             const std::function<Result<void>(ProfileRecords)>& restore) -> Result<std::unique_ptr<ProfileStore>> {
    const Log log("master");
    auto store = open_store(directory, restore);
    if (!store && (store.error().code() == Code::corrupt || store.error().code() == Code::version_mismatch)) {
      const std::string aside = set_aside(directory);
      log.error(
          "{}; {}", store.error().to_string(),
          aside.empty() ? "it cannot be moved away" : fmt::format("it is set aside as {}, and profiles are learned again", aside));
      if (!aside.empty()) store = open_store(directory, restore);
    }
    if (store) return store;
    if (store.error().code() == Code::unavailable) return fail(std::move(store).error().wrap("--profiles"));
    log.error("profiles are kept in memory only: {}", store.error().to_string());
    return std::unique_ptr<ProfileStore>();
  };
}

}  // namespace weft::master
