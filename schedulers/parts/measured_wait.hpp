// A locality wait that is worth its time: tasks wait for a nearer node as long as tasks farther from their input were measured to
// take longer, and no longer. While nothing is measured, and where distance costs nothing, none waits.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

class MeasuredWait final : public LocalityWait {
 public:
  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  Locality allowed(const ClusterView& view, const JobInfo& job) override;
  bool skipped(const ClusterView& view, const JobInfo& job, std::size_t nodes, Decisions& decisions) override;
  void launched(const ClusterView& view, const JobInfo& job, Locality locality) override;

  /// How much longer than on the nodes of their input tasks take that far from it; 0: not measured yet.
  Time longer(bool reads_shuffle, Locality locality) const;

 private:
  struct Mean {
    double seconds = 0, count = 0;
    void add(double more, double most);
  };
  struct Wait {
    Locality level = Locality::node;  // of its last launch
    std::optional<Time> since;        // when it first skipped a node after that
  };
  using Stage = std::pair<JobId, StageId>;

  void ended(const ClusterView& view, const TaskId& task, Locality locality);
  Time until(const JobInfo& job, const Wait& wait, Locality locality) const;

  std::map<JobId, Wait> waits_;
  std::optional<TaskId> last_;                   // launched
  std::map<TaskId, Locality> running_;           // tasks that had a preference
  std::map<Stage, Mean> near_;                   // seconds of the tasks of a stage on the nodes of their input
  std::array<std::array<Mean, 2>, 2> longer_{};  // by whether they read shuffles; in the rack, elsewhere
};

}  // namespace weft::schedulers
