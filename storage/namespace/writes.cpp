// Files that are being written.
#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/path.hpp"
#include "storage/namespace/placement.hpp"

namespace weft::storage {
namespace {

/// Room for a chunk of which its writer does not know how long it becomes.
constexpr std::uint64_t kUnknownBytes = 1u << 20;

}  // namespace

Result<LeaseId> Namespace::create(std::string_view written, std::string_view user, const CreateOptions& wanted, Time now) {
  WEFT_ASSIGN(std::string path, parse_path(written));
  if (wanted.replication == 0 || wanted.replication > kMostReplicas)
    return fail(Code::invalid_argument, fmt::format("a file has 1 to {} replicas, not {}", kMostReplicas, wanted.replication));
  if (wanted.chunk_bytes < kSmallestChunkBytes || wanted.chunk_bytes > kLargestChunkBytes)
    return fail(Code::invalid_argument, fmt::format("chunks have {} to {}, not {}", format_size(kSmallestChunkBytes),
                                                    format_size(kLargestChunkBytes), format_size(wanted.chunk_bytes)));
  WEFT_TRY(impl_->tree.directory_for(path));
  if (const Entry* there = impl_->tree.find(path)) {
    if (there->directory()) return fail(Code::already_exists, fmt::format("{} is a directory", escaped(path)));
    if (!wanted.overwrite) return fail(Code::already_exists, fmt::format("{} exists", escaped(path)));
  }
  WEFT_ASSIGN(Account * owner, impl_->tree.owner(user, path, 1));
  impl_->at(now);
  return impl_->leases.begin(std::move(path), *owner, wanted, impl_->clock).id;
}

Result<LeaseId> Namespace::lease_directory(std::string_view written, std::string_view user, std::int64_t clock_ms, Time now,
                                           bool take_over) {
  WEFT_ASSIGN(std::string path, parse_path(written));
  auto made = make_directory(path, user, false, clock_ms);
  if (!made) {
    std::vector<LeaseId> before;
    for (const auto& [id, file] : impl_->leases.open())
      if (take_over && file.path == path && file.account->name == user && impl_->directory_of(file) != nullptr)
        before.push_back(id);
    if (before.empty() || made.error().code() != Code::already_exists) return fail(std::move(made).error());
    for (const LeaseId id : before) impl_->leases.end(id);
  }
  impl_->at(now);
  const EntryId entry = impl_->tree.find(path)->id;
  OpenFile& lease =
      impl_->leases.begin(std::move(path), impl_->tree.account(user), {.replication = 0, .overwrite = take_over}, impl_->clock);
  lease.entry = entry;
  return lease.id;
}

Result<void> Namespace::abandon(LeaseId lease) {
  WEFT_ASSIGN(OpenFile * file, impl_->leases.find(lease));
  impl_->drop(*file);
  return {};
}

Time Namespace::lease_length() const { return impl_->options.lease; }

Result<void> Namespace::renew(LeaseId lease, Time now) {
  WEFT_ASSIGN(OpenFile * file, impl_->leases.find(lease));
  impl_->at(now);
  impl_->leases.renew(*file, impl_->clock);
  return {};
}

Result<Allocation> Namespace::allocate(LeaseId lease, std::string_view writer, const std::vector<NodeId>& excluded, Time now,
                                       std::uint64_t bytes, ChunkId id) {
  Impl& impl = *impl_;
  WEFT_ASSIGN(OpenFile * file, impl.leases.find_file(lease));
  if (impl.chunks.contains(id)) return fail(Code::unavailable, fmt::format("{} is there already", to_string(id)));
  const Quota& quota = file->account->quota;
  if (quota.bytes != 0 && file->account->bytes >= quota.bytes)
    return fail(Code::resource_exhausted, fmt::format("{}: the quota of {} for {} (replicas counted) is used up",
                                                      escaped(file->path), file->account->name, human_bytes(quota.bytes)));
  impl.at(now);
  bytes = std::min(bytes == 0 ? kUnknownBytes : bytes, file->options.chunk_bytes);
  const std::string_view path = file->path;
  const std::string_view together = file->options.together ? path.substr(0, path.rfind('/') + 1) : std::string_view();
  const std::vector<NodeId> targets = choose_nodes(impl.nodes, {.chunk = id == ChunkId{} ? impl.ids.coming_chunk() : id,
                                                                .together = together,
                                                                .writer = writer,
                                                                .count = file->options.replication,
                                                                .excluded = excluded,
                                                                .bytes = bytes,
                                                                .seed = impl.options.seed});
  if (targets.empty())
    return fail(
        impl.nodes.empty() || !excluded.empty() || impl.may_get_more_nodes() ? Code::unavailable : Code::resource_exhausted,
        fmt::format("{}: {}", escaped(file->path),
                    impl.nodes.empty() ? std::string("no worker with a chunk store is there")
                                       : fmt::format("none of {} workers has room for {} (or all that have were just tried)",
                                                     impl.nodes.size(), human_bytes(bytes))));
  impl.drop_pending(*file);
  impl.leases.renew(*file, impl.clock);
  Chunk chunk;
  chunk.info.id = id == ChunkId{} ? impl.ids.chunk() : id;
  chunk.lease = lease;
  file->pending = chunk.info.id;
  file->targets = targets;
  file->pending_bytes = bytes;
  impl.chunks.emplace(chunk.info.id, std::move(chunk));
  for (const NodeId target : targets) impl.nodes.at(target).expect(bytes);
  impl.leases.changed(*file);
  return Allocation{file->pending, targets};
}

/// In safe mode all are coming back; of those that were just lost some may.
bool Namespace::Impl::may_get_more_nodes() const {
  constexpr Time kMayReturn = std::chrono::minutes(1);
  return safe_mode.on() || (last_loss && clock - *last_loss < kMayReturn);
}

/// The chunk that was allocated last will not come.
void Namespace::Impl::drop_pending(OpenFile& file) {
  if (file.pending == ChunkId{}) return;
  for (const NodeId target : file.targets)
    if (Node* there = nodes.find(target)) there->expect_no_more(file.pending_bytes);
  for (const auto& [id, info] : file.reported)
    if (Node* there = nodes.find(id)) there->erase(file.pending);
  chunks.erase(file.pending);
  file.pending = {};
  file.targets.clear();
  file.reported.clear();
  file.gone.clear();
  leases.changed(file);
}

Result<void> Namespace::seal(LeaseId lease, const ChunkInfo& info, const std::vector<NodeId>& durable, Time now) {
  Impl& impl = *impl_;
  WEFT_ASSIGN(OpenFile * file, impl.leases.find_file(lease));
  if (!file->chunks.empty() && file->chunks.back() == info.id && impl.chunks.at(info.id).info == info) return {};
  if (file->pending == ChunkId{} || file->pending != info.id)
    return fail(Code::invalid_argument,
                fmt::format("{}: {} is not the one being written", escaped(file->path), to_string(info.id)));
  if (info.length == 0 || info.length > file->options.chunk_bytes)
    return fail(Code::invalid_argument, fmt::format("{}: {} has {} bytes; its file's chunks have 1 to {}", escaped(file->path),
                                                    to_string(info.id), info.length, file->options.chunk_bytes));
  std::vector<NodeId> there_still = durable;
  for (const NodeId node : file->gone) std::erase(there_still, node);
  if (there_still.empty())
    return fail(Code::unavailable, fmt::format("{}: no replica of {} is durable", escaped(file->path), to_string(info.id)));
  const std::uint64_t stored_bytes = info.length * file->options.replication;
  const Quota& quota = file->account->quota;
  if (quota.bytes != 0 && file->account->bytes + stored_bytes > quota.bytes)
    return fail(Code::resource_exhausted,
                fmt::format("{}: {} more would exceed the quota of {} ({}, replicas counted)", escaped(file->path),
                            human_bytes(stored_bytes), file->account->name, human_bytes(quota.bytes)));
  impl.at(now);
  impl.leases.renew(*file, impl.clock);
  file->account->bytes += stored_bytes;
  file->chunks.push_back(info.id);
  file->length += info.length;
  Chunk& chunk = impl.chunks.at(info.id);
  chunk.sealed = true;
  chunk.info = info;
  ++impl.sealed_chunks;
  for (const NodeId target : file->targets)
    if (Node* there = impl.nodes.find(target)) there->expect_no_more(file->pending_bytes);
  const auto reported = std::exchange(file->reported, {});
  file->pending = {};
  file->targets.clear();
  file->gone.clear();
  for (const NodeId id : there_still)
    if (Node* there = impl.nodes.find(id)) impl.add_replica(*there, info, true);
  for (const auto& [id, as_reported] : reported)
    if (Node* there = impl.nodes.find(id)) impl.add_replica(*there, as_reported, true);
  impl.reconsider(chunk);
  impl.leases.changed(*file);
  return {};
}

Result<void> Namespace::complete(LeaseId lease, std::int64_t clock_ms, Time now) {
  Impl& impl = *impl_;
  if (impl.leases.was_completed(lease)) return {};
  WEFT_ASSIGN(OpenFile * file, impl.leases.find_file(lease));
  WEFT_ASSIGN(Entry * directory, impl.tree.directory_for(file->path));
  Entry* there = impl.tree.find(file->path);
  if (there != nullptr && there->directory())
    return fail(Code::already_exists, fmt::format("{} is a directory", escaped(file->path)));
  if (there != nullptr && !file->options.overwrite)
    return fail(Code::already_exists, fmt::format("{} was created by somebody else meanwhile", escaped(file->path)));
  impl.at(now);
  impl.drop_pending(*file);
  const std::uint32_t mode = there != nullptr ? impl.tree.mode_of(*there) : kFileMode;  // it stays when a file is replaced
  if (there != nullptr) impl.trash(impl.tree.take(*there));
  auto entry = std::make_unique<Entry>();
  entry->account = file->account;
  entry->chunks = std::move(file->chunks);
  entry->chunks.shrink_to_fit();
  entry->length = file->length;
  entry->chunk_bytes = file->options.chunk_bytes;
  entry->replication = file->options.replication;
  entry->modified_ms = clock_ms;
  Entry& made = impl.tree.add_file(*directory, name_of(file->path), std::move(entry));
  impl.tree.set_mode(made, mode);
  for (const ChunkId id : made.chunks) {
    Chunk& chunk = impl.chunks.at(id);
    chunk.file = &made;
    chunk.lease = {};
  }
  impl.leases.complete(lease, impl.clock);
  return {};
}

Entry* Namespace::Impl::directory_of(const OpenFile& file) const {
  Entry* const entry = file.directory() ? tree.find(file.path) : nullptr;
  return entry != nullptr && entry->id == file.entry && entry->account == file.account ? entry : nullptr;
}

std::string Namespace::directory_of(LeaseId lease) const {
  const auto found = impl_->leases.find(lease);
  return found && impl_->directory_of(**found) != nullptr ? (*found)->path : std::string();
}

/// The file will not come, or the directory goes.
void Namespace::Impl::drop(OpenFile& file) {
  drop_pending(file);
  if (Entry* const entry = directory_of(file)) trash(tree.take(*entry));
  file.account->bytes -= file.length * file.options.replication;
  for (const ChunkId id : file.chunks) forget(id);
  leases.end(file.id);
}

void Namespace::Impl::expire_leases() {
  for (const LeaseId lease : leases.expired(clock))
    if (const auto file = leases.find(lease)) drop(**file);
}

}  // namespace weft::storage
