#include "schedulers/parts/queue_tree.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::schedulers {

namespace {

constexpr double kQueueSlack = 1e-9;
constexpr std::size_t kKindsOfSlots = 3;

/// A number of jobs, at least one.
std::uint64_t jobs_of(double part) { return static_cast<std::uint64_t>(std::max(1.0, std::ceil(part - kQueueSlack))); }

/// The amount that one more task of the job takes, in the mean.
double next_amount(const JobInfo& job, SlotKind kind) {
  if (kind != SlotKind::any) return 1;
  return job.pending > 0 ? job.wanted.cpu / static_cast<double>(job.pending) : 0;
}

}  // namespace

QueueTree::QueueTree(const std::vector<QueueSettings>& settings, bool one_for_all, std::uint64_t most_jobs)
    : one_for_all_(one_for_all) {
  std::set<std::string> names;
  for (const QueueSettings& queue : settings) names.insert(queue.name);
  for (const QueueSettings& of_queue : settings) {
    Queue& queue = queues_.emplace_back();
    queue.settings = of_queue;
    queue.name = static_cast<std::size_t>(std::distance(names.begin(), names.find(of_queue.name)));
  }
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    Queue& queue = queues_[i];
    const double part = capacity_of(i, static_cast<double>(most_jobs));
    queue.most_jobs = queue.settings.max_initialized_jobs.value_or(jobs_of(part));
    queue.most_jobs_of_user = queue.settings.max_initialized_jobs_per_user.value_or(
        jobs_of(static_cast<double>(queue.most_jobs) * queue.settings.user_limit_percent / 100));
    for (std::size_t kind = 0; kind < kKindsOfSlots; ++kind) level_of(queue)[kind].insert(fill_of(queue, i, kind));
  }
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].leaf()) leaves_[queues_[i].settings.name] = i;
  }
}

QueueTree::Level& QueueTree::level_of(const Queue& queue) {
  return queue.settings.parent ? queues_[*queue.settings.parent].children : top_;
}

QueueTree::Fill QueueTree::fill_of(const Queue& queue, std::size_t index, std::size_t kind) {
  const double capacity = queue.settings.capacity;
  return {capacity > 0 ? queue.used[kind] / capacity : 1e300, queue.name, index};
}

std::optional<std::size_t> QueueTree::leaf_of(const JobInfo& job) const {
  if (one_for_all_) return leaves_.begin()->second;
  auto found = leaves_.find(job.pool.empty() ? "default" : job.pool);
  if (found == leaves_.end()) return std::nullopt;
  return found->second;
}

std::string QueueTree::leaf_names() const {
  std::vector<std::string> names;
  for (const auto& [name, queue] : leaves_) names.push_back(escaped(name));
  return join(names, ", ");
}

JobOrder QueueTree::order_of(const Queue& queue, const JobInfo& job) const {
  return {queue.settings.priorities ? job.priority : 0, job.submitted, job.id};
}

void QueueTree::change(const JobInfo& job) {
  const Used used{job.used.cpu, job.used.map_slots, job.used.reduce_slots};
  apply(job, used, job.used.cpu + job.wanted.cpu, job.running + job.pending > 0, job.pending > 0);
}

void QueueTree::end(const JobInfo& job) {
  apply(job, {}, 0, false, false);
  jobs_.erase(job.id);
}

void QueueTree::apply(const JobInfo& info, const Used& used, double demand, bool active, bool pending) {
  Job& job = jobs_[info.id];
  const std::size_t leaf = *leaf_of(info);
  Queue& queue = queues_[leaf];
  User& user = queue.users[info.user];
  for (std::size_t kind = 0; kind < kKindsOfSlots; ++kind) user.used[kind] += used[kind] - job.used[kind];
  for (std::optional<std::size_t> up = leaf; up; up = queues_[*up].settings.parent) {
    Queue& above = queues_[*up];
    for (std::size_t kind = 0; kind < kKindsOfSlots; ++kind) {
      if (used[kind] == job.used[kind]) continue;
      std::set<Fill>& order = level_of(above)[kind];
      order.erase(fill_of(above, *up, kind));
      above.used[kind] += used[kind] - job.used[kind];
      order.insert(fill_of(above, *up, kind));
    }
    above.demand += demand - job.demand;
  }
  job.used = used;
  job.demand = demand;
  job.pending = pending;
  if (active != job.active) set_active(queue, job, info, active);
  if (job.initialized && pending) {
    queue.runnable.insert(order_of(queue, info));
  } else {
    queue.runnable.erase(order_of(queue, info));
  }
  if (user.active.empty()) queue.users.erase(info.user);
}

/// A job with tasks becomes initialised, or waits until another job is not any more; a job without tasks gives its place up.
void QueueTree::set_active(Queue& queue, Job& job, const JobInfo& info, bool active) {
  job.active = active;
  User& user = queue.users[info.user];
  if (active) {
    if (user.active.empty()) ++queue.active_users;
    user.active.insert(info.id);
    queue.waiting.emplace(order_of(queue, info), info.user);
    initialize(queue);
    if (!job.initialized) to_notify_.insert(info.id);
    return;
  }
  user.active.erase(info.id);
  if (user.active.empty()) --queue.active_users;
  if (std::exchange(job.initialized, false)) {
    --queue.initialized;
    --user.initialized;
  } else {
    queue.waiting.erase(order_of(queue, info));
  }
  initialize(queue);
}

/// Initialises the first waiting jobs whose users have a place left.
void QueueTree::initialize(Queue& queue) {
  for (auto next = queue.waiting.begin(); next != queue.waiting.end() && queue.initialized < queue.most_jobs;) {
    User& user = queue.users.at(next->second);
    if (user.initialized >= queue.most_jobs_of_user) {
      ++next;
      continue;
    }
    Job& job = jobs_.at(next->first.id);
    job.initialized = true;
    ++queue.initialized;
    ++user.initialized;
    if (job.pending) queue.runnable.insert(next->first);
    next = queue.waiting.erase(next);
  }
}

bool QueueTree::offer(const ClusterView& view, SlotKind kind, Launcher& launcher) {
  for (const JobId id : std::exchange(to_notify_, {})) {
    const auto job = jobs_.find(id);
    if (job != jobs_.end() && job->second.active && !job->second.initialized)
      launcher.hold(id, "as many jobs of its queue, or of its user there, as may run at a time run already");
  }
  return offer(view, kind, top_, amount_of(view.capacity(), kind), launcher);
}

/// Offers the jobs of these queues, which share `parent`; the queue that uses the smallest part of its capacity first.
bool QueueTree::offer(const ClusterView& view, SlotKind kind, const Level& level, double parent, Launcher& launcher) {
  const auto k = static_cast<std::size_t>(kind);
  for (const Fill& next : level[k]) {
    const Queue& queue = queues_[next.queue];
    const double capacity = parent * queue.settings.capacity / 100, most = parent * queue.settings.max_capacity / 100;
    if (!queue.leaf() && queue.used[k] > kQueueSlack && queue.used[k] >= most - kQueueSlack) {
      hold_all(next.queue, fmt::format("queue {} is at its maximum capacity", queue.settings.name), launcher);
      continue;
    }
    const bool taken = queue.leaf() ? offer_jobs(view, kind, queue, capacity, most, launcher)
                                    : offer(view, kind, queue.children, capacity, launcher);
    if (taken) return true;
  }
  return false;
}

void QueueTree::hold_all(std::size_t queue, std::string_view reason, Launcher& launcher) const {
  for (const JobOrder& job : queues_[queue].runnable) launcher.hold(job.id, reason);
  for (const Fill& child : queues_[queue].children[0]) hold_all(child.queue, reason, launcher);
}

bool QueueTree::offer_jobs(const ClusterView& view, SlotKind kind, const Queue& queue, double capacity, double most,
                           Launcher& launcher) {
  const auto k = static_cast<std::size_t>(kind);
  for (const JobOrder& next : queue.runnable) {
    const JobInfo& job = *view.job(next.id);
    if (const auto reached = limit_reached(queue, job, k, next_amount(job, kind), capacity, most)) {
      launcher.hold(job.id, *reached);
    } else if (launcher.launch(job)) {
      return true;
    }
  }
  return false;
}

/// The limit that keeps the job from having more; nothing: none does.
std::optional<std::string_view> QueueTree::limit_reached(const Queue& queue, const JobInfo& job, std::size_t kind, double amount,
                                                         double capacity, double most) {
  const double all = queue.used[kind];
  if (all > kQueueSlack && all + amount > most + kQueueSlack) return "its queue is at its maximum capacity";
  const double grown = std::max(capacity, all + amount);
  const double limit = std::min(std::max(grown / static_cast<double>(std::max<std::size_t>(1, queue.active_users)),
                                         grown * queue.settings.user_limit_percent / 100),
                                capacity * queue.settings.user_limit_factor);
  const auto user = queue.users.find(job.user);
  const double used = user == queue.users.end() ? 0 : user->second.used[kind];
  if (used > kQueueSlack && used >= limit - kQueueSlack) return "its user has as much of the queue as one user may";
  return std::nullopt;
}

bool QueueTree::within_limits(const ClusterView& view, const JobInfo& job, SlotKind kind, double amount) const {
  const auto k = static_cast<std::size_t>(kind);
  const std::size_t leaf = *leaf_of(job);
  if (const auto known = jobs_.find(job.id); known == jobs_.end() || !known->second.initialized) return false;
  const double total = amount_of(view.capacity(), kind);
  const auto most = [&](std::size_t i) {
    const QueueSettings& settings = queues_[i].settings;
    return (settings.parent ? capacity_of(*settings.parent, total) : total) * settings.max_capacity / 100;
  };
  for (std::optional<std::size_t> up = queues_[leaf].settings.parent; up; up = queues_[*up].settings.parent) {
    if (queues_[*up].used[k] > kQueueSlack && queues_[*up].used[k] >= most(*up) - kQueueSlack) return false;
  }
  return !limit_reached(queues_[leaf], job, k, amount, capacity_of(leaf, total), most(leaf));
}

double QueueTree::capacity_of(std::size_t queue, double total) const {
  for (std::optional<std::size_t> up = queue; up; up = queues_[*up].settings.parent) total *= queues_[*up].settings.capacity / 100;
  return total;
}

std::vector<GroupStatus> QueueTree::groups(const ClusterView& view) const {
  std::vector<GroupStatus> all;
  const auto kinds = slot_kinds(view);
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const Queue& queue = queues_[i];
    GroupStatus& status = all.emplace_back();
    status.name = queue.settings.name;
    if (queue.settings.parent) status.parent = queues_[*queue.settings.parent].settings.name;
    status.weight = queue.settings.capacity;
    for (SlotKind kind : kinds) {
      status.guaranteed += capacity_of(i, amount_of(view.capacity(), kind));
      status.used += queue.used[static_cast<std::size_t>(kind)];
    }
    status.fair_share = status.guaranteed;
    const double above = queue.settings.capacity > 0 ? status.guaranteed * 100 / queue.settings.capacity : 0;
    status.limit = above * queue.settings.max_capacity / 100;
    status.demand = queue.demand;
    for (const auto& [name, user] : queue.users) status.jobs += user.active.size();
  }
  return all;
}

}  // namespace weft::schedulers
