#include "schedulers/parts/network_gains.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "schedulers/prediction/work_left.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

namespace {

constexpr double kPays = 1.0 / 3;      // of the bytes that cross otherwise: where more are left, jobs are not kept to racks
constexpr double kBusyTogether = 0.6;  // mean used part of the uplinks
constexpr double kMostOfIt = 0.5;      // a rack with a larger part of a reduce's input is its home
constexpr double kRatioKept = 0.95;    // of what earlier maps read and wrote, when those of another job have ended
constexpr double kLongestPass = 30;    // seconds

constexpr std::string_view kPasses = "waits for room in the racks of its data: the uplinks are saturated, and it would cross them";

double waiting_tasks(const StageInfo& stage) { return static_cast<double>(stage.tasks.size() - stage.finished - stage.running); }

double seconds_of(const ClusterView& view, const JobInfo& job, const StageInfo& stage) {
  return task_length(view, job, stage).value_or(in_seconds(task_duration(stage).value));
}

/// Tasks of that demand that a rack can run at a time.
double slots_of(const RackInfo& rack, const Resources& demand) {
  return std::max(1.0, rack.capacity.cpu / std::max(0.1, demand.cpu));
}

Time time_of(double seconds) { return std::chrono::duration_cast<Time>(std::chrono::duration<double>(seconds)); }

}  // namespace

/// Offers a node to jobs that do not pass on it.
class NetworkGains::Choosy final : public Launcher {
 public:
  Choosy(NetworkGains& owner, const ClusterView& view, Launcher& inner) : owner_(owner), view_(view), inner_(inner) {}

  bool launch(const JobInfo& job) override {
    passing_.clear();
    for (const StageId id : job.runnable) {
      if (owner_.passes(view_, job, *job.stage(id), *inner_.node(), inner_)) passing_.push_back(id);
    }
    if (passing_.empty()) return inner_.launch(job);
    inner_.hold(job.id, kPasses);
    if (passing_.size() == job.runnable.size()) return false;
    return std::ranges::any_of(job.runnable, [&](StageId id) {
      return std::ranges::find(passing_, id) == passing_.end() && inner_.launch(job, *job.stage(id), Locality::any);
    });
  }
  bool launch(const JobInfo& job, const StageInfo& stage, Locality farthest) override {
    return !owner_.passes(view_, job, stage, *inner_.node(), inner_) && inner_.launch(job, stage, farthest);
  }
  bool launch(const JobInfo& job, const StageInfo& stage, std::string_view reason, const TaskCheck& may) override {
    return !owner_.passes(view_, job, stage, *inner_.node(), inner_) && inner_.launch(job, stage, reason, may);
  }
  std::optional<Locality> nearest(const JobInfo& job, const StageInfo& stage) override { return inner_.nearest(job, stage); }
  void hold(JobId job, std::string_view reason) override { inner_.hold(job, reason); }
  bool starts_over() const override { return inner_.starts_over(); }
  Locality farthest() const override { return inner_.farthest(); }
  const NodeInfo* node() const override { return inner_.node(); }

 private:
  NetworkGains& owner_;
  const ClusterView& view_;
  Launcher& inner_;
  std::vector<StageId> passing_;
};

NetworkGains::NetworkGains(std::unique_ptr<OrderingPolicy> users, const NetworkGainsOptions& options)
    : users_(std::move(users)), options_(options), load_(options.load), reduce_racks_(options.map_completion) {}

Result<void> NetworkGains::start(const ClusterView& view, Part* before) {
  auto* old = dynamic_cast<NetworkGains*>(before);
  WEFT_TRY(users_->start(view, old != nullptr ? old->users_.get() : before));
  on_ = racks_with_nodes(view) > 1;
  for (const auto& [id, job] : view.jobs()) {
    for (const auto& [stage, info] : job.stages)
      map_racks_.on_event(view, {.kind = Notice::Kind::stage_added, .job = id, .stage = stage});
  }
  return {};
}

void NetworkGains::on_event(const ClusterView& view, const Notice& notice) {
  using Event = Notice::Kind;
  users_->on_event(view, notice);
  map_racks_.on_event(view, notice);
  reduce_racks_.on_event(view, notice);
  const Key key{notice.job, notice.stage};
  switch (notice.kind) {
    case Event::node_joined:
    case Event::node_left: {
      const bool last = notice.kind == Event::node_left && view.rack(view.node(notice.node)->rack)->nodes.size() == 1;
      on_ = racks_with_nodes(view) > (last ? 2 : 1);
      inputs_.clear();
      return;
    }
    case Event::stage_ready:
      inputs_.erase(key);
      return;
    case Event::task_launched:
      since_.erase(key);
      return;
    case Event::task_finished: {
      const StageInfo* stage = view.stage(notice.job, notice.stage);
      if (stage != nullptr && stage->finished == 1 && !stage->reads_shuffle) map_racks_.choose_again(notice.job);
      return;
    }
    case Event::stage_complete:
      learn_ratio(*view.stage(notice.job, notice.stage));
      return;
    case Event::job_changed:
      claim(view, notice.job);
      return;
    case Event::job_ended:
      erase_job(since_, notice.job);
      erase_job(inputs_, notice.job);
      claim(view, notice.job);
      return;
    default:
      return;
  }
}

bool NetworkGains::tick(const ClusterView& view, Decisions&) {
  load_.sample(view);
  saturated_ = load_.mean() > kBusyTogether &&
               std::ranges::any_of(view.racks(), [this](const auto& entry) { return load_.saturated(entry.first); });
  return std::exchange(waiting_, false);
}

void NetworkGains::begin(const ClusterView& view, std::size_t nodes) {
  users_->begin(view, nodes);
  if (!on_ || !options_.samp) return;
  for (const JobId job : map_racks_.refresh(view, [this](const JobInfo& of) { return ratio_of(of); })) claim(view, job);
}

void NetworkGains::decided(const ClusterView&, Decisions& decisions) {
  if (const auto at = std::exchange(wake_, {})) decisions.wake_at(*at);
}

bool NetworkGains::offer(const ClusterView& view, SlotKind kind, Launcher& launcher) {
  if (!acts() || launcher.node() == nullptr) return users_->offer(view, kind, launcher);
  Choosy choosy(*this, view, launcher);
  last_ = passed_ = false;
  if (users_->offer(view, kind, choosy)) return true;
  if (!passed_) return false;
  last_ = true;  // nobody else needs the node
  return users_->offer(view, kind, choosy);
}

std::optional<std::uint32_t> NetworkGains::far_prefetches(RackId rack) const {
  if (!options_.shapes_traffic) return std::nullopt;
  return on_ && load_.saturated(rack) ? options_.tokens : UINT32_MAX;
}

RackParts NetworkGains::parts_for(const ClusterView& view, const JobInfo& job, const StageInfo& reader) const {
  const MapRacks* chosen = paying_choice(job.id);
  if (!on_ || !options_.sarp || chosen == nullptr || !acts()) return {};
  return reduce_racks_.parts(view, job, reader, chosen, map_racks_.kept());
}

/// The waiting maps of the job count for the racks that they are kept to.
void NetworkGains::claim(const ClusterView& view, JobId id) {
  if (const auto before = claims_.find(id); before != claims_.end()) {
    for (const auto& [rack, seconds] : before->second) claimed_[rack] -= seconds;
    claims_.erase(before);
  }
  const JobInfo* job = view.job(id);
  const MapRacks* chosen = paying_choice(id);
  if (job == nullptr || chosen == nullptr) return;
  double seconds = 0;
  for (const StageId stage_id : job->runnable) {
    const StageInfo& stage = *job->stage(stage_id);
    if (!stage.reads_shuffle) seconds += waiting_tasks(stage) * seconds_of(view, *job, stage);
  }
  if (seconds == 0) return;
  auto& claims = claims_[id];
  for (const auto& [rack, part] : chosen->parts) {
    claims[rack] = part * seconds;
    claimed_[rack] += part * seconds;
  }
}

const MapRacks* NetworkGains::paying_choice(JobId job) const {
  const MapRacks* chosen = options_.samp ? map_racks_.of(job) : nullptr;
  return chosen != nullptr && chosen->cross_bytes <= kPays * chosen->spread_bytes ? chosen : nullptr;
}

void NetworkGains::learn_ratio(const StageInfo& maps) {
  if (maps.reads_shuffle || !maps.writes_shuffle) return;
  read_ = kRatioKept * read_ + static_cast<double>(maps.input_bytes);
  written_ = kRatioKept * written_ + static_cast<double>(maps.output.total_bytes());
}

double NetworkGains::ratio_of(const JobInfo& job) const {
  const Estimate<double> own = shuffle_ratio(job);
  return own.source == EstimateSource::assumed && read_ > 0 ? written_ / read_ : own.value;
}

double NetworkGains::capacity_of(const RackInfo& rack) const {
  const double known = std::min(rack.uplink.up, rack.uplink.down);
  return known > 0 ? known : options_.load.guess ? rack.most_cross_rack.up : 0;
}

double NetworkGains::seconds_on_uplink(const RackInfo& rack, double bytes) const {
  const double carries = capacity_of(rack);
  return carries > 0 ? bytes / (carries / std::max(1.0, rack.capacity.cpu)) : 0;
}

NetworkGains::Saving NetworkGains::of_map(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node,
                                          Launcher& launcher) {
  Saving saving;
  if (!stage.pending.placed()) return saving;
  const auto near = launcher.nearest(job, stage);
  if (!near) return saving;
  const double chunk = static_cast<double>(stage.tasks[0].input_bytes);
  const MapRacks* chosen = paying_choice(job.id);
  if (chosen == nullptr || chosen->has(node.rack)) return saving;
  if (*near == Locality::any) saving.bytes = chunk;
  saving.saturated = load_.saturated(node.rack);
  double most = 0;
  saving.queued = 1e9;
  for (const auto& [id, part] : chosen->parts) {
    const RackInfo* rack = view.rack(id);
    if (rack == nullptr) continue;
    most = std::max(most, part);
    saving.queued = std::min(saving.queued, claimed_[id] / slots_of(*rack, stage.demand));
    saving.saturated = saving.saturated || load_.saturated(id);
  }
  if (stage.writes_shuffle) saving.bytes += ratio_of(job) * chunk * most;
  return saving;
}

NetworkGains::Saving NetworkGains::of_reduce(const ClusterView& view, const JobInfo& job, const StageInfo& stage,
                                             const NodeInfo& node) {
  Saving saving;
  if (!options_.sarp || stage.tasks.empty() || maps_ended(job, stage) < 1) return saving;
  const auto [parts, added] = inputs_.try_emplace({job.id, stage.id});
  if (added) parts->second = shuffle_by_rack(view, job, stage);
  double here = 0, most = 0;
  RackId best = node.rack;
  for (const auto& [rack, part] : parts->second) {
    if (rack == node.rack) here = part;
    if (part > most) most = part, best = rack;
  }
  const RackInfo* rack = view.rack(best);
  if (best == node.rack || rack == nullptr || most <= kMostOfIt) return saving;
  double bytes = 0;
  for (const StageId parent : stage.parents) bytes += static_cast<double>(job.stage(parent)->output.total_bytes());
  saving.bytes = bytes / static_cast<double>(stage.tasks.size()) * (most - here);
  saving.queued = waiting_tasks(stage) * seconds_of(view, job, stage) / slots_of(*rack, stage.demand);
  saving.saturated = load_.saturated(node.rack) || load_.saturated(best);
  return saving;
}

NetworkGains::Saving NetworkGains::saving(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node,
                                          Launcher& launcher) {
  return stage.reads_shuffle ? of_reduce(view, job, stage, node) : of_map(view, job, stage, node, launcher);
}

bool NetworkGains::passes(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node,
                          Launcher& launcher) {
  const Saving would = saving(view, job, stage, node, launcher);
  if (!would.saturated || would.bytes <= 0) return false;
  const double seconds = std::min(kLongestPass, seconds_on_uplink(*view.rack(node.rack), would.bytes));
  if (last_ && seconds <= would.queued) return false;
  const Time since = since_.try_emplace({job.id, stage.id}, view.now()).first->second,
             until = since + time_of(last_ ? seconds : kLongestPass);
  if (view.now() >= until) return false;
  passed_ = true;
  if (!last_) return true;
  waiting_ = true;
  wake_ = std::min(wake_.value_or(Time::max()), until);
  return true;
}

}  // namespace weft::schedulers
