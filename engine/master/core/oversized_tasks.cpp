#include "engine/master/core/oversized_tasks.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace weft::master {

namespace {

/// By how much the demand exceeds the capacity in the resource that lacks most: 1 just fits.
double excess(const schedulers::Resources& demand, const schedulers::Resources& capacity) {
  double most = 0;
  for (const auto& kind : schedulers::kResourceKinds) {
    const double wanted = demand.*kind.amount;
    if (wanted > 0 && schedulers::accounted(kind, capacity)) most = std::max(most, wanted / capacity.*kind.amount);
  }
  return most;
}

}  // namespace

void OversizedTasks::count(const schedulers::Resources& capacity, int change) {
  auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& known) { return known.first == capacity; });
  if (kind == kinds_.end()) kind = kinds_.insert(kind, {capacity, 0});
  const bool first = kind->second == 0;
  kind->second += static_cast<std::uint32_t>(change);
  const bool last = kind->second == 0;
  if (last) kinds_.erase(kind);
  if (first || last) review();
}

bool OversizedTasks::fits_some(const schedulers::Resources& demand) const {
  return kinds_.empty() ||
         std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& kind) { return schedulers::fits(demand, {}, kind.first); });
}

std::optional<Error> OversizedTasks::refusal(const JobRecord& job) const {
  for (StageId id : job.open) {
    const StageRecord& stage = job.stages.at(id);
    const schedulers::Resources& demand = stage.info->demand;
    if (fits_some(demand)) continue;
    const schedulers::NodeInfo* largest = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [node_id, node] : context_.view.nodes()) {
      const double lacks = excess(demand, node.capacity);
      if (largest != nullptr && lacks >= least) continue;
      largest = &node;
      least = lacks;
    }
    return Error(Code::resource_exhausted,
                 fmt::format("{}: each task wants {}; the largest worker, {}, has {}; lower --demand, or the stage's own demand, "
                             "or add a larger worker",
                             stage.title(), to_string(demand), context_.node_name(largest->id), to_string(largest->capacity)));
  }
  return std::nullopt;
}

void OversizedTasks::review() {
  for (auto& [id, job] : context_.jobs.running()) {
    if (!refusal(job)) {
      waiting_.erase(id);
    } else if (const Time until = context_.now() + context_.options.placement_wait; waiting_.try_emplace(id, until).second) {
      context_.timers.set({Timers::Purpose::placement, until, {}, id});
    }
  }
}

void OversizedTasks::due(JobId id) {
  const auto waits = waiting_.find(id);
  if (waits == waiting_.end() || context_.now() < waits->second) return;  // the timer of an earlier wait
  waiting_.erase(waits);
  const JobRecord& job = context_.jobs.at(id);
  if (auto error = refusal(job)) context_.jobs.fail_later(job, std::move(*error));
}

}  // namespace weft::master
