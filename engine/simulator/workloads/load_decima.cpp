// TPC-H DAGs with task times measured on Spark, from the Decima simulator, as JSON lines:
//
//   {"query":1,"scale_gb":2,"num_stages":4,"edges":[[0,1],…],"stages":[{"id":0,"num_tasks":12,
//     "first_wave":{"50":[ms,…],…},"rest_wave":{…},"fresh":{…}},…]}
//
// The times were taken with several numbers of executors. Those of one number are used: of each stage's first wave, then of the
// rest. The trace knows no bytes.
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/settings.hpp"
#include "engine/simulator/workloads/stage_order.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

struct DecimaOptions {
  std::int64_t executors = 50;
  std::int64_t scale_gb = 0;
  std::int64_t query = 0;

  void declare(Config& config) {
    config.integer("executors", executors, "Number of executors of the measurement to take the times of, or the nearest one", 1,
                   1'000'000);
    config.integer("scale_gb", scale_gb, "Only jobs of this scale; 0: all", 0, 1'000'000);
    config.integer("query", query, "Only jobs of this query; 0: all", 0, 1'000'000);
  }
};

using Waves = std::map<std::int64_t, std::vector<double>>;  // milliseconds by number of executors

struct DecimaLine {
  std::int64_t query = 0, scale_gb = 0;
  std::int64_t announced = -1;
  std::vector<StageSpec> stages;
  std::vector<Edge> edges;
};

class DecimaParser {
 public:
  DecimaParser(const Lines& lines, const DecimaOptions& options)
      : json_(lines.line(), lines.path(), lines.number()), options_(options) {}

  Result<DecimaLine> parse() {
    DecimaLine line;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      if (key == "query") return number(line.query);
      if (key == "scale_gb") return number(line.scale_gb);
      if (key == "num_stages") return number(line.announced);
      if (key == "edges") return json_.array([&] { return edge(line.edges); });
      if (key == "stages") return json_.array([&] { return stage(line.stages); });
      return json_.skip();
    }));
    WEFT_TRY(json_.finish());
    WEFT_TRY(check(line));
    return line;
  }

 private:
  Result<void> check(const DecimaLine& line) const {
    if (line.stages.empty()) return fail(json_.error("no stages"));
    if (line.announced >= 0 && static_cast<std::size_t>(line.announced) != line.stages.size()) {
      return fail(json_.error(fmt::format("num_stages is {}, but there are {}", line.announced, line.stages.size())));
    }
    for (const Edge& edge : line.edges) {
      const auto last = std::max(edge.from, edge.to);
      if (last >= line.stages.size()) return fail(json_.error(fmt::format("an edge names stage {}, which is not there", last)));
    }
    return {};
  }

  Result<void> number(std::int64_t& value, std::int64_t largest = 1'000'000'000) {
    WEFT_ASSIGN(value, json_.integer());
    if (value < 0 || value > largest) return fail(json_.error(fmt::format("{} is not between 0 and {}", value, largest)));
    return {};
  }

  Result<void> edge(std::vector<Edge>& edges) {
    std::vector<std::int64_t> ends;
    WEFT_TRY(json_.array([&] { return number(ends.emplace_back(), kMaxStages); }));
    if (ends.size() != 2) return fail(json_.error("an edge has two ends"));
    edges.push_back({static_cast<std::uint32_t>(ends[0]), static_cast<std::uint32_t>(ends[1])});
    return {};
  }

  Result<void> stage(std::vector<StageSpec>& stages) {
    std::int64_t id = static_cast<std::int64_t>(stages.size()), tasks = 0;
    Waves first, rest;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      if (key == "id") return number(id);
      if (key == "num_tasks") return number(tasks, kMaxTasks);
      if (key == "first_wave") return waves(first);
      if (key == "rest_wave") return waves(rest);
      return json_.skip();
    }));
    if (id != static_cast<std::int64_t>(stages.size())) return fail(json_.error("the ids of stages must be 0, 1, 2, …"));
    if (tasks == 0) return fail(json_.error("num_tasks must be at least 1"));
    StageSpec& stage = stages.emplace_back();
    stage.name = fmt::format("stage {}", id);
    stage.tasks = static_cast<std::uint32_t>(tasks);
    return durations(first, rest, stage);
  }

  Result<void> waves(Waves& waves) {
    return json_.object([&](std::string_view key) -> Result<void> {
      const auto executors = parse_number<std::int64_t>(key);
      if (!executors) return fail(json_.error(fmt::format("'{}' is not a number of executors", escaped(key))));
      auto& times = waves[*executors];
      return json_.array([&]() -> Result<void> {
        WEFT_ASSIGN(times.emplace_back(), json_.number());
        if (times.back() >= 0 && times.back() <= kMaxSeconds * 1000) return {};
        return fail(json_.error(fmt::format("{} is no time in milliseconds", times.back())));
      });
    });
  }

  /// One time per task; when more or fewer were measured, they are used in turn.
  Result<void> durations(const Waves& first, const Waves& rest, StageSpec& stage) {
    std::vector<double> times;
    std::int64_t nearest = -1;
    for (const auto& [executors, wave] : first) {
      const bool closer = nearest < 0 || std::abs(executors - options_.executors) < std::abs(nearest - options_.executors);
      if (!wave.empty() && closer) nearest = executors;
    }
    for (const Waves* waves : {&first, &rest}) {
      const auto found = waves->find(nearest);
      if (found != waves->end()) times.insert(times.end(), found->second.begin(), found->second.end());
    }
    if (times.empty()) return fail(json_.error("a stage without times in first_wave"));
    for (std::uint32_t task = 0; task < stage.tasks; ++task) stage.durations.push_back(to_time(times[task % times.size()] / 1000));
    return {};
  }

  JsonReader json_;
  const DecimaOptions& options_;
};

}  // namespace

Result<Workload> load_decima(const std::string& path, const Settings& settings, const Context&) {
  DecimaOptions options;
  Config config;
  options.declare(config);
  WEFT_TRY(assign(settings, config));
  WEFT_ASSIGN(Lines lines, Lines::open(path, 64u << 20));
  Workload workload;
  WEFT_TRY(lines.for_each([&]() -> Result<void> {
    if (trim(lines.line()).empty()) return {};
    WEFT_ASSIGN(DecimaLine line, DecimaParser(lines, options).parse());
    if ((options.scale_gb > 0 && line.scale_gb != options.scale_gb) || (options.query > 0 && line.query != options.query))
      return {};
    if (auto sorted = order_stages(line.stages, line.edges); !sorted) return fail(lines.error(sorted.error().to_string()));
    JobSpec job;
    job.name = fmt::format("q{} {} GB", line.query, line.scale_gb);
    job.stages = std::move(line.stages);
    return add_job(workload, std::move(job), lines);
  }));
  return workload;
}

}  // namespace weft::simulator::workloads
