#include "storage/http/body_pool.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::storage::http {
namespace {

constexpr std::size_t kSmallestSpare = 256u << 10;  // smaller ones the allocator keeps itself
constexpr std::size_t kMostSpares = 16, kMostSpareBytes = 32u << 20;

}  // namespace

std::string BodyPool::take(std::uint64_t bytes) {
  std::string body;
  if (bytes >= kSmallestSpare) {
    const std::lock_guard lock(mutex_);
    // The one that was read last: the processor's cache may still have it.
    const auto fits =
        std::find_if(spares_.rbegin(), spares_.rend(), [&](const std::string& spare) { return spare.capacity() >= bytes; });
    if (fits != spares_.rend()) {
      body = std::move(*fits);
      spares_.erase(std::next(fits).base());
      spare_bytes_ -= body.capacity();
      return body;
    }
  }
  body.reserve(bytes);
  return body;
}

void BodyPool::put(std::string body) {
  if (body.capacity() < kSmallestSpare) return;
  const std::lock_guard lock(mutex_);
  if (spares_.size() == kMostSpares || spare_bytes_ + body.capacity() > kMostSpareBytes) return;
  body.clear();
  spare_bytes_ += body.capacity();
  spares_.push_back(std::move(body));
}

}  // namespace weft::storage::http
