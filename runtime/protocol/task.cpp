#include "runtime/protocol/task.hpp"

#include <utility>

#include "runtime/protocol/messages.hpp"

namespace weft::runtime::protocol {

WEFT_PROTOCOL_MESSAGE(Launches);
WEFT_PROTOCOL_MESSAGE(Events);

namespace {

constexpr std::uint64_t kMostResults = 64u << 20;
constexpr std::uint64_t kMostFields = 8u << 20;  // of events that have waited; the header of a message is bounded

/// The events from `first` to `end` as an Events message: their number, and one after the other.
rpc::Payload join(const std::deque<EncodedEvent>& events, std::size_t first, std::size_t end) {
  Encoder header;
  header.append_varint(end - first);
  rpc::Payload payload;
  for (std::size_t i = first; i < end; ++i) {
    header.append(events[i].fields.view());
    if (!events[i].result.bytes.empty()) payload.bulk.push_back(events[i].result);
  }
  payload.header = Buffer::copy_of(header.view());
  return payload;
}

}  // namespace

EncodedEvent encode_event(Event event) {
  rpc::DerivedOut out;
  const AttemptId attempt = event.attempt;
  rpc::Derived<Event>::write(event, out);
  return {attempt, Buffer::copy_of(out.header.view()), out.bulk.empty() ? SharedBytes() : std::move(out.bulk.front())};
}

void notify_events(rpc::Connection& to, rpc::MessageType type, const std::deque<EncodedEvent>& events, std::size_t skipped) {
  std::uint64_t results = 0, fields = 0;
  std::size_t first = skipped;
  for (std::size_t i = skipped; i < events.size(); ++i) {
    results += events[i].result.bytes.size();
    fields += events[i].fields.size();
    if (results < kMostResults && fields < kMostFields) continue;
    to.notify(type, join(events, first, i + 1));
    first = i + 1;
    results = fields = 0;
  }
  if (first < events.size()) to.notify(type, join(events, first, events.size()));
}

void notify_events(rpc::Connection& to, rpc::MessageType type, std::vector<Event> events) {
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
