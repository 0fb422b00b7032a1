#include "engine/master/log/event_recorder.hpp"

#include <string>
#include <utility>
#include <variant>

namespace weft::master {

void EventRecorder::before(Time at, const Event& event) {
  if (std::exchange(open_, false)) lines_.pop_back();  // the one before was refused
  const auto* heartbeat = std::get_if<WorkerHeartbeat>(&event);
  const auto* lost = std::get_if<WorkerLost>(&event);
  left_ = lost != nullptr;
  of_attempt_ = std::holds_alternative<TaskFinished>(event);
  if (lost != nullptr) heartbeats_.forget(lost->node);
  if (heartbeat != nullptr && !heartbeats_.admits(*heartbeat, at)) return;
  describe(lines_.emplace_back(), at, event);
  open_ = true;
}

void EventRecorder::after(Time at, const std::vector<Command>& commands) {
  urgent_ = urgent_ || (open_ && !of_attempt_);
  open_ = false;
  for (const Command& command : commands) {
    if (describe(lines_.emplace_back(), at, command)) {
      urgent_ = urgent_ || !std::holds_alternative<LaunchTask>(command);
    } else {
      lines_.pop_back();
    }
    if (const auto* lost = std::get_if<NodeLost>(&command); lost != nullptr && !left_)
      describe_silent(lines_.emplace_back(), at, *lost);
    if (lines_.size() >= kMostLines) {  // the end of a large job: text needs less memory
      batch_up();
      const std::lock_guard writing(log_mutex_);
      make_text();
      urgent_ = true;
    }
  }
}

void EventRecorder::batch_up() {
  if (std::exchange(open_, false)) lines_.pop_back();  // it was refused
  urgent_ = false;
  if (lines_.empty()) return;
  Lines next;
  const std::lock_guard lock(batches_mutex_);
  if (!spare_.empty()) {
    next = std::move(spare_.back());
    spare_.pop_back();
  }
  next.reserve(kManyLines);
  batches_.push_back(std::exchange(lines_, std::move(next)));
}

bool EventRecorder::hand_over() {
  {
    const std::lock_guard lock(batches_mutex_);
    if (batches_.size() >= kMostBatches) return false;
  }
  batch_up();
  return true;
}

/// Makes the text of a line.
void EventRecorder::put(EventLine& line) {
  const NodeId node(line.node);
  const bool joined = line.event == "worker_joined";
  if (line.event == "worker_lost" || line.event == "worker_silent") log_.repeat_no_more(node);
  const std::string text = to_json(std::move(line));
  if (joined) log_.repeat(node, text);
  log_.add(text);
}

/// Of all that was handed over. With log_mutex_.
void EventRecorder::make_text() {
  for (Lines batch;;) {
    {
      const std::lock_guard lock(batches_mutex_);
      if (batch.capacity() == kManyLines && spare_.size() < 2) spare_.push_back(std::exchange(batch, {}));
      if (batches_.empty()) return;
      batch = std::move(batches_.front());
      batches_.pop_front();
    }
    for (EventLine& line : batch) put(line);
    batch.clear();
  }
}

Result<void> EventRecorder::write(Time at) {
  const std::lock_guard writing(log_mutex_);
  make_text();
  return log_.flush(at);
}

Result<void> EventRecorder::flush(Time at) {
  batch_up();
  return write(at);
}

Result<void> EventRecorder::restored(Time now, Time joined, const WorkerJoined& node) {
  describe(lines_.emplace_back(), joined, node);
  return flush(now);
}

Result<void> EventRecorder::note_prefetched(Time at, Time period, JobId job, NodeId node,
                                            const shuffle::PrefetchStats& prefetched) {
  describe_prefetched(lines_.emplace_back(), at, period, job, node, prefetched);
  return flush(at);
}

}  // namespace weft::master
