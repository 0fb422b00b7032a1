#include "schedulers/parts/virtual_sharing.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weft::schedulers {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kNothing = 1e-12;  // of work

}  // namespace

void VirtualSharing::add(JobId job, Claim claim) {
  const auto [found, added] = jobs_.try_emplace(job);
  found->second.claim = std::move(claim);
  if (!added) return share_out();
  found->second.since = found->second.finish = clock_;
}

void VirtualSharing::resize(JobId id, double work) {
  Job& job = jobs_.at(id);
  if (job.work == work) return;  // equal jobs have equal ends, to the last bit
  settle(job);
  job.work = work;
  const bool over = job.work - job.had <= kNothing;
  if (over != job.over) {
    job.over = over;
    if (over) job.finish = clock_;
    return share_out();
  }
  if (over) return;
  if (!(job.part > 0)) return share_out();
  job.finish = clock_ + (job.work - job.had) / job.part;
  next_ = std::min(next_, job.finish);
}

void VirtualSharing::leave(JobId id) {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return;
  found->second.left = true;
  if (found->second.over) jobs_.erase(found);
}

void VirtualSharing::advance(double work) {
  const double until = clock_ + work;
  while (next_ <= until) {
    clock_ = std::max(clock_, next_);
    bool ended = false;
    for (auto next = jobs_.begin(); next != jobs_.end();) {
      Job& job = next->second;
      if (job.over || job.finish > clock_) {
        ++next;
        continue;
      }
      job.over = ended = true;
      settle(job);
      job.had = job.work;
      next = job.left ? jobs_.erase(next) : std::next(next);
    }
    ended ? share_out() : find_next();
  }
  clock_ = until;
}

void VirtualSharing::clear() {
  jobs_.clear();
  next_ = kNever;
}

void VirtualSharing::settle(Job& job) const {
  job.had += job.part * (clock_ - job.since);
  job.since = clock_;
}

void VirtualSharing::share_out() {
  ++changes_;
  std::map<std::string, Group> groups;
  for (auto& [id, job] : jobs_) {
    settle(job);
    job.part = 0;
    if (job.over) continue;
    Group& group = groups[job.claim.group];
    group.weight = job.claim.group_weight;
    Level& level = group.levels[job.claim.priority];
    level.left += job.work - job.had;
    level.weight += job.claim.weight;
  }
  double weights = 0;
  for (const auto& [name, group] : groups) weights += group.weight;
  for (auto& [id, job] : jobs_) {
    if (job.over) continue;
    const Group& group = groups.at(job.claim.group);
    double before = 0;
    for (const auto& [priority, level] : group.levels) {
      if (priority > job.claim.priority) before += level.left;
    }
    const double share = group.weight / weights;
    const double part = job.claim.weight / group.levels.at(job.claim.priority).weight;
    if (before == 0) job.part = share * part;
    job.finish = clock_ + (before + (job.work - job.had) / part) / share;
  }
  find_next();
}

void VirtualSharing::find_next() {
  next_ = kNever;
  for (const auto& [id, job] : jobs_) {
    if (!job.over && job.part > 0) next_ = std::min(next_, job.finish);
  }
}

}  // namespace weft::schedulers
