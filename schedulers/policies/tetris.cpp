#include "schedulers/policies/tetris.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "schedulers/policies/ranked_jobs.hpp"
#include "schedulers/policies/stage_orders.hpp"

namespace weft::sched {

namespace {

struct Knobs {
  double fairness = 0, barrier = 0.9, penalty = 0.9;
  bool srtf = true;
};

/// sum over resources of a * b, as parts of `capacity`.
double dot(const Resources& a, const Resources& b, const Resources& capacity) {
  double sum = 0;
  for (const auto& kind : kResourceKinds) {
    const double all = capacity.*kind.amount;
    if (all > 0) sum += (a.*kind.amount / all) * (b.*kind.amount / all);
  }
  return sum;
}

class Tetris final : public Scheduler {
 public:
  explicit Tetris(const Knobs& knobs) : knobs_(knobs) {}
  std::string_view name() const override { return "tetris"; }
  bool work_conserving() const override { return knobs_.fairness == 0; }

  void on_event(const ClusterView&, const Notice& notice) override {
    if (notice.kind == Notice::Kind::job_ended || notice.kind == Notice::Kind::job_changed) work_.erase(notice.job);
  }

  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override {
    if (view.runnable_jobs().empty() || view.free_nodes().empty()) return;
    if (view.capacity() != capacity_) {
      capacity_ = view.capacity();
      work_.clear();
    }
    std::vector<NodeId> nodes;
    if (trigger.kind != Trigger::Kind::node) {
      nodes.assign(view.free_nodes().begin(), view.free_nodes().end());
    } else if (view.free_nodes().contains(trigger.node)) {
      nodes.push_back(trigger.node);
    }
    for (NodeId node : nodes) {
      while (view.free_nodes().contains(node) && pack_one(view, *view.node(node), decisions)) {
      }
      if (view.runnable_jobs().empty()) return;
    }
  }

 private:
  struct Candidate {
    const JobInfo* job;
    const StageInfo* stage;
    std::uint32_t task = 0;
    double align = 0, work = 0;
    bool barrier = false;
  };

  bool pack_one(const ClusterView& view, const NodeInfo& node, Decisions& decisions) {
    candidates_.clear();
    consider_jobs(view);
    for (const JobInfo* job : jobs_) {
      for (StageId id : job->runnable) consider(view, *job, *job->stage(id), node);
    }
    double align = 0, work = 0;
    for (const Candidate& c : candidates_) align += c.align, work += c.work;
    const double epsilon = knobs_.srtf && work > 0 ? align / work : 0;
    const Candidate* best = nullptr;
    double best_score = 0;
    for (const Candidate& c : candidates_) {
      const double score = c.align - epsilon * c.work;
      const bool better = best == nullptr || (c.barrier != best->barrier ? c.barrier : score > best_score);
      if (better) best = &c, best_score = score;
    }
    if (best == nullptr) return false;
    return decisions.launch(TaskId{best->job->id, best->stage->id, best->task}, node.id, "tetris: packs best").has_value();
  }

  /// The jobs that may take part: with a fairness knob those with the smallest dominant shares only.
  void consider_jobs(const ClusterView& view) {
    jobs_.clear();
    for (const JobOrder& next : view.runnable_jobs()) jobs_.push_back(view.job(next.id));
    if (knobs_.fairness <= 0 || jobs_.size() < 2) return;
    const auto keep = static_cast<std::size_t>(std::ceil((1 - knobs_.fairness) * static_cast<double>(jobs_.size()) - 1e-9));
    auto share = [&view](const JobInfo* job) { return dominant_share(job->used, view.capacity()) / job->hints.weight; };
    std::stable_sort(jobs_.begin(), jobs_.end(), [&share](const JobInfo* a, const JobInfo* b) { return share(a) < share(b); });
    jobs_.resize(keep);
  }

  void consider(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node) {
    if (!fits(stage.demand, node.used, node.capacity)) return;
    const auto pick = stage.pending.pick(node.id, node.host, node.rack);
    if (!pick) return;
    Candidate& candidate = candidates_.emplace_back(Candidate{&job, &stage, pick->task});
    candidate.align = dot(stage.demand, node.free(), node.capacity);
    if (pick->locality != Locality::node && !stage.pending.hosts(pick->task).empty()) candidate.align *= knobs_.penalty;
    candidate.barrier = static_cast<double>(stage.finished) >= knobs_.barrier * static_cast<double>(stage.tasks.size());
    if (knobs_.srtf) candidate.work = work_of(view, job);
  }

  double work_of(const ClusterView& view, const JobInfo& job) {
    auto [found, added] = work_.try_emplace(job.id, 0.0);
    if (!added) return found->second;
    for (const auto& [id, stage] : job.stages) {
      double demand = 0;
      for (const auto& kind : kResourceKinds) {
        if (view.capacity().*kind.amount > 0) demand += stage.demand.*kind.amount / view.capacity().*kind.amount;
      }
      found->second += demand * static_cast<double>(stage.tasks.size() - stage.finished) * task_seconds(stage);
    }
    return found->second;
  }

  Knobs knobs_;
  Resources capacity_;
  std::map<JobId, double> work_;  // remaining, where it is known to be right
  std::vector<const JobInfo*> jobs_;
  std::vector<Candidate> candidates_;
};

}  // namespace

Result<std::unique_ptr<Scheduler>> make_tetris(Options& options) {
  Knobs knobs;
  WEFT_ASSIGN(knobs.fairness, options.number("fairness", 0, 0, 0.999999));
  WEFT_ASSIGN(knobs.barrier, options.number("barrier", 0.9, 0, 1e9));
  WEFT_ASSIGN(knobs.penalty, options.number("penalty", 0.9, 0, 1));
  WEFT_ASSIGN(knobs.srtf, options.flag("srtf", true));
  return std::make_unique<Tetris>(knobs);
}

}  // namespace weft::sched
