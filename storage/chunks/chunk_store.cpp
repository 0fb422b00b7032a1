#include "storage/chunks/chunk_store.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/chunks/audit.hpp"
#include "storage/chunks/slot_choice.hpp"
#include "storage/chunks/store_impl.hpp"

namespace weft::storage {
namespace {

tl::unexpected<Error> not_here(ChunkId id) { return fail(Code::not_found, to_string(id) + " is not on this worker"); }

}  // namespace

void ChunkStore::Impl::report(ChunkEvent event, std::span<const ChunkInfo> chunks) {
  if (chunks.empty() || !options_.listener) return;
  options_.listener(event, chunks);
}

std::optional<ChunkStore::Impl::Found> ChunkStore::Impl::locate(ChunkId id) const {
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    if (const auto chunk = slots_[i].chunks.find(id); chunk != slots_[i].chunks.end()) return Found{i, chunk->second};
  return std::nullopt;
}

std::optional<ChunkStore::Impl::Found> ChunkStore::Impl::lock_and_locate(ChunkId id) const {
  const std::lock_guard lock(mutex_);
  return locate(id);
}

Result<std::uint64_t> ChunkStore::Impl::room(const Slot& slot) const {
  if (slot.directory == nullptr || slot.failure) return std::uint64_t{0};
  WEFT_ASSIGN(const auto space, slot.directory->file_system());
  const std::uint64_t kept = options_.reserve + slot.reserved;
  return space.second > kept ? space.second - kept : 0;
}

std::optional<std::uint32_t> ChunkStore::Impl::roomiest(std::uint64_t bytes, const std::set<std::uint32_t>& except) const {
  std::vector<std::uint64_t> rooms;
  for (const Slot& slot : slots_) rooms.push_back(room(slot).value_or(0));
  return roomiest_slot(rooms, bytes, except);
}

Result<std::unique_ptr<ChunkAppender>> ChunkStore::Impl::create(ChunkId id, std::uint64_t expected_length,
                                                                std::uint64_t most_reserved) {
  if (id == ChunkId{}) return fail(Code::invalid_argument, "0 is no chunk");
  expected_length = std::min(expected_length, kLargestChunkBytes);
  const std::uint64_t reserved = std::min(expected_length, most_reserved);
  std::set<std::uint32_t> tried;
  std::string why = "every data directory is full up to its reserve or has failed: add disks, or delete files";
  while (true) {
    std::uint32_t slot = 0;
    {
      const std::lock_guard lock(mutex_);
      if (locate(id) || busy_.contains(id)) return fail(Code::already_exists, to_string(id) + " is already on this worker");
      const auto best = roomiest(chunk_file_size(expected_length), tried);
      if (!best)
        return fail(Code::resource_exhausted,
                    fmt::format("no room for {} ({}): {}", to_string(id), human_bytes(expected_length), why));
      slot = *best;
      busy_.insert(id);
      slots_[slot].reserved += reserved;
    }
    Fd fd(::open(directory(slot).unsealed_path(id).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (fd.valid()) return make_appender(shared_from_this(), slot, id, std::move(fd), reserved);
    const int error = errno;
    given_up(id);
    written(slot, reserved);
    const std::string what = "cannot create a chunk in " + slots_[slot].path.string();
    if (error == EMFILE || error == ENFILE || error == ENOMEM) return fail(errno_error(what, error));
    why = write_failed(slot, what, error).to_string();
    tried.insert(slot);
  }
}

Result<void> ChunkStore::Impl::check_room(std::uint32_t slot, std::uint64_t bytes) {
  WEFT_ASSIGN(const auto space, directory(slot).file_system());
  if (space.second >= options_.reserve && space.second - options_.reserve >= bytes) return {};
  return fail(Code::resource_exhausted,
              fmt::format("{} is full: {} are free and {} are kept in reserve", slots_[slot].path.string(),
                          human_bytes(space.second), human_bytes(options_.reserve)));
}

/// A disk that is full may have room again. After any other error the directory takes no more chunks.
Error ChunkStore::Impl::write_failed(std::uint32_t slot, const std::string& what, int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) return {Code::resource_exhausted, errno_error(what, error).to_string()};
  const Error why = errno_error(what, error);
  if (!directory(slot).alive()) {
    lose_directory(slot, why.to_string());
  } else {
    const std::lock_guard lock(mutex_);
    if (!slots_[slot].failure) log_.error("{}; nothing more is written to {}", why.to_string(), slots_[slot].path.string());
    slots_[slot].failure = why.to_string();
  }
  return {Code::io, why.to_string()};
}

void ChunkStore::Impl::written(std::uint32_t slot, std::uint64_t bytes_of_reservation) {
  const std::lock_guard lock(mutex_);
  slots_[slot].reserved -= std::min(slots_[slot].reserved, bytes_of_reservation);
}

void ChunkStore::Impl::sealed(std::uint32_t slot, const ChunkInfo& info) {
  const std::lock_guard in_order(event_mutex_);
  {
    const std::lock_guard lock(mutex_);
    slots_[slot].chunks.emplace(info.id, info);
    slots_[slot].used += info.length;
    busy_.erase(info.id);
    for (Slot& each : slots_)
      if (each.aside.erase(info.id) != 0 && each.directory) each.directory->erase_quarantined(info.id);
  }
  report(ChunkEvent::sealed, {&info, 1});
}

void ChunkStore::Impl::given_up(ChunkId id) {
  const std::lock_guard lock(mutex_);
  busy_.erase(id);
}

Result<std::shared_ptr<const ChunkFile>> ChunkStore::Impl::open_chunk(ChunkId id) {
  const auto found = lock_and_locate(id);
  if (!found) return not_here(id);
  const auto path = directory(found->slot).chunk_path(id);
  Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR || !directory(found->slot).alive()) {
      missing(id);
      return not_here(id);
    }
    if (error == EIO) set_aside(id);
    return fail(errno_error("cannot open " + path.string(), error));
  }
  auto file = ChunkFile::open(std::move(fd), found->info);
  if (file || file.error().code() == Code::resource_exhausted) return file;
  set_aside(id);
  return fail(std::move(file).error().wrap(Code::corrupt, path.string()));
}

Result<std::shared_ptr<const DamagedChunk>> ChunkStore::Impl::open_damaged(const ChunkInfo& info) {
  std::vector<std::filesystem::path> paths;
  {
    const std::lock_guard lock(mutex_);
    for (const Slot& slot : slots_) {
      if (!slot.directory || (!slot.chunks.contains(info.id) && !slot.aside.contains(info.id))) continue;
      // One that could not be moved aside lies where it was.
      paths.push_back(slot.directory->chunk_path(info.id));
      paths.push_back(slot.directory->quarantine_path(info.id));
    }
  }
  for (const auto& path : paths)
    if (Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); fd.valid())
      return std::make_shared<const DamagedChunk>(std::move(fd), info);
  return not_here(info.id);
}

void ChunkStore::Impl::judge(ChunkId id, const Result<void>& checked) {
  if (checked) return;
  if (checked.error().code() == Code::corrupt) {
    log_.warn("{}", checked.error().to_string());
    set_aside(id);
  } else if (checked.error().code() == Code::not_found) {
    missing(id);
  }
}

Result<void> ChunkStore::Impl::check(ChunkId id) {
  const auto found = lock_and_locate(id);
  if (!found) return not_here(id);
  Directory& where = directory(found->slot);
  auto checked = audit_chunk_file(where.chunk_path(id), found->info, where.cluster(), [](std::uint64_t) { return true; });
  judge(id, checked);
  return checked;
}

void ChunkStore::Impl::set_aside(ChunkId id) {
  const std::lock_guard in_order(event_mutex_);
  std::optional<Found> found;
  {
    const std::lock_guard lock(mutex_);
    found = locate(id);
    if (!found) return;
    Slot& slot = slots_[found->slot];
    slot.chunks.erase(id);
    slot.used -= found->info.length;
    slot.aside.emplace(id, found->info);
    slot.directory->quarantine(id);
  }
  report(ChunkEvent::corrupt, {&found->info, 1});
}

void ChunkStore::Impl::missing(ChunkId id) {
  const auto found = lock_and_locate(id);
  if (!found) return;
  if (!directory(found->slot).alive()) return lose_directory(found->slot, "the directory is gone or does not answer");
  const std::lock_guard in_order(event_mutex_);
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[found->slot];
    if (slot.chunks.erase(id) == 0) return;
    slot.used -= found->info.length;
    slot.directory->forget(id);
  }
  report(ChunkEvent::lost, {&found->info, 1});
}

void ChunkStore::Impl::lose_directory(std::uint32_t slot, const std::string& why) {
  const std::lock_guard in_order(event_mutex_);
  std::vector<ChunkInfo> lost;
  {
    const std::lock_guard lock(mutex_);
    Slot& gone = slots_[slot];
    if (!gone.failure) log_.error("the data directory {} has failed: {}", gone.path.string(), why);
    gone.failure = why;
    for (const auto& [id, info] : std::exchange(gone.chunks, {})) lost.push_back(info);
    gone.used = 0;
    gone.aside.clear();
  }
  report(ChunkEvent::lost, lost);
}

Result<ChunkInfo> ChunkStore::Impl::find(ChunkId id) const {
  const auto found = lock_and_locate(id);
  if (!found) return not_here(id);
  return found->info;
}

std::vector<StoredChunk> ChunkStore::Impl::list(bool aside) const {
  const std::lock_guard lock(mutex_);
  std::vector<StoredChunk> all;
  for (std::uint32_t i = 0; i < slots_.size(); ++i)
    for (const auto& [id, info] : aside ? slots_[i].aside : slots_[i].chunks)
      if (!aside || !locate(id)) all.push_back({info, i});
  std::sort(all.begin(), all.end(), [](const StoredChunk& a, const StoredChunk& b) { return a.info.id < b.info.id; });
  return all;
}

void ChunkStore::Impl::erase(std::span<const ChunkId> ids) {
  std::vector<ChunkId> busy;
  for (const ChunkId id : ids) {
    std::optional<Found> found;
    {
      const std::lock_guard lock(mutex_);
      for (Slot& slot : slots_)
        if (slot.aside.erase(id) != 0 && slot.directory) slot.directory->erase_quarantined(id);
      found = locate(id);
      if (!found || !busy_.insert(id).second) continue;
      slots_[found->slot].chunks.erase(id);
      slots_[found->slot].used -= found->info.length;
    }
    directory(found->slot).erase(id);
    busy.push_back(id);
  }
  const std::lock_guard in_order(event_mutex_);
  std::vector<ChunkInfo> gone;
  {
    const std::lock_guard lock(mutex_);
    for (const ChunkId id : busy) busy_.erase(id);
    for (const ChunkId id : ids)
      if (!locate(id)) gone.push_back({id, 0, 0});
  }
  report(ChunkEvent::erased, gone);
}

std::vector<DirectorySpace> ChunkStore::Impl::space() {
  std::vector<DirectorySpace> all;
  open_full_slots();
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    const auto there = [&] {
      const std::lock_guard lock(mutex_);
      return slot.directory.get();
    }();
    if (there != nullptr && !there->alive()) lose_directory(i, "the directory is gone or does not answer");
    const std::lock_guard lock(mutex_);
    DirectorySpace space{slot.path, 0, room(slot).value_or(0), slot.used, slot.chunks.size(), slot.aside.size(), slot.failure};
    if (slot.directory)
      if (const auto system = slot.directory->file_system()) space.capacity = system->first;
    all.push_back(std::move(space));
  }
  return all;
}

ChunkStore::ChunkStore(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChunkStore::~ChunkStore() { impl_->stop(); }

Result<std::unique_ptr<ChunkStore>> ChunkStore::open(ChunkStoreOptions options) {
  auto impl = std::make_shared<Impl>(std::move(options));
  WEFT_TRY(impl->open());
  impl->start_scrubbing();
  return std::unique_ptr<ChunkStore>(new ChunkStore(std::move(impl)));
}

Result<std::unique_ptr<ChunkAppender>> ChunkStore::create(ChunkId id, std::uint64_t expected_length, std::uint64_t most_reserved) {
  return impl_->create(id, expected_length, most_reserved);
}
Result<std::shared_ptr<const ChunkFile>> ChunkStore::open_chunk(ChunkId id) { return impl_->open_chunk(id); }

Result<std::size_t> ChunkStore::read(ChunkId id, std::uint64_t offset, MutableBytes into) {
  WEFT_ASSIGN(const auto file, impl_->open_chunk(id));
  const std::uint64_t length = file->info().length;
  const std::uint64_t size = offset >= length ? 0 : std::min<std::uint64_t>(into.size(), length - offset);
  if (size == 0) return std::size_t{0};
  if (auto verified = file->verify(offset, size); !verified) {
    impl_->set_aside(id);
    return fail(std::move(verified).error());
  }
  std::memcpy(into.data(), file->bytes().data() + offset, size);
  return size;
}

Result<void> ChunkStore::check(ChunkId id) { return impl_->check(id); }
Result<std::shared_ptr<const DamagedChunk>> ChunkStore::open_damaged(const ChunkInfo& info) const {
  return impl_->open_damaged(info);
}
Result<ChunkInfo> ChunkStore::find(ChunkId id) const { return impl_->find(id); }
std::vector<StoredChunk> ChunkStore::list() const { return impl_->list(false); }
std::vector<StoredChunk> ChunkStore::quarantined() const { return impl_->list(true); }
void ChunkStore::erase(std::span<const ChunkId> ids) { impl_->erase(ids); }
std::vector<DirectorySpace> ChunkStore::space() const { return impl_->space(); }

}  // namespace weft::storage
