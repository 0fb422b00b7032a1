// Files that are being written.
#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"
#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/path.hpp"

namespace weft::storage {
namespace {

/// Room for a chunk of which its writer does not know how long it becomes.
constexpr std::uint64_t kUnknownBytes = 1u << 20;

}  // namespace

Result<OpenFile*> Namespace::Impl::open_file(LeaseId lease) {
  WEFT_ASSIGN(OpenFile * file, leased(lease));
  if (!file->directory()) return file;
  return fail(Code::invalid_argument, fmt::format("lease {} is of a directory; no file is written under it", lease.value()));
}

Result<OpenFile*> Namespace::Impl::leased(LeaseId lease) {
  if (const auto found = open_files.find(lease); found != open_files.end()) return &found->second;
  return fail(
      Code::not_found,
      fmt::format("lease {} is over: its writer was silent for too long, or the file was closed or given up", lease.value()));
}

Result<LeaseId> Namespace::Impl::create(std::string_view written, std::string_view user, const CreateOptions& wanted, Time now) {
  WEFT_ASSIGN(std::string path, parse_path(written));
  if (wanted.replication == 0 || wanted.replication > kMostReplicas)
    return fail(Code::invalid_argument, fmt::format("a file has 1 to {} replicas, not {}", kMostReplicas, wanted.replication));
  if (wanted.chunk_bytes < kSmallestChunkBytes || wanted.chunk_bytes > kLargestChunkBytes)
    return fail(Code::invalid_argument, fmt::format("chunks have {} to {}, not {}", format_size(kSmallestChunkBytes),
                                                    format_size(kLargestChunkBytes), format_size(wanted.chunk_bytes)));
  WEFT_TRY(directory_for(path));
  if (const Entry* there = find(path)) {
    if (there->directory()) return fail(Code::already_exists, fmt::format("{} is a directory", escaped(path)));
    if (!wanted.overwrite) return fail(Code::already_exists, fmt::format("{} exists", escaped(path)));
  }
  WEFT_ASSIGN(Account * of_user, owner(user, path, 1));
  at(now);
  return open(std::move(path), *of_user, wanted).id;
}

OpenFile& Namespace::Impl::open(std::string path, Account& of_user, const CreateOptions& wanted) {
  const LeaseId lease(next_lease++);
  dirty_ids = true;
  OpenFile& file = open_files[lease];
  file.id = lease;
  file.path = std::move(path);
  file.account = &of_user;
  file.options = wanted;
  file.expires = clock + options.lease;
  save(file);
  return file;
}

Result<LeaseId> Namespace::Impl::lease_directory(std::string_view written, std::string_view user, std::int64_t clock_ms, Time now) {
  WEFT_ASSIGN(std::string path, parse_path(written));
  WEFT_TRY(make_directory(path, user, false, clock_ms));
  at(now);
  return open(std::move(path), account(user), {.replication = 0}).id;
}

Result<Allocation> Namespace::Impl::allocate(LeaseId lease, std::string_view writer, const std::vector<NodeId>& excluded, Time now,
                                             std::uint64_t bytes) {
  WEFT_ASSIGN(OpenFile * file, open_file(lease));
  const Quota& quota = file->account->quota;
  if (quota.bytes != 0 && file->account->bytes >= quota.bytes)
    return fail(Code::resource_exhausted, fmt::format("{}: the quota of {} for {} (replicas counted) is used up",
                                                      escaped(file->path), file->account->name, human_bytes(quota.bytes)));
  at(now);
  Chunk chunk;
  chunk.info.id = ChunkId(next_chunk_id);
  chunk.lease = lease;
  bytes = std::min(bytes == 0 ? kUnknownBytes : bytes, file->options.chunk_bytes);
  const std::vector<NodeId> targets = choose(chunk, writer, file->options.replication, excluded, bytes);
  if (targets.empty())
    return fail(nodes.empty() || !excluded.empty() ? Code::unavailable : Code::resource_exhausted,
                fmt::format("{}: {}", escaped(file->path),
                            nodes.empty() ? std::string("no worker with a chunk store is there")
                                          : fmt::format("none of {} workers has room for {} (or all that have were just tried)",
                                                        nodes.size(), human_bytes(bytes))));
  drop_pending(*file);
  file->expires = clock + options.lease;
  const ChunkId id = next_chunk();
  WEFT_ASSERT(id == chunk.info.id);
  chunks.emplace(id, chunk);
  file->pending = id;
  file->targets = targets;
  file->pending_bytes = bytes;
  for (const NodeId target : targets) node(target)->expected += bytes;
  save(*file);
  return Allocation{id, targets};
}

/// The chunk that was allocated last will not come.
void Namespace::Impl::drop_pending(OpenFile& file) {
  if (file.pending == ChunkId{}) return;
  for (const NodeId target : file.targets)
    if (Node* there = node(target)) there->expected -= std::min(there->expected, file.pending_bytes);
  for (const auto& [id, info] : file.reported)
    if (Node* there = node(id)) erase_at(*there, file.pending);
  chunks.erase(file.pending);
  file.pending = {};
  file.targets.clear();
  file.reported.clear();
  file.gone.clear();
  save(file);
}

Result<void> Namespace::Impl::seal(LeaseId lease, const ChunkInfo& info, const std::vector<NodeId>& durable, Time now) {
  WEFT_ASSIGN(OpenFile * file, open_file(lease));
  if (!file->chunks.empty() && file->chunks.back() == info.id && chunks.at(info.id).info == info) return {};
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
  at(now);
  file->expires = clock + options.lease;
  file->account->bytes += stored_bytes;
  file->chunks.push_back(info.id);
  file->length += info.length;
  Chunk& chunk = chunks.at(info.id);
  chunk.sealed = true;
  chunk.info = info;
  ++sealed_chunks;
  for (const NodeId target : file->targets)
    if (Node* there = node(target)) there->expected -= std::min(there->expected, file->pending_bytes);
  const auto reported = std::exchange(file->reported, {});
  file->pending = {};
  file->targets.clear();
  file->gone.clear();
  for (const NodeId id : there_still)
    if (Node* there = node(id)) add_replica(*there, info, true);
  for (const auto& [id, as_reported] : reported)
    if (Node* there = node(id)) add_replica(*there, as_reported, true);
  reconsider(chunk);
  save(*file);
  return {};
}

Result<void> Namespace::Impl::complete(LeaseId lease, std::int64_t clock_ms, Time now) {
  if (completed.contains(lease)) return {};
  WEFT_ASSIGN(OpenFile * file, open_file(lease));
  WEFT_ASSIGN(Entry * directory, directory_for(file->path));
  Entry* there = find(file->path);
  if (there != nullptr && there->directory())
    return fail(Code::already_exists, fmt::format("{} is a directory", escaped(file->path)));
  if (there != nullptr && !file->options.overwrite)
    return fail(Code::already_exists, fmt::format("{} was created by somebody else meanwhile", escaped(file->path)));
  at(now);
  drop_pending(*file);
  if (there != nullptr) trash(unlink(*there));
  auto entry = std::make_unique<Entry>();
  entry->id = EntryId(next_entry++);
  entry->account = file->account;
  entry->chunks = std::move(file->chunks);
  entry->chunks.shrink_to_fit();
  entry->length = file->length;
  entry->chunk_bytes = file->options.chunk_bytes;
  entry->replication = file->options.replication;
  entry->modified_ms = clock_ms;
  ++entry->account->entries;
  ++files;
  Entry& made = link(*directory, name_of(file->path), std::move(entry));
  for (const ChunkId id : made.chunks) {
    Chunk& chunk = chunks.at(id);
    chunk.file = &made;
    chunk.lease = {};
  }
  save(made);
  dirty_ids = true;
  dirty_files[lease] = nullptr;
  open_files.erase(lease);
  completed[lease] = clock + options.lease;
  dirty_completed.insert(lease);
  return {};
}

/// The file will not come, or the directory goes unless it has another name by now.
void Namespace::Impl::drop(OpenFile& file) {
  drop_pending(file);
  if (Entry* entry = file.directory() ? find(file.path) : nullptr; entry != nullptr && entry->directory()) trash(unlink(*entry));
  file.account->bytes -= file.length * file.options.replication;
  for (const ChunkId id : file.chunks) forget(id);
  const LeaseId lease = file.id;
  dirty_files[lease] = nullptr;
  open_files.erase(lease);
}

void Namespace::Impl::expire_leases() {
  for (auto at = open_files.begin(); at != open_files.end();) {
    OpenFile& file = at->second;
    ++at;
    if (file.expires <= clock) drop(file);
  }
  std::erase_if(completed, [this](const auto& item) {
    if (item.second > clock) return false;
    dirty_completed.insert(item.first);
    return true;
  });
}

}  // namespace weft::storage
