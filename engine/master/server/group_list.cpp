#include "engine/master/server/group_list.hpp"

#include <map>
#include <string>
#include <utility>

namespace weft::master {

namespace {

using Places = std::map<std::string, std::size_t>;  // in the list, by name

/// Of a job that names no pool, fair makes its user's name the pool, and capacity takes the queue `default`, as it does for all
/// jobs where that is its only queue.
std::string group_of(const schedulers::JobInfo& job, const Places& groups) {
  const std::string& named = job.pool.empty() ? job.user : job.pool;
  if (groups.contains(named)) return named;
  return groups.contains("default") && (job.pool.empty() || groups.size() == 1) ? "default" : job.pool;
}

void add(const schedulers::JobInfo& job, client::GroupInfo& group) {
  group.pending += job.pending;
  group.running += job.running;
  group.used += job.used;
  if (!group.unknown) return;  // otherwise the scheduler says what follows
  ++group.status.jobs;
  group.status.used += job.used.cpu;
  group.status.demand += job.used.cpu + static_cast<double>(job.pending);
}

}  // namespace

std::vector<client::GroupInfo> group_list(const std::vector<schedulers::GroupStatus>& groups, const schedulers::ClusterView& view) {
  std::vector<client::GroupInfo> list;
  Places places;
  for (const schedulers::GroupStatus& status : groups) {
    places.emplace(status.name, list.size());
    list.emplace_back().status = status;
  }
  std::map<std::string, client::GroupInfo> unknown;
  for (const auto& [id, job] : view.jobs()) {
    const std::string name = group_of(job, places);
    if (const auto known = places.find(name); known != places.end()) {
      add(job, list[known->second]);
      continue;
    }
    client::GroupInfo& pool = unknown[name];
    pool.status.name = name;
    pool.unknown = true;
    add(job, pool);
  }
  for (auto& [name, pool] : unknown) list.push_back(std::move(pool));
  return list;
}

}  // namespace weft::master
