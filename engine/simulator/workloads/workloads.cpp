#include "engine/simulator/workloads/workloads.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/text.hpp"
#include "engine/simulator/workloads/distribution.hpp"
#include "engine/simulator/workloads/generator.hpp"
#include "engine/simulator/workloads/hash_order.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/settings.hpp"

namespace weft::simulator::workloads {

namespace {

using Loader = Result<Workload> (*)(const std::string& path, const Settings& settings, const Context& context);

struct Kind {
  std::string_view name;
  std::string_view doc;
  Loader loader;
};

constexpr std::array<Kind, 8> kKinds{{
    {"jobs", "weft's own form, JSON: users, pools, weights, deadlines, stages, tasks", load_jobs},
    {"swim", "SWIM, tab separated (block, reduce_bytes, max_reduces, rate, startup, users)", load_swim},
    {"carbyne", "DAG files of the Carbyne authors (hash_order)", load_carbyne},
    {"decima", "TPC-H DAGs of Decima, JSON lines (executors, scale_gb, query)", load_decima},
    {"coflow", "the Facebook coflow file", load_coflow},
    {"rumen", "Rumen job traces, JSON (topology)", load_rumen},
    {"alibaba", "Alibaba's batch tasks of 2018, CSV", load_alibaba},
    {"log", "event logs of weft, JSON lines", load_event_log},
}};

/// The settings that all kinds of traces have.
struct Draw {
  std::size_t sample = 0;
  Duration gap{0};
  std::uint64_t seed = 0;

  void declare(Config& config) {
    config.integer("sample", sample, "Number of jobs to draw at random (with repetition); 0: all, in order", 0, kMaxJobs);
    config.duration("gap", gap, "Poisson arrivals with this mean gap instead of the trace's");
    config.integer("seed", seed, "Of sample and gap");
  }

  void apply(Workload& workload) const {
    Random random(seed);
    if (sample > 0) {
      std::vector<JobSpec> drawn;
      for (std::size_t i = 0; i < sample; ++i) drawn.push_back(workload.jobs[random.below(workload.jobs.size())]);
      workload.jobs = std::move(drawn);
    }
    if (gap == Duration{0}) return;
    Time at{0};
    for (JobSpec& job : workload.jobs) {
      job.arrival = at;
      at += exponential(random, gap);
    }
  }
};

bool is_setting(std::string_view part) {
  const std::size_t equals = part.find('=');
  return equals != std::string_view::npos && equals > 0 && part.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == equals;
}

/// The path may have commas: settings are the parts at the end that look like some.
Result<std::string> take_path(std::vector<std::string>& parts) {
  std::size_t first = parts.size();
  while (first > 1 && is_setting(parts[first - 1])) --first;
  std::string path = join(std::span(parts).first(first), ",");
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(first));
  if (path.empty()) return fail(Code::invalid_argument, "a file is missing after the kind: write KIND:FILE");
  return path;
}

Result<Workload> load_trace(const Kind& kind, std::string_view rest, const Context& context) {
  WEFT_ASSIGN(auto settings, split_settings(rest));
  WEFT_ASSIGN(const std::string path, take_path(settings));
  Draw draw;
  draw.seed = context.seed;
  Config config;
  draw.declare(config);
  Settings own;
  for (auto& setting : settings) {
    const std::string key = setting.substr(0, setting.find('='));
    if (key == "sample" || key == "gap" || key == "seed") {
      WEFT_TRY(config.set(setting));
    } else {
      own.push_back(std::move(setting));
    }
  }
  WEFT_ASSIGN(Workload workload, kind.loader(path, own, context));
  if (workload.jobs.empty()) return fail(Code::corrupt, path + ": no jobs");
  draw.apply(workload);
  return workload;
}

std::uint64_t scaled(std::uint64_t amount, double scale) {
  return static_cast<std::uint64_t>(std::min(static_cast<double>(kMaxBytes), std::round(static_cast<double>(amount) * scale)));
}

/// Values by task for another number of tasks: the same in proportion.
template <class T>
void stretch(std::vector<T>& values, std::uint32_t tasks) {
  if (values.empty()) return;
  std::vector<T> result;
  result.reserve(tasks);
  for (std::uint64_t i = 0; i < tasks; ++i) result.push_back(values[i * values.size() / tasks]);
  values = std::move(result);
}

Result<void> scale_stage(StageSpec& stage, double scale) {
  const double tasks = std::max(1.0, std::round(stage.tasks * scale));
  if (tasks > static_cast<double>(kMaxTasks)) return fail(Code::invalid_argument, "--scale: a stage would have too many tasks");
  const std::uint64_t tasks_before = stage.tasks;
  stage.tasks = static_cast<std::uint32_t>(tasks);
  stretch(stage.durations, stage.tasks);
  stretch(stage.hosts, stage.tasks);
  decltype(stage.failures) failures;
  for (std::uint64_t i = 0; i < stage.tasks && !stage.failures.empty(); ++i) {
    const auto before = stage.failures.find(static_cast<std::uint32_t>(i * tasks_before / stage.tasks));
    if (before != stage.failures.end()) failures.emplace(static_cast<std::uint32_t>(i), before->second);
  }
  stage.failures = std::move(failures);
  stage.input_bytes = scaled(stage.input_bytes, scale);
  stage.shuffle_bytes = scaled(stage.shuffle_bytes, scale);
  stage.output_bytes = scaled(stage.output_bytes, scale);
  return {};
}

}  // namespace

Result<Workload> load(std::string_view text, const Context& context) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  Workload workload;
  const auto kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& one) { return one.name == name; });
  if (name == "generate") {
    WEFT_ASSIGN(workload, generate(rest, context.seed));
  } else if (kind != kKinds.end()) {
    WEFT_ASSIGN(workload, load_trace(*kind, rest, context));
  } else {
    std::string names;
    for (const Kind& one : kKinds) names += std::string(one.name) + ", ";
    return fail(
        Code::invalid_argument,
        fmt::format("'{}' is no kind of workload; there are {}generate; weft simulate --help tells more", escaped(name), names));
  }
  workload.name = std::string(text);
  return workload;
}

std::string describe_kinds() {
  std::string text;
  for (const Kind& kind : kKinds) text += fmt::format("  {}:FILE  {}\n", kind.name, kind.doc);
  return text + "  generate:…  made up (weft simulate --workload generate:help)";
}

Result<void> resize(Workload& workload, const Resize& resize) {
  if (!(resize.scale > 0) || !(resize.arrival_scale >= 0) || resize.scale > 1e6 || resize.arrival_scale > 1e6) {
    return fail(Code::invalid_argument, "--scale must be greater than 0 and --arrival-scale at least 0, both at most 1000000");
  }
  if (resize.limit > 0 && workload.jobs.size() > resize.limit) workload.jobs.resize(resize.limit);
  for (JobSpec& job : workload.jobs) {
    if (resize.arrival_scale != 1) {
      job.arrival = to_time(std::min(kMaxSeconds, in_seconds(job.arrival) * resize.arrival_scale));
    }
    if (resize.scale == 1) continue;
    for (StageSpec& stage : job.stages) {
      WEFT_TRY(scale_stage(stage, resize.scale));
      stage.read.clear();  // known for the former tasks only
      stage.written.clear();
    }
    for (StageSpec& stage : job.stages) {
      for (const std::uint32_t parent : stage.parents) {
        if (!job.stages[parent].partition_weights.empty()) stretch(job.stages[parent].partition_weights, stage.tasks);
      }
    }
  }
  if (workload.hash_order) order_by_hash(workload.jobs, *workload.hash_order);
  std::ranges::stable_sort(workload.jobs, {}, &JobSpec::arrival);
  return {};
}

}  // namespace weft::simulator::workloads
