#include "engine/master/log/event_recorder.hpp"

#include <variant>

namespace weft::master {

void EventRecorder::before(Time at, const Event& event) {
  const auto* heartbeat = std::get_if<WorkerHeartbeat>(&event);
  const auto* lost = std::get_if<WorkerLost>(&event);
  left_ = lost != nullptr;
  of_attempt_ = std::holds_alternative<TaskFinished>(event);
  line_ = heartbeat == nullptr || heartbeats_.admits(*heartbeat, at) ? event_json(at, event) : std::string();
  if (const auto* joined = std::get_if<WorkerJoined>(&event)) log_.repeat(joined->node, line_);
  if (lost == nullptr) return;
  heartbeats_.forget(lost->node);
  log_.repeat_no_more(lost->node);
}

void EventRecorder::after(Time at, const std::vector<Command>& commands) {
  if (!line_.empty()) log_.add(line_);
  urgent_ = urgent_ || (!line_.empty() && !of_attempt_);
  for (const Command& command : commands) {
    if (const auto text = command_json(at, command)) {
      log_.add(*text);
      urgent_ = urgent_ || !std::holds_alternative<LaunchTask>(command);
    }
    if (const auto* lost = std::get_if<NodeLost>(&command); lost != nullptr && !left_) {
      log_.add(silent_json(at, *lost));
      log_.repeat_no_more(lost->node);
    }
  }
}

Result<void> EventRecorder::flush(Time at) {
  urgent_ = false;
  return log_.flush(at);
}

Result<void> EventRecorder::restored(Time now, Time joined, const WorkerJoined& node) {
  const std::string line = event_json(joined, node);
  log_.repeat(node.node, line);
  log_.add(line);
  return log_.flush(now);
}

Result<void> EventRecorder::note_prefetched(Time at, Time period, JobId job, NodeId node,
                                            const shuffle::PrefetchStats& prefetched) {
  log_.add(prefetch_json(at, period, job, node, prefetched));
  return log_.flush(at);
}

}  // namespace weft::master
