// The accounts of prefetched blocks: of each job, and of all together. Private to the prefetcher.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::shuffle {

/// One thread.
class PrefetchAccounts {
 public:
  using JobBytes = std::vector<std::pair<JobId, PrefetchStats>>;

  void count(JobId job, std::uint64_t PrefetchStats::*what, std::uint64_t bytes);
  /// Counts blocks that came after their partition was given up. They open no account for a job that is over.
  void count_unwanted(JobId job, std::uint64_t bytes);
  /// Closes the account of a job that is over, and returns it; nothing when the job has none.
  std::optional<PrefetchStats> drop(JobId job);

  const PrefetchStats& all() const { return all_; }
  /// The accounts that have changed since the last call, each since the job's start; a dropped job's once more.
  JobBytes take_changed();
  /// The next call has all of them: what was reported is forgotten where it was reported to.
  void report_all();

 private:
  struct Account {
    PrefetchStats bytes;
    bool changed = false;  // since it was reported
  };
  std::map<JobId, Account> jobs_;
  JobBytes dropped_;  // not reported yet
  PrefetchStats all_;
};

}  // namespace weft::shuffle
