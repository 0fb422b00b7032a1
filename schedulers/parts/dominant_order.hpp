// Jobs, users or pools by dominant share over weight, smallest first; jobs of a group by priority and submit time.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "schedulers/config/weights.hpp"
#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

enum class ShareHolder : std::uint8_t { job, user, pool };

class DominantOrder final : public WhoNext {
 public:
  /// `weights`: of users or pools; jobs have their own.
  explicit DominantOrder(ShareHolder by, Weights weights = {}) : by_(by), weights_(std::move(weights)) {}
  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  bool offer(const ClusterView& view, SlotKind kind, Turn& turn) override;
  RoundOrder round_order() const override { return RoundOrder::by_rounds_left; }

 private:
  /// A job when by_ is job (then the name is empty), else a group (then the job is 0).
  using Key = std::pair<std::string, JobId>;
  struct Holder {
    double share = 0;
    std::map<JobOrder, const JobInfo*> runnable;
  };
  using Rank = std::tuple<double, JobOrder, Key>;  // of holders with runnable jobs; ties: the earliest of their jobs

  Key key_of(const JobInfo& job) const;
  double share_of(const ClusterView& view, const JobInfo& job) const;
  void place(const ClusterView& view, const JobInfo& job, bool ended);
  static Rank rank_of(const Key& key, const Holder& holder);

  ShareHolder by_;
  Weights weights_;
  Resources capacity_;             // the shares are of
  std::map<Key, Holder> holders_;  // with runnable jobs
  std::map<Rank, const Holder*> order_;
  Rank served_{};  // last
};

}  // namespace weft::schedulers
