#include "base/rpc/pending.hpp"

#include <algorithm>

namespace weft::rpc {

void PendingRequests::add(std::uint64_t id, TimePoint deadline, Reply reply, std::shared_ptr<BulkSink> sink, Duration silence,
                          bool asks_presence) {
  if (asks_presence) {
    std::erase_if(presence_, [this](std::uint64_t other) { return !waiting_.contains(other); });
    presence_.push_back(id);
  }
  if (heap_.size() > 1024 && heap_.size() > 2 * waiting_.size()) drop_answered();
  if (sink) ++sinks_;
  waiting_.emplace(id, Waiting{std::move(reply), std::move(sink), silence, deadline});
  heap_.push_back({deadline, id});
  std::push_heap(heap_.begin(), heap_.end());
}

void PendingRequests::heard(TimePoint now) {
  for (const std::uint64_t id : presence_)
    if (const auto found = waiting_.find(id); found != waiting_.end()) found->second.deadline = now + found->second.silence;
}

void PendingRequests::prolong(std::uint64_t id, TimePoint now) {
  if (const auto own = waiting_.find(id); own != waiting_.end())
    own->second.deadline = std::max(own->second.deadline, now + own->second.silence);
  if (sinks_ == 0) return;
  for (auto& [other, waiting] : waiting_)
    if (waiting.sink && other >= id) waiting.deadline = now + waiting.silence;
}

std::optional<Reply> PendingRequests::take(std::uint64_t id) {
  const auto found = waiting_.find(id);
  if (found == waiting_.end()) return std::nullopt;
  Reply reply = std::move(found->second.reply);
  if (found->second.sink) --sinks_;
  waiting_.erase(found);
  return reply;
}

BulkSink* PendingRequests::sink(std::uint64_t id) const {
  const auto found = waiting_.find(id);
  return found == waiting_.end() ? nullptr : found->second.sink.get();
}

std::vector<Reply> PendingRequests::take_expired(TimePoint now) {
  std::vector<Reply> expired;
  while (!heap_.empty() && heap_.front().at <= now) {
    const Due due = heap_.front();
    pop();
    const auto found = waiting_.find(due.id);
    if (found == waiting_.end()) continue;
    if (found->second.deadline > now) {
      heap_.push_back({found->second.deadline, due.id});
      std::push_heap(heap_.begin(), heap_.end());
    } else {
      expired.push_back(*take(due.id));
    }
  }
  return expired;
}

std::vector<Reply> PendingRequests::take_all() {
  std::vector<std::pair<std::uint64_t, Reply>> in_order;
  for (auto& [id, waiting] : waiting_) in_order.emplace_back(id, std::move(waiting.reply));
  waiting_.clear();
  sinks_ = 0;
  heap_.clear();
  std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Reply> replies;
  for (auto& [id, reply] : in_order) replies.push_back(std::move(reply));
  return replies;
}

std::optional<TimePoint> PendingRequests::earliest_deadline() {
  while (!heap_.empty() && !waiting_.contains(heap_.front().id)) pop();
  if (heap_.empty()) return std::nullopt;
  return heap_.front().at;
}

void PendingRequests::drop_answered() {
  std::erase_if(heap_, [this](const Due& due) { return !waiting_.contains(due.id); });
  std::make_heap(heap_.begin(), heap_.end());
}

void PendingRequests::pop() {
  std::pop_heap(heap_.begin(), heap_.end());
  heap_.pop_back();
}

}  // namespace weft::rpc
