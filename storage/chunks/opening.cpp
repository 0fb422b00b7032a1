// Opens a store's data directories and takes stock of them.
#include <algorithm>

#include "base/text.hpp"
#include "storage/chunks/store_impl.hpp"

namespace weft::storage {
namespace {

bool is_cluster_id(const std::string& id) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.';
  };
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), fits);
}

}  // namespace

Result<void> ChunkStore::Impl::open() {
  if (options_.directories.empty()) return fail(Code::invalid_argument, "chunks need a data directory: name at least one");
  if (!is_cluster_id(options_.cluster_id))
    return fail(Code::invalid_argument,
                "a cluster's id has 1 to 64 letters, digits, '-', '_' and '.', not '" + escaped(options_.cluster_id) + "'");
  slots_.resize(options_.directories.size());
  std::optional<Error> last;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    slots_[i].path = options_.directories[i];
    auto opened = open_slot(slots_[i]);
    if (opened) continue;
    const Code code = opened.error().code();
    // The operator's mistakes end the start; a disk's failure does not while there are others.
    if (code == Code::version_mismatch || code == Code::already_exists || code == Code::invalid_argument) return opened;
    slots_[i].full = code == Code::resource_exhausted;
    log_.error("{}{}", opened.error().to_string(), slots_[i].full ? "; it is tried again until there is room" : "");
    slots_[i].failure = opened.error().to_string();
    last = std::move(opened).error();
  }
  const bool any =
      std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.directory != nullptr || slot.full; });
  if (!any) return fail(std::move(*last).wrap("no data directory works"));
  return {};
}

Result<void> ChunkStore::Impl::open_slot(Slot& slot) {
  FoundChunks found;
  WEFT_ASSIGN(slot.directory, Directory::open(slot.path, options_.cluster_id, found));
  for (const ChunkInfo& info : found.sealed) {
    if (const std::lock_guard lock(mutex_); locate(info.id)) {
      log_.warn("{} is in two data directories; the one in {} is set aside", to_string(info.id), slot.path.string());
      slot.directory->quarantine(info.id);
      slot.aside.emplace(info.id, info);
      continue;
    }
    slot.chunks.emplace(info.id, info);
    slot.used += info.length;
  }
  for (const auto* aside : {&found.quarantined, &found.corrupt})
    for (const ChunkInfo& info : *aside) slot.aside.emplace(info.id, info);
  slot.scrubbed = slot.directory->scrubbed();
  const std::lock_guard in_order(event_mutex_);
  report(ChunkEvent::corrupt, found.corrupt);
  report(ChunkEvent::lost, found.lost);
  return {};
}

/// Those whose disks were too full to take them in.
void ChunkStore::Impl::open_full_slots() {
  const std::lock_guard one_by_one(opening_mutex_);
  for (Slot& slot : slots_) {
    if (!slot.full) continue;
    Slot fresh;
    fresh.path = slot.path;
    if (!open_slot(fresh)) continue;
    log_.info("the data directory {} has room now and is used", slot.path.string());
    {
      const std::lock_guard lock(mutex_);
      slot = std::move(fresh);
    }
    if (options_.joined) options_.joined();
  }
}

}  // namespace weft::storage
