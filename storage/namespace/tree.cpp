// Directories and files.
#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/namespace/namespace_impl.hpp"
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

Entry* Namespace::Impl::find(std::string_view path) const {
  Entry* entry = root.get();
  for (const std::string_view name : names_of(path)) {
    if (!entry->directory()) return nullptr;
    const auto child = entry->children->find(name);
    if (child == entry->children->end()) return nullptr;
    entry = child->second.get();
  }
  return entry;
}

Result<Entry*> Namespace::Impl::existing(std::string_view written) const {
  WEFT_ASSIGN(const std::string path, parse_path(written));
  if (Entry* entry = find(path)) return entry;
  return fail(Code::not_found, fmt::format("{} does not exist", shown(path)));
}

/// The directory that holds, or is to hold, the (parsed) path.
Result<Entry*> Namespace::Impl::directory_for(std::string_view path) const {
  const std::string_view parent = parent_of(path);
  Entry* entry = find(parent);
  if (entry == nullptr)
    return fail(Code::not_found, fmt::format("{}: the directory {} does not exist", shown(path), shown(parent)));
  if (!entry->directory()) return fail(Code::invalid_argument, fmt::format("{}: {} is a file", shown(path), shown(parent)));
  return entry;
}

std::string Namespace::Impl::path_of(const Entry& entry) {
  if (entry.parent == nullptr) return "/";
  std::vector<std::string_view> names;
  for (const Entry* at = &entry; at->parent != nullptr; at = at->parent) names.push_back(at->name);
  std::string path;
  for (auto name = names.rbegin(); name != names.rend(); ++name) path.append("/").append(*name);
  return path;
}

/// Who is to own one more thing. Whoever asks is refused before the name is kept.
Result<Account*> Namespace::Impl::owner(std::string_view user, std::string_view path, std::size_t entries) {
  if (user.size() > kLongestName)
    return fail(Code::invalid_argument,
                fmt::format("{}: the name of its user has {} bytes; {} are allowed", shown(path), user.size(), kLongestName));
  Account& found = account(user);
  if (found.quota.entries != 0 && found.entries + entries > found.quota.entries)
    return fail(Code::resource_exhausted, fmt::format("{}: the quota of {} for {} files and directories is used up", shown(path),
                                                      found.name, found.quota.entries));
  return &found;
}

Account& Namespace::Impl::account(std::string_view user) {
  const auto found = accounts.find(user);
  if (found != accounts.end()) return *found->second;
  auto made = std::make_unique<Account>();
  made->name = user;
  return *accounts.emplace(std::string(user), std::move(made)).first->second;
}

Entry& Namespace::Impl::link(Entry& directory, std::string_view name, std::unique_ptr<Entry> entry) {
  const auto [at, fresh] = directory.children->emplace(std::string(name), std::move(entry));
  WEFT_ASSERT(fresh);
  at->second->parent = &directory;
  at->second->name = at->first;
  return *at->second;
}

std::unique_ptr<Entry> Namespace::Impl::unlink(Entry& entry) {
  const auto at = entry.parent->children->find(entry.name);
  std::unique_ptr<Entry> taken = std::move(at->second);
  entry.parent->children->erase(at);
  taken->parent = nullptr;
  taken->name = {};
  return taken;
}

Result<void> Namespace::Impl::make_directory(std::string_view written, std::string_view user, bool parents, std::int64_t clock_ms) {
  WEFT_ASSIGN(const std::string path, parse_path(written));
  Entry* at = root.get();
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
    made->id = EntryId(next_entry++);
    made->account = user_account;
    made->children = std::make_unique<Entry::Children>();
    made->modified_ms = clock_ms;
    ++user_account->entries;
    ++directories;
    at = &link(*at, names[known], std::move(made));
    save(*at);
  }
  dirty_ids = true;
  return {};
}

/// Its chunks are kept for a while, but nobody looks after them any more.
void Namespace::Impl::trash(std::unique_ptr<Entry> entry) {
  each_below(*entry, [this](Entry& gone) {
    --(gone.directory() ? directories : files);
    --gone.account->entries;
    gone.account->bytes -= stored(gone);
    for (const ChunkId id : gone.chunks) {
      Chunk& chunk = chunks.at(id);
      chunk.doomed = true;
      reconsider(chunk);
    }
  });
  save(*entry);
  const EntryId id = entry->id;
  trashed.emplace(id, Trashed{std::move(entry), clock + options.reclaim_delay});
}

void Namespace::Impl::destroy(Entry& top) {
  each_below(top, [this](Entry& entry) {
    for (const ChunkId id : entry.chunks) forget(id);
    dirty_entries[entry.id] = nullptr;
  });
}

void Namespace::Impl::reclaim() {
  for (auto at = trashed.begin(); at != trashed.end();) {
    if (at->second.due > clock) {
      ++at;
      continue;
    }
    destroy(*at->second.entry);
    at = trashed.erase(at);
  }
}

Result<void> Namespace::Impl::remove(std::string_view path, bool recursive, Time now) {
  WEFT_ASSIGN(Entry * entry, existing(path));
  if (entry == root.get()) return fail(Code::invalid_argument, "the root directory cannot be removed");
  if (entry->directory() && !recursive && !entry->children->empty())
    return fail(Code::invalid_argument, fmt::format("{} is a directory that is not empty; remove it recursively", shown(path)));
  at(now);
  trash(unlink(*entry));
  return {};
}

Result<void> Namespace::Impl::rename(std::string_view from, std::string_view written, bool replace, Time now) {
  WEFT_ASSIGN(Entry * entry, existing(from));
  WEFT_ASSIGN(const std::string to, parse_path(written));
  if (entry == root.get()) return fail(Code::invalid_argument, "the root directory cannot be renamed");
  WEFT_ASSIGN(Entry * directory, directory_for(to));
  if (to == "/") return fail(Code::invalid_argument, fmt::format("{} cannot become the root directory", shown(from)));
  for (const Entry* above = directory; above != nullptr; above = above->parent)
    if (above == entry) return fail(Code::invalid_argument, fmt::format("{} cannot move into itself ({})", shown(from), shown(to)));
  Entry* there = find(to);
  if (there == entry) return {};
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
  at(now);
  if (there != nullptr) trash(unlink(*there));
  save(link(*directory, name_of(to), unlink(*entry)));
  return {};
}

Result<void> Namespace::Impl::set_replication(std::string_view path, std::uint32_t replication) {
  if (replication == 0 || replication > kMostReplicas)
    return fail(Code::invalid_argument, fmt::format("a file has 1 to {} replicas, not {}", kMostReplicas, replication));
  WEFT_ASSIGN(Entry * top, existing(path));
  std::map<Account*, std::uint64_t> before, after;
  each_below(*top, [&](Entry& entry) {
    if (entry.directory()) return;
    before[entry.account] += stored(entry);
    after[entry.account] += entry.length * replication;
  });
  for (const auto& [owner, bytes] : after)
    if (owner->quota.bytes != 0 && bytes > before[owner] && owner->bytes - before[owner] + bytes > owner->quota.bytes)
      return fail(Code::resource_exhausted, fmt::format("{}: {} replicas exceed the quota of {} ({}, replicas counted)",
                                                        shown(path), replication, owner->name, human_bytes(owner->quota.bytes)));
  each_below(*top, [&](Entry& entry) {
    if (entry.directory() || entry.replication == replication) return;
    entry.account->bytes -= stored(entry);
    entry.replication = replication;
    entry.account->bytes += stored(entry);
    save(entry);
    for (const ChunkId id : entry.chunks) reconsider(chunks.at(id));
  });
  return {};
}

Result<void> Namespace::Impl::set_quota(std::string_view user, const Quota& quota) {
  if (user.empty() || user.size() > kLongestName) return fail(Code::invalid_argument, "a quota is of a user; name one");
  account(user).quota = quota;
  dirty_quotas.emplace(user);
  return {};
}

}  // namespace weft::storage
