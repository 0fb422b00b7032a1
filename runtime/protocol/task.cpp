#include "runtime/protocol/task.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "runtime/protocol/messages.hpp"
#include "runtime/protocol/protocol.capnp.h"

namespace weft::runtime::protocol {

WEFT_PROTOCOL_MESSAGE(Launches);

namespace {

constexpr std::uint64_t kMostResults = 64u << 20;
constexpr std::uint64_t kMostFields = 8u << 20;  // of events that have waited; the header of a message is bounded
constexpr std::uint64_t kMostOfEvent = 60u << 20;
constexpr std::uint64_t kMostOfResult = 1u << 30;  // a connection that is asked to send more ends, and with it the executor

/// The events from `first` to `end` as an Events message.
rpc::Payload join(const std::deque<EncodedEvent>& events, std::size_t first, std::size_t end) {
  std::size_t words = 8;
  for (std::size_t i = first; i < end; ++i) words += events[i].fields.size() / sizeof(capnp::word) + 2;
  rpc::FlatMessage message(words);
  auto list = message.initRoot<wire::Events>().initEvents(static_cast<unsigned>(end - first));
  rpc::Payload payload;
  for (std::size_t i = first; i < end; ++i) {
    list.set(static_cast<unsigned>(i - first), rpc::data_reader(events[i].fields.view()));
    if (!events[i].result.bytes.empty()) payload.bulk.push_back(events[i].result);
  }
  payload.header = message.take();
  return payload;
}

std::deque<EncodedEvent> encode_all(std::vector<Event> events) {
  std::deque<EncodedEvent> encoded;
  for (Event& event : events) encoded.push_back(encode_event(std::move(event)));
  return encoded;
}

}  // namespace

template <>
rpc::Payload encode(Events message) {
  const std::deque<EncodedEvent> events = encode_all(std::move(message.events));
  return join(events, 0, events.size());
}

template <>
Result<Events> decode(const rpc::Message& message, unsigned*) {
  rpc::detail::ReadContext context{rpc::BulkReader(message.bulk.view())};
  return rpc::read_message<wire::Events>(message.header.view(), Events::kName, [&](wire::Events::Reader in) -> Result<Events> {
    Events read;
    for (const auto fields : in.getEvents()) {
      WEFT_ASSIGN(Event event, (rpc::decode_versioned<wire::Event, Event>(rpc::data_view(fields), Events::kName, context)));
      read.events.push_back(std::move(event));
    }
    return read;
  });
}

EncodedEvent encode_event(Event event) {
  const AttemptId attempt = event.attempt;
  const auto replace = [&](rpc::Payload& payload, std::string_view what, std::uint64_t bytes, std::uint64_t most) {
    Event instead{.attempt = attempt,
                  .kind = TaskEnd::user_code,
                  .message = fmt::format("{} takes {}, of which {} may be", what, human_bytes(bytes), human_bytes(most))};
    payload = rpc::versioned_payload<wire::Event>(instead);
  };
  rpc::Payload payload = rpc::versioned_payload<wire::Event>(event);
  const std::uint64_t result = payload.bulk.empty() ? 0 : payload.bulk.front().bytes.size();
  if (payload.header.size() > kMostOfEvent)  // an executor is anybody's program
    replace(payload, "the report of its end", payload.header.size(), kMostOfEvent);
  else if (result > kMostOfResult)
    replace(payload, "its part of the action's result", result, kMostOfResult);
  return {attempt, std::move(payload.header), payload.bulk.empty() ? SharedBytes() : std::move(payload.bulk.front())};
}

void notify_events(rpc::Connection& to, rpc::MessageType type, const std::deque<EncodedEvent>& events, std::size_t skipped) {
  std::uint64_t results = 0, fields = 0;
  std::size_t first = skipped;
  for (std::size_t i = skipped; i < events.size(); ++i) {
    results += events[i].result.bytes.size();
    fields += events[i].fields.size();
    if (i == first || (results <= kMostResults && fields <= kMostFields)) continue;
    to.notify(type, join(events, first, i));
    first = i;
    results = events[i].result.bytes.size();
    fields = events[i].fields.size();
  }
  if (first < events.size()) to.notify(type, join(events, first, events.size()));
}

void notify_events(rpc::Connection& to, rpc::MessageType type, std::vector<Event> events) {
  notify_events(to, type, encode_all(std::move(events)), 0);
}

rpc::Limits peer_limits() {
  rpc::Limits limits;
  limits.max_queued = 2u << 30;
  limits.common_protocol = true;
  return limits;
}

}  // namespace weft::runtime::protocol
