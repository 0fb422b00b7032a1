#include "engine/tools/display/earlier_runs.hpp"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/tools/display/job_text.hpp"

namespace weft::tools {

namespace {

constexpr std::size_t kMostRuns = 20;
constexpr std::size_t kNamedRuns = 5;

}  // namespace

client::JobList earlier_runs(const client::JobList& jobs, JobId job) {
  client::JobList runs;
  runs.now = jobs.now;
  const auto self = std::find_if(jobs.jobs.begin(), jobs.jobs.end(), [&](const auto& one) { return one.id == job; });
  if (self == jobs.jobs.end()) return runs;
  for (const master::JobStatus& one : jobs.jobs)
    if (one.id < job && one.name == self->name && one.user == self->user) runs.jobs.push_back(one);
  if (runs.jobs.size() > kMostRuns) runs.jobs.erase(runs.jobs.begin(), runs.jobs.end() - kMostRuns);
  return runs;
}

std::string earlier_runs_text(const client::JobList& runs) {
  if (runs.jobs.empty()) return "";
  std::vector<Duration> finished;
  std::string text;
  for (std::size_t i = 0; i < runs.jobs.size(); ++i) {
    const master::JobStatus& run = runs.jobs[i];
    const Duration took = age(run, runs.now);
    if (run.state == master::JobState::finished) finished.push_back(took);
    if (i + kNamedRuns < runs.jobs.size()) continue;
    const std::string how = run.state == master::JobState::finished  ? ""
                            : run.state == master::JobState::running ? "running for "
                                                                     : std::string(name_of(run.state)) + " after ";
    text += fmt::format("{}{}{} (job {})", text.empty() ? "" : ", ", how, human_duration(took), run.id.value());
  }
  text = fmt::format("earlier runs of {}: {}", escaped(runs.jobs.front().name), text);
  if (finished.size() < 2) return text + "\n";
  const auto middle = finished.begin() + static_cast<std::ptrdiff_t>(finished.size() / 2);
  std::nth_element(finished.begin(), middle, finished.end());
  return text + fmt::format("; the median of {} that finished is {}\n", finished.size(), human_duration(*middle));
}

}  // namespace weft::tools
