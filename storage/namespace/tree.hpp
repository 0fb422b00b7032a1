// Directories, files and their owners. Private to storage/namespace.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "storage/namespace/ids.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

struct Account {
  std::string name;
  Quota quota;
  std::uint64_t bytes = 0, entries = 0;

  bool worth_telling() const { return bytes != 0 || entries != 0 || quota.bytes != 0 || quota.entries != 0; }
};

/// A directory or a file. Owned by its parent's table, or by the trash.
struct Entry {
  using Children = std::map<std::string, std::unique_ptr<Entry>, std::less<>>;

  EntryId id;
  Entry* parent = nullptr;  // null: the root, or in the trash
  std::string_view name;    // the parent's key
  Account* account = nullptr;
  std::unique_ptr<Children> children;  // of a directory
  std::vector<ChunkId> chunks;
  std::uint64_t length = 0;
  std::uint64_t chunk_bytes = 0;
  std::int64_t modified_ms = 0;
  std::uint32_t replication = 0;

  bool directory() const { return children != nullptr; }
  std::uint64_t stored() const { return length * replication; }
};

/// Calls visit with the entry and all below it, parents first.
template <class Visit>
void each_below(Entry& entry, Visit&& visit) {
  visit(entry);
  if (entry.directory())
    for (auto& [name, child] : *entry.children) each_below(*child, visit);
}

std::string path_of(const Entry& entry);
/// Knows only the ids of chunks.
class Tree {
 public:
  explicit Tree(Ids& ids);

  Entry& root() const { return *root_; }
  Entry* find(std::string_view path) const;
  /// As find(), of a path that is checked here; not_found when there is none.
  Result<Entry*> existing(std::string_view path) const;
  /// The directory that holds, or is to hold, the (parsed) path.
  Result<Entry*> directory_for(std::string_view path) const;
  std::uint64_t directories() const { return directories_; }
  std::uint64_t files() const { return files_; }

  Account& account(std::string_view user);
  /// The account that is to own `entries` more. A quota that is used up is an error before the name is stored.
  Result<Account*> owner(std::string_view user, std::string_view path, std::size_t entries);
  Result<void> set_quota(std::string_view user, const Quota& quota);
  const std::map<std::string, std::unique_ptr<Account>, std::less<>>& accounts() const { return accounts_; }
  std::vector<UserStatus> users() const;

  Result<void> make_directory(std::string_view path, std::string_view user, bool parents, std::int64_t clock_ms);
  /// Adds a file that is complete except for its id, and counts it.
  Entry& add_file(Entry& directory, std::string_view name, std::unique_ptr<Entry> file);
  /// Removes the entry with all below it from the tree and the counts.
  std::unique_ptr<Entry> take(Entry& entry);
  struct Move {
    Entry* entry = nullptr;
    Entry* directory = nullptr;
    std::string name;
    Entry* replaced = nullptr;  // may be null
  };
  /// What a rename does, if it is allowed; no entry when it would change nothing.
  Result<Move> check_move(std::string_view from, std::string_view to, bool replace) const;
  void move(const Move& move);
  Result<void> may_replicate(Entry& top, std::uint32_t replication, std::string_view path) const;
  void set_replication(Entry& file, std::uint32_t replication);
  std::uint32_t mode_of(const Entry& entry) const;
  void set_mode(const Entry& entry, std::uint32_t mode);
  void set_owner(Entry& entry, Account& account);
  /// Of an entry of before a restart, which may not have its place yet.
  void restore_mode(EntryId id, std::uint32_t mode) { modes_[id] = mode; }
  FileStatus status_of(const Entry& entry, std::string path) const;

  Entry& link(Entry& directory, std::string_view name, std::unique_ptr<Entry> entry);
  /// Counts an entry that was linked again after a restart.
  void count(const Entry& entry);
  void changed(const Entry& entry) { dirty_[entry.id] = &entry; }
  void erased(EntryId id) {
    dirty_[id] = nullptr;
    if (modes_.erase(id) > 0) dirty_modes_.insert(id);
  }
  std::map<EntryId, const Entry*> take_changed() { return std::exchange(dirty_, {}); }
  /// The modes that changed; nothing: it has that of all of its kind again.
  std::map<EntryId, std::optional<std::uint32_t>> take_changed_modes();
  std::set<std::string> take_changed_quotas() { return std::exchange(dirty_quotas_, {}); }

 private:
  std::unique_ptr<Entry> unlink(Entry& entry);

  Ids& ids_;
  std::unique_ptr<Entry> root_ = std::make_unique<Entry>();
  std::map<std::string, std::unique_ptr<Account>, std::less<>> accounts_;
  std::uint64_t directories_ = 1, files_ = 0;
  std::map<EntryId, const Entry*> dirty_;  // null: erased
  std::set<std::string> dirty_quotas_;
  std::map<EntryId, std::uint32_t> modes_;  // of the few that have another one than all of their kind
  std::set<EntryId> dirty_modes_;
};

}  // namespace weft::storage
