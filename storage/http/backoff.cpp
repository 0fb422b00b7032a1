#include "storage/http/backoff.hpp"

#include <algorithm>
#include <chrono>

namespace weft::storage::http {
namespace {

constexpr Duration kPatienceWithStranger = std::chrono::seconds(5);

}  // namespace

Backoff::Backoff(const HttpOptions& options)
    : first_(options.first_pause),
      longest_(options.longest_pause),
      random_(static_cast<std::uint64_t>(SystemClock().now().time_since_epoch().count())) {}

Duration Backoff::longest(std::uint32_t tries) const {
  return std::min<Duration>(first_ * (std::int64_t{1} << std::min(tries, 12u)), longest_);
}

Duration Backoff::draw(std::uint32_t tries) {
  return Duration(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(longest(tries).count()) + 1)));
}

Duration patience_with(const HttpOptions& options, bool known) {
  return known ? options.patience : std::min(options.patience, kPatienceWithStranger);
}

}  // namespace weft::storage::http
