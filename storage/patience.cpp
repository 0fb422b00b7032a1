#include "storage/patience.hpp"

#include <thread>

#include <fmt/format.h>

namespace weft::storage {
namespace {

constexpr Duration kUntold = std::chrono::milliseconds(500);  // a wait as short as that is nobody's business

}  // namespace

Patience::Patience(Duration patience, const Waiting& waiting)
    : waiting_(waiting), begin_(SystemClock().now()), end_(begin_ + patience) {}

bool Patience::wait(const Error& why, Duration pause) {
  const TimePoint now = SystemClock().now();
  if (now + pause > end_) return false;
  if (waiting_ && !told_ && now + pause - begin_ > kUntold) {
    told_ = true;
    waiting_(fmt::format("{}; waiting for up to {:.0f} s", why.to_string(), in_seconds(end_ - begin_)));
  }
  std::this_thread::sleep_for(pause);
  return true;
}

}  // namespace weft::storage
