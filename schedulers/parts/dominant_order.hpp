// Jobs, users or pools by dominant share over weight, the smallest first; jobs of a group by priority and submit time.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "schedulers/config/weights.hpp"
#include "schedulers/parts/parts.hpp"
#include "schedulers/parts/ranked_set.hpp"

namespace weft::schedulers {

enum class ShareHolder : std::uint8_t { job, user, pool };

class DominantOrder final : public OrderingPolicy {
 public:
  /// `weights`: of users or pools; jobs have their own.
  explicit DominantOrder(ShareHolder by, Weights weights = {}) : by_(by), weights_(std::move(weights)) {}
  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override;

 private:
  /// Of a job where by_ is job (the name is empty), else of a group (the job is 0).
  using Key = std::pair<std::string, JobId>;
  using Runnable = std::map<JobOrder, const JobInfo*>;
  using Rank = std::pair<double, JobOrder>;  // its share; of equal shares the holder of the earliest job

  Key key_of(const JobInfo& job) const;
  double share_of(const ClusterView& view, const JobInfo& job) const;
  void place(const ClusterView& view, const JobInfo& job, bool ended);
  void place_all(const ClusterView& view);

  ShareHolder by_;
  Weights weights_;
  Resources capacity_;                // that the shares are parts of
  std::map<Key, Runnable> runnable_;  // jobs of the holders with pending tasks
  RankedSet<Key, Rank, const Runnable*> order_;
};

}  // namespace weft::schedulers
