// The share of the cluster that each job is entitled to, as amounts of resources, and the limit that keeps jobs inside it.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedulers/parts/parts.hpp"
#include "schedulers/planning/rounding.hpp"

namespace weft::schedulers {

/// Whose shares a refresh changed.
struct ShareChanges {
  bool all = false;         // perhaps all
  std::vector<JobId> jobs;  // ascending; besides those, when not all
  bool any() const { return all || !jobs.empty(); }
};

/// Shares of jobs with unfinished tasks; together at most the cluster.
class JobShares : public Part, public Admission {
 public:
  /// Brings the shares up to date.
  virtual ShareChanges refresh(const ClusterView& view) = 0;
  /// As of the last refresh; null: the job has none.
  const Resources* share(JobId job) const {
    const auto found = shares_.find(job);
    return found == shares_.end() ? nullptr : &found->second;
  }
  Result<void> admit(const ClusterView& view, const JobInfo& job) const override { return (void)view, (void)job, Result<void>(); }

 protected:
  std::map<JobId, Resources> shares_;
};

struct DrfClaim {
  Resources demand;  // of a task, in the mean
  double weight = 1;
};
/// The closed form of DRF: the share of each claim in `capacity`, in their order.
std::vector<Resources> drf_shares(const std::vector<DrfClaim>& claims, const Resources& capacity, Digits digits = {});

/// Dominant resource fairness in closed form (Carbyne, section 3.3), from the mean demand of all tasks of a job (`mean_of_all`) or
/// of its unfinished ones.
std::unique_ptr<JobShares> closed_form_shares(bool mean_of_all, Digits digits);

/// `inner` as in the simulator of Carbyne's authors. Where less capacity is free than a job lacks of its share, the share shrinks
/// to that, until a job comes, the capacity changes, or the last job (by submission) with a task that ended has ended. So a loan is
/// not returned when the borrower's task ends, but then.
std::unique_ptr<JobShares> adjusted_shares(std::unique_ptr<JobShares> inner, Digits digits);

/// A pool or queue, which shares its parent's capacity with its siblings by weight; those without jobs get nothing.
struct ShareGroup {
  std::string name;
  std::optional<std::size_t> parent;  // an earlier one
  double weight = 1;
};
/// The jobs of a group get parts of all resources by their weights. `strict`: a job of a group that is not a leaf of `groups` is
/// refused; otherwise its group is made, at the top and of weight 1.
std::unique_ptr<JobShares> group_shares(std::vector<ShareGroup> groups, bool strict);

/// Jobs launch inside their shares of all resources.
class ShareLimit final : public Limit {
 public:
  ShareLimit(std::unique_ptr<JobShares> shares, Digits digits) : shares_(std::move(shares)), digits_(digits) {}

  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  void plan(const ClusterView& view) override;
  bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) override;
  bool may_launch(const ClusterView& view, const JobInfo& job) override;

  const JobShares& shares() const { return *shares_; }
  /// Whose shares have changed since they were last taken.
  ShareChanges take_changes() { return std::exchange(changes_, {}); }
  /// By how much the job is below its share, summed over resources: each as a part of its capacity, in cores of the cluster.
  double lacks(const JobInfo& job);
  /// Whether its tasks use more than its share of any resource.
  bool above(const JobInfo& job);

 private:
  /// The rest of a job's share, computed when it is needed.
  struct Standing {
    bool above = false;       // it uses more than its share of some resource
    bool may_launch = false;  // it is not above, and a task of a runnable stage fits its share
    std::array<double, kResourceKinds.size()> left{};
    double lacks = 0;
  };
  const Standing* standing(const JobInfo& job);
  bool within(const Resources& demand, const Standing& now) const;

  std::unique_ptr<JobShares> shares_;
  Digits digits_;
  Resources capacity_;
  ShareChanges changes_;
  std::unordered_map<JobId, Standing> standing_;
};

/// Where every share is too small for a task, nothing would ever run. Then each job without running tasks may launch one, until
/// some job runs inside its share again. For a pass after that of `shares`.
class OneTaskEach final : public Limit {
 public:
  explicit OneTaskEach(ShareLimit& shares) : shares_(shares) {}

  void plan(const ClusterView& view) override;
  bool may_launch(const ClusterView&, const JobInfo& job, const StageInfo&) override { return stalled_ && job.running == 0; }
  bool may_launch(const ClusterView&, const JobInfo& job) override { return stalled_ && job.running == 0; }

 private:
  ShareLimit& shares_;
  bool stalled_ = false;
};

}  // namespace weft::schedulers
