// What the parts of the server share: the core behind its events, and the clock that these are dated with.
#pragma once

#include "engine/master/core/core.hpp"

namespace weft::master {

/// Reactor thread only.
class CoreShell {
 public:
  virtual ~CoreShell() = default;
  virtual Time now() const = 0;
  /// Applies the event, records and logs it, and carries out its commands before it returns. A refusal changes nothing and says
  /// why; nothing is applied any more once the master has given up.
  virtual Result<void> apply(Event event) = 0;
  virtual const Core& core() const = 0;
  /// What a worker says of the blocks that it prefetched for a job, all since the job began: for the event log alone.
  virtual void note(JobId job, NodeId node, const shuffle::PrefetchStats& prefetched) = 0;
};

}  // namespace weft::master
