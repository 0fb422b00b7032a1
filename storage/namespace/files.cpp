// Directories and files: what clients ask of the tree, and the trash.
#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/path.hpp"

namespace weft::storage {

Result<void> Namespace::make_directory(std::string_view path, std::string_view user, bool parents, std::int64_t clock_ms) {
  return impl_->tree.make_directory(path, user, parents, clock_ms);
}

Result<void> Namespace::remove(std::string_view path, bool recursive, Time now, EntryId id) {
  WEFT_ASSIGN(Entry * entry, impl_->tree.existing(path));
  if (id != EntryId{} && entry->id != id)
    return fail(Code::not_found, fmt::format("{} is not what it was a moment ago and was not removed; look again", escaped(path)));
  if (entry == &impl_->tree.root()) return fail(Code::invalid_argument, "the root directory cannot be removed");
  if (entry->directory() && !recursive && !entry->children->empty())
    return fail(Code::invalid_argument, fmt::format("{} is a directory that is not empty; remove it recursively", escaped(path)));
  impl_->at(now);
  impl_->trash(impl_->tree.take(*entry));
  return {};
}

Result<void> Namespace::rename(std::string_view from, std::string_view to, bool replace, Time now) {
  WEFT_ASSIGN(const Tree::Move move, impl_->tree.check_move(from, to, replace));
  if (move.entry == nullptr) return {};
  impl_->at(now);
  if (move.replaced != nullptr) impl_->trash(impl_->tree.take(*move.replaced));
  impl_->tree.move(move);
  return {};
}

Result<void> Namespace::set_replication(std::string_view path, std::uint32_t replication) {
  WEFT_ASSIGN(Entry * top, impl_->tree.existing(path));
  WEFT_TRY(impl_->tree.may_replicate(*top, replication, path));
  each_below(*top, [&](Entry& entry) {
    if (entry.directory() || entry.replication == replication) return;
    impl_->tree.set_replication(entry, replication);
    for (const ChunkId id : entry.chunks) impl_->reconsider(id);
  });
  return {};
}

Result<void> Namespace::set_quota(std::string_view user, const Quota& quota) { return impl_->tree.set_quota(user, quota); }

/// Its chunks are kept for a while, but nobody looks after them any more.
void Namespace::Impl::trash(std::unique_ptr<Entry> entry) {
  each_below(*entry, [this](Entry& gone) {
    for (const ChunkId id : gone.chunks) {
      Chunk& chunk = chunks.at(id);
      chunk.condemned = true;
      reconsider(chunk);
    }
  });
  const EntryId id = entry->id;
  entry->modified_ms = clock_ms();
  trashed.emplace(id, Trashed{std::move(entry), clock + options.reclaim_delay});
}

/// A master that ends sooner than deletions are due must not make the next one begin to wait again: chunks would never go.
Time Namespace::Impl::reclaim_wait(const Entry& entry) const {
  const Time passed = std::chrono::milliseconds(std::max<std::int64_t>(clock_ms() - entry.modified_ms, 0));
  return std::max(options.reclaim_delay - passed, Time(0));
}

void Namespace::Impl::reclaim() {
  std::erase_if(trashed, [this](auto& item) {
    if (item.second.due > clock) return false;
    each_below(*item.second.entry, [this](Entry& entry) {
      for (const ChunkId id : entry.chunks) forget(id);
      tree.erased(entry.id);
    });
    return true;
  });
}

}  // namespace weft::storage
