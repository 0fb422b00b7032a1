#include "storage/files/lease.hpp"

#include <utility>

namespace weft::storage::files {
namespace {

constexpr Duration kRenew = std::chrono::seconds(10);
constexpr Duration kRenewDeadline = std::chrono::seconds(5);
constexpr Duration kAbandonDeadline = std::chrono::seconds(1);  // of a master that may be gone, when nobody wants to wait for it

}  // namespace

Lease::Lease(std::shared_ptr<FileSystemImpl> files, LeaseId id)
    : files_(std::move(files)), id_(id), renewer_([this] { renew(); }) {}

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
  while (!wake_.wait_for(lock, kRenew, [this] { return ended_; })) {
    lock.unlock();
    (void)files_->ask_once(Renew{id_}, kRenewDeadline);  // what is wrong shows elsewhere
    lock.lock();
  }
}

}  // namespace weft::storage::files
