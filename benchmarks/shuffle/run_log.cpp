#include "benchmarks/shuffle/run_log.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "benchmarks/measure.hpp"
#include "engine/master/log/log_lines.hpp"

namespace weft::bench {
namespace {

using master::EventLine;

struct Attempt {
  std::uint32_t node = 0;
  Duration started{0}, ended{0};
  Duration read{0}, write{0};
  std::vector<std::uint64_t> output;
};

struct Stage {
  std::vector<std::uint32_t> inputs;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Duration> started;  // by task and attempt
  std::map<std::uint32_t, Attempt> tasks;                               // that have ended
};

struct Job {
  Duration began{0};
  std::optional<Duration> ended;
  std::map<std::uint32_t, Stage> stages;
};

double median_seconds(const Stage& stage, Duration Attempt::*what) {
  std::vector<double> values;
  for (const auto& [index, task] : stage.tasks) values.push_back(in_seconds(task.*what));
  return values.empty() ? 0 : median(std::move(values));
}

Duration end_of(const Stage& stage) {
  Duration end{0};
  for (const auto& [index, task] : stage.tasks) end = std::max(end, task.ended);
  return end;
}

Duration start_of(const Job& job, const Stage& stage) {
  Duration start = Duration::max();
  for (const auto& [index, task] : stage.tasks) start = std::min(start, task.started);
  for (const std::uint32_t input : stage.inputs) start = std::max(start, end_of(job.stages.at(input)));
  return start;
}

void add_bytes(const Stage& maps, const Stage& reduces, ShuffleRun& run) {
  for (const auto& [partition, reduce] : reduces.tasks) {
    std::map<std::uint32_t, std::uint64_t> by_node;
    std::uint64_t all = 0, most = 0;
    for (const auto& [index, map] : maps.tasks) {
      if (partition >= map.output.size()) continue;
      all += map.output[partition];
      most = std::max(most, by_node[map.node] += map.output[partition]);
    }
    run.bytes += all;
    run.moved += all - by_node[reduce.node];
    run.least_moved += all - most;
  }
}

ShuffleRun shuffle_of(const Job& job, const Stage& maps, const Stage& reduces) {
  ShuffleRun run;
  run.map_seconds = in_seconds(end_of(maps) - start_of(job, maps));
  run.reduce_seconds = in_seconds(end_of(reduces) - end_of(maps));
  run.write_seconds = median_seconds(maps, &Attempt::write);
  run.read_seconds = median_seconds(reduces, &Attempt::read);
  add_bytes(maps, reduces, run);
  return run;
}

class Reader {
 public:
  Result<std::vector<JobRun>> read(const std::string& path) {
    WEFT_ASSIGN(auto lines, master::LogLines::open(path));
    while (true) {
      WEFT_ASSIGN(const bool more, lines.next());
      if (!more) break;
      WEFT_ASSIGN(const EventLine event, lines.parse());
      if (!take(event)) return fail(lines.error("it speaks of what was not there before"));
    }
    return runs();
  }

 private:
  /// False when something is missing before it.
  bool take(const EventLine& event) {
    if (event.event == "log_started") epoch_ = event.unix_time.value_or(Duration(0)) - event.at;
    if (event.event == "job_submitted") jobs_[event.job].began = event.at;
    if (event.event == "plan_extended") return take_plan(event);
    if (event.event == "job_finished") return jobs_.contains(event.job) && (jobs_[event.job].ended = event.at, true);
    if (event.event != "task_launched" && event.event != "task_finished") return true;
    const auto job = jobs_.find(event.job);
    if (job == jobs_.end()) return false;
    const auto stage = job->second.stages.find(event.stage);
    if (stage == job->second.stages.end()) return false;
    if (event.event == "task_launched") stage->second.started[{event.task, event.attempt}] = event.at;
    return event.event == "task_launched" || take_end(event, stage->second);
  }

  bool take_plan(const EventLine& event) {
    const auto job = jobs_.find(event.job);
    if (job == jobs_.end()) return false;
    for (const auto& stage : event.stages) job->second.stages[stage.id].inputs = stage.inputs;
    return std::all_of(event.stages.begin(), event.stages.end(), [&](const auto& stage) {
      return std::all_of(stage.inputs.begin(), stage.inputs.end(),
                         [&](std::uint32_t input) { return job->second.stages.contains(input); });
    });
  }

  static bool take_end(const EventLine& event, Stage& stage) {
    const auto started = stage.started.find({event.task, event.attempt});
    if (started == stage.started.end()) return false;
    stage.tasks.try_emplace(event.task, Attempt{event.node, started->second, event.at, event.shuffle_read.value_or(Duration(0)),
                                                event.shuffle_write.value_or(Duration(0)), event.partition_bytes});
    return true;
  }

  std::vector<JobRun> runs() const {
    std::vector<JobRun> result;
    for (const auto& [id, job] : jobs_) {
      if (!job.ended) continue;
      JobRun& run = result.emplace_back(JobRun{id, (epoch_ + job.began).count(), (epoch_ + *job.ended).count(), {}});
      for (const auto& [stage_id, stage] : job.stages) {
        for (const std::uint32_t input : stage.inputs) run.shuffles.push_back(shuffle_of(job, job.stages.at(input), stage));
      }
    }
    return result;
  }

  Duration epoch_{0};  // where times of the log begin, on the calendar
  std::map<std::uint64_t, Job> jobs_;
};

}  // namespace

Result<std::vector<JobRun>> read_runs(const std::string& event_log) { return Reader().read(event_log); }

}  // namespace weft::bench
