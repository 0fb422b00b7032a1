// Tasks that no live node is large enough for: refused when they are handed over, waited for a while when that came later.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "engine/master/core_impl.hpp"

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

void Core::Impl::count_shape(const schedulers::Resources& capacity, int change) {
  auto shape = std::find_if(shapes_.begin(), shapes_.end(), [&](const auto& known) { return known.first == capacity; });
  if (shape == shapes_.end()) shape = shapes_.insert(shape, {capacity, 0});
  const bool first = shape->second == 0;
  shape->second += static_cast<std::uint32_t>(change);
  const bool last = shape->second == 0;
  if (last) shapes_.erase(shape);
  if (first || last) review_placement();
}

bool Core::Impl::placeable(const schedulers::Resources& demand) const {
  return shapes_.empty() ||
         std::any_of(shapes_.begin(), shapes_.end(), [&](const auto& shape) { return schedulers::fits(demand, {}, shape.first); });
}

std::optional<Error> Core::Impl::too_large(const JobRecord& job) const {
  for (StageId id : job.open) {
    const StageRecord& stage = job.stages.at(id);
    const schedulers::Resources& demand = stage.info->demand;
    if (placeable(demand)) continue;
    const schedulers::NodeInfo* largest = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [node_id, node] : state_.nodes()) {
      const double lacks = excess(demand, node.capacity);
      if (largest != nullptr && lacks >= least) continue;
      largest = &node;
      least = lacks;
    }
    return Error(Code::resource_exhausted,
                 fmt::format("{}: each task wants {}; the largest worker, {}, has {}; lower --demand or add a larger worker",
                             stage.title(), to_string(demand), node_name(largest->id), to_string(largest->capacity)));
  }
  return std::nullopt;
}

/// The kinds of nodes changed: which jobs now have tasks that fit none, and which no longer.
void Core::Impl::review_placement() {
  for (auto& [id, job] : jobs_) {
    if (!too_large(job)) {
      unplaceable_.erase(id);
    } else if (unplaceable_.insert(id).second) {
      set_timer(Timer::Purpose::placement, {}, state_.now() + options_.placement_wait, id);
    }
  }
}

void Core::Impl::placement_due(JobId id) {
  auto job = jobs_.find(id);
  if (job == jobs_.end() || !unplaceable_.contains(id)) return;
  unplaceable_.erase(id);
  if (auto error = too_large(job->second)) doom(job->second, std::move(*error));
}

}  // namespace weft::master
