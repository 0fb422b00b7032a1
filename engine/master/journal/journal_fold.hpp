// What is still worth knowing of a series of records, and where in the file it is. Its size depends on what is alive and on how
// much history is kept, not on how long the file is.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/master/journal/journal_record.hpp"

namespace weft::master {

/// Where a record is in the file.
struct Extent {
  std::uint64_t offset = 0;
  std::uint32_t length = 0;  // 0: there is none
};

/// Kept are: the latest marks; the cluster; the series of job ids; of each job that runs its last status and its facts; of the jobs
/// that ended last, their last status; the nodes that are there; what operators have set of workers' capacities.
class JournalFold {
 public:
  /// Of a running job. A later fact about the same thing takes the place of the earlier one.
  struct Job {
    Extent status;
    Extent submission, driver;
    std::vector<Extent> parts;  // of its plan, in order
    std::map<ActionId, Extent> values;
    std::map<StageId, Extent> shapes;
    std::map<StageId, std::vector<Extent>> finished, launched, failed;  // by task
    std::uint64_t bytes = 0;                                            // of all of these
  };

  explicit JournalFold(std::size_t jobs_kept) : jobs_kept_(jobs_kept) {}

  void add(const JournalRecord& record, Extent where);

  const JournalMarks& marks() const { return marks_; }
  std::uint32_t masters() const { return masters_; }
  /// Whose files the masters keep that have the journal; empty: no record says that.
  const std::string& cluster() const { return cluster_; }
  /// Which series of job ids these are; 0: no record says that.
  std::uint64_t numbering() const { return numbering_; }
  /// Of all records that are kept.
  std::uint64_t bytes() const { return bytes_; }
  const std::map<JobId, Job>& running() const { return running_; }
  /// Statuses, in the order of the jobs' ends.
  std::vector<Extent> ended() const;
  const std::map<std::string, Extent>& settings() const { return settings_; }
  const std::map<NodeId, Extent>& nodes() const { return nodes_; }
  /// Every record that is kept, in an order in which they may be added again. They are elsewhere afterwards, where `move` says.
  Result<void> move_all(const std::function<Result<Extent>(Extent)>& move);

 private:
  void add_fact(Job& job, const JobFact& fact, Extent where);
  void replace(Extent& kept, Extent where);
  template <class Key>
  void drop(std::map<Key, Extent>& kept, const Key& key);

  std::size_t jobs_kept_;
  JournalMarks marks_;
  std::uint32_t masters_ = 0;
  std::string cluster_;
  std::uint64_t numbering_ = 0;
  std::map<JobId, Job> running_;
  std::map<JobId, Extent> ended_;
  std::deque<JobId> order_;  // of ends
  std::map<std::string, Extent> settings_;
  std::map<NodeId, Extent> nodes_;
  std::uint64_t bytes_ = 0;
};

/// The records of a running job that are kept, in the order in which they may be added again.
void for_each_of(JournalFold::Job& job, const std::function<void(Extent&)>& see);

}  // namespace weft::master
