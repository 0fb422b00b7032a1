// Chooses the heartbeats for the event log: those with news.
#pragma once

#include <map>

#include "engine/master/core/events.hpp"

namespace weft::master {

/// One thread.
class HeartbeatFilter {
 public:
  /// Whether the heartbeat belongs into the log. It does if it changes the node's capacity or forecast. It also does if a measured
  /// amount differs from the last one in the log by more than 5 % and by more than noise (a hundredth of a processor, 1 MB of
  /// memory, 10 kB a second), and the log has no heartbeat of that node from the last second. The filter then remembers the
  /// heartbeat.
  bool admits(const WorkerHeartbeat& heartbeat, Time now);
  /// The node is gone.
  void forget(NodeId node) { logged_.erase(node); }

 private:
  struct Logged {
    Time at{0};
    WorkerHeartbeat heartbeat;
  };
  std::map<NodeId, Logged> logged_;
};

}  // namespace weft::master
