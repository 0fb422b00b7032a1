// Workers and what they say of their chunks.
#include <algorithm>

#include <fmt/core.h>

#include "storage/namespace/namespace_impl.hpp"

namespace weft::storage {
namespace {

void forget_reported(OpenFile& file, NodeId node) {
  std::erase_if(file.reported, [node](const auto& item) { return item.first == node; });
}

}  // namespace

Node* Namespace::Impl::node(NodeId id) {
  const auto found = nodes.find(id);
  return found == nodes.end() ? nullptr : &found->second;
}

Result<Node*> Namespace::Impl::known_node(NodeId id) {
  if (Node* found = node(id)) return found;
  return fail(Code::not_found, fmt::format("node {} keeps no chunks here; it has to join again", id.value()));
}

Result<void> Namespace::Impl::node_joined(NodeId id, StorageNode info, Space space, Time now) {
  if (nodes.contains(id)) return fail(Code::already_exists, fmt::format("node {} has joined already", id.value()));
  at(now);
  for (const auto& [other, there] : nodes)
    if (there.info.name == info.name) {
      node_lost(other);
      break;
    }
  Node& made = nodes[id];
  made.id = id;
  made.info = std::move(info);
  made.space = space;
  made.heard = clock;
  made.draining = draining.contains(made.info.name);
  if (next_node <= id.value()) {
    next_node = id.value() + 1;
    dirty_ids = true;
  }
  unblock();
  return {};
}

void Namespace::Impl::node_lost(NodeId id) {
  const auto found = nodes.find(id);
  if (found == nodes.end()) return;
  std::vector<std::pair<ChunkId, NodeId>> ended;
  for (const auto& [key, copy] : copies)
    if (copy.from == id || copy.to == id) ended.push_back(key);
  for (const auto& [chunk, to] : ended) end_copy(chunk, to);
  std::erase_if(verifying, [id](const auto& item) { return item.first.second == id; });
  std::vector<ChunkId> orphans(found->second.chunks.begin(), found->second.chunks.end());
  const std::vector<ChunkId> damaged = undamage(id);
  orphans.insert(orphans.end(), damaged.begin(), damaged.end());
  nodes.erase(found);
  for (const ChunkId chunk_id : orphans) {
    Chunk& chunk = chunks.at(chunk_id);
    std::erase(chunk.nodes, id);
    count_located(chunk);
    if (chunk.rank != kNotQueued || chunk.nodes.empty()) reconsider(chunk);
  }
  for (auto& [lease, file] : open_files) forget_reported(file, id);
  auto& wait = later[clock + options.lost_grace];
  wait.insert(wait.end(), orphans.begin(), orphans.end());
}

Result<void> Namespace::Impl::heartbeat(NodeId id, Space space) {
  WEFT_ASSIGN(Node * from, known_node(id));
  from->space = space;
  from->heard = clock;
  const bool full = !has_room(*from, kDefaultChunkBytes);
  if (std::exchange(from->full, full) && !full) unblock();
  return {};
}

/// The node's damaged replicas are gone. Of which chunks that was news.
std::vector<ChunkId> Namespace::Impl::undamage(NodeId id) {
  std::vector<ChunkId> changed;
  for (auto& [chunk, damage] : corrupt) {
    damage.verified.erase(id);
    if (damage.nodes.contains(id)) changed.push_back(chunk);
  }
  for (const ChunkId chunk : changed) undamage(id, chunk);
  return changed;
}

void Namespace::Impl::undamage(NodeId id, ChunkId chunk) {
  const auto found = corrupt.find(chunk);
  if (found == corrupt.end()) return;
  found->second.nodes.erase(id);
  found->second.foreign.erase(id);
  if (found->second.nodes.empty()) corrupt.erase(found);
}

void Namespace::Impl::add_replica(Node& there, const ChunkInfo& info, bool checked) {
  there.unreported.erase(info.id);
  if (there.erasing.contains(info.id)) return;  // late news: it will be gone
  const auto found = chunks.find(info.id);
  if (found == chunks.end()) return erase_at(there, info.id);  // of a file that is no more: stale
  Chunk& chunk = found->second;
  if (!chunk.sealed) {
    OpenFile& file = open_files.at(chunk.lease);
    forget_reported(file, there.id);
    std::erase(file.gone, there.id);
    file.reported.emplace_back(there.id, info);
    return;
  }
  if (chunk.info != info) return found_corrupt(there, chunk, true);
  end_copy(info.id, there.id);
  if (const auto damage = corrupt.find(info.id); damage != corrupt.end()) {
    if (checked) damage->second.verified.insert(there.id);
    undamage(there.id, info.id);
  }
  if (!there.chunks.insert(info.id).second) return;
  chunk.nodes.insert(std::lower_bound(chunk.nodes.begin(), chunk.nodes.end(), there.id), there.id);
  there.space.used += info.length;
  there.space.free -= std::min(there.space.free, info.length);
  reconsider(chunk);
}

void Namespace::Impl::remove_replica(Node& there, ChunkId id) {
  const auto found = chunks.find(id);
  if (found == chunks.end()) return;
  Chunk& chunk = found->second;
  if (!chunk.sealed) {  // its writer may not have heard of that when it names who has it
    OpenFile& file = open_files.at(chunk.lease);
    forget_reported(file, there.id);
    std::erase(file.gone, there.id);
    file.gone.push_back(there.id);
    return;
  }
  end_verification(id, there.id);
  undamage(there.id, id);
  if (const auto damage = corrupt.find(id); damage != corrupt.end()) damage->second.verified.erase(there.id);
  if (there.chunks.erase(id) == 0) return reconsider(chunk);  // it may have been a damaged one
  std::erase(chunk.nodes, there.id);
  there.space.used -= std::min(there.space.used, chunk.info.length);
  there.space.free += chunk.info.length;
  reconsider(chunk);
}

void Namespace::Impl::erase_at(Node& there, ChunkId id) {
  if (there.erasing.insert(id).second) there.to_erase.push_back(id);
}

/// A replica that is not what it should be. settle_damage() says when it goes.
void Namespace::Impl::found_corrupt(Node& there, Chunk& chunk, bool foreign) {
  const ChunkId id = chunk.info.id;
  remove_replica(there, id);
  end_copy(id, there.id);
  Damage& damage = corrupt[id];
  damage.nodes.insert(there.id);
  if (foreign) damage.foreign.insert(there.id);
  damage.failures = 0;
  reconsider(chunk);
}

Result<void> Namespace::Impl::chunks_verified(NodeId id, const std::vector<ChunkId>& whole) {
  WEFT_ASSIGN(Node * from, known_node(id));
  for (const ChunkId chunk : whole) {
    end_verification(chunk, id);
    const auto damage = corrupt.find(chunk);
    if (damage == corrupt.end() || !from->chunks.contains(chunk)) continue;
    damage->second.verified.insert(id);
    reconsider(chunks.at(chunk));
  }
  return {};
}

Result<void> Namespace::Impl::chunks_corrupt(NodeId id, const std::vector<ChunkId>& bad) {
  WEFT_ASSIGN(Node * from, known_node(id));
  for (const ChunkId chunk : bad) {
    if (from->erasing.contains(chunk)) continue;
    const auto found = chunks.find(chunk);
    if (found != chunks.end() && found->second.sealed && !found->second.doomed) {
      found_corrupt(*from, found->second, false);
      continue;
    }
    remove_replica(*from, chunk);
    erase_at(*from, chunk);
  }
  return {};
}

Result<void> Namespace::Impl::chunks_erased(NodeId id, const std::vector<ChunkId>& gone) {
  WEFT_ASSIGN(Node * from, known_node(id));
  for (const ChunkId chunk : gone) {
    from->erasing.erase(chunk);
    remove_replica(*from, chunk);
    // It may be copied there again.
    if (const auto found = chunks.find(chunk); found != chunks.end()) reconsider(found->second);
  }
  return {};
}

Result<void> Namespace::Impl::block_report(NodeId id, const std::vector<ChunkInfo>& reported, bool first, bool last) {
  WEFT_ASSIGN(Node * from, known_node(id));
  if (first) {
    from->reporting = true;
    from->unreported = from->chunks;
  } else if (!from->reporting) {
    return fail(Code::invalid_argument, fmt::format("node {} goes on with a report it did not begin", id.value()));
  }
  const Space space = from->space;  // its own figures have all this in them
  for (const ChunkInfo& info : reported) add_replica(*from, info, false);
  from->space = space;
  if (!last) return {};
  from->reporting = false;
  for (const ChunkId gone : std::exchange(from->unreported, {})) remove_replica(*from, gone);
  from->reported = true;
  return {};
}

void Namespace::Impl::lose_silent_nodes() {
  std::vector<NodeId> silent;
  for (const auto& [id, there] : nodes)
    if (there.heard + options.node_timeout < clock) silent.push_back(id);
  for (const NodeId id : silent) node_lost(id);
  while (!later.empty() && later.begin()->first <= clock) {
    const std::vector<ChunkId> due = std::move(later.begin()->second);
    later.erase(later.begin());
    for (const ChunkId id : due)
      if (const auto found = chunks.find(id); found != chunks.end()) reconsider(found->second);
  }
}

Result<void> Namespace::Impl::drain(std::string_view name, bool on) {
  if (name.empty()) return fail(Code::invalid_argument, "the worker to drain has no name; see `weft node list`");
  const auto there = std::find_if(nodes.begin(), nodes.end(), [&](const auto& item) { return item.second.info.name == name; });
  if (on && there == nodes.end())
    return fail(Code::not_found, fmt::format("no worker called {} keeps chunks; see `weft node list`", name));
  if (on == draining.contains(name)) return {};
  on ? void(draining.emplace(name)) : void(draining.erase(std::string(name)));
  dirty_drains.emplace(name);
  if (there == nodes.end()) return {};
  there->second.draining = on;
  for (const ChunkId id : there->second.chunks) reconsider(chunks.at(id));
  unblock();
  return {};
}

/// Over when enough chunks have a replica, and some time more: who comes back a little later is no loss.
void Namespace::Impl::update_safe_mode() {
  if (!safe_mode) return;
  const auto enough = static_cast<double>(located_chunks) >= options.safe_fraction * static_cast<double>(sealed_chunks);
  if (!enough)
    safe_since.reset();
  else if (!safe_since)
    safe_since = clock;
  if (!safe_since || *safe_since + options.lost_grace > clock) return;
  leave_safe_mode();
}

void Namespace::Impl::leave_safe_mode() {
  if (!std::exchange(safe_mode, false)) return;
  // In no order: what each chunk lacks does not depend on the others, and all lists are sorted.
  for (auto& [id, chunk] : chunks) reconsider(chunk);
}

}  // namespace weft::storage
