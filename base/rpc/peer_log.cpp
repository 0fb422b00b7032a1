#include "base/rpc/peer_log.hpp"

#include <utility>

namespace weft::rpc {

void PeerLog::warn(std::string line) {
  if (interval_ == nullptr) interval_ = after_(kInterval, [this] { end_interval(); });
  if (written_ < kFirst) {
    ++written_;
    return log_.warn("{}", line);
  }
  ++held_;
  last_ = std::move(line);
}

void PeerLog::end_interval() {
  interval_.reset();
  written_ = 0;
  const std::uint64_t held = std::exchange(held_, 0);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(kInterval).count();
  if (held == 1) log_.warn("{}", last_);
  if (held > 1) log_.warn("{} more lines like these within {} s; the last: {}", held, seconds, last_);
}

}  // namespace weft::rpc
