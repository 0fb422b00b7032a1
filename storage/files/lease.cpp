#include "storage/files/lease.hpp"

#include <algorithm>
#include <utility>

namespace weft::storage::files {
namespace {

constexpr Duration kUnknownLease = std::chrono::seconds(30);  // of an older master, which does not say: half of what it has
constexpr Duration kSoonest = std::chrono::milliseconds(10);
constexpr Duration kRenewDeadline = std::chrono::seconds(5);
constexpr Duration kAbandonDeadline = std::chrono::seconds(1);  // of a master that may be gone, when nobody wants to wait for it

/// Two renewals may be lost, or late.
Duration third_of(Duration length) { return std::max(kSoonest, (length > Duration(0) ? length : kUnknownLease) / 3); }

}  // namespace

Lease::Lease(std::shared_ptr<FileSystemImpl> files, const Leased& leased)
    : files_(std::move(files)), id_(leased.lease), every_(third_of(leased.length)), renewer_([this] { renew(); }) {}

void Lease::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  wake_.notify_one();
  if (renewer_.joinable()) renewer_.join();
}

void Lease::abandon() {
  end();
  (void)files_->ask_once(Abandon{id_}, kAbandonDeadline);
}

void Lease::renew() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, every_, [this] { return ended_; })) {
    lock.unlock();
    const auto renewed = files_->ask_once(Renew{id_}, std::min(every_, kRenewDeadline));  // what is wrong shows elsewhere
    if (renewed) every_ = third_of(renewed->length);                                      // another master may have other ideas
    lock.lock();
  }
}

}  // namespace weft::storage::files
