#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include <sys/mman.h>

#include "base/page_pool.hpp"

namespace weft {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kWorthKeeping = std::size_t{256} << 10;
constexpr std::size_t kAlignment = 64;

std::byte* map(std::size_t bytes) {
  const std::size_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* mapped = ::mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* begin = static_cast<std::byte*>(mapped);
  if (slack == 0) return begin;
  const std::size_t skip = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  constexpr std::size_t kPage = 4096;
  const std::size_t end = (skip + bytes + kPage - 1) & ~(kPage - 1);
  if (skip != 0) ::munmap(begin, skip);
  if (end < bytes + slack) ::munmap(begin + end, bytes + slack - end);
  ::madvise(begin + skip, bytes, MADV_HUGEPAGE);
  return begin + skip;
}

}  // namespace

PagePool::~PagePool() { drop_until(0); }

std::uint64_t PagePool::kept() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

PagePool::Piece PagePool::take(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    used_ += bytes;
    if (auto found = pieces_.find(bytes); found != pieces_.end()) {
      std::byte* data = found->second.back();
      found->second.pop_back();
      if (found->second.empty()) pieces_.erase(found);
      kept_ -= bytes;
      return {data, false};
    }
    drop_until(capacity_ - std::min(used_, capacity_));
  }
  try {
    return {map(bytes), true};
  } catch (...) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    throw;
  }
}

void PagePool::give_back(std::byte* data, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  used_ -= bytes;
  try {
    pieces_[bytes].push_back(data);
    kept_ += bytes;
  } catch (...) {
    ::munmap(data, bytes);
  }
  drop_until(capacity_ - std::min(used_, capacity_));
}

/// Largest first: they make the most room. The lock is held (or the pool is going).
void PagePool::drop_until(std::uint64_t kept) noexcept {
  while (kept_ > kept) {
    const auto last = std::prev(pieces_.end());
    ::munmap(last->second.back(), last->first);
    kept_ -= last->first;
    last->second.pop_back();
    if (last->second.empty()) pieces_.erase(last);
  }
}

Pages::Pages(std::size_t bytes, PagePool* pool, bool zeroed) : size_(bytes) {
  if (bytes == 0) return;
  if (pool != nullptr && bytes >= kWorthKeeping) {
    const auto [data, fresh] = pool->take(bytes);
    data_ = data;
    pool_ = pool;
    if (zeroed && !fresh) std::memset(data_, 0, bytes);
    return;
  }
  data_ = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(kAlignment)));
  if (zeroed) std::memset(data_, 0, bytes);
}

Pages::~Pages() {
  if (data_ == nullptr) return;
  if (pool_ != nullptr) {
    pool_->give_back(data_, size_);
  } else {
    ::operator delete(data_, std::align_val_t(kAlignment));
  }
}

}  // namespace weft
