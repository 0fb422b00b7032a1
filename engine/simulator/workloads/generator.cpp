#include "engine/simulator/workloads/generator.hpp"

#include <map>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "engine/simulator/workloads/job_class.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/settings.hpp"

namespace weft::simulator::workloads {

namespace {

struct Spec {
  std::uint32_t jobs = 100;
  Duration mean_gap = std::chrono::seconds(10);
  std::string arrivals = "poisson";
  std::uint64_t seed = 1;
  std::uint32_t users = 1;
  std::uint32_t pools = 0;
  std::vector<std::string> classes;
  JobClassText base;  // what classes begin with; the only class when there are none

  void declare(Config& config) {
    config.integer("jobs", jobs, "How many", 1, static_cast<std::int64_t>(kMaxJobs));
    config.duration("mean_gap", mean_gap, "Mean time between two arrivals");
    config.text("arrivals", arrivals, "poisson, or even: always the mean gap");
    config.integer("seed", seed, "Of everything random");
    config.integer("users", users, "user0, user1, … in turn", 1, 1'000'000);
    config.integer("pools", pools, "pool0, pool1, … in turn; 0: none", 0, 1'000'000);
    config.list("classes", classes, "Classes of jobs, \"name(key=value,…)\", each beginning with the keys of this file");
    base.declare(config);
  }
};

/// Settings may follow a file; "class=" may come several times and adds to "classes".
Result<Spec> parse(std::string_view text, std::uint64_t seed) {
  Spec spec;
  spec.seed = seed;
  Config config;
  spec.declare(config);
  WEFT_ASSIGN(const auto settings, split_settings(text));
  std::vector<std::string> added;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const std::string& setting = settings[i];
    if (i == 0 && setting.find('=') == std::string::npos) {
      WEFT_TRY(config.load_file(setting));
    } else if (setting.starts_with("class=")) {
      added.push_back(setting.substr(6));
    } else {
      WEFT_TRY(config.set(setting));
    }
  }
  spec.classes.insert(spec.classes.end(), added.begin(), added.end());
  if (spec.arrivals != "poisson" && spec.arrivals != "even") {
    return fail(Code::invalid_argument, fmt::format("arrivals must be poisson or even, not '{}'", escaped(spec.arrivals)));
  }
  if (in_seconds(spec.mean_gap) * spec.jobs > kMaxSeconds / 100) {
    return fail(Code::invalid_argument, "jobs times mean_gap is more than 100 days: give fewer jobs or a smaller gap");
  }
  return spec;
}

Result<std::vector<JobClass>> make_classes(const Spec& spec) {
  std::vector<JobClass> classes;
  double weights = 0;
  for (const std::string& text : spec.classes) {
    WEFT_ASSIGN(const Call call, parse_call(text));
    JobClassText own = spec.base;
    own.name = call.name;
    Config config;
    own.declare(config);
    for (const auto& argument : call.arguments) {
      if (auto set = config.set(argument); !set)
        return fail(std::move(set).error().wrap(fmt::format("class {}", escaped(call.name))));
    }
    WEFT_ASSIGN(classes.emplace_back(), JobClass::make(own));
    weights += own.weight;
  }
  if (!classes.empty() && weights <= 0) return fail(Code::invalid_argument, "the weights of the classes must not all be 0");
  if (classes.empty()) {
    WEFT_ASSIGN(classes.emplace_back(), JobClass::make(spec.base));
  }
  return classes;
}

std::size_t choose(const std::vector<JobClass>& classes, Random& random) {
  double all = 0;
  for (const JobClass& one : classes) all += one.weight();
  double at = random.uniform() * all;
  for (std::size_t i = 0; i + 1 < classes.size(); ++i) {
    if (at < classes[i].weight()) return i;
    at -= classes[i].weight();
  }
  return classes.size() - 1;
}

}  // namespace

Result<Workload> generate(std::string_view text, std::uint64_t seed) {
  WEFT_ASSIGN(const Spec spec, parse(text, seed));
  WEFT_ASSIGN(const auto classes, make_classes(spec));
  std::vector<std::string> names;
  for (const auto& text_of_class : spec.classes) names.push_back(text_of_class.substr(0, text_of_class.find('(')));
  if (names.empty()) names.push_back(spec.base.name);

  Random arrivals(spec.seed, 0);
  Workload workload;
  Time at{0};
  for (std::uint32_t i = 0; i < spec.jobs; ++i) {
    Random random(spec.seed, i + 1);  // so that a job does not depend on the draws for the jobs before
    const std::size_t chosen = choose(classes, random);
    WEFT_ASSIGN(JobSpec job, classes[chosen].draw(random));
    job.name = fmt::format("{} {}", trim(names[chosen]), i);
    if (job.options.user.empty()) job.options.user = fmt::format("user{}", i % spec.users);
    if (job.options.pool.empty() && spec.pools > 0) job.options.pool = fmt::format("pool{}", i % spec.pools);
    job.arrival = at;
    at += spec.arrivals == "even" ? spec.mean_gap : exponential(arrivals, spec.mean_gap);
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

std::string describe_generator() {
  Spec spec;
  Config config;
  spec.declare(config);
  return config.describe();
}

}  // namespace weft::simulator::workloads
