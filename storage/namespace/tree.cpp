#include "storage/namespace/tree.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "storage/namespace/path.hpp"

namespace weft::storage {
namespace {

std::string shown(std::string_view path) { return escaped(path); }

/// Bytes of the longest path below the entry, as seen from it.
std::size_t longest_below(const Entry& entry) {
  std::size_t longest = 0;
  if (entry.directory())
    for (const auto& [name, child] : *entry.children) longest = std::max(longest, 1 + name.size() + longest_below(*child));
  return longest;
}

}  // namespace

Tree::Tree(Ids& ids) : ids_(ids) {
  root_->id = EntryId(1);
  root_->children = std::make_unique<Entry::Children>();
  root_->account = &account("weft");
}

Entry* Tree::find(std::string_view path) const {
  Entry* entry = root_.get();
  for (const std::string_view name : names_of(path)) {
    if (!entry->directory()) return nullptr;
    const auto child = entry->children->find(name);
    if (child == entry->children->end()) return nullptr;
    entry = child->second.get();
  }
  return entry;
}

Result<Entry*> Tree::existing(std::string_view written) const {
  WEFT_ASSIGN(const std::string path, parse_path(written));
  if (Entry* entry = find(path)) return entry;
  return fail(Code::not_found, fmt::format("{} does not exist", shown(path)));
}

Result<Entry*> Tree::directory_for(std::string_view path) const {
  const std::string_view parent = parent_of(path);
  Entry* entry = find(parent);
  if (entry == nullptr)
    return fail(Code::not_found, fmt::format("{}: the directory {} does not exist", shown(path), shown(parent)));
  if (!entry->directory()) return fail(Code::invalid_argument, fmt::format("{}: {} is a file", shown(path), shown(parent)));
  return entry;
}

std::string path_of(const Entry& entry) {
  if (entry.parent == nullptr) return "/";
  std::vector<std::string_view> names;
  for (const Entry* at = &entry; at->parent != nullptr; at = at->parent) names.push_back(at->name);
  std::string path;
  for (auto name = names.rbegin(); name != names.rend(); ++name) path.append("/").append(*name);
  return path;
}

Result<Account*> Tree::owner(std::string_view user, std::string_view path, std::size_t entries) {
  if (user.size() > kLongestName)
    return fail(Code::invalid_argument,
                fmt::format("{}: the name of its user has {} bytes; {} are allowed", shown(path), user.size(), kLongestName));
  Account& found = account(user);
  if (found.quota.entries != 0 && found.entries + entries > found.quota.entries)
    return fail(Code::resource_exhausted, fmt::format("{}: the quota of {} for {} files and directories is used up", shown(path),
                                                      found.name, found.quota.entries));
  return &found;
}

Account& Tree::account(std::string_view user) {
  const auto found = accounts_.find(user);
  if (found != accounts_.end()) return *found->second;
  auto made = std::make_unique<Account>();
  made->name = user;
  return *accounts_.emplace(std::string(user), std::move(made)).first->second;
}

Entry& Tree::link(Entry& directory, std::string_view name, std::unique_ptr<Entry> entry) {
  const auto [at, fresh] = directory.children->emplace(std::string(name), std::move(entry));
  WEFT_ASSERT(fresh);
  at->second->parent = &directory;
  at->second->name = at->first;
  return *at->second;
}

std::unique_ptr<Entry> Tree::unlink(Entry& entry) {
  const auto at = entry.parent->children->find(entry.name);
  std::unique_ptr<Entry> taken = std::move(at->second);
  entry.parent->children->erase(at);
  taken->parent = nullptr;
  taken->name = {};
  return taken;
}

Result<void> Tree::make_directory(std::string_view written, std::string_view user, bool parents, std::int64_t clock_ms) {
  WEFT_ASSIGN(const std::string path, parse_path(written));
  Entry* at = root_.get();
  std::vector<std::string_view> names = names_of(path);
  std::size_t known = 0;
  for (; known < names.size(); ++known) {
    if (!at->directory()) return fail(Code::invalid_argument, fmt::format("{}: {} is a file", shown(path), shown(path_of(*at))));
    const auto child = at->children->find(names[known]);
    if (child == at->children->end()) break;
    at = child->second.get();
  }
  if (known == names.size()) {
    if (parents && at->directory()) return {};
    return fail(Code::already_exists, fmt::format("{} exists", shown(path)));
  }
  if (!parents && known + 1 < names.size())
    return fail(Code::not_found, fmt::format("{}: the directory {} does not exist", shown(path), shown(parent_of(path))));
  WEFT_ASSIGN(Account * user_account, owner(user, path, names.size() - known));
  for (; known < names.size(); ++known) {
    auto made = std::make_unique<Entry>();
    made->id = ids_.entry();
    made->account = user_account;
    made->children = std::make_unique<Entry::Children>();
    made->modified_ms = clock_ms;
    at = &link(*at, names[known], std::move(made));
    count(*at);
    changed(*at);
  }
  return {};
}

void Tree::count(const Entry& entry) {
  ++(entry.directory() ? directories_ : files_);
  ++entry.account->entries;
  entry.account->bytes += entry.stored();
}

Entry& Tree::add_file(Entry& directory, std::string_view name, std::unique_ptr<Entry> file) {
  file->id = ids_.entry();
  Entry& made = link(directory, name, std::move(file));
  // Its bytes were counted while it was written.
  ++files_;
  ++made.account->entries;
  changed(made);
  return made;
}

std::unique_ptr<Entry> Tree::take(Entry& entry) {
  std::unique_ptr<Entry> taken = unlink(entry);
  each_below(*taken, [this](Entry& gone) {
    --(gone.directory() ? directories_ : files_);
    --gone.account->entries;
    gone.account->bytes -= gone.stored();
  });
  changed(*taken);
  return taken;
}

Result<Tree::Move> Tree::check_move(std::string_view from, std::string_view written, bool replace) const {
  WEFT_ASSIGN(Entry * entry, existing(from));
  WEFT_ASSIGN(const std::string to, parse_path(written));
  if (entry == root_.get()) return fail(Code::invalid_argument, "the root directory cannot be renamed");
  WEFT_ASSIGN(Entry * directory, directory_for(to));
  if (to == "/") return fail(Code::invalid_argument, fmt::format("{} cannot become the root directory", shown(from)));
  for (const Entry* above = directory; above != nullptr; above = above->parent)
    if (above == entry) return fail(Code::invalid_argument, fmt::format("{} cannot move into itself ({})", shown(from), shown(to)));
  Entry* there = find(to);
  if (there == entry) return Move{};
  if (there != nullptr) {
    if (!replace) return fail(Code::already_exists, fmt::format("{} exists", shown(to)));
    if (there->directory() != entry->directory())
      return fail(Code::already_exists,
                  fmt::format("{} is a {}; it is not replaced", shown(to), there->directory() ? "directory" : "file"));
    for (const Entry* above = entry->parent; above != nullptr; above = above->parent)
      if (above == there)
        return fail(Code::invalid_argument, fmt::format("{} cannot replace {}, which holds it", shown(from), shown(to)));
  }
  // All paths are within their bound now, so only one that grows is looked at: that bounds how deep directories nest, too.
  if (to.size() > path_of(*entry).size() && to.size() + longest_below(*entry) > kLongestPath)
    return fail(Code::invalid_argument, fmt::format("{} has paths below it that would be longer than {} bytes in {}; move it to a "
                                                    "shorter path",
                                                    shown(from), kLongestPath, shown(to)));
  return Move{entry, directory, std::string(name_of(to)), there};
}

void Tree::move(const Move& move) { changed(link(*move.directory, move.name, unlink(*move.entry))); }

Result<void> Tree::may_replicate(Entry& top, std::uint32_t replication, std::string_view path) const {
  if (replication == 0 || replication > kMostReplicas)
    return fail(Code::invalid_argument, fmt::format("a file has 1 to {} replicas, not {}", kMostReplicas, replication));
  std::map<Account*, std::uint64_t> before, after;
  each_below(top, [&](Entry& entry) {
    if (entry.directory()) return;
    before[entry.account] += entry.stored();
    after[entry.account] += entry.length * replication;
  });
  for (const auto& [owner, bytes] : after)
    if (owner->quota.bytes != 0 && bytes > before[owner] && owner->bytes - before[owner] + bytes > owner->quota.bytes)
      return fail(Code::resource_exhausted, fmt::format("{}: {} replicas exceed the quota of {} ({}, replicas counted)",
                                                        shown(path), replication, owner->name, human_bytes(owner->quota.bytes)));
  return {};
}

void Tree::set_replication(Entry& file, std::uint32_t replication) {
  file.account->bytes -= file.stored();
  file.replication = replication;
  file.account->bytes += file.stored();
  changed(file);
}

Result<void> Tree::set_quota(std::string_view user, const Quota& quota) {
  if (user.empty() || user.size() > kLongestName) return fail(Code::invalid_argument, "a quota is of a user; name one");
  account(user).quota = quota;
  dirty_quotas_.emplace(user);
  return {};
}

std::vector<UserStatus> Tree::users() const {
  std::vector<UserStatus> all;
  for (const auto& [name, account] : accounts_)
    if (account->worth_telling()) all.push_back({name, account->quota, account->bytes, account->entries});
  return all;
}

std::uint32_t Tree::mode_of(const Entry& entry) const {
  if (const auto own = modes_.find(entry.id); own != modes_.end()) return own->second;
  return &entry == root_.get() ? kRootMode : entry.directory() ? kDirectoryMode : kFileMode;
}

void Tree::set_mode(const Entry& entry, std::uint32_t mode) {
  if (mode == mode_of(entry)) return;
  modes_.erase(entry.id);
  if (mode != mode_of(entry)) modes_[entry.id] = mode;
  dirty_modes_.insert(entry.id);
}

std::map<EntryId, std::optional<std::uint32_t>> Tree::take_changed_modes() {
  std::map<EntryId, std::optional<std::uint32_t>> changed;
  for (const EntryId id : std::exchange(dirty_modes_, {})) {
    const auto own = modes_.find(id);
    changed[id] = own == modes_.end() ? std::nullopt : std::optional(own->second);
  }
  return changed;
}

void Tree::set_owner(Entry& entry, Account& account) {
  --entry.account->entries;
  entry.account->bytes -= entry.stored();
  entry.account = &account;
  ++account.entries;
  account.bytes += entry.stored();
  changed(entry);
}

FileStatus Tree::status_of(const Entry& entry, std::string path) const {
  return {std::move(path),   entry.directory(), entry.length,        entry.directory() ? entry.children->size() : 0,
          entry.replication, entry.chunk_bytes, entry.chunks.size(), entry.account->name,
          entry.modified_ms, entry.id,          mode_of(entry)};
}

}  // namespace weft::storage
