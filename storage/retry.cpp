#include "storage/retry.hpp"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

namespace weft::storage {
namespace {

constexpr Duration kUnnoticed = std::chrono::milliseconds(500);  // a wait as short as that is nobody's business

}  // namespace

Retry::Retry(Duration time, const Waiting& waiting, Pauses pauses)
    : waiting_(waiting), begin_(SystemClock().now()), end_(begin_ + time), longest_(pauses.longest), pause_(pauses.first) {}

bool Retry::wait(const Error& why) {
  const TimePoint now = SystemClock().now();
  if (now >= end_) return false;
  const Duration pause = std::min(std::exchange(pause_, std::min(2 * pause_, longest_)), end_ - now);
  if (waiting_ && !said_ && now + pause - begin_ > kUnnoticed) {
    said_ = true;
    waiting_(fmt::format("{}; waiting for up to {:.0f} s", why.to_string(), in_seconds(end_ - begin_)));
  }
  std::this_thread::sleep_for(pause);
  return true;
}

}  // namespace weft::storage
