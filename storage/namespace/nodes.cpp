// Workers and what they report of their chunks.
#include <algorithm>

#include <fmt/core.h>

#include "storage/namespace/namespace_impl.hpp"
#include "storage/namespace/placement.hpp"

namespace weft::storage {

NodeId Namespace::next_node() const { return NodeId(static_cast<NodeId::rep>(impl_->ids.record().next_node)); }
const StorageNode* Namespace::node(NodeId id) const {
  const Node* found = impl_->nodes.find(id);
  return found == nullptr ? nullptr : &found->info;
}

Result<void> Namespace::node_joined(NodeId id, StorageNode info, Space space, Time now) {
  if (impl_->nodes.find(id) != nullptr) return fail(Code::already_exists, fmt::format("node {} has joined already", id.value()));
  impl_->at(now);
  if (const Node* before = impl_->nodes.find(info.name)) impl_->node_lost(before->id);
  impl_->nodes.add(id, std::move(info), space, impl_->clock);
  impl_->ids.used(id);
  impl_->unblock();
  return {};
}

void Namespace::node_lost(NodeId id, Time now) {
  impl_->at(now);
  impl_->node_lost(id);
}

void Namespace::Impl::node_lost(NodeId id) {
  const Node* const lost = nodes.find(id);
  if (lost == nullptr) return;
  copies.node_lost(id);
  std::vector<ChunkId> orphans(lost->chunks.begin(), lost->chunks.end());
  const std::vector<ChunkId> damaged_there = damaged.node_gone(id);
  orphans.insert(orphans.end(), damaged_there.begin(), damaged_there.end());
  nodes.remove(id);
  for (const ChunkId chunk_id : orphans) {
    Chunk& chunk = chunks.at(chunk_id);
    std::erase(chunk.nodes, id);
    count_located(chunk);
    if (chunk.rank != kNotQueued || chunk.nodes.empty()) reconsider(chunk);
  }
  leases.forget_reports_of(id);
  last_loss = clock;
  auto& wait = later[clock + options.lost_grace];
  wait.insert(wait.end(), orphans.begin(), orphans.end());
}

Result<void> Namespace::heartbeat(NodeId id, Space space, Time now) {
  impl_->at(now);
  WEFT_ASSIGN(Node * from, impl_->nodes.known(id));
  from->space = space;
  from->heard = impl_->clock;
  const bool full = !has_room(*from, kDefaultChunkBytes);
  if (std::exchange(from->full, full) && !full) impl_->unblock();
  return {};
}

void Namespace::Impl::add_replica(Node& there, const ChunkInfo& info, bool checked) {
  there.unreported.erase(info.id);
  if (there.erasing.contains(info.id)) return;  // it comes late: it will be gone
  const auto found = chunks.find(info.id);
  if (found == chunks.end()) return there.erase(info.id);  // of a file that is no more: stale
  Chunk& chunk = found->second;
  if (!chunk.sealed) {
    OpenFile& file = leases.at(chunk.lease);
    file.forget_report_of(there.id);
    std::erase(file.gone, there.id);
    file.reported.emplace_back(there.id, info);
    return;
  }
  if (chunk.info != info) return found_corrupt(there, chunk, true);
  copies.end(info.id, there.id);
  if (checked) damaged.verified(info.id, there.id);
  damaged.gone(info.id, there.id);
  if (!there.chunks.insert(info.id).second) return;
  chunk.nodes.insert(std::lower_bound(chunk.nodes.begin(), chunk.nodes.end(), there.id), there.id);
  there.stored(info.length);
  reconsider(chunk);
}

/// Were it kept, one that was ordered would go in its place, and whoever can bring replicas into being could exchange a chunk's
/// bytes. While replicas are lacking it is welcome: it may be of a copy that a master before this one, or a registration of the
/// worker before this one, knew of.
bool Namespace::Impl::is_unwanted(const Node& there, const ChunkInfo& info) const {
  const auto found = chunks.find(info.id);
  if (found == chunks.end() || !found->second.sealed || there.chunks.contains(info.id)) return false;
  return damaged.of(info.id) == nullptr && !copies.ordered(info.id, there.id) && good(found->second) >= wanted(found->second);
}

void Namespace::Impl::remove_replica(Node& there, ChunkId id) {
  const auto found = chunks.find(id);
  if (found == chunks.end()) return;
  Chunk& chunk = found->second;
  if (!chunk.sealed) {  // its writer may not know that yet when it names its replicas
    OpenFile& file = leases.at(chunk.lease);
    file.forget_report_of(there.id);
    std::erase(file.gone, there.id);
    file.gone.push_back(there.id);
    return;
  }
  copies.end_verification(id, there.id);
  damaged.gone(id, there.id);
  damaged.not_verified(id, there.id);
  if (there.chunks.erase(id) == 0) return reconsider(chunk);  // it may have been a damaged one
  std::erase(chunk.nodes, there.id);
  there.removed(chunk.info.length);
  reconsider(chunk);
}

/// A replica that is not what it should be. settle_damage() says when it goes.
void Namespace::Impl::found_corrupt(Node& there, Chunk& chunk, bool foreign) {
  const ChunkId id = chunk.info.id;
  remove_replica(there, id);
  copies.end(id, there.id);
  damaged.found(id, there.id, foreign);
  reconsider(chunk);
}

Result<void> Namespace::chunks_changed(NodeId id, ChunkEvent event, const std::vector<ChunkInfo>& changed) {
  Impl& impl = *impl_;
  WEFT_ASSIGN(Node * from, impl.nodes.known(id));
  for (const ChunkInfo& info : changed) {
    const ChunkId chunk = info.id;
    const auto found = impl.chunks.find(chunk);
    switch (event) {
      case ChunkEvent::sealed:
        if (impl.is_unwanted(*from, info))
          from->erase(chunk);
        else
          impl.add_replica(*from, info, true);
        break;
      case ChunkEvent::lost:
        impl.remove_replica(*from, chunk);
        break;
      case ChunkEvent::corrupt:
        if (from->erasing.contains(chunk)) break;
        if (found != impl.chunks.end() && found->second.sealed && !found->second.condemned) {
          impl.found_corrupt(*from, found->second, false);
          break;
        }
        impl.remove_replica(*from, chunk);
        from->erase(chunk);
        break;
      case ChunkEvent::erased:
        from->erasing.erase(chunk);
        impl.remove_replica(*from, chunk);
        impl.reconsider(chunk);  // it may be copied there again
        break;
      case ChunkEvent::verified:
        impl.copies.end_verification(chunk, id);
        if (impl.damaged.of(chunk) == nullptr || !from->chunks.contains(chunk)) break;
        impl.damaged.verified(chunk, id);
        impl.reconsider(chunk);
        break;
    }
  }
  return {};
}

Result<void> Namespace::block_report(NodeId id, const std::vector<ChunkInfo>& reported, bool first, bool last) {
  WEFT_ASSIGN(Node * from, impl_->nodes.known(id));
  if (first) {
    from->reporting = true;
    from->unreported = from->chunks;
  } else if (!from->reporting) {
    return fail(Code::invalid_argument, fmt::format("node {} goes on with a report it did not begin", id.value()));
  }
  const Space space = from->space;  // its own figures have all this in them
  for (const ChunkInfo& info : reported) impl_->add_replica(*from, info, false);
  from->space = space;
  if (!last) return {};
  from->reporting = false;
  for (const ChunkId gone : std::exchange(from->unreported, {})) impl_->remove_replica(*from, gone);
  from->reported = true;
  return {};
}

Result<void> Namespace::copy_failed(NodeId from, ChunkId chunk, NodeId to, Time now) {
  constexpr std::uint32_t kMostDoublings = 6;  // of the pause after a copy that failed
  Impl& impl = *impl_;
  impl.at(now);
  const CopyUnderWay* const copy = impl.copies.find(chunk, to);
  if (copy == nullptr || copy->from != from)
    return fail(Code::not_found,
                fmt::format("no copy of {} from node {} to node {} is under way", to_string(chunk), from.value(), to.value()));
  impl.copies.failed(chunk, to);
  Damage* const damage = impl.damaged.of(chunk);
  const std::uint32_t doublings = damage == nullptr ? 0 : std::min(damage->failures++, kMostDoublings);
  // Pages without a good copy anywhere seldom come back.
  impl.copies.back_off(chunk, impl.clock + impl.options.copy_backoff * (1 << doublings));
  return {};
}

void Namespace::Impl::lose_silent_nodes() {
  for (const NodeId id : nodes.silent_since(clock - options.node_timeout)) node_lost(id);
  while (!later.empty() && later.begin()->first <= clock) {
    const std::vector<ChunkId> due = std::move(later.begin()->second);
    later.erase(later.begin());
    for (const ChunkId id : due) reconsider(id);
  }
}

Result<void> Namespace::drain(std::string_view name, bool on) {
  if (name.empty()) return fail(Code::invalid_argument, "the worker to drain has no name; see `weft node list`");
  const Node* const there = impl_->nodes.find(name);
  if (on && there == nullptr)
    return fail(Code::not_found, fmt::format("no worker called {} keeps chunks; see `weft node list`", name));
  if (!impl_->nodes.drain(name, on) || there == nullptr) return {};
  for (const ChunkId id : there->chunks) impl_->reconsider(id);
  impl_->unblock();
  return {};
}

Result<void> Namespace::node_leaves(NodeId id, bool returns) {
  WEFT_ASSIGN(Node * there, impl_->nodes.known(id));
  const Leaving leaving = returns ? Leaving::for_a_while : Leaving::for_good;
  if (std::exchange(there->leaving, leaving) == leaving) return {};
  for (const ChunkId chunk : there->chunks) impl_->reconsider(chunk);
  return {};
}

std::uint64_t Namespace::to_hand_over(NodeId id) const {
  const Node* const there = impl_->nodes.find(id);
  if (there == nullptr || there->leaving == Leaving::no) return 0;
  return std::max<std::uint64_t>(impl_->to_hand_over(*there), there->reported ? 0 : 1);
}

std::vector<std::string> Namespace::draining() const { return {impl_->nodes.draining().begin(), impl_->nodes.draining().end()}; }

void Namespace::Impl::update_safe_mode() {
  if (safe_mode.over(located_chunks, sealed_chunks, clock)) leave_safe_mode();
}

void Namespace::Impl::leave_safe_mode() {
  if (!safe_mode.leave()) return;
  // In no order: what each chunk lacks does not depend on the others, and all lists are sorted.
  for (auto& [id, chunk] : chunks) reconsider(chunk);
}

bool Namespace::safe_mode() const { return impl_->safe_mode.on(); }
void Namespace::leave_safe_mode() { impl_->leave_safe_mode(); }

}  // namespace weft::storage
