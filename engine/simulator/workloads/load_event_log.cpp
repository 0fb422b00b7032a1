// Event logs of weft (docs/formats/journal.md): collects what their lines say about each job.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/master/log/log_lines.hpp"
#include "engine/master/log/log_pieces.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/logged_jobs.hpp"
#include "engine/simulator/workloads/settings.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

using master::EventLine;

/// One run of the master.
struct MasterRun {
  bool continued = false;   // the pieces before are gone: lines may name unknown jobs and nodes
  std::size_t earlier = 0;  // jobs of the runs before
  std::size_t before = 0;   // jobs that were forgotten
  JobLogs jobs;
  std::vector<LoggedLaunch> launches;
  std::map<std::uint32_t, std::size_t> node_of;  // positions in the recording of present nodes, by their numbers
  std::set<std::uint32_t> gone;                  // numbers of nodes that were lost
  std::tuple<std::string, std::map<std::string, std::string>, std::optional<std::string>> configuration;  // of the last such line
  Recording recording;

  bool worked() const {
    return std::ranges::any_of(jobs, [](const auto& job) {
      return std::ranges::any_of(job.second.stages, [](const auto& stage) {
        return std::ranges::any_of(stage.second.tasks, [](const LoggedTask& task) { return task.finished; });
      });
    });
  }
};

class EventLogReader {
 public:
  EventLogReader(std::string path, bool transfers_apart, Time window)
      : path_(std::move(path)), transfers_apart_(transfers_apart), window_(window) {}

  Result<Recording> read() {
    WEFT_ASSIGN(auto pieces, master::pieces_of(path_));
    if (window_ > Time(0)) WEFT_TRY(leave_out_old(pieces, window_));
    WEFT_TRY(master::for_each_line(pieces, [this](const master::LogLines& lines, std::size_t) -> Result<void> {
      lines_ = &lines;
      if (trim(lines.line()).empty()) return {};
      WEFT_ASSIGN(const EventLine event, lines.parse());
      if (window_ > Time(0)) forget_before(event.at - window_);
      return apply(event);
    }));
    return finish();
  }

 private:
  /// Pieces that end before the window, as far as their successors tell. A later run of the master has a clock of its own.
  static Result<void> leave_out_old(std::vector<master::LogPiece>& pieces, Time window) {
    std::optional<Time> latest;  // when the last piece begins
    for (std::size_t i = pieces.size(); i-- > 1;) {
      WEFT_ASSIGN(auto lines, master::open_piece(pieces[i]));
      WEFT_ASSIGN(const bool any, lines.next());
      if (!any) continue;
      WEFT_ASSIGN(const EventLine first, lines.parse());
      if (first.event == "log_started") return {};
      if (!latest) latest = first.at;
      if (first.at >= *latest - window) continue;
      pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(i));
      return {};
    }
    return {};
  }

  /// Jobs that were submitted before that, and measurements. Numbers of jobs ascend with their submissions.
  void forget_before(Time from) {
    while (!run_.jobs.empty() && run_.jobs.begin()->second.submitted < from) {
      run_.jobs.erase(run_.jobs.begin());
      ++run_.before;
    }
    auto& events = run_.recording.events;
    if (events.size() < 2 * kept_events_ + 1000) return;
    std::erase_if(events, [from](const RecordedEvent& event) {
      return event.at < from && std::holds_alternative<master::WorkerHeartbeat>(event.event);
    });
    kept_events_ = events.size();
    std::erase_if(run_.launches, [this](const LoggedLaunch& launch) { return !run_.jobs.contains(launch.job); });
  }

  /// Lines about the job may be passed over when nothing is known of it.
  bool may_lack_jobs() const { return run_.continued || run_.before > 0; }

  Result<void> apply(const EventLine& event) {
    if (event.event == "log_started") return started(event);
    if (event.event == "log_continued") run_.continued = run_.continued || (run_.jobs.empty() && run_.recording.nodes.empty());
    if (may_lack_jobs() && event.job != 0 && event.event != "job_submitted" && !run_.jobs.contains(event.job)) return {};
    if (event.event == "scheduler_configured") return configured(event);
    if (event.event == "worker_joined") return joined(event);
    if (event.event == "worker_lost" || event.event == "worker_silent") return lost(event);
    if (event.event == "worker_heartbeat") return heartbeat(event);
    if (event.event == "capacity_changed") return capacity_changed(event);
    if (event.event == "worker_leaving") return leaving(event);
    if (event.event == "job_submitted") return submitted(event);
    if (event.event == "plan_extended") return planned(event);
    if (event.event == "task_launched" || event.event == "task_started" || event.event == "task_finished" ||
        event.event == "task_failed")
      return task(event);
    return {};
  }

  /// Another run of the master begins, with other workers, and times and numbers from the start.
  Result<void> started(const EventLine& event) {
    const std::size_t earlier = run_.earlier + run_.before + run_.jobs.size();
    if (run_.worked()) last_ = std::move(run_);
    run_ = {};
    kept_events_ = 0;
    run_.earlier = earlier;
    run_.recording.scheduler = event.scheduler;
    return {};
  }

  /// Another configuration than before: each piece of a log repeats the present one.
  Result<void> configured(const EventLine& event) {
    const std::tuple now(event.scheduler, event.texts, event.speculation);
    if (std::exchange(run_.configuration, now) == now) return {};
    std::optional<master::Speculation> speculation;
    if (event.speculation) {
      auto parsed = master::parse_speculation(*event.speculation);
      if (!parsed) return fail(error(parsed.error().to_string()));
      speculation = *parsed;
    }
    run_.recording.events.push_back({event.at, {}, master::SchedulerConfigured{event.scheduler, event.texts, speculation}});
    return {};
  }

  Result<void> heartbeat(const EventLine& event) {
    const auto node = run_.node_of.find(event.node);
    if (node == run_.node_of.end()) return {};
    master::WorkerHeartbeat beat;
    beat.used = event.used;
    beat.machine = event.machine;
    beat.cross_rack = event.cross_rack;
    if (event.capacity != schedulers::Resources{}) beat.capacity = event.capacity;
    run_.recording.events.push_back({event.at, static_cast<std::uint32_t>(node->second), std::move(beat)});
    return {};
  }

  Result<void> capacity_changed(const EventLine& event) {
    const auto node = run_.node_of.find(event.node);
    if (node == run_.node_of.end()) return {};
    master::CapacityChanged change{{}, event.present, event.forecast, event.reason};
    run_.recording.events.push_back({event.at, static_cast<std::uint32_t>(node->second), std::move(change)});
    return {};
  }

  Result<void> leaving(const EventLine& event) {
    const auto node = run_.node_of.find(event.node);
    if (node != run_.node_of.end())
      run_.recording.events.push_back({event.at, static_cast<std::uint32_t>(node->second), master::WorkerLeaving{}});
    return {};
  }

  Result<void> joined(const EventLine& event) {
    auto& nodes = run_.recording.nodes;
    auto same = std::find_if(nodes.begin(), nodes.end(), [&](const RecordedNode& node) { return node.name == event.name; });
    if (same == nodes.end()) {  // a worker without a name of its own has another one when it is started again
      same = std::find_if(nodes.begin(), nodes.end(), [&](const RecordedNode& node) {
        return node.host == event.host && node.rack == event.rack && node.capacity == event.capacity &&
               node.attributes == event.attributes && !node.absences.empty() && !node.absences.back().until;
      });
    }
    run_.node_of[event.node] = static_cast<std::size_t>(same - nodes.begin());
    if (same == nodes.end()) {
      nodes.push_back({event.name,
                       event.host,
                       event.rack,
                       event.capacity,
                       event.attributes,
                       event.processors,
                       {{Time{0}, event.at}},
                       event.rack_uplink});
    } else if (!same->absences.empty() && !same->absences.back().until) {
      same->absences.back().until = event.at;
    }
    return {};
  }

  /// Its worker reported its end, its connection closed, or no message came any more. A second line about it says nothing new.
  Result<void> lost(const EventLine& event) {
    const auto found = run_.node_of.find(event.node);
    if (found == run_.node_of.end() && (run_.continued || run_.gone.contains(event.node))) return {};
    if (found == run_.node_of.end()) return fail(error(fmt::format("node {} did not join before", event.node)));
    run_.recording.nodes[found->second].absences.push_back({event.at, std::nullopt});
    run_.node_of.erase(found);
    run_.gone.insert(event.node);
    return {};
  }

  Result<void> submitted(const EventLine& event) {
    const auto [at, added] = run_.jobs.emplace(event.job, JobLog{});
    if (!added) return fail(error(fmt::format("job {} was submitted twice: the log holds two runs of a master", event.job)));
    if (run_.jobs.size() > kMaxJobs) return fail(error(fmt::format("more than {} jobs", kMaxJobs)));
    JobSpec& spec = at->second.spec;
    spec.name = fmt::format("{} {}", event.job, event.name);
    spec.options = event.options;
    spec.deadline = event.deadline;
    spec.hints.weight = event.options.weight.value_or(1);
    Time deadline{0};  // of its own in the line
    WEFT_TRY(schedulers::set_hints(event.options.hints, spec.hints, deadline));
    spec.arrival = at->second.submitted = event.at;
    at->second.demand = event.options.demand;
    return {};
  }

  Result<JobLog*> job(const EventLine& event) {
    const auto found = run_.jobs.find(event.job);
    if (found == run_.jobs.end()) return fail(error(fmt::format("job {} was not submitted before", event.job)));
    return &found->second;
  }

  Result<void> planned(const EventLine& event) {
    WEFT_ASSIGN(JobLog * job, this->job(event));
    std::vector<std::uint32_t> barriers;
    for (const std::uint32_t target : job->targets) {
      if (job->stages.at(target).complete()) barriers.push_back(target);
    }
    if (job->parts.empty()) {
      job->parts.push_back(event.at - job->submitted);
    } else if (barriers.size() == job->targets.size()) {
      job->parts.push_back(event.at - job->last_end);
      barriers.clear();
    }
    for (const master::LoggedStage& stage : event.stages) {
      if (stage.tasks > kMaxTasks || job->stages.size() == kMaxStages) return fail(error("too many stages or tasks"));
      for (const std::uint32_t input : stage.inputs) {
        if (input >= stage.id || !job->stages.contains(input)) {
          return fail(error(fmt::format("stage {} reads a shuffle of stage {}, which is no earlier one", stage.id, input)));
        }
      }
      const auto [at, added] = job->stages.emplace(
          stage.id, StageLog{stage, barriers, std::vector<LoggedTask>(stage.tasks), 0, {}, false, Time{0}, job->parts.size() - 1});
      if (!added) return fail(error(fmt::format("stage {} was planned twice", stage.id)));
    }
    for (const std::uint32_t target : event.targets) {
      if (!job->stages.contains(target)) return fail(error(fmt::format("target {} is no stage", target)));
    }
    job->targets = event.targets;
    return {};
  }

  Result<void> task(const EventLine& event) {
    WEFT_ASSIGN(JobLog * job, this->job(event));
    const auto found = job->stages.find(event.stage);
    if (found == job->stages.end()) return fail(error(fmt::format("stage {} was not planned before", event.stage)));
    StageLog& stage = found->second;
    if (event.task >= stage.tasks.size()) {  // parts of hot partitions are numbered after the tasks of the plan
      if (event.task > kMaxTasks) return fail(error("a task number too large"));
      stage.tasks.resize(event.task + 1);
    }
    if (stage.tasks[event.task].partitions < event.partitions) {  // it replaces several tasks of the plan
      const std::uint32_t more = event.partitions - std::exchange(stage.tasks[event.task].partitions, event.partitions);
      const std::size_t left = stage.tasks.size() - std::min<std::size_t>(stage.tasks.size(), more);
      if (left <= event.task) return fail(error(fmt::format("task {} reads more partitions than there are", event.task)));
      stage.tasks.resize(left);
      stage.merged = true;
    }
    LoggedTask& task = stage.tasks[event.task];
    if (event.event == "task_failed") return failed(*job, stage, event, task);
    if (event.event != "task_finished") {
      const bool first = task.started.emplace(event.attempt, event.at).second;  // the launch comes first, and takes the slot
      const auto node = run_.node_of.find(event.node);
      if (!first || node == run_.node_of.end()) return {};
      run_.launches.push_back({event.job, event.stage, event.task, static_cast<std::uint32_t>(node->second)});
      if (!event.variants.empty()) task.functions[event.attempt] = attribute_of(node->second, event.variants.front());
      return {};
    }
    if (task.finished) return {};  // its output was lost, and made again
    task.finished = true;
    const auto started = task.started.find(event.attempt);
    if (started != task.started.end())
      task.duration = event.at - began(*job, stage, started->second);
    else if (event.usage.run > Time(0))  // its master was killed before it had written the launch
      task.duration = event.at - began(*job, stage, event.at - event.usage.run);
    if (task.duration && transfers_apart_) {
      const Time read = input_here(stage.plan, event) ? Time(0) : event.usage.read;
      task.duration = std::max(Time(0), *task.duration - read - event.shuffle_read.value_or(Time(0)));
    }
    stage.ended = event.at;
    if (const auto ran = task.functions.find(event.attempt); ran != task.functions.end()) task.ran = ran->second;
    task.started.clear();
    job->last_end = event.at;
    task.read = event.input_bytes;
    task.written = event.partition_bytes;
    if (stage.sample_histogram.empty()) stage.sample_histogram = event.sample_histogram;
    stage.input_bytes += event.input_bytes;
    stage.partition_bytes.resize(std::max(stage.partition_bytes.size(), event.partition_bytes.size()));
    for (std::size_t i = 0; i < event.partition_bytes.size(); ++i) stage.partition_bytes[i] += event.partition_bytes[i];
    return {};
  }

  /// "accelerator" or "accelerator=gpu" as the node has it, with its value.
  std::string attribute_of(std::size_t node, const std::string& variant) const {
    const std::string name = variant.substr(0, variant.find('='));
    const auto& attributes = run_.recording.nodes[node].attributes;
    const auto found = attributes.find(name);
    return found == attributes.end() ? variant : name + "=" + found->second;
  }

  /// Whether a replica of all that the task reads lies on its node.
  bool input_here(const master::LoggedStage& stage, const EventLine& event) const {
    const auto node = run_.node_of.find(event.node);
    const auto split =
        std::find_if(stage.splits.begin(), stage.splits.end(), [&](const auto& one) { return one.task == event.task; });
    if (node == run_.node_of.end() || split == stage.splits.end()) return false;
    const std::string& host = run_.recording.nodes[node->second].host;
    return std::find(split->hosts.begin(), split->hosts.end(), host) != split->hosts.end();
  }

  /// A reader with slow start has waited for its inputs, and the replay makes it wait again.
  static Time began(const JobLog& job, const StageLog& stage, Time launched) {
    for (const std::uint32_t input : stage.plan.inputs) launched = std::max(launched, job.stages.at(input).ended);
    return launched;
  }

  /// An attempt that was killed, or could not fetch a lost output, did not fail by itself.
  static Result<void> failed(const JobLog& job, const StageLog& stage, const EventLine& event, LoggedTask& task) {
    const auto started = task.started.find(event.attempt);
    if (started == task.started.end() || event.kind == "killed" || event.kind == "fetch_failed") return {};
    task.failures.push_back({std::max(Time{0}, event.at - began(job, stage, started->second)), event.kind == "environment"});
    task.started.erase(started);
    return {};
  }

  Error error(std::string_view reason) const { return lines_->error(reason); }

  Result<Recording> finish() {
    RecordingNotes notes;
    if (!run_.worked() && last_) {
      notes.later = run_.earlier + run_.jobs.size() - last_->earlier - last_->jobs.size();
      notes.idle_since = true;
      run_ = std::move(*last_);
    }
    notes.earlier = run_.earlier;
    notes.before = run_.before;
    if (!make_recording(run_.jobs, run_.launches, run_.recording, notes))
      return fail(Code::corrupt,
                  path_ + (window_ > Time(0)
                               ? fmt::format(": the log holds no job of its last {} of which a task ended", human_duration(window_))
                               : std::string(": the log holds no job of which a task ended")));
    return std::move(run_.recording);
  }

  const std::string path_;
  const bool transfers_apart_;
  const Time window_;                        // before the end of the log; 0: all of it
  const master::LogLines* lines_ = nullptr;  // at the present line
  MasterRun run_;
  std::size_t kept_events_ = 0;    // when some were forgotten last
  std::optional<MasterRun> last_;  // the last of the earlier runs in which tasks ended
};

}  // namespace

Time Recording::makespan() const {
  Time last{0};
  for (const RecordedJob& job : jobs) last = std::max(last, job.ended.value_or(Time{0}));
  return last;
}

Result<Recording> read_event_log(const std::string& path, bool transfers_apart, Time last) {
  return EventLogReader(path, transfers_apart, last).read();
}

Result<Workload> load_event_log(const std::string& path, const Settings& settings, const Context&) {
  WEFT_TRY(assign_none(settings));
  WEFT_ASSIGN(Recording recording, read_event_log(path));
  return std::move(recording.workload);
}

}  // namespace weft::simulator::workloads
