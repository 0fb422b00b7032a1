#include "storage/tables/partition.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include "storage/tables/database.hpp"
#include "storage/tables/partition_copy.hpp"
#include "storage/tables/partition_records.hpp"
#include "storage/tables/recent_requests.hpp"
#include "storage/tables/version_filter.hpp"
#include "storage/tables/versioned_key.hpp"

namespace weft::storage::tables {
namespace {

constexpr std::size_t kPieceBytes = 4u << 20;  // of a commit, at least
constexpr const char* kBegunKey = "mcommit";
/// Those of clients that the entry carries out.
const std::vector<std::uint64_t>& requests_of(const LogEntry& entry) {
  static const std::vector<std::uint64_t> none;
  return entry.kind == EntryKind::write || entry.kind == EntryKind::stage ? entry.tokens : none;
}

constexpr std::uint64_t kLogBytes = 32u << 20;  // the log keeps the last one to two times as many

class RocksPartition final : public TablePartition {
 public:
  RocksPartition(std::unique_ptr<Database> db, std::shared_ptr<KeptVersions> kept) : db_(std::move(db)), kept_(std::move(kept)) {}

  /// What was there when it was last closed.
  Result<void> load() {
    WEFT_ASSIGN(const auto last, db_->get(kLastKey));
    if (last) last_ = trimmable_ = from_big_endian(*last);
    const auto at = db_->iterate();
    for (at->Seek("c"); at->Valid() && at->key()[0] == 'c'; at->Next()) committed_.insert(TransactionId(number_of(*at)));
    for (at->Seek("e"); at->Valid() && at->key()[0] == 'e'; at->Next())
      epochs_[from_big_endian(at->value().ToStringView())] = number_of(*at);
    for (at->Seek("s"); at->Valid() && at->key()[0] == 's'; at->Next()) {
      if (at->key().size() != 9 || at->value().size() != 8) return fail(db_->damaged("a snapshot"));
      const std::uint64_t version = from_big_endian(at->value().ToStringView());
      snapshots_.emplace(SnapshotId(number_of(*at)), version);
      kept_->add(version);
    }
    for (at->Seek("x"); at->Valid() && at->key()[0] == 'x'; at->Next())
      staged_[TransactionId(number_of(*at))] += at->key().size() + at->value().size();
    kept_->set_committed(last_);
    opened_with_ = last_;
    recalled_ = opened_with_ == 0;
    WEFT_TRY(db_->read_well(*at));
    return db_->refusal() ? Result<void>() : finish_begun();
  }

  std::uint64_t last() const override {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  std::optional<std::uint64_t> epoch_at(std::uint64_t version) const override {
    const std::lock_guard lock(mutex_);
    const auto after = epochs_.upper_bound(version);
    if (version > last_ || after == epochs_.begin()) return std::nullopt;
    return std::prev(after)->second;
  }

  Result<void> apply(const LogEntry& entry) override {
    WEFT_TRY(check_writes(entry.writes));
    const std::lock_guard one_by_one(writing_);
    if (entry.version <= last_ && epoch_at(entry.version) == entry.epoch) return {};
    if (entry.version <= last_)
      return fail(Code::invalid_argument, fmt::format("{} has an entry {} of another epoch already", db_->path(), entry.version));
    if (entry.version != last_ + 1)
      return fail(Code::invalid_argument, fmt::format("{} has version {}: {} cannot come next", db_->path(), last_, entry.version));
    auto done = carry_out(entry);
    failed_ = failed_ || !done;
    return done;
  }

  std::optional<Error> refusal() const override { return db_->refusal(); }
  Result<void> recover() override {
    {
      const std::lock_guard one_by_one(writing_);
      if (failed_) return fail(Code::io, fmt::format("the table partition {} has to be opened again", db_->path()));
      WEFT_TRY(db_->reopen());
    }
    WEFT_TRY(finish_begun());
    return db_->start_compactions();
  }

  void set_committed(std::uint64_t version) override { kept_->set_committed(version); }

  Result<std::vector<LogEntry>> log_after(std::uint64_t version, std::uint64_t most_bytes) const override {
    std::vector<LogEntry> entries;
    if (version >= last()) return entries;
    std::uint64_t next = version + 1, bytes = 0;
    const auto at = db_->iterate();
    for (at->Seek(number_key('l', next)); at->Valid() && at->key()[0] == 'l' && number_of(*at) == next; at->Next(), ++next) {
      bytes += at->value().size();
      if (bytes > most_bytes && !entries.empty()) break;
      WEFT_ASSIGN(LogEntry entry, decode<LogEntry>(at->value(), "an entry of its log"));
      entries.push_back(std::move(entry));
    }
    WEFT_TRY(db_->read_well(*at));
    if (entries.empty())
      return fail(Code::not_found,
                  fmt::format("{} no longer has the writes after version {}: copy all of it", db_->path(), version));
    return entries;
  }

  Result<void> trim_log(std::uint64_t version) override {
    const std::lock_guard one_by_one(writing_);
    rocksdb::WriteBatch batch;
    batch.DeleteRange(number_key('l', 0), number_key('l', pins_->last_free(std::min(version, last_)) + 1));
    return db_->write(batch);
  }

  std::unique_ptr<PartitionPages> pages() const override { return make_pages(*db_); }
  std::shared_ptr<void> pin_log() override {
    const std::lock_guard lock(mutex_);
    pins_->add(last_);
    return std::shared_ptr<void>(nullptr, [pins = pins_, version = last_](void*) { pins->remove(version); });
  }

  Result<std::optional<std::string>> get(const std::string& key, std::uint64_t at) const override {
    const std::string prefix = data_prefix(key);
    const auto found = db_->iterate();
    if (at == kNewest) at = kept_->committed();  // after the iterator is there: no compaction has dropped what this sees
    found->Seek(prefix + big_endian(~at));
    std::optional<std::string> value;
    if (found->Valid() && found->key().size() == prefix.size() + 8 && found->key().starts_with(prefix)) {
      WEFT_TRY(well_formed(found->value()));
      if (found->value()[0] == kPresent) value.emplace(found->value().data() + 1, found->value().size() - 1);
    }
    WEFT_TRY(db_->read_well(*found));
    return value;
  }

  Result<std::vector<TableRow>> scan(const std::string& from, const std::string& to, std::size_t limit, std::uint64_t at,
                                     std::size_t most_bytes, bool* more) const override {
    std::vector<TableRow> rows;
    const std::string end = to.empty() ? std::string() : data_prefix(to);
    const auto found = db_->iterate();
    if (at == kNewest) at = kept_->committed();
    found->Seek(data_prefix(from));
    std::size_t bytes = 0;
    if (more != nullptr) *more = false;
    while (found->Valid()) {
      const auto data = parse_data_key(found->key().ToStringView());
      if (!data || (!end.empty() && data->prefix >= end)) break;
      if (rows.size() >= limit || bytes >= most_bytes) {
        if (more != nullptr) *more = true;
        break;
      }
      std::string prefix(data->prefix);
      if (data->version > at) {
        found->Seek(prefix + big_endian(~at));
        continue;  // that may be the next key already
      }
      WEFT_TRY(well_formed(found->value()));
      if (found->value()[0] == kPresent) {
        rows.push_back({key_of_prefix(prefix), found->value().ToString().substr(1)});
        bytes += rows.back().key.size() + rows.back().value.size();
      }
      pass_versions(*found, prefix);
    }
    WEFT_TRY(db_->read_well(*found));
    return rows;
  }

  std::map<SnapshotId, std::uint64_t> snapshots() const override {
    const std::lock_guard lock(mutex_);
    return snapshots_;
  }
  std::set<TransactionId> staged() const override {
    const std::lock_guard lock(mutex_);
    std::set<TransactionId> ids;
    for (const auto& [id, bytes] : staged_) ids.insert(id);
    return ids;
  }
  std::uint64_t staged_bytes() const override {
    const std::lock_guard lock(mutex_);
    std::uint64_t all = 0;
    for (const auto& [id, bytes] : staged_) all += bytes;
    return all;
  }
  bool committed(TransactionId id) const override {
    const std::lock_guard lock(mutex_);
    return committed_.contains(id);
  }

  bool carried_out(std::uint64_t request) const override {
    const std::lock_guard lock(mutex_);
    return requests_.contains(request);
  }
  bool recalled_requests() const override {
    const std::lock_guard lock(mutex_);
    return recalled_;
  }
  Result<void> recall_requests() override {
    if (recalled_requests()) return {};
    std::deque<std::uint64_t> older;
    const auto at = db_->iterate();
    for (at->Seek("l"); at->Valid() && at->key()[0] == 'l' && number_of(*at) <= opened_with_; at->Next()) {
      WEFT_ASSIGN(const LogEntry entry, decode<LogEntry>(at->value(), "an entry of its log"));
      const auto& requests = requests_of(entry);
      older.insert(older.end(), requests.begin(), requests.end());
      while (older.size() > RecentRequests::kMost) older.pop_front();
    }
    WEFT_TRY(db_->read_well(*at));
    const std::lock_guard lock(mutex_);
    if (!std::exchange(recalled_, true)) requests_.add_older(older);
    return {};
  }

  std::uint64_t bytes() const override { return db_->bytes(); }
  Result<void> compact() override { return db_->compact(); }

  Result<std::uint64_t> stored_versions() const override {
    std::uint64_t count = 0;
    const auto at = db_->iterate();
    for (at->Seek("d"); at->Valid() && parse_data_key(at->key().ToStringView()); at->Next()) ++count;
    WEFT_TRY(db_->read_well(*at));
    return count;
  }

 private:
  static std::uint64_t number_of(const rocksdb::Iterator& at) { return from_big_endian(at.key().ToStringView().substr(1, 8)); }

  /// To the first record behind all versions of the key; most have few, so steps first.
  static void pass_versions(rocksdb::Iterator& at, std::string& prefix) {
    for (int step = 0; step < 4; ++step) {
      at.Next();
      if (!at.Valid() || at.key().size() != prefix.size() + 8 || !at.key().starts_with(prefix)) return;
    }
    ++prefix.back();
    at.Seek(prefix);
  }

  /// With `writing_` held, which guards that what is read here without the other lock does not change.
  Result<void> carry_out(const LogEntry& entry) {
    rocksdb::WriteBatch batch;
    WEFT_TRY(put(entry, batch));
    const std::string bytes = encoded(entry);
    batch.Put(number_key('l', entry.version), bytes);
    batch.Put(kLastKey, big_endian(entry.version));
    const bool new_epoch = epochs_.empty() || epochs_.rbegin()->second != entry.epoch;
    if (new_epoch) batch.Put(number_key('e', entry.epoch), big_endian(entry.version));
    keep_log_short(bytes.size(), batch);
    if (entry.kind == EntryKind::mark) kept_->add(entry.version);  // before anything newer can be written
    if (auto written = db_->write(batch); !written) {
      if (entry.kind == EntryKind::mark) kept_->remove(entry.version);
      return written;
    }
    const std::lock_guard lock(mutex_);
    if (new_epoch) epochs_[entry.version] = entry.epoch;
    last_ = entry.version;
    remember(entry, bytes.size());
    return {};
  }

  Result<void> put(const LogEntry& entry, rocksdb::WriteBatch& batch) {
    switch (entry.kind) {
      case EntryKind::write:
        put_writes(batch, entry.writes, entry.version);
        return {};
      case EntryKind::stage:
        batch.Put(staged_key(entry), encoded(entry.writes));
        return {};
      case EntryKind::commit:
        return put_commit(entry, batch);
      case EntryKind::abort:
        return for_each_staged(entry.id,
                               [&](const rocksdb::Iterator& at) -> Result<void> { return batch.Delete(at.key()), Result<void>(); });
      case EntryKind::mark:
        batch.Put(number_key('s', entry.id), big_endian(entry.version));
        return {};
      case EntryKind::unmark:
        batch.Delete(number_key('s', entry.id));
        return {};
    }
    return fail(Code::invalid_argument, fmt::format("{}: an entry of a kind nobody knows", db_->path()));
  }

  /// What the transaction has set aside. (Its keys are deleted one by one: an iterator sorts all deletions of ranges that are in
  /// memory, and there would be one for each transaction.)
  template <class Visit>
  Result<void> for_each_staged(std::uint64_t transaction, Visit&& visit) const {
    const std::string prefix = number_key('x', transaction);
    const auto at = db_->iterate();
    for (at->Seek(prefix); at->Valid() && at->key().starts_with(prefix); at->Next()) WEFT_TRY(visit(*at));
    return db_->read_well(*at);
  }

  /// A job's rows may be many: they are written in pieces, which nobody sees before the version counts. What was begun is known
  /// beside them, so that a start after a crash carries it out: as if the crash had been a moment later.
  Result<void> put_commit(const LogEntry& entry, rocksdb::WriteBatch& batch) {
    const std::set<std::uint64_t> winners(entry.tokens.begin(), entry.tokens.end());
    rocksdb::WriteBatch piece;
    std::vector<std::string> staged;
    bool begun = false;
    auto all = for_each_staged(entry.id, [&](const rocksdb::Iterator& at) -> Result<void> {
      if (at.key().size() != 25) return fail(db_->damaged("what was set aside"));
      staged.push_back(at.key().ToString());
      if (!winners.contains(from_big_endian(at.key().ToStringView().substr(9, 8)))) return {};
      WEFT_ASSIGN(const auto writes, decode<std::vector<TableWrite>>(at.value(), "what was set aside"));
      if (piece.GetDataSize() >= kPieceBytes) {
        if (!std::exchange(begun, true)) piece.Put(kBegunKey, encoded(entry));
        WEFT_TRY(db_->write(piece, Database::Sync::later));  // none is on the disk without those before it
        piece.Clear();
      }
      put_writes(piece, writes, entry.version);
      return {};
    });
    WEFT_TRY(std::move(all));
    batch = std::move(piece);
    for (const std::string& key : staged) batch.Delete(key);
    for (const TransactionId older : committed_) batch.Delete(number_key('c', older.value()));
    batch.Put(number_key('c', entry.id), "");
    batch.Delete(kBegunKey);
    return {};
  }

  /// A commit that was cut short.
  Result<void> finish_begun() {
    WEFT_ASSIGN(const auto begun, db_->get(kBegunKey));
    if (!begun) return {};
    WEFT_ASSIGN(const LogEntry entry, decode<LogEntry>(*begun, "a commit that has begun"));
    if (entry.version != last_ + 1) return fail(db_->damaged("a commit that has begun"));
    const std::lock_guard one_by_one(writing_);
    auto done = carry_out(entry);
    failed_ = failed_ || !done;
    WEFT_TRY(std::move(done));
    kept_->set_committed(last_);
    return {};
  }

  void remember(const LogEntry& entry, std::size_t bytes) {
    for (const std::uint64_t request : requests_of(entry)) requests_.add(request);
    switch (entry.kind) {
      case EntryKind::write:
        return;
      case EntryKind::stage:
        staged_[TransactionId(entry.id)] += bytes;
        return;
      case EntryKind::commit:
        committed_ = {TransactionId(entry.id)};
        [[fallthrough]];
      case EntryKind::abort:
        staged_.erase(TransactionId(entry.id));
        return;
      case EntryKind::mark:
        if (const auto known = snapshots_.find(SnapshotId(entry.id)); known != snapshots_.end()) kept_->remove(known->second);
        snapshots_.insert_or_assign(SnapshotId(entry.id), entry.version);
        return;
      case EntryKind::unmark:
        if (const auto known = snapshots_.find(SnapshotId(entry.id)); known != snapshots_.end()) {
          kept_->remove(known->second);
          snapshots_.erase(known);
        }
    }
  }

  void keep_log_short(std::size_t bytes, rocksdb::WriteBatch& batch) {
    log_bytes_ += bytes;
    if (log_bytes_ < kLogBytes) return;
    batch.DeleteRange(number_key('l', 0), number_key('l', pins_->last_free(trimmable_) + 1));
    log_bytes_ = 0;
    trimmable_ = last_;
  }

  Result<void> well_formed(const rocksdb::Slice& value) const {
    if (value.empty() || (value[0] != kPresent && value[0] != kDeleted)) return fail(db_->damaged("a value"));
    return {};
  }
  template <class T>
  Result<T> decode(const rocksdb::Slice& bytes, const char* what) const {
    try {
      Decoder in({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
      return Codec<T>::decode(in);
    } catch (const CodecError&) {
      return fail(db_->damaged(what));
    }
  }

  const std::unique_ptr<Database> db_;
  const std::shared_ptr<KeptVersions> kept_;
  const std::shared_ptr<LogPins> pins_ = std::make_shared<LogPins>();
  std::mutex writing_;                           // one write at a time; held across the disk, so never by a reactor
  bool failed_ = false;                          // the disk may have an entry that is not counted here
  std::uint64_t log_bytes_ = 0, trimmable_ = 0;  // entries up to the latter go when the former is enough
  mutable std::mutex mutex_;                     // of what follows, which changes with `writing_` held as well
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::uint64_t> epochs_;  // by the versions of their first entries
  std::map<SnapshotId, std::uint64_t> snapshots_;
  std::map<TransactionId, std::uint64_t> staged_;  // and the bytes of their rows
  std::set<TransactionId> committed_;
  RecentRequests requests_;
  bool recalled_ = false;          // those of the log up to the next are among them
  std::uint64_t opened_with_ = 0;  // the last entry then
};

}  // namespace

Result<std::unique_ptr<TablePartition>> TablePartition::open(const std::filesystem::path& path, OpenMode mode) {
  auto kept = std::make_shared<KeptVersions>();
  WEFT_ASSIGN(auto db, Database::open(path, make_version_filter(kept), mode));
  Database& opened = *db;
  auto partition = std::make_unique<RocksPartition>(std::move(db), std::move(kept));
  WEFT_TRY(partition->load());
  WEFT_TRY(opened.start_compactions());  // now that it is known what is kept
  return partition;
}

}  // namespace weft::storage::tables
