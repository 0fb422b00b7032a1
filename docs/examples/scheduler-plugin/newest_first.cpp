// A scheduler to start from: the job that was submitted last goes first, no job gets more than `limit` tasks at a time.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <weft/schedulers/plugin.hpp>

namespace {

using namespace weft::schedulers;

class NewestFirst final : public Scheduler {
 public:
  explicit NewestFirst(std::uint64_t limit) : limit_(limit) {}
  std::string_view name() const override { return "newest-first"; }

  void schedule(const ClusterView& view, const Trigger&, Decisions& decisions) override {
    std::vector<const JobInfo*> jobs;
    for (const JobOrder& order : view.runnable_jobs()) jobs.push_back(view.job(order.id));
    std::sort(jobs.begin(), jobs.end(), [](const JobInfo* a, const JobInfo* b) { return b->id < a->id; });
    for (const JobInfo* job : jobs) serve(view, *job, decisions);
  }

 private:
  void serve(const ClusterView& view, const JobInfo& job, Decisions& decisions) const {
    // Copies of the indexes: each launch changes them.
    const std::vector<weft::StageId> stages(job.runnable.begin(), job.runnable.end());
    const std::vector<weft::NodeId> nodes(view.free_nodes().begin(), view.free_nodes().end());
    for (weft::StageId stage_id : stages) {
      const StageInfo& stage = *job.stage(stage_id);
      for (weft::NodeId node_id : nodes) fill(view, job, stage, *view.node(node_id), decisions);
      if (stage.pending.empty()) continue;
      decisions.hold(job.id, stage_id, job.running >= limit_ ? "newest-first: the job is at its limit" : "newest-first: no room");
    }
  }

  void fill(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node, Decisions& decisions) const {
    while (job.running < limit_) {
      const auto pick = stage.pending.pick(node.id, node.host, node.rack);
      if (!pick) return;
      const weft::TaskId task{job.id, stage.id, pick->task};
      if (view.why_not(task, node.id)) return;  // no room
      if (!decisions.launch(task, node.id, "newest-first: of the newest job that is not at its limit")) return;
    }
  }

  std::uint64_t limit_;
};

}  // namespace

extern "C" PluginInterface weft_scheduler_plugin(PluginInterface host, Registry* registry) {
  return plugin_entry(host, registry, [](Registry& known) {
    return known.add("newest-first", "the job submitted last goes first; limit=N tasks of each job at a time",
                     [](Options& options) -> weft::Result<std::unique_ptr<Scheduler>> {
                       WEFT_ASSIGN(const std::uint64_t limit, options.whole("limit", UINT64_MAX));
                       return std::make_unique<NewestFirst>(limit);
                     });
  });
}
