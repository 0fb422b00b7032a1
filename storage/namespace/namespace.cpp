#include "storage/namespace/namespace.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "storage/namespace/namespace_impl.hpp"

namespace weft::storage {

Namespace::Impl::Impl(NamespaceOptions given) : options(given), root(std::make_unique<Entry>()) {
  root->id = EntryId(1);
  root->children = std::make_unique<Entry::Children>();
  root->account = &account("weft");
}

void Namespace::Impl::at(Time now) {
  if (now <= last_now) return;
  clock += std::min(now - last_now, options.longest_step);
  last_now = now;
}

Namespace::Namespace(NamespaceOptions options) : impl_(std::make_unique<Impl>(options)) {}
Namespace::Namespace(Namespace&&) noexcept = default;
Namespace& Namespace::operator=(Namespace&&) noexcept = default;
Namespace::~Namespace() = default;

Result<void> Namespace::restore(std::string_view key, std::string_view value) { return impl_->restore(key, value); }
Result<void> Namespace::restored(Time now) { return impl_->restored(now); }
NodeId Namespace::next_node() const { return NodeId(static_cast<NodeId::rep>(impl_->next_node)); }

Result<void> Namespace::make_directory(std::string_view path, std::string_view user, bool parents, std::int64_t clock_ms) {
  return impl_->make_directory(path, user, parents, clock_ms);
}
Result<LeaseId> Namespace::create(std::string_view path, std::string_view user, const CreateOptions& options, Time now) {
  return impl_->create(path, user, options, now);
}
Result<Allocation> Namespace::allocate(LeaseId lease, std::string_view writer, const std::vector<NodeId>& excluded, Time now,
                                       std::uint64_t bytes) {
  return impl_->allocate(lease, writer, excluded, now, bytes);
}
Result<void> Namespace::seal(LeaseId lease, const ChunkInfo& chunk, const std::vector<NodeId>& durable, Time now) {
  return impl_->seal(lease, chunk, durable, now);
}
Result<void> Namespace::complete(LeaseId lease, std::int64_t clock_ms, Time now) { return impl_->complete(lease, clock_ms, now); }
Result<LeaseId> Namespace::lease_directory(std::string_view path, std::string_view user, std::int64_t clock_ms, Time now) {
  return impl_->lease_directory(path, user, clock_ms, now);
}
Result<void> Namespace::abandon(LeaseId lease) {
  WEFT_ASSIGN(OpenFile * file, impl_->leased(lease));
  impl_->drop(*file);
  return {};
}
Result<void> Namespace::renew(LeaseId lease, Time now) {
  WEFT_ASSIGN(OpenFile * file, impl_->leased(lease));
  impl_->at(now);
  file->expires = impl_->clock + impl_->options.lease;
  return {};
}
Result<void> Namespace::remove(std::string_view path, bool recursive, Time now) { return impl_->remove(path, recursive, now); }
Result<void> Namespace::rename(std::string_view from, std::string_view to, bool replace, Time now) {
  return impl_->rename(from, to, replace, now);
}
Result<void> Namespace::set_replication(std::string_view path, std::uint32_t replication) {
  return impl_->set_replication(path, replication);
}
Result<void> Namespace::set_quota(std::string_view user, const Quota& quota) { return impl_->set_quota(user, quota); }

Result<void> Namespace::node_joined(NodeId id, StorageNode node, Space space, Time now) {
  return impl_->node_joined(id, std::move(node), space, now);
}
void Namespace::node_lost(NodeId id, Time now) {
  impl_->at(now);
  impl_->node_lost(id);
}
Result<void> Namespace::heartbeat(NodeId id, Space space, Time now) {
  impl_->at(now);
  return impl_->heartbeat(id, space);
}
Result<void> Namespace::block_report(NodeId id, const std::vector<ChunkInfo>& chunks, bool first, bool last) {
  return impl_->block_report(id, chunks, first, last);
}
Result<void> Namespace::chunks_sealed(NodeId id, const std::vector<ChunkInfo>& chunks) {
  WEFT_ASSIGN(Node * node, impl_->known_node(id));
  for (const ChunkInfo& chunk : chunks) impl_->add_replica(*node, chunk, true);
  return {};
}
Result<void> Namespace::chunks_corrupt(NodeId id, const std::vector<ChunkId>& chunks) { return impl_->chunks_corrupt(id, chunks); }
Result<void> Namespace::chunks_verified(NodeId id, const std::vector<ChunkId>& chunks) {
  return impl_->chunks_verified(id, chunks);
}
Result<void> Namespace::chunks_lost(NodeId id, const std::vector<ChunkId>& chunks) {
  WEFT_ASSIGN(Node * node, impl_->known_node(id));
  for (const ChunkId chunk : chunks) impl_->remove_replica(*node, chunk);
  return {};
}
Result<void> Namespace::chunks_erased(NodeId id, const std::vector<ChunkId>& chunks) { return impl_->chunks_erased(id, chunks); }
Result<void> Namespace::copy_failed(NodeId from, ChunkId chunk, NodeId to, Time now) {
  impl_->at(now);
  return impl_->copy_failed(from, chunk, to);
}

Result<void> Namespace::drain(std::string_view node, bool on) { return impl_->drain(node, on); }
std::vector<std::string> Namespace::draining() const { return {impl_->draining.begin(), impl_->draining.end()}; }
Result<void> Namespace::balance(double threshold) {
  if (!(threshold > 0 && threshold < 1))
    return fail(Code::invalid_argument, "the threshold is a share of the space, more than 0 and less than 1");
  impl_->balancing = threshold;
  return {};
}
const StorageNode* Namespace::node(NodeId id) const {
  const Node* found = impl_->node(id);
  return found == nullptr ? nullptr : &found->info;
}
bool Namespace::safe_mode() const { return impl_->safe_mode; }
void Namespace::leave_safe_mode() { impl_->leave_safe_mode(); }

void Namespace::tick(Time now) {
  impl_->at(now);
  impl_->lose_silent_nodes();
  impl_->expire_leases();
  impl_->reclaim();
  impl_->update_safe_mode();
  impl_->expire_copies();
  if (impl_->safe_mode) return;
  impl_->remove_surplus();
  impl_->flush_erasures();
  impl_->retry_blocked();
  impl_->replicate();
  impl_->verify();
  impl_->balance();
}

std::vector<StorageCommand> Namespace::take_commands() { return std::exchange(impl_->commands, {}); }
std::vector<Change> Namespace::take_changes() { return impl_->take_changes(); }
std::string Namespace::describe() const { return impl_->describe(); }

}  // namespace weft::storage
