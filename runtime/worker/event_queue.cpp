#include "runtime/worker/event_queue.hpp"

#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "runtime/protocol/worker.hpp"

namespace weft::runtime {

void EventQueue::add(std::vector<protocol::Event> events) {
  for (protocol::Event& event : events) events_.push_back(protocol::encode_event(std::move(event)));
}

void EventQueue::begin() {
  sent_ = 0;
  kept_ = 0;
}

void EventQueue::send(rpc::Connection& to) {
  protocol::notify_events(to, protocol::kTaskEvents, events_, sent_);
  sent_ = events_.size();
}

Result<void> EventQueue::kept(std::uint64_t events) {
  if (events <= kept_) return {};
  const std::uint64_t more = events - kept_;
  if (more > sent_) return fail(Code::corrupt, fmt::format("the master acknowledged {} task reports of {}", events, kept_ + sent_));
  events_.erase(events_.begin(), std::next(events_.begin(), static_cast<std::ptrdiff_t>(more)));
  sent_ -= more;
  kept_ = events;
  return {};
}

std::vector<AttemptId> EventQueue::attempts() const {
  std::vector<AttemptId> attempts;
  for (const protocol::EncodedEvent& event : events_) attempts.push_back(event.attempt);
  return attempts;
}

void EventQueue::clear() {
  events_.clear();
  begin();
}

}  // namespace weft::runtime
