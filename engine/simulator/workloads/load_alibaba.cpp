// Batch jobs of Alibaba's cluster trace of 2018, as CSV with a heading:
//
//   job,task_name,instances,status,start_time,end_time,mean_instance_duration,actual_duration,cpu_requested,…,mem_requested,…
//
// A task of the trace is a stage, its instances are the tasks. Names tell the DAG: R4_1_2 is task 4, after 1 and 2; what follows
// that is no number is ignored, and other names have no parents. Cpu is in hundredths of a core, memory in percent of a machine;
// empty or "nan": not known. Rows of a job are consecutive. Public subsets lack some tasks: references to these are ignored.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/settings.hpp"
#include "engine/simulator/workloads/stage_order.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

enum Column : std::size_t { job, task, instances, status, start, end, mean, actual, cpu, memory, kColumns };
constexpr std::array<std::string_view, kColumns> kNames{
    "job",           "task_name",    "instances", "status", "start_time", "end_time", "mean_instance_duration", "actual_duration",
    "cpu_requested", "mem_requested"};

constexpr Time kUnknown{-1};

/// The numbers of a task and of the tasks that it waits for.
struct TaskName {
  std::optional<std::uint64_t> number;
  std::vector<std::uint64_t> after;
};

TaskName parse_name(std::string_view name) {
  const std::size_t letters = std::min(name.find_first_of("0123456789"), name.size());
  const auto parts = split(name.substr(letters), '_');
  TaskName result;
  if (letters == 0 || name.substr(0, letters).find('_') != std::string_view::npos) return result;
  result.number = parse_number<std::uint64_t>(parts[0]);
  if (!result.number) return result;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (const auto parent = parse_number<std::uint64_t>(parts[i])) result.after.push_back(*parent);
  }
  return result;
}

class AlibabaReader {
 public:
  AlibabaReader(Lines lines, const schedulers::Resources& machine) : lines_(std::move(lines)), machine_(machine) {}

  Result<Workload> read() {
    WEFT_TRY(heading());
    WEFT_TRY(lines_.for_each([this] { return row(); }));
    WEFT_TRY(finish_job());
    auto& notes = workload_.notes;
    if (guessed_ > 0)
      notes.push_back(fmt::format("{} stages had not ended with the trace: they take the mean of their job", guessed_));
    if (missing_ > 0) notes.push_back(fmt::format("{} references to tasks that the file lacks are ignored", missing_));
    return std::move(workload_);
  }

 private:
  std::string_view field(Column column) const { return fields_[where_[column]]; }
  bool known(Column column) const { return !field(column).empty() && field(column) != "nan"; }

  Result<void> heading() {
    WEFT_ASSIGN(const bool any, lines_.next());
    if (!any) return fail(lines_.error("the file is empty; its first line names the columns"));
    const auto names = split(lines_.line(), ',');
    columns_ = names.size();
    for (std::size_t column = 0; column < kColumns; ++column) {
      const auto found = std::find(names.begin(), names.end(), kNames[column]);
      if (found == names.end()) return fail(lines_.error(fmt::format("no column is called {}", kNames[column])));
      where_[column] = static_cast<std::size_t>(found - names.begin());
    }
    return {};
  }

  Result<void> row() {
    fields_ = split(lines_.line(), ',');
    if (fields_.size() != columns_)
      return fail(lines_.error(fmt::format("{} fields, but the heading has {}", fields_.size(), columns_)));
    if (workload_.jobs.empty() || workload_.jobs.back().name != field(Column::job)) {
      WEFT_TRY(finish_job());
      if (!seen_.emplace(field(Column::job)).second) {
        return fail(lines_.error(fmt::format("job '{}' was interrupted by others: sort the rows", escaped(field(Column::job)))));
      }
      WEFT_TRY(add_job(workload_, {}, lines_));
      workload_.jobs.back().name = std::string(field(Column::job));
      first_line_ = lines_.number();
    }
    JobSpec& spec = workload_.jobs.back();
    if (spec.stages.size() == kMaxStages) return fail(lines_.error(fmt::format("more than {} tasks in a job", kMaxStages)));
    WEFT_ASSIGN(const Time began, seconds(lines_, field(Column::start), "start_time"));
    if (began > Time{0}) spec.arrival = spec.arrival > Time{0} ? std::min(spec.arrival, began) : began;
    WEFT_ASSIGN(StageSpec stage, this->stage(began));
    TaskName name = parse_name(stage.name);
    if (name.number && !numbers_.emplace(*name.number, static_cast<std::uint32_t>(spec.stages.size())).second) {
      return fail(lines_.error(fmt::format("the job has two tasks with the number {}", *name.number)));
    }
    after_.push_back(std::move(name.after));
    spec.stages.push_back(std::move(stage));
    return {};
  }

  Result<StageSpec> stage(Time began) const {
    StageSpec stage;
    stage.name = std::string(field(Column::task));
    if (known(Column::instances)) {
      WEFT_ASSIGN(const double count, real(lines_, field(Column::instances), "instances", static_cast<double>(kMaxTasks)));
      if (count < 1 || count != std::trunc(count)) return fail(lines_.error("instances must be a whole number of at least 1"));
      stage.tasks = static_cast<std::uint32_t>(count);
    }
    if (known(Column::cpu)) {
      WEFT_ASSIGN(const double cores, real(lines_, field(Column::cpu), "cpu_requested", 1e9));
      stage.demand.cpu = cores / 100;
    }
    if (known(Column::memory)) {
      WEFT_ASSIGN(const double percent, real(lines_, field(Column::memory), "mem_requested", 1e6));
      stage.demand.memory = percent / 100 * machine_.memory;
    }
    WEFT_ASSIGN(const auto ended, seconds(lines_, field(Column::end), "end_time"));
    WEFT_ASSIGN(stage.duration, duration(ended - began));
    return stage;
  }

  /// As measured, else the mean of the instances, else from start to end. kUnknown for tasks that had not ended with the trace:
  /// these have an end before their start, and a mean that is made of such ends.
  Result<Time> duration(Time from_start_to_end) const {
    if (known(Column::actual)) return seconds(lines_, field(Column::actual), "actual_duration");
    if (from_start_to_end < Time{0} || field(Column::status) == "Waiting") return kUnknown;
    if (known(Column::mean)) return seconds(lines_, field(Column::mean), "mean_instance_duration");
    return from_start_to_end;
  }

  /// An unknown duration becomes the mean of the job's other stages.
  void fill_durations(JobSpec& spec) {
    Time sum{0};
    std::int64_t count = 0;
    for (const StageSpec& stage : spec.stages) {
      if (stage.duration != kUnknown) sum += stage.duration, ++count;
    }
    for (StageSpec& stage : spec.stages) {
      if (stage.duration != kUnknown) continue;
      stage.duration = count > 0 ? sum / count : Time{0};
      ++guessed_;
    }
  }

  Result<void> finish_job() {
    if (workload_.jobs.empty()) return {};
    JobSpec& spec = workload_.jobs.back();
    std::vector<Edge> edges;
    for (std::uint32_t child = 0; child < after_.size(); ++child) {
      for (const std::uint64_t number : after_[child]) {
        const auto parent = numbers_.find(number);
        if (parent == numbers_.end()) {
          ++missing_;
        } else {
          edges.push_back({parent->second, child});
        }
      }
    }
    fill_durations(spec);
    WEFT_TRY(order_stages(spec, edges, lines_, first_line_));
    numbers_.clear();
    after_.clear();
    return {};
  }

  Lines lines_;
  schedulers::Resources machine_;
  std::size_t columns_ = 0;
  std::array<std::size_t, kColumns> where_{};
  std::vector<std::string_view> fields_;  // of the current line
  Workload workload_;
  std::set<std::string, std::less<>> seen_;
  std::size_t guessed_ = 0, missing_ = 0;
  // Of the job being read.
  std::uint64_t first_line_ = 0;
  std::map<std::uint64_t, std::uint32_t> numbers_;
  std::vector<std::vector<std::uint64_t>> after_;
};

}  // namespace

Result<Workload> load_alibaba(const std::string& path, const Settings& settings, const Context& context) {
  WEFT_TRY(assign_none(settings));
  WEFT_ASSIGN(Lines lines, Lines::open(path));
  return AlibabaReader(std::move(lines), context.machine).read();
}

}  // namespace weft::simulator::workloads
