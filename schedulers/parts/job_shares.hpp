// What each job is entitled to of the cluster, as amounts of resources, and launching inside that.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "schedulers/parts/parts.hpp"
#include "schedulers/planning/rounding.hpp"

namespace weft::schedulers {

/// Shares of jobs with unfinished tasks; together they are at most the cluster.
class JobShares : public Part, public Admission {
 public:
  /// Brings the shares up to date. Whether any of them changed.
  virtual bool refresh(const ClusterView& view) = 0;
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
  Resources demand;  // of a task, on average
  double weight = 1;
};
/// The closed form of DRF: what each claim gets of `capacity`, in their order.
std::vector<Resources> drf_shares(const std::vector<DrfClaim>& claims, const Resources& capacity, Digits digits = {});

/// Dominant resource fairness in closed form (Carbyne, section 3.3), from the mean demand of a job's tasks: of all of them or of
/// those that are not finished.
std::unique_ptr<JobShares> closed_form_shares(bool mean_of_all, Digits digits);

/// `inner` as the simulator of Carbyne's authors has them: a share that is not free when others have got theirs becomes what is
/// free, until a job comes, the capacity changes, or a job ends that no later one has a task ending beside. So what a job has lent
/// is not owed to it from the end of the borrower's task on, but from then on.
std::unique_ptr<JobShares> adjusted_shares(std::unique_ptr<JobShares> inner, Digits digits);

/// A pool or queue that shares what its parent has with its siblings by weight; those without jobs get nothing.
struct ShareGroup {
  std::string name;
  std::optional<std::size_t> parent;  // an earlier one
  double weight = 1;
};
/// The same part of every resource for all jobs of a group, by their weights. `strict`: a job of a group that is not a leaf of
/// `groups` is refused; otherwise its group is made, at the top and of weight 1.
std::unique_ptr<JobShares> group_shares(std::vector<ShareGroup> groups, bool strict);

/// Jobs launch inside their shares, of every resource.
class ShareLimit final : public Limit {
 public:
  ShareLimit(std::unique_ptr<JobShares> shares, Digits digits) : shares_(std::move(shares)), digits_(digits) {}

  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  void plan(const ClusterView& view) override;
  bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) override;
  bool may_launch(const ClusterView& view, const JobInfo& job) override;

  const JobShares& shares() const { return *shares_; }
  /// How often any share has changed.
  std::uint64_t changes() const { return changes_; }
  /// By how much the job is below its share, over all resources: each counts as its part of the capacity, in cores of that.
  double lacks(const JobInfo& job);
  /// Whether its tasks have more than its share of anything.
  bool above(const JobInfo& job);

 private:
  /// What is left of a job's share: worked out when it is asked for.
  struct Standing {
    bool above = false;       // its share of anything
    bool may_launch = false;  // a task of a runnable stage, and it is above its share of nothing
    std::array<double, kResourceKinds.size()> left{};
    double lacks = 0;
  };
  const Standing* standing(const JobInfo& job);
  bool within(const Resources& demand, const Standing& now) const;

  std::unique_ptr<JobShares> shares_;
  Digits digits_;
  Resources capacity_;
  std::uint64_t changes_ = 0;
  std::unordered_map<JobId, Standing> standing_;
};

/// Where every share is too small for a task nothing would ever run: then each job that runs nothing may launch one, until
/// something runs inside its share again. For a pass after that of `shares`.
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
