#include "schedulers/policies/tetris.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "schedulers/policies/ranked_jobs.hpp"
#include "schedulers/policies/stage_orders.hpp"

namespace weft::sched {

namespace {

struct Knobs {
  double fairness = 0, barrier = 0.9, penalty = 0.9, round = 0;
  bool srtf = true;
};

/// As parts of `capacity`; 0 where nothing is accounted.
std::array<double, kResourceKinds.size()> parts_of(const Resources& amounts, const Resources& capacity) {
  std::array<double, kResourceKinds.size()> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double all = capacity.*kResourceKinds[i].amount;
    if (all > 0) parts[i] = amounts.*kResourceKinds[i].amount / all;
  }
  return parts;
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
    for (NodeId id : nodes) {
      if (view.runnable_jobs().empty()) return;
      const NodeInfo& node = *view.node(id);
      consider_all(view, node);
      while (!candidates_.empty() && launch_best(node, decisions)) {
        if (knobs_.fairness > 0) {  // a launch changes who is furthest below its share
          consider_all(view, node);
        } else {
          drop_what_no_longer_fits(node);
        }
      }
    }
  }

 private:
  struct Candidate {
    const JobInfo* job;
    const StageInfo* stage;
    std::uint32_t task = 0;
    std::array<double, kResourceKinds.size()> demand{};
    double factor = 1, work = 0;
    bool barrier = false;
    double align = 0;
  };

  void consider_all(const ClusterView& view, const NodeInfo& node) {
    candidates_.clear();
    consider_jobs(view);
    for (const JobInfo* job : jobs_) {
      for (StageId id : job->runnable) consider(view, *job, *job->stage(id), node);
    }
  }

  bool launch_best(const NodeInfo& node, Decisions& decisions) {
    const auto free = parts_of(node.free(), node.capacity);
    double align = 0, work = 0;
    for (Candidate& c : candidates_) {
      c.align = 0;
      for (std::size_t i = 0; i < free.size(); ++i) c.align += c.demand[i] * free[i];
      c.align *= c.factor;
      align += c.align, work += c.work;
    }
    const double epsilon = knobs_.srtf && work > 0 ? align / work : 0;
    Candidate* best = nullptr;
    double best_score = 0;
    for (Candidate& c : candidates_) {
      double score = c.align - epsilon * c.work;
      if (knobs_.round > 0) score = std::round(score / knobs_.round);
      const bool better = best == nullptr || (c.barrier != best->barrier ? c.barrier : score > best_score);
      if (better) best = &c, best_score = score;
    }
    if (!decisions.launch(TaskId{best->job->id, best->stage->id, best->task}, node.id, "tetris: packs best")) return false;
    launched_ = best->stage;
    return true;
  }

  void drop_what_no_longer_fits(const NodeInfo& node) {
    std::erase_if(candidates_, [&](Candidate& c) {
      return !fits(c.stage->demand, node.used, node.capacity) || (c.stage == launched_ && !choose_task(c, node));
    });
  }

  /// The nearest of the stage's tasks; false when none is left for this node.
  bool choose_task(Candidate& candidate, const NodeInfo& node) const {
    const PendingTasks& pending = candidate.stage->pending;
    const auto pick = pending.pick(node.id, node.host, node.rack);
    if (!pick) return false;
    candidate.task = pick->task;
    candidate.factor = pick->locality != Locality::node && !pending.hosts(pick->task).empty() ? knobs_.penalty : 1;
    return true;
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
    Candidate candidate{&job, &stage};
    if (!choose_task(candidate, node)) return;
    candidate.demand = parts_of(stage.demand, node.capacity);
    candidate.barrier = static_cast<double>(stage.finished) >= knobs_.barrier * static_cast<double>(stage.tasks.size());
    if (knobs_.srtf) candidate.work = work_of(view, job);
    candidates_.push_back(candidate);
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
  std::vector<Candidate> candidates_;  // what fits the node at hand, in the order of jobs and stages
  const StageInfo* launched_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Scheduler>> make_tetris(Options& options) {
  Knobs knobs;
  WEFT_ASSIGN(knobs.fairness, options.number("fairness", 0, 0, 0.999999));
  WEFT_ASSIGN(knobs.barrier, options.number("barrier", 0.9, 0, 1e9));
  WEFT_ASSIGN(knobs.penalty, options.number("penalty", 0.9, 0, 1));
  WEFT_ASSIGN(knobs.round, options.number("round", 0, 0, 1));
  WEFT_ASSIGN(knobs.srtf, options.flag("srtf", true));
  return std::make_unique<Tetris>(knobs);
}

}  // namespace weft::sched
