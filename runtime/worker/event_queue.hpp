// The ends of attempts that a worker has to report to a master that keeps its jobs: each stays here until it is on that master's
// disk, and is sent again on the next registration if that does not happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/result.hpp"
#include "runtime/protocol/task.hpp"

namespace weft::runtime {

/// One thread. It has no more events than attempts were launched, and while there is no master none are.
class EventQueue {
 public:
  void add(std::vector<protocol::Event> events);
  /// A registration begins: everything that is here is to be sent on it, and it counts from 0.
  void begin();
  /// Sends what was not sent on this registration, in the order of add().
  void send(rpc::Connection& to);
  /// The first `events` of those that were sent on this registration need not be sent again. corrupt: it has not had that many.
  Result<void> kept(std::uint64_t events);
  /// Those whose ends are here.
  std::vector<AttemptId> attempts() const;
  void clear();

 private:
  std::deque<protocol::EncodedEvent> events_;
  std::size_t sent_ = 0;    // on this registration, the first ones of `events_`
  std::uint64_t kept_ = 0;  // of this registration, removed
};

}  // namespace weft::runtime
