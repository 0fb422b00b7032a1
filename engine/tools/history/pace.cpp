#include "engine/tools/history/pace.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace weft::history {

namespace {

constexpr double kSlow = 1.5;            // times what the same stages take elsewhere
constexpr double kDeviations = 1.96;     // of the rank sum, above its mean: one node of 40 by chance
constexpr double kCostSeconds = 1;       // less is not reported,
constexpr double kLeastCost = 0.05;      // nor less than this part of the job's time
constexpr double kLeastSeconds = 0.01;   // stages of shorter tasks measure starting them, not the node
constexpr std::size_t kLeastTasks = 2;   // of the node
constexpr std::size_t kLeastOthers = 3;  // of the same stage elsewhere

/// Of one attempt: its time, less where it had more to read than others.
struct TimedRun {
  double seconds = 0;
  std::uint32_t node = 0;
};
using Stages = std::map<std::uint32_t, std::vector<TimedRun>>;

/// Not the larger of two: what the median shows is then true of at least half of the values.
double lower_median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Of pairs of a value and its weight.
double weighted_median(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double all = 0, passed = 0;
  for (const auto& [value, weight] : values) all += weight;
  for (const auto& [value, weight] : values)
    if (passed += weight; passed * 2 >= all) return value;
  return 0;
}

/// Bytes that tasks read, by stage and task.
std::map<std::pair<std::uint32_t, std::uint32_t>, double> read_bytes(const LoggedJob& job) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> bytes;
  for (const LoggedAttempt& attempt : job.attempts)
    if (attempt.fate == Fate::finished)
      bytes[{attempt.stage, attempt.task}] = static_cast<double>(attempt.input_bytes + attempt.usage.shuffle_read_bytes);
  return bytes;
}

/// What finished, and what was killed since another attempt was faster: it would have taken longer still.
Stages runs_of(const LoggedJob& job) {
  const auto bytes = read_bytes(job);
  std::map<std::uint32_t, std::vector<double>> of_stage, seconds;
  for (const auto& [task, read] : bytes) of_stage[task.first].push_back(read);
  const auto took = [](const LoggedAttempt& attempt) { return in_seconds(attempt.ended - attempt.launched); };
  for (const LoggedAttempt& attempt : job.attempts)
    if (attempt.fate == Fate::finished) seconds[attempt.stage].push_back(took(attempt));
  std::map<std::uint32_t, double> typical_bytes, typical_seconds;  // once for a stage: jobs have many attempts
  for (const auto& [stage, values] : of_stage) typical_bytes[stage] = lower_median(values);
  for (const auto& [stage, values] : seconds) typical_seconds[stage] = lower_median(values);
  Stages runs;
  for (const LoggedAttempt& attempt : job.attempts) {
    const auto read = bytes.find({attempt.stage, attempt.task});
    if (read == bytes.end() || (attempt.fate != Fate::finished && attempt.fate != Fate::killed)) continue;
    if (attempt.fate == Fate::killed && took(attempt) < typical_seconds[attempt.stage]) continue;
    const double typical = typical_bytes[attempt.stage];
    const double more = typical > 0 ? std::max(1.0, read->second / typical) : 1.0;
    runs[attempt.stage].push_back({took(attempt) / more, attempt.node});
  }
  return runs;
}

/// The rank sum of each node over all stages (Mann and Whitney): `sum`, what is expected by chance, and its variance. Stages count
/// by how long their tasks take: stages of short tasks show little of a node.
struct Ranks {
  double sum = 0, mean = 0, variance = 0;
  bool surprising() const { return variance > 0 && sum - mean >= kDeviations * std::sqrt(variance); }
};

std::map<std::uint32_t, Ranks> rank(Stages& stages) {
  std::map<std::uint32_t, Ranks> ranks;
  for (auto& [stage, runs] : stages) {
    std::sort(runs.begin(), runs.end(), [](const TimedRun& a, const TimedRun& b) { return a.seconds < b.seconds; });
    std::map<std::uint32_t, double> counts, sums;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      sums[runs[i].node] += static_cast<double>(i + 1);
      ++counts[runs[i].node];
    }
    const double weight = runs[(runs.size() - 1) / 2].seconds, all = static_cast<double>(runs.size());
    for (const auto& [node, count] : counts) {
      ranks[node].sum += weight * sums[node];
      ranks[node].mean += weight * count * (all + 1) / 2;
      ranks[node].variance += weight * weight * count * (all - count) * (all + 1) / 12;
    }
  }
  return ranks;
}

/// One node against the others, stage by stage. `slots`: of all nodes together.
SlowNode compare(const Stages& stages, std::uint32_t node, double slots) {
  SlowNode found{.node = node};
  std::vector<std::pair<double, double>> ratios;  // each with the time that it stands for
  double most = 0, sum = 0;
  for (const auto& [stage, runs] : stages) {
    std::vector<double> here, elsewhere;
    for (const TimedRun& run : runs) (run.node == node ? here : elsewhere).push_back(run.seconds);
    if (here.empty() || elsewhere.size() < kLeastOthers) continue;
    const double typical = lower_median(elsewhere);
    if (typical < kLeastSeconds) continue;
    for (const double seconds : here) {
      ratios.emplace_back(seconds / typical, typical);
      most = std::max(most, seconds - typical);
      sum += seconds - typical;
    }
  }
  found.tasks = ratios.size();
  if (ratios.size() < kLeastTasks) return found;
  found.ratio = weighted_median(std::move(ratios));
  found.cost_seconds = std::max(most, sum / slots);  // the last task is waited for, or others did the node's part
  return found;
}

}  // namespace

std::vector<SlowNode> slow_nodes(const LoggedJob& job, double seconds) {
  Stages stages = runs_of(job);
  std::set<std::pair<std::uint32_t, std::uint32_t>> slots;
  for (const LoggedAttempt& attempt : job.attempts) slots.insert({attempt.node, attempt.slot});
  std::vector<SlowNode> slow;
  for (const auto& [node, ranks] : rank(stages)) {
    if (!ranks.surprising()) continue;
    const SlowNode found = compare(stages, node, static_cast<double>(slots.size()));
    if (found.ratio >= kSlow && found.cost_seconds >= std::max(kCostSeconds, kLeastCost * seconds)) slow.push_back(found);
  }
  return slow;
}

}  // namespace weft::history
