#include "schedulers/parts/network_aware.hpp"

#include <algorithm>
#include <utility>

#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/stage_orders.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

enum class NassKind : std::uint8_t {
  starved,
  home_reduce,
  preferred_map,
  node_map,
  rack_map,
  any_map,
  light_part,
  light_reduce,
  heavy_part,
  heavy_reduce,
  early_part,
  early_reduce,
};

namespace {

struct NassRule {
  NassKind kind;
  std::string_view reason;  // of its launch
  int saturated;            // its place among the kinds where the uplink of the rack is saturated
  int otherwise;
};
/// By kind. An early reduce comes last; with a saturated uplink it does not come at all.
constexpr std::array kRules{
    NassRule{NassKind::starved, "shufflewatcher: its job has waited for long", 0, 0},
    NassRule{NassKind::home_reduce, "shufflewatcher: reduce, most of its input in this rack", 1, 1},
    NassRule{NassKind::preferred_map, "shufflewatcher: map in a rack chosen for its job", 2, 6},
    NassRule{NassKind::node_map, "shufflewatcher: map, input on this node", 3, 7},
    NassRule{NassKind::rack_map, "shufflewatcher: map, input in this rack", 4, 8},
    NassRule{NassKind::any_map, "shufflewatcher: map, input in another rack", 5, 9},
    NassRule{NassKind::light_part, "shufflewatcher: reduce of a light job, where its input is", 6, 4},
    NassRule{NassKind::light_reduce, "shufflewatcher: reduce of a light job", 7, 5},
    NassRule{NassKind::heavy_part, "shufflewatcher: reduce of a heavy job, where its input is", 8, 2},
    NassRule{NassKind::heavy_reduce, "shufflewatcher: reduce of a heavy job", 9, 3},
    NassRule{NassKind::early_part, "shufflewatcher: reduce before its maps have ended, where its input will be", 10, 10},
    NassRule{NassKind::early_reduce, "shufflewatcher: reduce before its maps have ended", 11, 11},
};
constexpr const NassRule& rule_of(NassKind kind) { return kRules.at(static_cast<std::size_t>(kind)); }

constexpr bool rules_are_complete() {
  unsigned saturated = 0, otherwise = 0;
  for (std::size_t i = 0; i < kRules.size(); ++i) {
    if (kRules[i].kind != static_cast<NassKind>(i)) return false;
    saturated |= 1u << kRules[i].saturated;
    otherwise |= 1u << kRules[i].otherwise;
  }
  return saturated == otherwise && saturated + 1 == 1u << kRules.size();
}
static_assert(kRules.back().kind == NassKind::early_reduce && rules_are_complete(),
              "a rule for each kind, each at a place of its own");

constexpr double kLongestWait = 10;  // seconds that a map waits for the racks of its job
constexpr double kHome = 0.5;        // a rack with a larger part of a reduce's input is its home

constexpr std::string_view kOthersFirst =
    "waits a little: the uplink of the rack that has room is saturated, and it would cross it";
constexpr std::string_view kItsRacksFirst = "waits a little for room in the racks that were chosen for its maps";
constexpr std::string_view kUplinkSaturated = "waits for its maps: the uplink of the rack that has room is saturated";

bool inputs_complete(const JobInfo& job, const StageInfo& stage) {
  return std::ranges::all_of(stage.parents, [&](StageId id) { return job.stage(id)->complete(); });
}

}  // namespace

/// Launches a task of the user whose job the order of users offers.
class NetworkAware::UsersLauncher final : public Launcher {
 public:
  UsersLauncher(NetworkAware& owner, Call& call) : owner_(owner), call_(call) {}
  bool launch(const JobInfo& job) override { return owner_.launch_for(call_, job); }
  void hold(JobId job, std::string_view reason) override { call_.launcher.hold(job, reason); }
  const NodeInfo* node() const override { return &call_.node; }

 private:
  NetworkAware& owner_;
  Call& call_;
};

NetworkAware::NetworkAware(std::unique_ptr<OrderingPolicy> users, const JobGroups* groups, const NetworkAwareOptions& options)
    : users_(std::move(users)), groups_(groups), options_(options), load_(options.load), reduce_racks_(options.map_completion) {}

Result<void> NetworkAware::start(const ClusterView& view, Part* before) {
  auto* old = dynamic_cast<NetworkAware*>(before);
  WEFT_TRY(users_->start(view, old != nullptr ? old->users_.get() : before));
  on_ = racks_with_nodes(view) > 1;
  for (const auto& [id, job] : view.jobs()) {
    arrive(job);
    change(job);
    for (const auto& [stage, info] : job.stages)
      map_racks_.on_event(view, {.kind = Notice::Kind::stage_added, .job = id, .stage = stage});
  }
  return {};
}

void NetworkAware::on_event(const ClusterView& view, const Notice& notice) {
  using Event = Notice::Kind;
  users_->on_event(view, notice);
  map_racks_.on_event(view, notice);
  reduce_racks_.on_event(view, notice);
  if (notice.kind == Event::node_joined || notice.kind == Event::node_left) {
    const bool last = notice.kind == Event::node_left && view.rack(view.node(notice.node)->rack)->nodes.size() == 1;
    on_ = racks_with_nodes(view) > (last ? 2 : 1);
  } else if (notice.kind == Event::job_arrived) {
    arrive(*view.job(notice.job));
    jobs_[notice.job].served = view.now();
  } else if (notice.kind == Event::job_changed) {
    change(*view.job(notice.job));
  } else if (notice.kind == Event::job_ended) {
    end(*view.job(notice.job));
  } else if (notice.kind == Event::task_launched) {
    if (const auto job = jobs_.find(notice.job); job != jobs_.end()) job->second.served = view.now();
  }
}

void NetworkAware::arrive(const JobInfo& info) {
  Job& job = jobs_[info.id];
  job.info = &info;
  job.served = info.submitted;
  ++by_user_[{info.user, info.pool}].jobs;
}

void NetworkAware::change(const JobInfo& info) {
  const auto job = jobs_.find(info.id);
  if (job == jobs_.end()) return;
  job->second.last_reason = {};
  User& user = by_user_.at({info.user, info.pool});
  if (info.pending > 0) {
    user.runnable.try_emplace(order_of(info), &job->second);
  } else {
    user.runnable.erase(order_of(info));
  }
}

void NetworkAware::end(const JobInfo& info) {
  if (jobs_.erase(info.id) == 0) return;
  const auto user = by_user_.find({info.user, info.pool});
  user->second.runnable.erase(order_of(info));
  if (--user->second.jobs == 0) by_user_.erase(user);
}

bool NetworkAware::tick(const ClusterView& view, Decisions&) {
  const bool changed = load_.sample(view);
  return std::exchange(waiting_, false) || changed;
}

void NetworkAware::decided(const ClusterView&, Decisions& decisions) {
  if (const auto at = std::exchange(wake_, {})) decisions.wake_at(*at);
}

void NetworkAware::begin(const ClusterView& view, std::size_t nodes) {
  users_->begin(view, nodes);
  if (on_ && options_.samp) (void)map_racks_.refresh(view, [](const JobInfo& job) { return shuffle_ratio(job).value; });
}

std::optional<std::uint32_t> NetworkAware::far_prefetches(RackId rack) const {
  if (!options_.shapes_traffic) return std::nullopt;
  return on_ && load_.saturated(rack) ? options_.tokens : UINT32_MAX;
}

bool NetworkAware::offer(const ClusterView& view, SlotKind kind, Launcher& launcher) {
  if (!on_ || launcher.node() == nullptr) return users_->offer(view, kind, launcher);
  Call call{view, kind, launcher, *launcher.node(), load_.saturated(launcher.node()->rack)};
  UsersLauncher users(*this, call);
  if (users_->offer(view, kind, users)) return true;
  if (!std::exchange(call.yielded, false)) return false;
  call.last = true;  // no other user needs the capacity
  call.tried.clear();
  return users_->offer(view, kind, users);
}

bool NetworkAware::launch_for(Call& call, const JobInfo& offered) {
  const auto found = by_user_.find({offered.user, offered.pool});
  if (found == by_user_.end()) return false;
  User& user = found->second;
  if (std::ranges::find(call.tried, &user) != call.tried.end()) return false;
  call.tried.push_back(&user);
  for (;;) {
    const Candidate best = best_of(call, user, offered);
    if (best.job == nullptr || yields(call, user, best)) return false;
    if (launch(call, best)) return true;
    if (best.kind != NassKind::preferred_map || std::ranges::find(call.no_remote, best.stage) != call.no_remote.end()) return false;
    call.no_remote.push_back(best.stage);
  }
}

NetworkAware::Candidate NetworkAware::best_of(Call& call, User& user, const JobInfo& offered) {
  Candidate best;
  const bool typed = call.kind != SlotKind::any;
  for (auto& [order_of_job, job] : user.runnable) {
    for (const StageId id : job->info->runnable) {
      const StageInfo& stage = *job->info->stage(id);
      if (slot_kind_of(stage, typed) != call.kind || !fits(stage.demand, call.node.used, call.node.capacity)) continue;
      update(*job);
      if (job->info != &offered && groups_ != nullptr && !groups_->within_limits(call.view, *job->info, stage)) continue;
      const auto near = call.launcher.nearest(*job->info, stage);
      const auto kind = near ? kind_of(call, *job, stage, *near) : std::nullopt;
      if (!kind) continue;
      const int place = call.saturated ? rule_of(*kind).saturated : rule_of(*kind).otherwise;
      const double rank = rank_of(*job);
      if (place < best.place || (place == best.place && rank < best.rank)) best = {place, rank, *kind, job, &stage};
    }
    if (best.place == 0 && options_.jobs == UsersJobs::arrival) break;
  }
  return best;
}

/// Nothing: the task must not be launched now.
std::optional<NassKind> NetworkAware::kind_of(Call& call, Job& job, const StageInfo& stage, Locality near) {
  if (call.view.now() - job.served >= options_.starvation) return NassKind::starved;
  if (stage.reads_shuffle) return kind_of_reduce(call, job, stage);
  const MapRacks* chosen = choice_of(*job.info);
  const bool elsewhere = near == Locality::any;
  if (chosen != nullptr && chosen->has(call.node.rack) &&
      !(elsewhere && std::ranges::find(call.no_remote, &stage) != call.no_remote.end()))
    return NassKind::preferred_map;
  return near == Locality::node ? NassKind::node_map : elsewhere ? NassKind::any_map : NassKind::rack_map;
}

std::optional<NassKind> NetworkAware::kind_of_reduce(Call& call, Job& job, const StageInfo& stage) {
  const bool early = !inputs_complete(*job.info, stage);
  if (early && call.saturated) {
    job.waits = kUplinkSaturated;
    return std::nullopt;
  }
  const MapRacks* guess = map_racks_.of(job.info->id);
  const bool part = !options_.sarp || reduce_racks_.wants(call.view, *job.info, stage, call.node.rack, guess);
  if (early) return part ? NassKind::early_part : NassKind::early_reduce;
  if (part && options_.sarp && reduce_racks_.share({job.info->id, stage.id}, call.node.rack) > kHome) return NassKind::home_reduce;
  if (job.heavy) return part ? NassKind::heavy_part : NassKind::heavy_reduce;
  return part ? NassKind::light_part : NassKind::light_reduce;
}

const MapRacks* NetworkAware::choice_of(const JobInfo& job) const { return options_.samp ? map_racks_.of(job.id) : nullptr; }

/// Computes `heavy` and `work` again when more of the job's tasks have ended.
void NetworkAware::update(Job& job) const {
  if (std::exchange(job.finished, job.info->finished) == job.info->finished) return;
  job.heavy = shuffle_ratio(*job.info).value > 1.0;
  job.work = 0;
  for (const auto& [id, stage] : job.info->stages)
    job.work += task_seconds(stage) * static_cast<double>(stage.tasks.size() - stage.finished);
}

double NetworkAware::rank_of(const Job& job) const {
  if (options_.jobs == UsersJobs::arrival) return 0;
  return (options_.jobs == UsersJobs::shortest ? job.work : job.info->used.cpu) / job.info->hints.weight;
}

/// A user lets others go first for a while if its best task would only add to the traffic between racks: a map or reduce that reads
/// from other racks while the uplink is saturated, or a map outside the racks that were chosen for its job. For such a map the slot
/// may even idle for time_on_uplink().
bool NetworkAware::yields(Call& call, User& user, const Candidate& best) {
  const bool crosses = best.kind == NassKind::any_map || best.kind == NassKind::light_reduce || best.kind == NassKind::heavy_reduce;
  const MapRacks* chosen =
      best.kind == NassKind::node_map || best.kind == NassKind::rack_map ? choice_of(*best.job->info) : nullptr;
  if (!crosses && chosen == nullptr) {
    user.yields_since.reset();
    return false;
  }
  if (chosen == nullptr && !call.saturated) return false;
  const Time now = call.view.now();
  if (!user.yields_since) user.yields_since = now;
  Time longest = options_.relaxed;
  if (chosen != nullptr) {
    const Time wait = time_on_uplink(call, *best.job->info, *chosen);
    longest = call.last ? wait : std::max(wait, call.saturated ? options_.relaxed : Time(0));
  }
  if (now - *user.yields_since >= longest) return false;
  call.yielded = true;
  if (call.last) {
    best.job->waits = chosen != nullptr ? kItsRacksFirst : kOthersFirst;
    waiting_ = true;
    wake_ = std::min(wake_.value_or(Time::max()), *user.yields_since + longest);
  }
  return true;
}

/// How long the output of a map takes on the node's part of the rack's uplink, times the used part of the uplink, times samp_wait.
/// 0 where the capacity of the uplink is not known.
Time NetworkAware::time_on_uplink(const Call& call, const JobInfo& job, const MapRacks& chosen) const {
  const RackInfo& rack = *call.view.rack(call.node.rack);
  if (!(rack.uplink.up > 0)) return Time(0);
  const double rate = rack.uplink.up / static_cast<double>(rack.nodes.size());
  const double busy = std::min(1.0, load_.utilisation(rack.id));
  const double seconds = busy * options_.samp_wait * shuffle_ratio(job).value * chosen.chunk_bytes / rate;
  return std::chrono::duration_cast<Time>(std::chrono::duration<double>(std::min(kLongestWait, seconds)));
}

bool NetworkAware::launch(Call& call, const Candidate& best) const {
  const MapRacks* chosen = best.kind == NassKind::preferred_map ? map_racks_.of(best.job->info->id) : nullptr;
  const TaskCheck may = [&](std::uint32_t task) {
    if (chosen == nullptr || chosen->preferred.size() == 1) return true;
    bool in_chosen = false;
    for (const HostId host : best.stage->pending.hosts(task)) {
      const auto rack = call.view.rack_of(host);
      if (rack == call.node.rack) return true;
      in_chosen = in_chosen || (rack && chosen->has(*rack));
    }
    return !in_chosen;  // its input must be read from another rack wherever it runs
  };
  return call.launcher.launch(*best.job->info, *best.stage, rule_of(best.kind).reason, may);
}

void NetworkAware::explain(const ClusterView&, Launcher& launcher) {
  for (auto& [key, user] : by_user_) {
    for (auto& [order, job] : user.runnable) {
      const std::string_view reason = job->waits.empty() ? "no free node has room for its tasks" : job->waits;
      if (std::exchange(job->last_reason, reason) != reason) launcher.hold(job->info->id, reason);
      job->waits = {};
    }
  }
}

RackParts NetworkAware::parts_for(const ClusterView& view, const JobInfo& job, const StageInfo& reader) const {
  if (!on_ || !options_.sarp) return {};
  return reduce_racks_.parts(view, job, reader, map_racks_.of(job.id), map_racks_.kept());
}

}  // namespace weft::schedulers
