#include "schedulers/policies/ras.hpp"

#include "base/clock.hpp"
#include "schedulers/parts/job_slots.hpp"
#include "schedulers/prediction/work_left.hpp"

namespace weft::schedulers {

namespace {

class SlotsByWorkLeft final : public SlotGoals {
 public:
  std::vector<SlotNeed> needs(const ClusterView& view, std::span<const Job> jobs, Time) override {
    std::vector<SlotNeed> needs;
    for (const Job& job : jobs) {
      SlotNeed& need = needs.emplace_back();
      if (!job.info->deadline) continue;
      const WorkLeft left = work_left(view, *job.info);
      need.required = slots_needed(left.phases, in_seconds(*job.info->deadline - view.now()));
    }
    return needs;
  }
};

}  // namespace

std::unique_ptr<SlotGoals> slot_goals() { return std::make_unique<SlotsByWorkLeft>(); }

Result<Composition> make_ras(Options& options, const Registry&) {
  WEFT_ASSIGN(const JobSlotsOptions slots, take_job_slots(options));
  Composition parts;
  parts.jobs = std::make_unique<JobSlots>(slots, slot_goals());
  parts.in_turns = parts.near_first = slots.bounded;  // otherwise tasks crowd one node, and wait for its disk and for far input
  return parts;
}

}  // namespace weft::schedulers
