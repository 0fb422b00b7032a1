// SWIM: MapReduce workloads of Facebook by bytes (github.com/SWIMProjectUCB/SWIM). Tab separated, one job per line:
// id, submit time [s], gap [s], map input, shuffle, reduce output [bytes], and in one variant the input path and two empty columns.
//
// The trace has no task times. Maps come from the block size, reduces from the shuffle, and both work at a rate given here.
#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/settings.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

struct SwimOptions {
  std::uint64_t block = 64u << 20;
  std::uint64_t reduce_bytes = 1u << 30;
  std::uint32_t max_reduces = 1000;
  std::uint64_t rate = 10'000'000;
  Duration startup = std::chrono::seconds(1);
  std::uint32_t users = 0;

  void declare(Config& config) {
    config.size("block", block, "Input of a map");
    config.size("reduce_bytes", reduce_bytes, "Shuffle bytes of a reduce");
    config.integer("max_reduces", max_reduces, "Reduces of a job, at most", 1, 1'000'000);
    config.size("rate", rate, "Bytes a second that a task works through, moving them aside");
    config.duration("startup", startup, "Added to each task's work");
    config.integer("users", users, "Number of users, who get the jobs in turn; 0: none", 0, 1'000'000);
  }
};

struct SwimLine {
  std::string_view id;
  Time arrival{0};
  std::uint64_t input = 0, shuffle = 0, output = 0;
};

Result<SwimLine> parse_swim(const Lines& lines) {
  const auto fields = split(lines.line(), '\t');
  if (fields.size() != 6 && fields.size() != 9) {
    return fail(lines.error(fmt::format("a SWIM line has 6 or 9 fields separated by tabs, this one {}", fields.size())));
  }
  SwimLine line;
  line.id = fields[0];
  WEFT_ASSIGN(line.arrival, seconds(lines, fields[1], "the submit time"));
  WEFT_TRY(seconds(lines, fields[2], "the gap"));
  WEFT_ASSIGN(line.input, whole(lines, fields[3], "the map input"));
  WEFT_ASSIGN(line.shuffle, whole(lines, fields[4], "the shuffle"));
  WEFT_ASSIGN(line.output, whole(lines, fields[5], "the reduce output"));
  return line;
}

Time work(const SwimOptions& options, std::uint64_t bytes, std::uint32_t tasks) {
  return options.startup + to_time(std::min(kMaxSeconds, static_cast<double>(bytes) / tasks / static_cast<double>(options.rate)));
}

/// The number of pieces of `size`, at least one.
std::uint64_t pieces(std::uint64_t bytes, std::uint64_t size) { return bytes == 0 ? 1 : (bytes - 1) / size + 1; }

Result<JobSpec> to_job(const Lines& lines, const SwimOptions& options, const SwimLine& line) {
  JobSpec job;
  job.name = std::string(line.id);
  job.arrival = line.arrival;
  const std::uint64_t maps = pieces(line.input, options.block);
  if (maps > kMaxTasks) return fail(lines.error(fmt::format("{} maps; the setting block= makes them fewer", maps)));
  job.stages.reserve(2);  // references to both are held
  StageSpec& map = job.stages.emplace_back();
  map.name = "map";
  map.tasks = static_cast<std::uint32_t>(maps);
  map.duration = work(options, line.input, map.tasks);
  map.input_bytes = line.input;
  if (line.shuffle == 0) {
    map.output_bytes = line.output;
    return job;
  }
  map.shuffle_bytes = line.shuffle;
  job.hints.shuffle_ratio = line.input > 0 ? static_cast<double>(line.shuffle) / static_cast<double>(line.input) : 1;
  StageSpec& reduce = job.stages.emplace_back();
  reduce.name = "reduce";
  reduce.tasks =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces(line.shuffle, options.reduce_bytes), options.max_reduces));
  reduce.parents = {0};
  reduce.duration = work(options, line.shuffle, reduce.tasks);
  reduce.output_bytes = line.output;
  job.hints.relative_reduce_cost =
      static_cast<double>(reduce.duration.count()) / std::max(1.0, static_cast<double>(map.duration.count()));
  return job;
}

}  // namespace

Result<Workload> load_swim(const std::string& path, const Settings& settings, const Context&) {
  SwimOptions options;
  Config config;
  options.declare(config);
  WEFT_TRY(assign(settings, config));
  if (options.block == 0 || options.reduce_bytes == 0 || options.rate == 0) {
    return fail(Code::invalid_argument, "block, reduce_bytes and rate must be greater than 0");
  }
  WEFT_ASSIGN(Lines lines, Lines::open(path));
  Workload workload;
  WEFT_TRY(lines.for_each([&]() -> Result<void> {
    WEFT_ASSIGN(const SwimLine line, parse_swim(lines));
    WEFT_ASSIGN(JobSpec job, to_job(lines, options, line));
    if (!workload.jobs.empty() && job.arrival < workload.jobs.back().arrival) {
      return fail(lines.error("the submit time is earlier than that of the line before"));
    }
    if (options.users > 0) job.options.user = fmt::format("user{}", workload.jobs.size() % options.users);
    return add_job(workload, std::move(job), lines);
  }));
  return workload;
}

}  // namespace weft::simulator::workloads
