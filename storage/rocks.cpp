#include "storage/rocks.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/listener.h>
#include <sys/statvfs.h>

#include "base/text.hpp"
#include "storage/rocks_files.hpp"
#include "storage/rocks_log.hpp"

namespace weft::storage {

namespace {

using namespace std::chrono_literals;
constexpr auto kRetry = 400ms;  // between two tries to write again
constexpr std::string_view kTwice = "Corruption: Corruption: ";
constexpr std::uint64_t kLeastRoom = 2u << 20;  // to open with, beside what is in the logs

/// What a disk does not give is as lost as what it gives wrongly. Errors of writing are no damage.
bool unreadable(const std::string& text) { return text.find("read") != std::string::npos && text.ends_with(std::strerror(EIO)); }

/// A database that failed is opened again by its store, which knows what was lost.
class NoRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* recovers) override { *recovers = false; }
};

}  // namespace

Code code_of(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return Code::resource_exhausted;
  if (status.IsBusy()) return Code::already_exists;
  const std::string text = status.ToString();
  const bool damage = status.IsCorruption() || status.IsInvalidArgument();
  if (damage && text.find("IO error: ") == std::string::npos) return Code::corrupt;  // else it only could not look
  return (damage || status.IsIOError()) && unreadable(text) ? Code::corrupt : Code::io;
}

std::string words_of(const rocksdb::Status& status) {
  std::string text = escaped(status.ToString());
  if (status.IsNoSpace()) return fmt::format("its disk is full; make room there, and it goes on by itself ({})", text);
  // Some of RocksDB's functions report what another one returned under its name again.
  while (text.starts_with(kTwice)) text.erase(0, kTwice.size() / 2);
  if (text.find(std::strerror(ENOENT)) != std::string::npos)
    return text +
           "; a file of it is missing, so it was copied in part: copy it again, with its process stopped, or restore it from a "
           "copy";
  return code_of(status) == Code::corrupt
             ? text + "; it is damaged: copy it again, with its process stopped, or restore it from a copy"
             : text;
}

struct RocksStore::Opening {
  std::shared_ptr<FencedFiles> files;
  std::unique_ptr<rocksdb::Env> env;
  rocksdb::Status refusal;  // of a database that was opened for reading: why
  std::unique_ptr<rocksdb::DB> db;

  rocksdb::Status writable() const { return refusal.ok() ? files->failure() : refusal; }
};

rocksdb::Status RocksStore::open(rocksdb::Options options, const std::string& path, std::unique_ptr<RocksStore>& opened) {
  std::unique_ptr<RocksStore> store(new RocksStore(std::move(options), path));
  if (auto locked = store->lock(); !locked.ok()) return locked;
  auto status = store->open_to_write(store->opening_);
  if (status.IsNoSpace()) status = store->open_to_read(status, store->opening_);
  if (status.ok()) opened = std::move(store);
  return status;
}

RocksStore::~RocksStore() {
  opening_.reset();
  if (lock_ != nullptr) rocksdb::FileSystem::Default()->UnlockFile(lock_, {}, nullptr).PermitUncheckedError();
}

rocksdb::Status RocksStore::lock() {
  const auto files = rocksdb::FileSystem::Default();
  if (options_.create_if_missing)
    if (auto made = files->CreateDirIfMissing(path_, {}, nullptr); !made.ok()) return made;
  rocksdb::Status locked = files->LockFile(path_ + "/LOCK", {}, &lock_, nullptr);
  const std::string text = locked.ToString();
  const bool held = text.find("lock hold by") != std::string::npos || text.find("While lock file") != std::string::npos;
  return held ? rocksdb::Status::Busy(text) : locked;
}

rocksdb::Status RocksStore::open_to_write(std::shared_ptr<Opening>& opened) const {
  const auto log = std::make_shared<RocksLog>(path_);
  auto opening = std::make_shared<Opening>();
  opening->files = std::make_shared<FencedFiles>(rocksdb::FileSystem::Default(), log);
  opening->env = rocksdb::NewCompositeEnv(opening->files);
  rocksdb::Options options = options_;
  options.env = opening->env.get();
  options.info_log = log;
  options.listeners.push_back(std::make_shared<NoRecovery>());
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::Open(options, path_, &db);
  opening->db.reset(db);
  if (const auto failure = opening->files->failure(); !failure.ok()) {
    opening->db.reset();
    opening->files->remove_made();
    return failure;
  }
  if (status.ok()) opened = std::move(opening);
  return status;
}

/// Nothing is written then. `why`: not otherwise.
rocksdb::Status RocksStore::open_to_read(const rocksdb::Status& why, std::shared_ptr<Opening>& opened) const {
  std::error_code error;
  if (!std::filesystem::exists(path_ + "/CURRENT", error)) return why;
  const auto log = std::make_shared<RocksLog>(path_);
  auto opening = std::make_shared<Opening>();
  opening->files = std::make_shared<FencedFiles>(rocksdb::FileSystem::Default(), log);
  opening->env = rocksdb::NewCompositeEnv(opening->files);
  opening->refusal = why;
  opening->files->judge(rocksdb::IOStatus::NoSpace("opened for reading")).PermitUncheckedError();
  rocksdb::Options options = options_;
  options.env = opening->env.get();
  options.info_log = log;
  rocksdb::DB* db = nullptr;
  rocksdb::Status status = rocksdb::DB::OpenForReadOnly(options, path_, &db);
  opening->db.reset(db);
  if (status.ok()) opened = std::move(opening);
  return status;
}

std::shared_ptr<RocksStore::Opening> RocksStore::current() const {
  const std::lock_guard lock(mutex_);
  return opening_;
}

std::shared_ptr<rocksdb::DB> RocksStore::db() const {
  auto opening = current();
  rocksdb::DB* db = opening->db.get();
  return {std::move(opening), db};
}

rocksdb::Status RocksStore::writable() const { return current()->writable(); }

template <class Do>
rocksdb::Status RocksStore::change(Do&& change) {
  const auto opening = current();
  if (auto refused = opening->writable(); !refused.ok()) return refused;
  rocksdb::Status changed = change(*opening->db);
  if (auto refused = opening->writable(); !refused.ok()) return refused;  // RocksDB does not know
  return changed;
}

rocksdb::Status RocksStore::write(const rocksdb::WriteOptions& options, rocksdb::WriteBatch& batch) {
  return change([&](rocksdb::DB& db) { return db.Write(options, &batch); });
}

rocksdb::Status RocksStore::flush() {
  return change([](rocksdb::DB& db) { return db.Flush(rocksdb::FlushOptions()); });
}

rocksdb::Status RocksStore::compact(const rocksdb::CompactRangeOptions& options) {
  return change([&](rocksdb::DB& db) { return db.CompactRange(options, nullptr, nullptr); });
}

/// An opening writes what is in the logs, and a manifest: on a disk without room for that it is not tried.
bool RocksStore::has_room() const {
  struct statvfs disk {};
  if (::statvfs(path_.c_str(), &disk) != 0) return true;  // it will say why
  std::uint64_t needed = kLeastRoom;
  std::error_code error;
  for (std::filesystem::directory_iterator at(path_, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    const std::uint64_t size = at->path().extension() == ".log" ? at->file_size(gone) : 0;
    if (!gone) needed += size;
  }
  return std::uint64_t{disk.f_bavail} * disk.f_frsize >= needed;
}

rocksdb::Status RocksStore::reopen() {
  const std::lock_guard one_by_one(reopening_);
  rocksdb::Status refused = writable();
  const auto now = std::chrono::steady_clock::now();
  if (refused.ok() || now < next_try_) return refused;
  next_try_ = now + kRetry;
  if (refused.IsNoSpace() && !has_room()) return refused;
  std::shared_ptr<Opening> opening;
  if (auto opened = open_to_write(opening); !opened.ok()) return opened;
  const std::lock_guard lock(mutex_);
  opening_.swap(opening);
  return rocksdb::Status::OK();
}

rocksdb::Options store_options() {
  rocksdb::Options options;
  options.stats_dump_period_sec = 0;  // no thread for statistics nobody reads
  options.stats_persist_period_sec = 0;
  return options;
}

}  // namespace weft::storage
