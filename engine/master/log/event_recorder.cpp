#include "engine/master/log/event_recorder.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace weft::master {

namespace {

/// Of memory, about: what it has without lists that can be long, and those.
std::size_t bytes_of(const EventLine& line) {
  return sizeof(EventLine) + sizeof(std::uint64_t) * line.partition_bytes.size() +
         sizeof(std::uint32_t) * line.sample_histogram.size() + 128 * (line.counters.size() + line.usage.hot_keys.size()) +
         1024 * line.stages.size();
}

}  // namespace

EventLine& EventRecorder::next_line() {
  drop_refused();
  return lines_.emplace_back();
}

void EventRecorder::drop_refused() {
  if (std::exchange(open_, false)) lines_.pop_back();
}

void EventRecorder::before(Time at, const Event& event) {
  drop_refused();
  const auto* heartbeat = std::get_if<WorkerHeartbeat>(&event);
  const auto* lost = std::get_if<WorkerLost>(&event);
  left_ = lost != nullptr;
  of_attempt_ = std::holds_alternative<TaskFinished>(event);
  if (lost != nullptr) heartbeats_.forget(lost->node);
  if (heartbeat != nullptr && !heartbeats_.admits(*heartbeat, at)) return;
  describe(next_line(), at, event);
  open_ = true;
}

void EventRecorder::after(Time at, const std::vector<Command>& commands) {
  if (std::exchange(open_, false)) {
    urgent_ = urgent_ || !of_attempt_;
    bytes_ += bytes_of(lines_.back());
  }
  for (const Command& command : commands) {
    if (has_line(command)) {
      describe(next_line(), at, command);
      bytes_ += sizeof(EventLine);
      urgent_ = urgent_ || !std::holds_alternative<LaunchTask>(command);
    }
    if (const auto* lost = std::get_if<NodeLost>(&command); lost != nullptr && !left_) describe_silent(next_line(), at, *lost);
    if (lines_.size() >= kMostLines) {  // the end of a large job: text needs less memory
      batch_up();
      const std::lock_guard writing(log_mutex_);
      make_text();
      urgent_ = true;
    }
  }
}

void EventRecorder::batch_up() {
  drop_refused();
  urgent_ = false;
  if (lines_.empty()) return;
  Batch batch{{}, std::exchange(bytes_, 0)};
  const std::lock_guard lock(batches_mutex_);
  if (!spare_.empty()) {
    batch.lines = std::move(spare_.back());
    spare_.pop_back();
  }
  batch.lines.reserve(kManyLines);
  std::swap(batch.lines, lines_);
  handed_over_ += batch.bytes;
  batches_.push_back(std::move(batch));
}

bool EventRecorder::hand_over() {
  {
    const std::lock_guard lock(batches_mutex_);
    if (handed_over_ >= kMostBytes) return false;
  }
  batch_up();
  return true;
}

/// Makes the text of a line.
void EventRecorder::put(EventLine& line) {
  const NodeId node(line.node);
  const bool joined = line.event == "worker_joined";
  if (line.event == "scheduler_configured") log_.repeat(line);
  if (line.event == "worker_lost" || line.event == "worker_silent") log_.repeat_no_more(node);
  const std::string text = to_json(std::move(line));
  if (joined) log_.repeat(node, text);
  log_.add(text);
}

/// Of all that was handed over. With log_mutex_.
void EventRecorder::make_text() {
  for (Batch batch;;) {
    {
      const std::lock_guard lock(batches_mutex_);
      if (batch.lines.capacity() >= kManyLines && batch.lines.capacity() < kMostLines && spare_.size() < 2)
        spare_.push_back(std::move(batch.lines));
      if (batches_.empty()) return;
      batch = std::move(batches_.front());
      batches_.pop_front();
      handed_over_ -= batch.bytes;
    }
    for (EventLine& line : batch.lines) put(line);
    batch.lines.clear();
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
  describe(next_line(), joined, node);
  return flush(now);
}

Result<void> EventRecorder::note_prefetched(Time at, Time period, JobId job, NodeId node,
                                            const shuffle::PrefetchStats& prefetched) {
  describe_prefetched(next_line(), at, period, job, node, prefetched);
  return flush(at);
}

}  // namespace weft::master
