// A scheduler made of parts. Its dispatcher launches the tasks (dispatcher.hpp).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedulers/parts/dispatcher.hpp"

namespace weft::schedulers {

class Composed final : public Scheduler {
 public:
  Composed(std::string name, Composition parts);

  std::string_view name() const override { return name_; }
  Result<void> start(const ClusterView& view, Scheduler* before) override;
  Result<void> admit(const ClusterView& view, const JobInfo& job) const override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override;
  void speculate(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override;
  void preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) override;
  double slow_start(const ClusterView&, const JobInfo&) const override { return parts_.slow_start; }
  RoundOrder round_order() const override { return parts_.round_order; }
  std::optional<std::uint32_t> far_prefetches(RackId rack) const override;
  bool work_conserving() const override;
  Sharing sharing(const ClusterView& view) const override { return parts_.jobs->sharing(view); }
  std::vector<GroupStatus> groups(const ClusterView& view) const override;

 private:
  bool tick(const ClusterView& view, Decisions& decisions);

  std::string name_;
  Composition parts_;
  std::vector<Part*> all_;  // in the same order in every composition of as many passes; null: there is no such part
  std::vector<std::pair<Part*, Time>> cycles_;  // every part, and when its next control cycle begins if it has any
  Dispatcher dispatcher_;
};

}  // namespace weft::schedulers
