// The durable form: docs/formats/namespace.md.
#include <tuple>
#include <unordered_map>

#include <fmt/core.h>

#include "base/codec.hpp"
#include "base/text.hpp"
#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/path.hpp"

namespace weft::storage {
namespace {

using ChunkFields = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;  // id, length, digest

struct EntryRecord {
  std::uint64_t parent = 0;  // 0: removed, not yet reclaimed
  std::string name;
  std::string user;
  bool directory = false;
  std::int64_t modified_ms = 0;  // of one that is removed: when it was
  std::uint32_t replication = 0;
  std::uint64_t chunk_bytes = 0;
  std::vector<ChunkFields> chunks;
};
struct OpenRecord {
  std::string path;
  std::string user;
  std::uint32_t replication = 0;
  std::uint64_t chunk_bytes = 0;
  bool overwrite = false;
  std::vector<ChunkFields> chunks;
  std::uint64_t pending = 0;
};
/// Beside the lease's record, for the same reason.
struct LeasedRecord {
  std::uint64_t entry = 0;
};
/// Beside the entry's record, so that earlier releases read what nobody gave another mode.
struct ModeRecord {
  std::uint32_t mode = 0;
};
struct QuotaRecord {
  std::uint64_t bytes = 0, entries = 0;
};
std::string key_of(std::string_view kind, std::uint64_t id) {
  std::string key(kind);
  for (int shift = 56; shift >= 0; shift -= 8) key.push_back(static_cast<char>(id >> shift & 0xff));
  return key;
}

std::uint64_t id_of(std::string_view key) {
  std::uint64_t id = 0;
  for (const char byte : key.substr(key.size() - sizeof id)) id = id << 8 | static_cast<std::uint8_t>(byte);
  return id;
}

template <class T>
std::string bytes_of(const T& record) {
  Encoder out;
  encode(record, out);
  return std::string(as_chars(out.view()));
}

tl::unexpected<Error> damaged(std::string_view key) {
  return fail(Code::corrupt, fmt::format("the namespace's record '{}' is damaged", escaped(key)));
}

template <class T>
Result<T> record_of(std::string_view key, std::string_view value) {
  try {
    Decoder in(as_bytes(value));
    T record = decode<T>(in);
    if (!in.empty()) return damaged(key);
    return record;
  } catch (const CodecError&) {
    return damaged(key);
  }
}

ChunkFields fields_of(const ChunkInfo& info) { return {info.id.value(), info.length, info.digest}; }
ChunkInfo info_of(const ChunkFields& fields) { return {ChunkId(std::get<0>(fields)), std::get<1>(fields), std::get<2>(fields)}; }

}  // namespace

std::vector<Change> Namespace::take_changes() {
  Impl& impl = *impl_;
  std::vector<Change> changes;
  const auto fields = [&](const std::vector<ChunkId>& ids) {
    std::vector<ChunkFields> all;
    all.reserve(ids.size());
    for (const ChunkId id : ids) all.push_back(fields_of(impl.chunks.at(id).info));
    return all;
  };
  for (const auto& [id, entry] : impl.tree.take_changed()) {
    std::optional<std::string> value;
    if (entry != nullptr)
      value = bytes_of(EntryRecord{entry->parent == nullptr ? 0 : entry->parent->id.value(), std::string(entry->name),
                                   entry->account->name, entry->directory(), entry->modified_ms, entry->replication,
                                   entry->chunk_bytes, fields(entry->chunks)});
    changes.push_back({key_of("e", id.value()), std::move(value)});
  }
  for (const LeaseId id : impl.leases.take_changed()) {
    std::optional<std::string> value;
    if (const auto open = impl.leases.find(id)) {
      const OpenFile& file = **open;
      value = bytes_of(OpenRecord{file.path, file.account->name, file.options.replication, file.options.chunk_bytes,
                                  file.options.overwrite, fields(file.chunks), file.pending.value()});
    }
    changes.push_back({key_of("o", id.value()), std::move(value)});
  }
  for (const LeaseId id : impl.leases.take_changed_directories()) {
    const auto open = impl.leases.find(id);
    changes.push_back({key_of(kLeasedDirectories, id.value()),
                       open ? std::optional(bytes_of(LeasedRecord{(*open)->entry.value()})) : std::nullopt});
  }
  for (const auto& [id, mode] : impl.tree.take_changed_modes())
    changes.push_back({key_of("m", id.value()), mode ? std::optional(bytes_of(ModeRecord{*mode})) : std::nullopt});
  const auto flag = [](bool set) { return set ? std::optional(std::string()) : std::nullopt; };
  for (auto& [lease, time] : impl.leases.times().take_changed())
    changes.push_back({key_of(kFileLeaseTimes, lease), std::move(time)});
  for (auto& [lease, time] : impl.leases.completed().take_changed()) changes.push_back({key_of("c", lease), std::move(time)});
  for (const std::string& user : impl.tree.take_changed_quotas()) {
    const Quota& quota = impl.tree.account(user).quota;
    const bool none = quota.bytes == 0 && quota.entries == 0;
    changes.push_back({"q" + user, none ? std::nullopt : std::optional(bytes_of(QuotaRecord{quota.bytes, quota.entries}))});
  }
  for (const std::string& name : impl.nodes.take_changed_drains())
    changes.push_back({"d" + name, flag(impl.nodes.draining().contains(name))});
  if (impl.ids.take_changed()) changes.push_back({"i", bytes_of(impl.ids.record())});
  return changes;
}

/// A sealed chunk of a file, or of one that is written under a lease.
Result<void> Namespace::Impl::restore_chunk(std::string_view key, const ChunkInfo& info, Entry* entry, LeaseId lease) {
  Chunk chunk;
  chunk.info = info;
  chunk.file = entry;
  chunk.lease = lease;
  chunk.sealed = info.length > 0;
  if (chunk.sealed) ++sealed_chunks;
  if (chunks.emplace(info.id, std::move(chunk)).second) return {};
  return fail(Code::corrupt, fmt::format("the namespace's record '{}' names a chunk of another file", escaped(key)));
}

Result<void> Namespace::Impl::restore_entry(std::string_view key, std::string_view value) {
  WEFT_ASSIGN(EntryRecord record, record_of<EntryRecord>(key, value));
  auto entry = std::make_unique<Entry>();
  entry->id = EntryId(id_of(key));
  entry->account = &tree.account(record.user);
  entry->modified_ms = record.modified_ms;
  entry->replication = record.replication;
  entry->chunk_bytes = record.chunk_bytes;
  if (record.directory) entry->children = std::make_unique<Entry::Children>();
  entry->chunks.reserve(record.chunks.size());
  for (const ChunkFields& fields : record.chunks) {
    const ChunkInfo info = info_of(fields);
    entry->chunks.push_back(info.id);
    entry->length += info.length;
    WEFT_TRY(restore_chunk(key, info, entry.get(), {}));
  }
  restored_entries.push_back({std::move(entry), EntryId(record.parent), std::move(record.name)});
  return {};
}

Result<void> Namespace::Impl::restore_open_file(std::string_view key, std::string_view value) {
  WEFT_ASSIGN(OpenRecord record, record_of<OpenRecord>(key, value));
  const LeaseId lease(id_of(key));
  OpenFile& file = leases.restore(lease);
  file.path = std::move(record.path);
  file.account = &tree.account(record.user);
  file.options = {record.replication, record.chunk_bytes, record.overwrite};
  file.pending = ChunkId(record.pending);
  for (const ChunkFields& fields : record.chunks) {
    const ChunkInfo info = info_of(fields);
    file.chunks.push_back(info.id);
    file.length += info.length;
    WEFT_TRY(restore_chunk(key, info, nullptr, lease));
  }
  file.account->bytes += file.length * record.replication;
  if (record.pending == 0) return {};
  return restore_chunk(key, ChunkInfo{file.pending, 0, 0}, nullptr, lease);  // not sealed
}

Result<void> Namespace::restore(std::string_view key, std::string_view value) {
  impl_->restoring = true;
  const char kind = key.empty() ? '\0' : key.front();
  if (kind == 'e' && key.size() == 9) return impl_->restore_entry(key, value);
  if (kind == 'o' && key.size() == 9) return impl_->restore_open_file(key, value);
  if (kind == 'm' && key.size() == 9) {
    WEFT_ASSIGN(const ModeRecord record, record_of<ModeRecord>(key, value));
    impl_->tree.restore_mode(EntryId(id_of(key)), record.mode & kMostMode);
  } else if (kind == 'c' && key.size() == 9) {
    if (!impl_->leases.completed().restore(id_of(key), value)) return damaged(key);
  } else if (key.starts_with(kFileLeaseTimes) && key.size() == kFileLeaseTimes.size() + sizeof(std::uint64_t)) {
    if (!impl_->leases.times().restore(id_of(key), value)) return damaged(key);
  } else if (key.starts_with(kLeasedDirectories) && key.size() == kLeasedDirectories.size() + sizeof(std::uint64_t)) {
    WEFT_ASSIGN(const LeasedRecord record, record_of<LeasedRecord>(key, value));
    impl_->leases.restore_directory(LeaseId(id_of(key)), EntryId(record.entry));
  } else if (kind == 'q' && key.size() > 1) {
    WEFT_ASSIGN(const QuotaRecord record, record_of<QuotaRecord>(key, value));
    impl_->tree.account(key.substr(1)).quota = {record.bytes, record.entries};
  } else if (kind == 'd' && key.size() > 1) {
    impl_->nodes.restore_drain(key.substr(1));
  } else if (key == "i") {
    WEFT_ASSIGN(const Ids::Record record, record_of<Ids::Record>(key, value));
    impl_->ids.restore(record);
  } else {
    return fail(Code::corrupt, fmt::format("the namespace has a record '{}' that this version does not know", escaped(key)));
  }
  return {};
}

Result<void> Namespace::Impl::link_restored() {
  std::vector<RestoredEntry> items = std::exchange(restored_entries, {});
  std::unordered_map<EntryId, Entry*> known{{tree.root().id, &tree.root()}};
  known.reserve(items.size() + 1);
  for (const auto& item : items)
    if (!known.emplace(item.entry->id, item.entry.get()).second || item.entry->id.value() >= ids.record().next_entry)
      return fail(Code::corrupt,
                  fmt::format("the namespace's entry {} is there twice or was never given out", item.entry->id.value()));
  for (auto& item : items) {
    if (item.parent == EntryId{}) continue;
    const auto parent = known.find(item.parent);
    if (parent == known.end() || !parent->second->directory() || item.name.empty() || parent->second->children->contains(item.name))
      return fail(Code::corrupt,
                  fmt::format("the namespace's entry {} ({}) has no place: its directory is missing or its name is taken",
                              item.entry->id.value(), escaped(item.name)));
    tree.link(*parent->second, item.name, std::move(item.entry));
  }
  // What hangs in no tree hangs in a circle, which only damage can make.
  std::uint64_t reached = 0;
  each_below(tree.root(), [&](Entry& entry) {
    ++reached;
    if (&entry != &tree.root()) tree.count(entry);
  });
  for (auto& item : items) {
    if (!item.entry) continue;
    each_below(*item.entry, [&](Entry& entry) {
      ++reached;
      for (const ChunkId id : entry.chunks) chunks.at(id).condemned = true;
    });
    const EntryId id = item.entry->id;
    const Time due = clock + reclaim_wait(*item.entry);
    trashed.emplace(id, Trashed{std::move(item.entry), due});
  }
  if (reached == known.size()) return {};
  std::vector<std::unique_ptr<Entry>> freed;  // directories that hold each other would never be
  for (const auto& [id, entry] : known) {
    if (!entry->children) continue;
    for (auto& [name, child] : *entry->children) freed.push_back(std::move(child));
    entry->children->clear();
  }
  return fail(Code::corrupt, "the namespace has directories that hold each other");
}

/// A master of an earlier release kept no record of which directory a lease is on: then it is the one of that name and owner now.
void Namespace::Impl::find_leased_directories() {
  for (const auto& [id, lease] : leases.open()) {
    if (!lease.directory()) continue;
    OpenFile& file = leases.at(id);
    file.entry = leases.take_restored_directory(id);
    const Entry* const there = file.entry == EntryId{} ? tree.find(file.path) : nullptr;
    if (there != nullptr && there->directory() && there->account == file.account) file.entry = there->id;
  }
}

Result<void> Namespace::restored(Time now, std::int64_t clock_ms) {
  impl_->at(now);
  impl_->calendar_set = impl_->last_now;
  impl_->calendar_ms = clock_ms;
  if (!std::exchange(impl_->restoring, false)) return {};
  WEFT_TRY(impl_->link_restored());
  impl_->find_leased_directories();
  impl_->leases.restored(impl_->clock);
  if (impl_->sealed_chunks > 0) impl_->safe_mode.begin();
  return {};
}

}  // namespace weft::storage
