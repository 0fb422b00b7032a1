#include "engine/simulator/workloads/variations.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"

namespace weft::simulator::workloads {

namespace {

constexpr std::uint64_t kOrders = 0x6f72646572, kMemories = 0x6b6e6f776e;  // streams of random numbers
constexpr std::size_t kLeastNear = 4, kPartNear = 8;

}  // namespace

void reorder(Workload& workload, std::uint64_t seed) {
  Random random(seed, kOrders);
  std::vector<JobSpec>& jobs = workload.jobs;
  const auto near = static_cast<double>(std::max(kLeastNear, jobs.size() / kPartNear));
  std::vector<Time> arrivals;
  std::vector<std::pair<double, std::size_t>> places;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    arrivals.push_back(jobs[i].arrival);
    places.emplace_back(static_cast<double>(i) + near * random.uniform(), i);
  }
  std::sort(places.begin(), places.end());
  std::vector<JobSpec> ordered;
  for (std::size_t i = 0; i < places.size(); ++i) {
    ordered.push_back(std::move(jobs[places[i].second]));
    ordered.back().arrival = arrivals[i];
  }
  jobs = std::move(ordered);
}

void forget(Workload& workload, double known, std::uint64_t seed) {
  Random random(seed, kMemories);
  for (JobSpec& job : workload.jobs) {
    if (random.uniform() < known) continue;
    job.hints.relative_reduce_cost.reset();
    job.hints.shuffle_ratio.reset();
    for (StageSpec& stage : job.stages) {
      stage.estimate = Time(0);
      stage.profile.reset();
    }
  }
}

}  // namespace weft::simulator::workloads
