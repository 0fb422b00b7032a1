#include "engine/simulator/report/comparison.hpp"

#include <algorithm>
#include <cmath>

#include "base/clock.hpp"

namespace weft::simulator::report {

double Replay::mean_absolute_error() const {
  double sum = 0;
  for (const ReplayedJob& job : jobs) sum += std::abs(job.error());
  return jobs.empty() ? 0 : sum / static_cast<double>(jobs.size());
}

Time time_alone(const JobSpec& job) {
  std::vector<Time> ends;
  Time longest{0}, part_begins{0};
  for (const StageSpec& stage : job.stages) {
    if (stage.planned && !ends.empty()) part_begins = longest + *stage.planned;  // when all before it has ended (plans.cpp)
    Time begin = part_begins;
    for (const std::uint32_t parent : stage.parents) begin = std::max(begin, ends[parent]);
    ends.push_back(begin + stage.longest_duration());
    longest = std::max(longest, ends.back());
  }
  return longest;
}

Replay compare_with_recording(const RunResult& run, const std::vector<std::optional<Time>>& recorded_ends) {
  Replay replay;
  replay.scheduler = run.scheduler;
  replay.launches = run.launches_recorded;
  replay.launches_alike = run.launches_alike;
  Time first = Time::max(), recorded{0}, simulated{0};
  for (std::size_t i = 0; i < run.jobs.size() && i < recorded_ends.size(); ++i) {
    const JobResult& job = run.jobs[i];
    const auto took = job.completion_time();
    if (!took || !recorded_ends[i]) continue;
    replay.jobs.push_back({job.name, in_seconds(*recorded_ends[i] - job.submitted), in_seconds(*took)});
    first = std::min(first, job.submitted);
    recorded = std::max(recorded, *recorded_ends[i]);
    simulated = std::max(simulated, *job.ended);
  }
  if (replay.jobs.empty()) return replay;
  replay.recorded_makespan = in_seconds(recorded - first);
  replay.simulated_makespan = in_seconds(simulated - first);
  return replay;
}

}  // namespace weft::simulator::report
