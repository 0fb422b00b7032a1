#include "engine/simulator/experiment/launches_alike.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

namespace weft::simulator::experiment {

std::size_t launches_alike(const std::vector<workloads::RecordedLaunch>& recorded,
                           const std::vector<workloads::RecordedLaunch>& simulated) {
  using Task = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  const auto task_of = [](const workloads::RecordedLaunch& launch) { return Task(launch.job, launch.stage, launch.task); };
  std::map<Task, std::vector<std::size_t>> places;  // in `recorded`
  for (std::size_t i = 0; i < recorded.size(); ++i) places[task_of(recorded[i])].push_back(i);
  std::map<Task, std::size_t> seen;
  // The longest ascending sequence of places, by the least last member of those of each length (Schensted 1961).
  std::vector<std::size_t> last;
  for (const workloads::RecordedLaunch& launch : simulated) {
    const auto found = places.find(task_of(launch));
    const std::size_t nth = seen[task_of(launch)]++;
    if (found == places.end() || nth >= found->second.size()) continue;
    const std::size_t place = found->second[nth];
    if (recorded[place].node != launch.node) continue;
    const auto at = std::lower_bound(last.begin(), last.end(), place);
    at == last.end() ? last.push_back(place) : void(*at = place);
  }
  return last.size();
}

}  // namespace weft::simulator::experiment
