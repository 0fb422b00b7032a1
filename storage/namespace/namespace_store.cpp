#include "storage/namespace/namespace_store.hpp"

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include "base/private_directory.hpp"
#include "base/text.hpp"
#include "storage/rocks.hpp"

namespace weft::storage {
namespace {

constexpr std::string_view kFormatKey = "!format";  // sorts before every record
constexpr std::string_view kClusterKey = "!cluster";
constexpr std::string_view kFormat = "weft namespace 1";
constexpr std::string_view kTablePrefix = "t";
constexpr std::size_t kMostPending = 64u << 20;  // bytes that one batch takes

rocksdb::Slice slice(std::string_view text) { return {text.data(), text.size()}; }

/// RocksDB's statuses become errors here and nowhere else.
Error error_of(const rocksdb::Status& status, const std::string& directory, std::string_view what) {
  const Code code = code_of(status);
  std::string_view remedy;
  if (code == Code::corrupt) remedy = "; it is damaged: restore it from a copy, or try RocksDB's `ldb repair`";
  if (code == Code::resource_exhausted) remedy = "; make room on its disk and start the master again";
  if (code == Code::already_exists) remedy = "; another master has it open";
  return Error(code, fmt::format("{} the namespace in {}: {}{}", what, directory, escaped(status.ToString()), remedy));
}

std::string new_cluster_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

class Store final : public NamespaceStore {
 public:
  Store(std::string directory, std::unique_ptr<rocksdb::DB> db) : directory_(std::move(directory)), db_(std::move(db)) {}
  ~Store() override {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    wake_.notify_one();
    if (writer_.joinable()) writer_.join();
    if (failed_) keep_open(std::move(db_));
  }

  Result<void> begin() {
    std::string format;
    const rocksdb::Status known = db_->Get(rocksdb::ReadOptions(), slice(kFormatKey), &format);
    if (known.IsNotFound()) {
      WEFT_TRY(initialise());
    } else if (!known.ok()) {
      return fail(error_of(known, directory_, "cannot read"));
    } else if (format != kFormat) {
      return fail(Code::version_mismatch,
                  fmt::format("{} holds a '{}'; this program reads '{}'", directory_, escaped(format), kFormat));
    } else if (const auto got = db_->Get(rocksdb::ReadOptions(), slice(kClusterKey), &cluster_id_); !got.ok()) {
      return fail(error_of(got, directory_, "cannot read"));
    }
    writer_ = std::thread([this] { write_all(); });
    return {};
  }

  const std::string& cluster_id() const override { return cluster_id_; }

  Result<void> load(Namespace& into, Time now) override {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    options.readahead_size = 4u << 20;
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      const std::string_view key(at->key().data(), at->key().size());
      if (key.starts_with('!') || key.starts_with(kTablePrefix)) continue;
      WEFT_TRY(named(into.restore(key, {at->value().data(), at->value().size()})));
    }
    if (!at->status().ok()) return fail(error_of(at->status(), directory_, "cannot read"));
    return named(into.restored(now));
  }

  Result<void> load_tables(const Visit& visit) override {
    const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(rocksdb::ReadOptions()));
    for (at->Seek(slice(kTablePrefix)); at->Valid() && at->key().starts_with(slice(kTablePrefix)); at->Next())
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
    const std::unique_ptr<rocksdb::Iterator> any(db_->NewIterator(rocksdb::ReadOptions()));
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
    return db_->Write(options, &batch);
  }

  void write_all() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return closing_ || !pending_.empty(); });
      if (pending_.empty()) return;
      std::vector<Pending> group = std::exchange(pending_, {});
      lock.unlock();
      write_group(group);
      lock.lock();
    }
  }

  void write_group(std::vector<Pending>& group) {
    auto from = group.begin();
    while (from != group.end()) {
      rocksdb::WriteBatch batch;
      auto to = from;
      for (; to != group.end() && (to == from || batch.GetDataSize() < kMostPending); ++to)
        for (const Change& change : to->changes) change.value ? batch.Put(change.key, *change.value) : batch.Delete(change.key);
      if (!failed_ && batch.Count() > 0)
        if (const auto written = write(batch); !written.ok()) failed_ = error_of(written, directory_, "cannot write");
      for (; from != to; ++from) from->done(failed_ ? Result<void>(fail(*failed_)) : Result<void>());
    }
  }

  const std::string directory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::string cluster_id_;
  std::optional<Error> failed_;  // writer thread only, while there is one
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Pending> pending_;
  bool closing_ = false;
  std::thread writer_;
};

/// A master whose disk fails ends, and the next one recovers; RocksDB's own try, when there seems to be room again, would abort it.
class NoRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* recovers) override { *recovers = false; }
};

rocksdb::Options options_of() {
  rocksdb::Options options;
  options.listeners = {std::make_shared<NoRecovery>()};
  options.create_if_missing = true;
  options.write_buffer_size = 16u << 20;
  options.max_total_wal_size = 64u << 20;
  options.keep_log_file_num = 2;
  options.max_log_file_size = 1u << 20;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.max_open_files = 256;
  options.compression = rocksdb::kNoCompression;
  options.paranoid_checks = true;
  // What a crash cut short was never acknowledged; damage before it is an error.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  return options;
}

}  // namespace

Result<std::unique_ptr<NamespaceStore>> NamespaceStore::open(const std::string& directory) {
  WEFT_TRY(make_private_directory(directory));
  std::error_code error;
  const bool fresh = !std::filesystem::exists(std::filesystem::path(directory) / "CURRENT", error);
  if (fresh) {
    // A directory with other things in it, or a namespace that lost the file that says where it begins.
    for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with("MANIFEST") || name.ends_with(".sst") || name.ends_with(".log"))
        return fail(Code::corrupt,
                    fmt::format("the namespace in {} is damaged: its file CURRENT is missing; restore it from a copy", directory));
      if (name != "LOCK" && name != "LOG" && !name.starts_with("LOG.old"))
        return fail(Code::version_mismatch,
                    fmt::format("{} is no namespace of weft and not empty ({}); name another directory", directory, name));
    }
  }
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options_of(), directory, &opened);
  if (!status.ok()) return fail(error_of(status, directory, "cannot open"));
  auto store = std::make_unique<Store>(directory, std::unique_ptr<rocksdb::DB>(opened));
  WEFT_TRY(store->begin());
  return std::unique_ptr<NamespaceStore>(std::move(store));
}

}  // namespace weft::storage
