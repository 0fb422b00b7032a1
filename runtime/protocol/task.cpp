#include "runtime/protocol/task.hpp"

#include <utility>

#include "runtime/protocol/messages.hpp"

namespace weft::runtime::protocol {

WEFT_PROTOCOL_MESSAGE(Launches);
WEFT_PROTOCOL_MESSAGE(Events);

void notify_events(rpc::Connection& to, rpc::MessageType type, std::vector<Event> events) {
  constexpr std::uint64_t kMostResults = 64u << 20;
  std::vector<Event> batch;
  std::uint64_t bytes = 0;
  for (Event& event : events) {
    bytes += event.result.size();
    batch.push_back(std::move(event));
    if (bytes < kMostResults) continue;
    to.notify(type, encode(Events{std::exchange(batch, {})}));
    bytes = 0;
  }
  if (!batch.empty()) to.notify(type, encode(Events{std::move(batch)}));
}

std::uint64_t layout() { return Messages::layout(); }

rpc::Limits one_release_limits() {
  rpc::Limits limits;
  limits.max_queued = 2u << 30;
  limits.layout = layout();
  limits.one_release = true;
  return limits;
}

}  // namespace weft::runtime::protocol
