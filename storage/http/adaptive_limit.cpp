#include "storage/http/adaptive_limit.hpp"

#include <algorithm>
#include <chrono>

namespace weft::storage::http {
namespace {

constexpr Duration kBetweenHalvings = std::chrono::milliseconds(200);

}  // namespace

bool is_throttled(long status) { return status == 429 || status == 503; }

void AdaptiveLimit::answered(long status, TimePoint now) {
  if (!is_throttled(status)) {
    if (limit_ < most_) limit_ += 1 / limit_;
  } else if (now - halved_ >= kBetweenHalvings) {
    halved_ = now;
    limit_ = std::max(1.0, limit_ / 2);
  }
}

}  // namespace weft::storage::http
