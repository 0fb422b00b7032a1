// The logs of jobs that have ended on this worker, of this process and of those before it: the newest are kept.
#pragma once

#include <cstddef>
#include <vector>

#include "base/ids.hpp"
#include "runtime/worker/context.hpp"

namespace weft::runtime {

/// One thread. Errors of the disk are passed over.
class KeptLogs {
 public:
  /// Takes in the logs that earlier workers left, and removes all but those of the `most` jobs that were written last. `worker`
  /// says where they are, and outlives this.
  KeptLogs(const WorkerContext& worker, std::size_t most);

  /// The master's series of job ids (protocol::Registered::numbering). Where it is another than that of the logs which are here,
  /// these are of other jobs than their names will say: they are out of the way from now on, as earlier-job-N.log, until the next
  /// such change.
  void numbered(std::uint64_t numbering);
  /// The job's logs are written, perhaps behind those of an earlier job with its id: they stay until it has ended.
  void begun(JobId job);
  /// The job has ended here. The oldest logs go when there are too many.
  void ended(JobId job);

 private:
  void trim();

  const WorkerContext& worker_;
  const std::size_t most_;
  std::vector<JobId> jobs_;  // the oldest first
};

}  // namespace weft::runtime
