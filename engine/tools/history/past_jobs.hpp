// The jobs of event logs, opened by an index and read one by one.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "engine/master/log/log_pieces.hpp"
#include "engine/tools/history/history.hpp"
#include "engine/tools/history/log_index.hpp"

namespace weft::history {

/// The jobs of event logs. Any thread.
class LoggedJobs {
 public:
  virtual ~LoggedJobs() = default;
  /// Whether the logs are still written.
  virtual bool grows() const = 0;
  /// When the logs end.
  virtual Time now() const = 0;
  /// Without stages.
  virtual std::vector<master::JobStatus> statuses() const = 0;
  /// Of the last run of a master.
  virtual EventHistory::Workers workers() const = 0;
  /// The history of one job; not_found when the logs do not have it.
  virtual Result<std::shared_ptr<const EventHistory>> job(std::uint64_t id) const = 0;
};

/// Of logs that have ended.
class PastJobs final : public LoggedJobs {
 public:
  /// Those of an event log with its rotated pieces, or of all logs in a directory. The index lies beside them: `FILE.index` or
  /// `DIR/weft.index`. One that is missing, damaged or out of date is made again; where it cannot be written, the next start makes
  /// it again. not_found when there are no logs; corrupt names file and line of what is no event.
  static Result<std::unique_ptr<PastJobs>> open(const std::string& path);

  bool grows() const override { return false; }
  Time now() const override { return index_.now; }
  std::vector<master::JobStatus> statuses() const override;
  const std::map<std::uint64_t, IndexedJob>& jobs() const { return index_.jobs; }
  EventHistory::Workers workers() const override { return index_.runs.back(); }
  /// Read from its part of the logs; the latest few are kept.
  Result<std::shared_ptr<const EventHistory>> job(std::uint64_t id) const override;

 private:
  PastJobs(std::vector<master::LogPiece> pieces, LogIndex index) : pieces_(std::move(pieces)), index_(std::move(index)) {}
  Result<EventHistory> read(std::uint64_t id, const IndexedJob& job) const;

  std::vector<master::LogPiece> pieces_;
  LogIndex index_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::list<std::pair<std::uint64_t, std::shared_ptr<const EventHistory>>> latest_;
};

}  // namespace weft::history
