#include "schedulers/parts/pool_tree.hpp"

#include <algorithm>
#include <utility>

#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/water_filling.hpp"

namespace weft::schedulers {

namespace {

constexpr std::array kKinds{SlotKind::any, SlotKind::map, SlotKind::reduce};

}  // namespace

bool PoolTree::Rank::operator<(const Rank& other) const {
  if (band != other.band) return band < other.band;
  if (ratio != other.ratio) return ratio < other.ratio;
  return tie < other.tie;
}

double PoolTree::Pool::guaranteed(SlotKind kind) const {
  return std::min(amount_of(settings.min_share, kind), amounts[static_cast<std::size_t>(kind)].demand);
}

PoolTree::PoolTree(const std::vector<PoolSettings>& settings, PoolSettings otherwise) : default_(std::move(otherwise)) {
  nodes_.emplace_back();
  for (const PoolSettings& pool : settings) {
    const PoolIndex index = nodes_.size();
    Node& node = nodes_.emplace_back();
    node.pool.settings = pool;
    node.pool.parent = pool.parent ? *pool.parent + 1 : kRoot;  // behind the root
    nodes_[node.pool.parent].pool.pools.push_back(index);
    by_name_[pool.name] = index;
    limited_ = limited_ || pool.max_running_jobs.has_value();
    if (pool.name == "default") default_ = pool;
  }
}

PoolTree::PoolIndex PoolTree::pool_named(const std::string& name) {
  auto [found, added] = by_name_.try_emplace(name, nodes_.size());
  if (!added) return found->second;
  Node& node = nodes_.emplace_back();
  node.pool.settings = default_;
  node.pool.settings.name = name;
  node.pool.settings.parent.reset();
  node.pool.configured = false;
  nodes_[kRoot].pool.pools.push_back(found->second);
  return found->second;
}

void PoolTree::arrive(const ClusterView& view, const JobInfo& info) {
  const std::string& name = !info.pool.empty() ? info.pool : info.user;
  Job job;
  job.pool = pool_named(name.empty() ? "default" : name);
  job.order = order_of(info);
  nodes_[job.pool].pool.jobs.insert(info.id);
  jobs_[info.id] = std::move(job);
  update_eligible(view);
  change(view, info);
}

void PoolTree::change(const ClusterView& view, const JobInfo& info) {
  auto found = jobs_.find(info.id);
  if (found == jobs_.end()) return;
  update(found->second, info);
  const bool active = info.pending + info.running > 0;
  if (std::exchange(found->second.active, active) != active) update_eligible(view);
}

void PoolTree::end(const ClusterView& view, const JobInfo& info) {
  auto found = jobs_.find(info.id);
  if (found == jobs_.end()) return;
  Job& job = found->second;
  for (std::size_t kind = 0; kind < kSlotKinds; ++kind) {
    if (job.rank[kind]) wait(job.pool, kind, job.order, false);
    move(job.pool, kind, job.rank[kind], std::nullopt);
    update_pools(job.pool, kind, {-job.amounts[kind].used, -job.amounts[kind].demand});
  }
  nodes_[job.pool].pool.jobs.erase(info.id);
  jobs_.erase(found);
  update_eligible(view);
}

/// A pool that limits its running jobs lets the first of them in its order run. A job with running tasks stays among them, and a
/// job that only waits for its driver does not count.
void PoolTree::update_eligible(const ClusterView& view) {
  if (!limited_) return;
  std::vector<std::pair<bool, Job*>> jobs;  // those without running tasks after those with
  for (auto& [id, job] : jobs_) {
    if (job.active) jobs.emplace_back(job.amounts[static_cast<std::size_t>(SlotKind::any)].used <= kPoolSlack, &job);
  }
  std::sort(jobs.begin(), jobs.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? b.first : a.second->order < b.second->order; });
  std::vector<std::uint64_t> count(nodes_.size());
  for (auto& [waits, job] : jobs) {
    bool room = true;
    for (PoolIndex up = job->pool; up != kRoot; up = nodes_[up].pool.parent) {
      const auto& most = nodes_[up].pool.settings.max_running_jobs;
      room = room && (!most || count[up] < *most);
    }
    if (room) {
      for (PoolIndex up = job->pool; up != kRoot; up = nodes_[up].pool.parent) ++count[up];
    }
    if (std::exchange(job->eligible, room) == room) continue;
    if (!room) to_notify_.insert(job->order.id);
    if (const JobInfo* info = view.job(job->order.id)) update(*job, *info);
  }
}

void PoolTree::move(PoolIndex parent, std::size_t kind, std::optional<Rank>& from, std::optional<Rank> to) {
  std::set<Rank>& order = nodes_[parent].order[kind];
  if (from) order.erase(*from);
  if (to) order.insert(*to);
  from = to;
}

void PoolTree::wait(PoolIndex leaf, std::size_t kind, const JobOrder& job, bool waits) {
  const JobOrder submission{0, job.submitted, job.id};
  for (PoolIndex index = leaf; index != kRoot; index = nodes_[index].pool.parent) {
    if (waits) {
      nodes_[index].waiting[kind].insert(submission);
    } else {
      nodes_[index].waiting[kind].erase(submission);
    }
  }
}

void PoolTree::update(Job& job, const JobInfo& info) {
  const bool fifo = nodes_[job.pool].pool.settings.fifo;
  for (SlotKind slot : kKinds) {
    const auto kind = static_cast<std::size_t>(slot);
    Amounts now;
    now.used = amount_of(info.used, slot);
    const double wanted = job.eligible ? amount_of(info.wanted, slot) : 0;
    now.demand = now.used + wanted;
    std::optional<Rank> rank;
    if (job.eligible && info.pending > 0 && (slot == SlotKind::any || wanted > 0))
      rank = Rank{1, fifo ? 0 : now.used / info.hints.weight, job.order};
    const Amounts change{now.used - job.amounts[kind].used, now.demand - job.amounts[kind].demand};
    const bool same = !rank && !job.rank[kind] && change.used == 0 && change.demand == 0;
    if (same) continue;
    if (rank.has_value() != job.rank[kind].has_value()) wait(job.pool, kind, job.order, rank.has_value());
    move(job.pool, kind, job.rank[kind], rank);
    job.amounts[kind] = now;
    update_pools(job.pool, kind, change);
  }
}

void PoolTree::update_pools(PoolIndex leaf, std::size_t kind, const Amounts& change) {
  for (PoolIndex index = leaf; index != kRoot; index = nodes_[index].pool.parent) {
    Node& node = nodes_[index];
    Amounts& amounts = node.pool.amounts[kind];
    amounts.used += change.used;
    amounts.demand += change.demand;
    std::optional<Rank> rank;
    if (!node.order[kind].empty()) {
      const double guaranteed = node.pool.guaranteed(kKinds[kind]);
      const bool needy = amounts.used < guaranteed - kPoolSlack;
      rank = Rank{needy ? 0 : 1, needy ? amounts.used / guaranteed : amounts.used / node.pool.settings.weight,
                  *node.waiting[kind].begin(), index};
      if (nodes_[node.pool.parent].pool.settings.fifo) rank->band = 0, rank->ratio = 0;
    }
    move(node.pool.parent, kind, node.rank[kind], rank);
  }
}

bool PoolTree::is_below(JobId job, PoolIndex pool) const {
  PoolIndex up = pool_of(job);
  while (up != pool && up != kRoot) up = nodes_[up].pool.parent;
  return up == pool;
}

bool PoolTree::offer(const ClusterView& view, SlotKind kind, Launcher& launcher) {
  for (JobId id : std::exchange(to_notify_, {})) {
    const auto job = jobs_.find(id);
    if (job != jobs_.end() && !job->second.eligible) launcher.hold(id, "as many jobs as its pool runs at a time run already");
  }
  for (const First& first : first_) {
    const double used = nodes_[first.pool].pool.amounts[static_cast<std::size_t>(kind)].used;
    if (first.kind == kind && used < first.until - kPoolSlack && offer(view, kind, first.pool, launcher)) return true;
  }
  return offer(view, kind, kRoot, launcher);
}

bool PoolTree::offer(const ClusterView& view, SlotKind kind, PoolIndex pool, Launcher& launcher) {
  for (const Rank& next : nodes_[pool].order[static_cast<std::size_t>(kind)]) {
    const bool taken = next.pool ? offer(view, kind, *next.pool, launcher) : launcher.launch(*view.job(next.tie.id));
    if (taken) return true;
  }
  return false;
}

PoolTree::Shares PoolTree::shares(const ClusterView& view, SlotKind kind, double capacity) const {
  Shares shares;
  shares.pools.resize(nodes_.size());
  shares.pools[kRoot] = capacity;
  std::vector<Claim> claims;
  for (PoolIndex index = 0; index < nodes_.size(); ++index) {  // parents come first
    const Pool& pool = nodes_[index].pool;
    claims.clear();
    for (PoolIndex child : pool.pools) {
      const Pool& below = nodes_[child].pool;
      claims.push_back(
          {below.settings.weight, amount_of(below.settings.min_share, kind), below.amounts[static_cast<std::size_t>(kind)].demand});
    }
    for (JobId job : pool.jobs) {
      const JobInfo* info = view.job(job);
      claims.push_back({info == nullptr ? 1 : info->hints.weight, 0, amounts_of(job, kind).demand});
    }
    const auto parts = water_fill(claims, shares.pools[index]);
    std::size_t i = 0;
    for (PoolIndex child : pool.pools) shares.pools[child] = parts[i++];
    for (JobId job : pool.jobs) shares.jobs[job] = parts[i++];
  }
  return shares;
}

}  // namespace weft::schedulers
