#include "schedulers/parts/packing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "schedulers/parts/fair_ends.hpp"
#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/remote_sources.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/planning/alignment.hpp"

namespace weft::schedulers {

namespace {

/// Distinct demands that are remembered.
constexpr std::size_t kMaxShapes = 1000;

struct HashOfAmounts {
  std::size_t operator()(const Resources& amounts) const {
    std::uint64_t hash = 0;
    for (const auto& kind : kResourceKinds)
      hash = (hash ^ std::bit_cast<std::uint64_t>(amounts.*kind.amount + 0.0)) * 0x9e3779b97f4a7c15ULL;
    return hash ^ hash >> 32;
  }
};

class Packing final : public OrderingPolicy {
 public:
  explicit Packing(const PackingOptions& options) : options_(options) {}
  Asks asks() const override { return Asks::nodes_of_any_slot; }
  bool offers_all() const override { return options_.fairness == 0 && !options_.digits && !sources_.accounted(); }
  const FairEnds* fair_ends() const override { return options_.bounded ? &ends_ : nullptr; }
  bool wants_all_nodes() override { return std::exchange(refused_, false); }

  Result<void> start(const ClusterView& view, Part* before) override {
    const auto* old = dynamic_cast<const Packing*>(before);
    if (options_.bounded) ends_.start(view, old != nullptr && old->options_.bounded ? &old->ends_ : nullptr);
    for (const auto& [id, job] : view.jobs()) place(job, false);
    return {};
  }
  void on_event(const ClusterView& view, const Notice& notice) override {
    const bool ended = notice.kind == Notice::Kind::job_ended;
    sources_.on_event(notice);
    if (options_.bounded) ends_.on_event(view, notice);
    if (notice.kind == Notice::Kind::stage_added) work_.erase(notice.job);
    if (!ended && notice.kind != Notice::Kind::job_changed) return;
    work_.erase(notice.job);
    place(*view.job(notice.job), ended);
  }

  void begin(const ClusterView& view, std::size_t nodes) override {
    if (view.capacity() != capacity_) {
      capacity_ = view.capacity();
      if (options_.bounded) ends_.refresh(view);
      sources_.capacity_is(capacity_);
      work_.clear();
    }
    if (options_.bounded && std::exchange(measured_at_, ends_.changes()) != ends_.changes()) {
      for (auto& [order, runnable] : runnable_) measure(runnable);
    }
    if (shapes_.size() > kMaxShapes) forget_shapes();
    several_ = nodes > 1;
    if (several_) note_pending();
  }

  bool offer(const ClusterView& view, SlotKind, Launcher& launcher) override {
    const NodeInfo& node = *launcher.node();
    if (!launcher.starts_over() && options_.fairness == 0) {
      drop_what_no_longer_fits(node, launcher);
    } else {  // with a fairness knob, a launch changes which jobs are considered
      if (several_ && !fits_any(node)) return false;
      consider_all(view, node, launcher);
    }
    return !candidates_.empty() && launch_best(view, node, launcher);
  }

  /// Records each reason once, until the job or the reason changes.
  void explain(const ClusterView& view, Launcher& launcher) override {
    consider_jobs(view);
    for (Runnable* runnable : jobs_) hold_once(*runnable, "no free node has room for its tasks", launcher);
    if (jobs_.size() == runnable_.size()) return;
    const std::set<const Runnable*> considered(jobs_.begin(), jobs_.end());
    for (auto& [order, runnable] : runnable_) {
      if (!considered.contains(&runnable)) hold_once(runnable, "jobs with a smaller share go first (fairness)", launcher);
    }
  }

 private:
  /// A demand, which many stages may share, and how it suits the present node.
  struct Shape {
    Resources amounts;
    Parts parts{};                        // of the node's capacity
    bool fits = false, wanted = false;    // wanted: by a candidate
    double align = 0, near = 0, far = 0;  // near, far: the score by alignment alone, at the task's input and elsewhere
  };
  struct RunnableStage {
    const StageInfo* info;
    std::uint32_t shape;
    Home home;
  };
  /// A job with pending tasks and its runnable stages, until it changes.
  struct Runnable {
    const JobInfo* job = nullptr;
    bool known = false;
    std::vector<RunnableStage> stages;
    std::string_view last_reason;  // why it waits, as recorded
    double due_at = 0, rank = 0;   // where bounded: see FairEnds
  };
  struct Candidate {
    const JobInfo* job;
    const StageInfo* stage;
    Home home;
    std::uint32_t shape = 0;
    double factor = 1, work = 0;
    bool due = false, barrier = false, spent = false;
    bool weighed = false;  // false: `factor` is the most that it may be
  };
  /// A candidate's place in the order; the greatest first.
  struct Ranked {
    std::uint32_t group = 0;  // 2 for a job that is due, 1 more for a stage beyond its barrier
    double score = 0;
    std::uint32_t at = 0;  // in candidates_

    bool operator<(const Ranked& other) const {
      if (group != other.group) return group < other.group;
      return score != other.score ? score < other.score : at > other.at;
    }
  };

  /// A task on a node, and what it would draw from other nodes.
  struct Trial {
    const ClusterView& view;
    const NodeInfo& node;
    const JobInfo& job;
    const StageInfo& stage;
    std::uint32_t task = 0;
    RemoteSources::Draws draws{};
  };

  void place(const JobInfo& job, bool ended) {
    if (ended || job.pending == 0) {
      runnable_.erase(order_of(job));
    } else {
      Runnable& runnable = runnable_[order_of(job)];
      runnable.job = &job;
      runnable.known = false;
      runnable.last_reason = {};
      measure(runnable);
    }
  }

  void measure(Runnable& runnable) const {
    if (!options_.bounded || !ends_.contains(runnable.job->id)) return;
    runnable.due_at = ends_.due_at(runnable.job->id);
    runnable.rank = std::max(0.0, ends_.rank(runnable.job->id));
  }

  void consider_all(const ClusterView& view, const NodeInfo& node, Launcher& launcher) {
    candidates_.clear();
    wanted_.clear();
    some_spent_ = false;
    consider_jobs(view);
    for (Runnable* runnable : jobs_) learn(*runnable);
    const Resources used = sources_.used(node);
    for (Shape& shape : shapes_) {
      shape.parts = parts_of(shape.amounts, node.capacity, options_.digits);
      shape.fits = fits(shape.amounts, used, node.capacity);
      shape.wanted = false;
    }
    for (const Runnable* runnable : jobs_) {
      for (const RunnableStage& stage : runnable->stages) {
        if (shapes_[stage.shape].fits) consider(view, *runnable, stage, node, launcher);
      }
    }
  }

  void learn(Runnable& runnable) {
    if (std::exchange(runnable.known, true)) return;
    runnable.stages.clear();
    for (StageId id : runnable.job->runnable) {
      const StageInfo& stage = *runnable.job->stage(id);
      auto [found, added] = shape_of_.try_emplace(stage.demand, static_cast<std::uint32_t>(shapes_.size()));
      if (added) shapes_.push_back({stage.demand});
      runnable.stages.push_back({&stage, found->second, home_of(*runnable.job, stage)});
    }
  }

  /// The distinct demands of pending tasks: few, however many stages there are.
  void note_pending() {
    for (Shape& shape : shapes_) shape.wanted = false;
    pending_.clear();
    for (auto& [order, runnable] : runnable_) {
      learn(runnable);
      for (const RunnableStage& stage : runnable.stages) {
        if (!std::exchange(shapes_[stage.shape].wanted, true)) pending_.push_back(stage.shape);
      }
    }
  }

  bool fits_any(const NodeInfo& node) const {
    const Resources used = sources_.used(node);
    return std::any_of(pending_.begin(), pending_.end(),
                       [&](std::uint32_t shape) { return fits(shapes_[shape].amounts, used, node.capacity); });
  }

  static void hold_once(Runnable& runnable, std::string_view reason, Launcher& launcher) {
    if (std::exchange(runnable.last_reason, reason) != reason) launcher.hold(runnable.job->id, reason);
  }

  void forget_shapes() {
    shapes_.clear();
    shape_of_.clear();
    for (auto& [order, runnable] : runnable_) runnable.known = false;
  }

  bool launch_best(const ClusterView& view, const NodeInfo& node, Launcher& launcher) {
    const Parts free = parts_of(node.capacity - sources_.used(node), node.capacity, options_.digits);
    for (const std::uint32_t index : wanted_) {
      Shape& shape = shapes_[index];
      shape.align = alignment(shape.parts, free, options_.digits);
      shape.near = rounded(shape.align, options_.digits);
      shape.far = rounded(shape.align * options_.penalty, options_.digits);
    }
    epsilon_ = options_.srtf ? weight_of_work() : 0;
    rank_.clear();
    for (std::uint32_t i = 0; i < candidates_.size(); ++i) add_rank(i);
    in_heap_ = false;
    while (Candidate* best = next_best(node, launcher)) {
      if (launch(view, node, *best, launcher)) return true;
      best->spent = some_spent_ = true;
    }
    return false;
  }

  /// Takes it out of rank_. Null: there is none. Where the place of a candidate's input is not known yet, it is ranked again when
  /// it comes first: looking for all of them would take most of the time.
  Candidate* next_best(const NodeInfo& node, Launcher& launcher) {
    for (bool first = true; !rank_.empty(); first = false) {
      best_to_back(first);
      const std::uint32_t at = rank_.back().at;
      rank_.pop_back();
      Candidate& best = candidates_[at];
      const double most = best.factor;
      best.spent = !best.weighed && !weigh_input(best, node, launcher);
      some_spent_ = some_spent_ || best.spent;
      if (best.spent) continue;
      if (best.factor == most) return &best;
      if (add_rank(at) && in_heap_) std::ranges::push_heap(rank_, std::less<>());
    }
    return nullptr;
  }

  /// Mostly one is enough: only then is all of rank_ ordered.
  void best_to_back(bool only) {
    if (!in_heap_ && only) return std::swap(*std::ranges::max_element(rank_, std::less<>()), rank_.back());
    if (!in_heap_) std::ranges::make_heap(rank_, std::less<>());
    in_heap_ = true;
    std::ranges::pop_heap(rank_, std::less<>());
  }

  bool launch(const ClusterView& view, const NodeInfo& node, Candidate& candidate, Launcher& launcher) {
    Trial trial{view, node, *candidate.job, *candidate.stage};
    if (!launcher.launch(*candidate.job, *candidate.stage, "packs best",
                         [this, &trial](std::uint32_t task) { return may_draw(trial, task); }))
      return false;
    sources_.charge({candidate.job->id, candidate.stage->id, trial.task}, node.id, std::move(trial.draws));
    launched_ = &candidate;
    return true;
  }

  /// Whether the sources of the task have free capacity for what it draws.
  bool may_draw(Trial& trial, std::uint32_t task) {
    auto draws = sources_.draws(trial.view, trial.job, trial.stage, task, trial.node);
    refused_ = refused_ || !draws;
    if (!draws) return false;
    trial.task = task;
    trial.draws = std::move(*draws);
    return true;
  }

  /// False: it waits, because with digits and alignment alone it scores 0.
  bool add_rank(std::uint32_t at) {
    const Candidate& c = candidates_[at];
    const Shape& shape = shapes_[c.shape];
    const double score = options_.srtf   ? rounded(shape.align * c.factor - epsilon_ * c.work, options_.digits)
                         : c.factor == 1 ? shape.near
                                         : shape.far;
    if (options_.digits && !options_.srtf && score <= 0) return false;
    rank_.push_back({(c.due ? 2u : 0u) + (c.barrier ? 1u : 0u), score, at});
    return true;
  }

  /// So that alignment and remaining work weigh the same among the candidates.
  double weight_of_work() const {
    double align = 0, work = 0;
    for (const Candidate& c : candidates_) {
      align += shapes_[c.shape].align * c.factor;
      work += c.work;
    }
    return work > 0 ? align / work : 0;
  }

  void drop_what_no_longer_fits(const NodeInfo& node, Launcher& launcher) {
    const Resources used = sources_.used(node);
    const bool fewer = std::erase_if(wanted_, [&](std::uint32_t index) {
                         Shape& shape = shapes_[index];
                         shape.fits = fits(shape.amounts, used, node.capacity);
                         return !shape.fits;
                       }) > 0;
    launched_->spent = !weigh_input(*launched_, node, launcher);
    if (!std::exchange(some_spent_, false) && !fewer && !launched_->spent) return;
    std::erase_if(candidates_, [&](const Candidate& c) { return c.spent || !shapes_[c.shape].fits; });
  }

  /// False when none of the stage's tasks is left for this node.
  bool weigh_input(Candidate& candidate, const NodeInfo& node, Launcher& launcher) const {
    const auto near = launcher.nearest(*candidate.job, *candidate.stage);
    if (!near) return false;
    const bool remote = *near != Locality::node || (candidate.home.some && candidate.home.node != node.id);
    candidate.factor = remote ? options_.penalty : 1;
    candidate.weighed = true;
    return true;
  }

  /// The jobs that are considered: with a fairness knob only those with the smallest dominant shares.
  void consider_jobs(const ClusterView& view) {
    jobs_.clear();
    for (auto& [order, runnable] : runnable_) jobs_.push_back(&runnable);
    if (options_.fairness <= 0 || jobs_.size() < 2) return;
    const auto keep = static_cast<std::size_t>(std::ceil((1 - options_.fairness) * static_cast<double>(jobs_.size()) - 1e-9));
    auto share = [&view](const Runnable* r) { return dominant_share(r->job->used, view.capacity()) / r->job->hints.weight; };
    std::stable_sort(jobs_.begin(), jobs_.end(), [&share](const Runnable* a, const Runnable* b) { return share(a) < share(b); });
    jobs_.resize(keep);
  }

  void consider(const ClusterView& view, const Runnable& runnable, const RunnableStage& of, const NodeInfo& node,
                Launcher& launcher) {
    const JobInfo& job = *runnable.job;
    const StageInfo& stage = *of.info;
    Candidate candidate{&job, &stage, of.home, of.shape};
    if (!options_.bounded && !weigh_input(candidate, node, launcher)) return;  // otherwise when it may be the best
    candidate.barrier = static_cast<double>(stage.finished) >= options_.barrier * static_cast<double>(stage.tasks.size());
    candidate.due = options_.bounded && runnable.due_at <= ends_.clock();
    if (options_.srtf) candidate.work = options_.bounded ? runnable.rank : work_of(view, job);
    candidates_.push_back(candidate);
    if (!std::exchange(shapes_[of.shape].wanted, true)) wanted_.push_back(of.shape);
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

  PackingOptions options_;
  FairEnds ends_{Weights()};  // where bounded
  std::uint64_t measured_at_ = 0;
  std::map<JobOrder, Runnable> runnable_;
  Resources capacity_;
  std::map<JobId, double> work_;        // remaining, where it has not changed since it was computed
  std::vector<std::uint32_t> pending_;  // shapes of pending tasks, when several nodes are free
  std::vector<Runnable*> jobs_;         // that are considered
  std::vector<Shape> shapes_;
  std::vector<std::uint32_t> wanted_;  // shapes that fit, of candidates
  std::unordered_map<Resources, std::uint32_t, HashOfAmounts> shape_of_;
  std::vector<Candidate> candidates_;  // stages whose tasks fit the present node, in the order of jobs and stages
  std::vector<Ranked> rank_;           // those that were not tried yet
  bool in_heap_ = false;               // rank_ is one
  bool some_spent_ = false;            // candidates that have nothing for the node
  double epsilon_ = 0;                 // see the header
  Candidate* launched_ = nullptr;
  RemoteSources sources_;
  bool several_ = false;  // nodes have free capacity
  bool refused_ = false;  // a task was refused for its sources since all nodes were offered
};

}  // namespace

Result<PackingOptions> take_packing(Options& options) {
  PackingOptions packing;
  WEFT_ASSIGN(packing.fairness, options.number("fairness", 0, 0, 0.999999));
  WEFT_ASSIGN(packing.barrier, options.number("barrier", 0.9, 0, 1e9));
  WEFT_ASSIGN(packing.penalty, options.number("penalty", 0.9, 0, 1));
  WEFT_ASSIGN(packing.digits, take_digits(options));
  WEFT_ASSIGN(packing.srtf, options.flag("srtf", true));
  return packing;
}

std::unique_ptr<OrderingPolicy> packing_order(const PackingOptions& options) { return std::make_unique<Packing>(options); }

}  // namespace weft::schedulers
