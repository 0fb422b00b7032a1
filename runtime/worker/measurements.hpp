// What a worker really uses, for its heartbeats: its processes and the machine, and what crosses its rack's uplink.
#pragma once

#include <map>
#include <span>
#include <string>

#include <sys/types.h>

#include "base/usage.hpp"
#include "runtime/protocol/worker.hpp"
#include "shuffle/transfer/links.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::runtime {

/// Reactor thread only. A measurement reads a few files of /proc: about 0.1 ms.
class Measurements {
 public:
  /// The rack that its master takes it to be in: what moves within that rack does not cross an uplink.
  void set_rack(std::string rack) { rack_ = std::move(rack); }

  /// Since the last call; the first call has no rates. `processes` are the worker's own: itself and its executors. `traffic` is
  /// what went over its links since it began, `chunks` what its processes read and wrote of files since then; of other racks, the
  /// `protocol::kMostRacks` with the most bytes are named.
  protocol::Measured measure(std::span<const pid_t> processes, shuffle::LinkTraffic traffic,
                             std::span<const storage::RackBytes> chunks, TimePoint now);

 private:
  std::string rack_;
  UsageMeter meter_;
  TimePoint last_{};
  std::map<std::string, shuffle::LinkBytes> racks_;  // as they were then
};

}  // namespace weft::runtime
