#include "schedulers/policies/capacity.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/parts/queue_tree.hpp"
#include "schedulers/parts/stage_orders.hpp"

namespace weft::schedulers {

namespace {

class CapacityOrder final : public OrderingPolicy, public Admission, public JobGroups {
 public:
  CapacityOrder(const std::vector<QueueSettings>& queues, bool one_for_all, std::uint64_t most_jobs)
      : tree_(queues, one_for_all, most_jobs) {}

  Result<void> start(const ClusterView& view, Part*) override {
    for (const auto& [id, job] : view.jobs()) tree_.change(job);
    return {};
  }
  Result<void> admit(const ClusterView&, const JobInfo& job) const override {
    if (tree_.leaf_of(job)) return {};
    const std::string name =
        job.pool.empty() ? "no queue, and there is no queue 'default'" : fmt::format("queue '{}'", escaped(job.pool));
    return fail(Code::invalid_argument,
                fmt::format("job {} asks for {} (queues that take jobs: {})", job.id.value(), name, tree_.leaf_names()));
  }
  void on_event(const ClusterView& view, const Notice& notice) override {
    if (notice.kind == Notice::Kind::job_changed) tree_.change(*view.job(notice.job));
    if (notice.kind == Notice::Kind::job_ended) tree_.end(*view.job(notice.job));
  }
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override { return tree_.offer(view, kind, launcher); }
  bool offers_all() const override { return false; }
  bool within_limits(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const override {
    const SlotKind kind = slot_kind_of(stage, slot_kinds(view).size() > 1);
    return tree_.within_limits(view, job, kind, kind == SlotKind::any ? stage.demand.cpu : 1);
  }
  std::vector<GroupStatus> groups(const ClusterView& view) const override { return tree_.groups(view); }

 private:
  QueueTree tree_;
};

}  // namespace

Result<Composition> make_capacity(Options& options, const Registry&) {
  WEFT_ASSIGN(const auto file, options.file("queues"));
  std::vector<QueueSettings> queues;
  if (file) {
    WEFT_ASSIGN(queues, parse_queues(*file));
  } else {
    queues.emplace_back().name = "default";
  }
  WEFT_ASSIGN(const std::uint64_t most_jobs, options.whole("max_system_jobs", 3000));
  if (most_jobs == 0) return fail(Code::invalid_argument, "scheduler option max_system_jobs must be more than 0");
  Composition parts;
  auto order = std::make_unique<CapacityOrder>(queues, !file, most_jobs);
  parts.admission = order.get();
  parts.groups = order.get();
  parts.jobs = std::move(order);
  WEFT_ASSIGN(parts.stages, take_stage_order(options, "fifo"));
  return parts;
}

}  // namespace weft::schedulers
