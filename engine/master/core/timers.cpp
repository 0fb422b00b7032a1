#include "engine/master/core/timers.hpp"

#include <fmt/format.h>

namespace weft::master {

void Timers::set(const Timer& timer) {
  const std::uint64_t id = next_++;
  timers_.emplace(id, timer);
  if (timer.purpose == Purpose::scheduler) wakes_.insert(timer.at);
  commands_.emit(SetTimer{id, timer.at});
}

Result<std::optional<Timers::Timer>> Timers::fire(std::uint64_t id, Time now) {
  const auto found = timers_.find(id);
  if (found == timers_.end()) return fail(Code::not_found, fmt::format("there is no timer {}", id));
  const Timer timer = found->second;
  if (now < timer.at) {
    commands_.emit(SetTimer{id, timer.at});
    return std::nullopt;
  }
  timers_.erase(found);
  if (timer.purpose == Purpose::scheduler) wakes_.erase(wakes_.find(timer.at));
  return timer;
}

void Timers::forget(NodeId node) {
  std::erase_if(timers_, [node](const auto& entry) {
    const Timer& timer = entry.second;
    return (timer.purpose == Purpose::heartbeat || timer.purpose == Purpose::exclusion) && timer.node == node;
  });
}

}  // namespace weft::master
