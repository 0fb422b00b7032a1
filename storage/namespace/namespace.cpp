#include "storage/namespace/namespace.hpp"

#include <algorithm>

#include "storage/namespace/namespace_impl.hpp"

namespace weft::storage {

void Namespace::Impl::at(Time now) {
  if (now <= last_now) return;
  clock += std::min(now - last_now, options.longest_step);
  last_now = now;
}

std::int64_t Namespace::Impl::clock_ms() const {
  return calendar_ms + std::chrono::duration_cast<std::chrono::milliseconds>(last_now - calendar_set).count();
}

Namespace::Namespace(NamespaceOptions options) : impl_(std::make_unique<Impl>(options)) {}
Namespace::Namespace(Namespace&&) noexcept = default;
Namespace& Namespace::operator=(Namespace&&) noexcept = default;
Namespace::~Namespace() = default;

void Namespace::tick(Time now) {
  impl_->at(now);
  impl_->lose_silent_nodes();
  impl_->expire_leases();
  impl_->reclaim();
  impl_->update_safe_mode();
  impl_->copies.expire(impl_->clock);
  if (impl_->safe_mode.on()) return;
  impl_->remove_surplus();
  impl_->flush_erasures();
  for (const ChunkId id : impl_->queue.blocked_in_turn(kMostScanned, impl_->clock)) impl_->reconsider(id);
  impl_->replicate();
  impl_->verify();
  impl_->balance();
}

std::vector<StorageCommand> Namespace::take_commands() { return std::exchange(impl_->commands, {}); }

}  // namespace weft::storage
