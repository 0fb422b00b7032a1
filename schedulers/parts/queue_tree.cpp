#include "schedulers/parts/queue_tree.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::schedulers {

namespace {

constexpr double kQueueSlack = 1e-9;

/// What one more task of the job takes, on average.
double next_amount(const JobInfo& job, SlotKind kind) {
  if (kind != SlotKind::any) return 1;
  return job.pending > 0 ? job.wanted.cpu / static_cast<double>(job.pending) : 0;
}

}  // namespace

QueueTree::QueueTree(const std::vector<QueueSettings>& settings, bool one_for_all) : one_for_all_(one_for_all) {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    queues_.emplace_back().settings = settings[i];
    (settings[i].parent ? queues_[*settings[i].parent].children : top_).push_back(i);
  }
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (queues_[i].children.empty()) leaves_[queues_[i].settings.name] = i;
  }
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

void QueueTree::apply(const JobInfo& info, const Used& used, double demand, bool active, bool runnable) {
  Job& job = jobs_[info.id];
  const std::size_t leaf = *leaf_of(info);
  Queue& queue = queues_[leaf];
  User& user = queue.users[info.user];
  const bool was_active = !user.active.empty();
  if (active) {
    user.active.insert(info.id);
  } else {
    user.active.erase(info.id);
  }
  if (was_active && user.active.empty()) --queue.active_users;
  if (!was_active && !user.active.empty()) ++queue.active_users;
  for (std::size_t kind = 0; kind < used.size(); ++kind) user.used[kind] += used[kind] - job.used[kind];
  if (user.active.empty()) queue.users.erase(info.user);
  if (runnable) {
    queue.runnable.insert(order_of(queue, info));
  } else {
    queue.runnable.erase(order_of(queue, info));
  }
  for (std::optional<std::size_t> up = leaf; up; up = queues_[*up].settings.parent) {
    for (std::size_t kind = 0; kind < used.size(); ++kind) queues_[*up].used[kind] += used[kind] - job.used[kind];
    queues_[*up].demand += demand - job.demand;
  }
  job = {used, demand};
}

bool QueueTree::offer(const ClusterView& view, SlotKind kind, Turn& turn) {
  return offer(view, kind, top_, amount_of(view.capacity(), kind), turn);
}

/// Of these queues, which share `parent` among them, the one with the least of its capacity first.
bool QueueTree::offer(const ClusterView& view, SlotKind kind, const std::vector<std::size_t>& siblings, double parent, Turn& turn) {
  const auto k = static_cast<std::size_t>(kind);
  std::vector<std::size_t> order = siblings;
  auto fill = [&](std::size_t i) {
    const double capacity = queues_[i].settings.capacity;
    return capacity > 0 ? queues_[i].used[k] / capacity : 1e300;
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const double left = fill(a), right = fill(b);
    return left != right ? left < right : queues_[a].settings.name < queues_[b].settings.name;
  });
  for (std::size_t i : order) {
    const Queue& queue = queues_[i];
    const double capacity = parent * queue.settings.capacity / 100, most = parent * queue.settings.max_capacity / 100;
    if (!queue.children.empty() && queue.used[k] > kQueueSlack && queue.used[k] >= most - kQueueSlack) {
      hold_all(i, fmt::format("queue {} is at its maximum capacity", queue.settings.name), turn);
      continue;
    }
    const bool taken =
        queue.children.empty() ? serve(view, kind, queue, capacity, most, turn) : offer(view, kind, queue.children, capacity, turn);
    if (taken) return true;
  }
  return false;
}

void QueueTree::hold_all(std::size_t queue, std::string_view reason, Turn& turn) const {
  for (const JobOrder& job : queues_[queue].runnable) turn.hold(job.id, reason);
  for (std::size_t child : queues_[queue].children) hold_all(child, reason, turn);
}

bool QueueTree::serve(const ClusterView& view, SlotKind kind, const Queue& queue, double capacity, double most, Turn& turn) {
  const auto k = static_cast<std::size_t>(kind);
  for (const JobOrder& next : queue.runnable) {
    const JobInfo& job = *view.job(next.id);
    if (const auto reached = limit_reached(queue, job, k, next_amount(job, kind), capacity, most)) {
      turn.hold(job.id, *reached);
    } else if (turn.serve(job)) {
      return true;
    }
  }
  return false;
}

/// Why the queue gives the job no more than it has.
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

bool QueueTree::has_room(const ClusterView& view, const JobInfo& job, SlotKind kind, double amount) const {
  const auto k = static_cast<std::size_t>(kind);
  const std::size_t leaf = *leaf_of(job);
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
