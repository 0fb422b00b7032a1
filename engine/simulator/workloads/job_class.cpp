#include "engine/simulator/workloads/job_class.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "engine/simulator/workloads/lines.hpp"

namespace weft::simulator::workloads {

namespace {

constexpr std::uint32_t kMostGeneratedStages = 10'000;

double pieces(double bytes, double size) { return std::max(1.0, std::ceil(bytes / size)); }

std::uint64_t to_bytes(double bytes) { return static_cast<std::uint64_t>(std::min(bytes, static_cast<double>(kMaxBytes))); }

}  // namespace

void JobClassText::declare(Config& config) {
  config.real("weight", weight, "How often jobs of this class come, against other classes");
  config.text("kind", kind, "mapreduce or dag");
  config.text("input", input, "Bytes read from storage");
  config.real("input_scale", input_scale, "What these are multiplied with");
  config.text("shuffle_ratio", shuffle_ratio, "Shuffle over input of a stage; 0: a job of maps only");
  config.text("output_ratio", output_ratio, "Output over what the last stage reads");
  config.size("block", block, "Input of a map, where maps is not given");
  config.size("reduce_bytes", reduce_bytes, "Shuffle bytes of a reduce, where reduces is not given");
  config.text("maps", maps, "Number of maps");
  config.text("reduces", reduces, "Number of reduces");
  config.size("rate", rate, "Bytes a second that a task works through, where no time is given");
  config.duration("startup", startup, "Added to each task's work, where no time is given");
  config.text("map_time", map_time, "Work of a map");
  config.text("reduce_time", reduce_time, "Work of a reduce");
  config.text("stages", stages, "dag: number of stages");
  config.text("parents", parents, "dag: number of parents of a stage (earlier ones, at random)");
  config.text("tasks", tasks, "dag: number of tasks of a stage; else from block and reduce_bytes");
  config.text("task_time", task_time, "dag: work of a stage's tasks");
  config.text("variation", variation, "Factor of each single task's work");
  config.text("skew", skew, "Zipf exponent of the partition sizes");
  config.text("demand", demand, "Of a task: (cpu=1,memory=1GiB)");
  config.text("fast_nodes", fast_nodes, "Nodes on which the work goes faster, by an attribute of theirs: accelerator=gpu");
  config.real("speedup", speedup, "How much faster it goes there");
  config.real("job_weight", job_weight, "What each job's share is weighed with, where the scheduler shares between jobs");
  config.text("user", user, "Of the jobs; else in turn");
  config.text("pool", pool, "Of the jobs; else in turn");
  config.integer("priority", priority, "Larger comes first", -1000, 1000);
  config.text("deadline", deadline, "Since arrival, as a factor of the job's time alone; else none");
  config.integer("isolated_slots", isolated_slots, "Slots that the time alone is taken with; 0: as many as there are tasks", 0,
                 1'000'000'000);
}

Result<JobClass> JobClass::make(const JobClassText& text) {
  JobClass made;
  made.text_ = text;
  const auto invalid = [&](std::string_view why) {
    return fail(Code::invalid_argument, fmt::format("class {}: {}", escaped(text.name), why));
  };
  if (text.kind != "mapreduce" && text.kind != "dag") return invalid("kind must be mapreduce or dag");
  if (!(text.job_weight > 0) || text.job_weight > 1e9) return invalid("job_weight must be more than 0");
  if (!(text.input_scale > 0) || text.input_scale > 1e9) return invalid("input_scale must be more than 0");
  if (!(text.weight >= 0) || text.weight > 1e9) return invalid("weight must be at least 0");
  if (text.block == 0 || text.reduce_bytes == 0 || text.rate == 0) return invalid("block, reduce_bytes and rate must not be 0");
  if (const std::size_t equals = text.fast_nodes.find('='); !text.fast_nodes.empty()) {
    if (equals == 0 || equals == std::string::npos)
      return invalid("fast_nodes must be an attribute and its value: accelerator=gpu");
    made.speedups_.push_back({text.fast_nodes.substr(0, equals), text.fast_nodes.substr(equals + 1), text.speedup});
  }
  if (!(text.speedup > 0) || text.speedup > 1e6) return invalid("speedup must be more than 0");
  struct Entry {
    const char* key;
    const std::string& value;
    Distribution& draw;
    Unit unit;
  };
  Draws& d = made.draws_;
  for (const Entry& entry : {Entry{"input", text.input, d.input, Unit::bytes},
                             {"shuffle_ratio", text.shuffle_ratio, d.shuffle_ratio, Unit::number},
                             {"output_ratio", text.output_ratio, d.output_ratio, Unit::number},
                             {"maps", text.maps, d.maps, Unit::number},
                             {"reduces", text.reduces, d.reduces, Unit::number},
                             {"map_time", text.map_time, d.map_time, Unit::seconds},
                             {"reduce_time", text.reduce_time, d.reduce_time, Unit::seconds},
                             {"stages", text.stages, d.stages, Unit::number},
                             {"parents", text.parents, d.parents, Unit::number},
                             {"tasks", text.tasks, d.tasks, Unit::number},
                             {"task_time", text.task_time, d.task_time, Unit::seconds},
                             {"variation", text.variation, d.variation, Unit::number},
                             {"skew", text.skew, d.skew, Unit::number},
                             {"deadline", text.deadline, d.deadline, Unit::number}}) {
    if (entry.value.empty()) continue;
    auto parsed = Distribution::parse(entry.value, entry.unit);
    if (!parsed) return fail(std::move(parsed).error().wrap(fmt::format("class {}: {}", escaped(text.name), entry.key)));
    entry.draw = std::move(*parsed);
  }
  if (!text.demand.empty()) {
    std::string_view inside = trim(text.demand);
    if (inside.starts_with('(') && inside.ends_with(')')) inside = inside.substr(1, inside.size() - 2);
    auto demand = schedulers::parse_resources(inside);
    if (!demand) return fail(std::move(demand).error().wrap(fmt::format("class {}: demand", escaped(text.name))));
    made.demand_ = *demand;
  }
  return made;
}

Result<std::uint32_t> JobClass::task_count(double count) const {
  count = std::max(1.0, std::round(count));
  if (count <= static_cast<double>(kMaxTasks)) return static_cast<std::uint32_t>(count);
  return fail(Code::resource_exhausted,
              fmt::format("class {}: a stage of {:.3g} tasks: draw smaller numbers", escaped(text_.name), count));
}

void JobClass::set_work(Random& random, StageSpec& stage, double bytes, const Distribution* time) const {
  const double drawn =
      time != nullptr ? time->draw(random) : in_seconds(text_.startup) + bytes / stage.tasks / static_cast<double>(text_.rate);
  stage.duration = to_time(std::min(drawn, kMaxSeconds));
  if (text_.variation == "1") return;
  for (std::uint32_t i = 0; i < stage.tasks; ++i) {
    stage.durations.push_back(to_time(std::min(drawn * draws_.variation.draw(random), kMaxSeconds)));
  }
}

Result<JobSpec> JobClass::draw(Random& random) const {
  JobSpec job;
  job.options.user = text_.user;
  job.options.pool = text_.pool;
  job.options.priority = text_.priority;
  job.hints.weight = text_.job_weight;
  WEFT_TRY(text_.kind == "dag" ? draw_dag(random, job) : draw_map_reduce(random, job));
  for (StageSpec& stage : job.stages) {
    stage.demand = demand_;
    stage.speedups = speedups_;
  }
  if (!text_.deadline.empty()) {
    const double alone = in_seconds(isolated_time(job));
    job.deadline = to_time(std::min(alone * draws_.deadline.draw(random), kMaxSeconds));
  }
  return job;
}

Result<void> JobClass::draw_map_reduce(Random& random, JobSpec& job) const {
  const double input = draws_.input.draw(random) * text_.input_scale, ratio = draws_.shuffle_ratio.draw(random);
  const double shuffle = std::min(input * ratio, static_cast<double>(kMaxBytes));
  job.hints.shuffle_ratio = ratio;
  StageSpec map;
  map.name = "map";
  map.input_bytes = to_bytes(input);
  map.shuffle_bytes = to_bytes(shuffle);
  map.partition_skew = draws_.skew.draw(random);
  WEFT_ASSIGN(map.tasks,
              task_count(text_.maps.empty() ? pieces(input, static_cast<double>(text_.block)) : draws_.maps.draw(random)));
  set_work(random, map, input, text_.map_time.empty() ? nullptr : &draws_.map_time);
  const double output = draws_.output_ratio.draw(random);
  if (map.shuffle_bytes == 0) {
    map.output_bytes = to_bytes(input * output);
    job.stages.push_back(std::move(map));
    return {};
  }
  StageSpec reduce;
  reduce.name = "reduce";
  reduce.parents = {0};
  reduce.output_bytes = to_bytes(shuffle * output);
  const double count =
      text_.reduces.empty() ? pieces(shuffle, static_cast<double>(text_.reduce_bytes)) : draws_.reduces.draw(random);
  WEFT_ASSIGN(reduce.tasks, task_count(count));
  set_work(random, reduce, shuffle, text_.reduce_time.empty() ? nullptr : &draws_.reduce_time);
  job.hints.relative_reduce_cost =
      static_cast<double>(reduce.duration.count()) / std::max(1.0, static_cast<double>(map.duration.count()));
  job.stages.push_back(std::move(map));
  job.stages.push_back(std::move(reduce));
  return {};
}

Result<void> JobClass::draw_dag(Random& random, JobSpec& job) const {
  const double wanted = std::max(1.0, std::round(draws_.stages.draw(random)));
  const auto count = static_cast<std::uint32_t>(std::min(wanted, static_cast<double>(kMostGeneratedStages)));
  std::vector<bool> read(count);
  std::uint32_t roots = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    StageSpec& stage = job.stages.emplace_back();
    stage.name = fmt::format("stage {}", i);
    const auto parents =
        std::min<std::uint64_t>(i, static_cast<std::uint64_t>(std::llround(std::min(draws_.parents.draw(random), 1e6))));
    std::set<std::uint32_t> chosen;
    while (chosen.size() < parents) chosen.insert(static_cast<std::uint32_t>(random.below(i)));
    stage.parents.assign(chosen.begin(), chosen.end());
    for (const std::uint32_t parent : chosen) read[parent] = true;
    if (chosen.empty()) ++roots;
  }
  const double input = draws_.input.draw(random) * text_.input_scale;
  for (std::uint32_t i = 0; i < count; ++i) {
    StageSpec& stage = job.stages[i];
    const bool root = stage.parents.empty();
    double bytes = root ? input / roots : 0;
    if (root) stage.input_bytes = to_bytes(bytes);
    for (const std::uint32_t parent : stage.parents) bytes += static_cast<double>(job.stages[parent].shuffle_bytes);
    const double by_size = pieces(bytes, static_cast<double>(root ? text_.block : text_.reduce_bytes));
    WEFT_ASSIGN(stage.tasks, task_count(text_.tasks.empty() ? by_size : draws_.tasks.draw(random)));
    set_work(random, stage, bytes, text_.task_time.empty() ? nullptr : &draws_.task_time);
    const double written = std::min(bytes * (read[i] ? draws_.shuffle_ratio : draws_.output_ratio).draw(random), 1e18);
    (read[i] ? stage.shuffle_bytes : stage.output_bytes) = to_bytes(written);
    stage.partition_skew = draws_.skew.draw(random);
  }
  return {};
}

/// Stages one after another along the longest path, each in waves.
Time JobClass::isolated_time(const JobSpec& job) const {
  return longest_path(job, [this](const StageSpec& stage) {
    const std::int64_t slots = text_.isolated_slots > 0 ? text_.isolated_slots : stage.tasks;
    return std::max(stage.duration * ((stage.tasks + slots - 1) / slots), stage.longest_duration());
  });
}

}  // namespace weft::simulator::workloads
