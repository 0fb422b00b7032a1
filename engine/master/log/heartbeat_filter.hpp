// Which heartbeats the event log has: those that say something new.
#pragma once

#include <map>

#include "engine/master/core/events.hpp"

namespace weft::master {

/// One thread.
class HeartbeatFilter {
 public:
  /// Whether the heartbeat belongs into the log: it changes the node's capacity or forecast; or a measured amount differs from what
  /// the log has by more than 5 % (and by more than noise: a hundredth of a processor, 1 MB of memory, 10 kB a second), and nothing
  /// of that node was logged within the last second. If so, it is what the log has from now on.
  bool admits(const WorkerHeartbeat& heartbeat, Time now);
  /// That node is no more.
  void forget(NodeId node) { logged_.erase(node); }

 private:
  struct Logged {
    Time at{0};
    WorkerHeartbeat heartbeat;
  };
  std::map<NodeId, Logged> logged_;
};

}  // namespace weft::master
