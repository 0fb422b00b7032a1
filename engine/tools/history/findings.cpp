#include "engine/tools/history/findings.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/history/causes.hpp"
#include "engine/tools/history/pace.hpp"

namespace weft::history {

namespace {

// Bounds of what is reported. Below these a job is healthy: noise of small jobs is no finding.
constexpr double kUneven = 4;       // times the median of its stage
constexpr double kCostPart = 0.2;   // of the job's time
constexpr double kChance = 0.01;    // what happens by chance more often is no finding
constexpr double kRemote = 0.5;     // of the input
constexpr double kWrongDemand = 4;  // demanded, of what was held
constexpr Time kStarved = std::chrono::seconds(5);
constexpr Time kLongTask = std::chrono::seconds(1);
constexpr Time kTinyTask = std::chrono::milliseconds(20);
constexpr std::size_t kManyTiny = 1000;

double seconds(Time time) { return in_seconds(time); }

template <class T>
T median(std::vector<T> values) {
  if (values.empty()) return T{};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double duration(const LoggedAttempt& attempt) { return seconds(attempt.ended - attempt.launched); }

class Diagnosis {
 public:
  Diagnosis(const EventHistory& history, const LoggedJob& job) : history_(history), job_(job) {}

  std::vector<Finding> examine() {
    failing_node();
    failures();
    lost_workers();
    skew();
    spills();
    slow_nodes();
    uneven_input();
    starvation();
    remote_input();
    demands();
    bad_records();
    deadline();
    tiny_tasks();
    return std::move(found_);
  }

 private:
  Time end() const { return job_.status.state == JobState::running ? history_.now() : job_.status.ended; }
  /// How long the job ran.
  Time ran() const { return end() - job_.status.submitted; }
  double worth_reporting() const { return std::max(seconds(kLongTask), kCostPart * seconds(ran())); }
  /// Calls visit(attempt) for the finished attempts of a stage, or of all.
  template <class Visit>
  void each_finished(std::optional<std::uint32_t> stage, const Visit& visit) const {
    for (const LoggedAttempt& attempt : job_.attempts)
      if (attempt.fate == Fate::finished && (!stage || attempt.stage == *stage)) visit(attempt);
  }
  void find(std::string kind, std::string text, std::string advice, std::vector<std::pair<std::string, double>> numbers) {
    found_.push_back({std::move(kind), std::move(text), std::move(advice), std::move(numbers)});
  }

  /// Why attempts failed, by cause, with the first message of each; or why the job failed where no attempt did.
  void failures() {
    struct Cause {
      double attempts = 0;
      std::string first{};
      std::set<std::uint32_t> nodes{};
    };
    std::map<std::string, Cause> causes;
    for (const LoggedAttempt& attempt : job_.attempts) {
      if (attempt.fate != Fate::failed) continue;
      Cause& cause = causes[cause_of(attempt)];
      if (++cause.attempts == 1) cause.first = fmt::format("task {}.{}: {}", attempt.stage, attempt.task, attempt.why);
      cause.nodes.insert(attempt.node);
    }
    for (const auto& [kind, cause] : causes)
      find(kind, fmt::format("{:.0f} attempts failed{}; the first: {}", cause.attempts, where(cause.nodes), cause.first),
           advice_on(kind), {{"failed_attempts", cause.attempts}, {"nodes", static_cast<double>(cause.nodes.size())}});
    const bool killed = job_.status.state == JobState::killed;
    if (killed || (job_.status.state == JobState::failed && causes.empty()))
      find(cause_of(job_), fmt::format("the job {} {}: {}", killed ? "was" : "has", name_of(job_.status.state), job_.status.error),
           advice_on(cause_of(job_)), {{"ran_seconds", seconds(ran())}});
  }
  std::string where(const std::set<std::uint32_t>& nodes) const {
    return nodes.size() == 1 && history_.workers().size() > 1 ? ", all on worker " + history_.worker_name(*nodes.begin()) : "";
  }

  /// All failures are on one node, too many for chance, while the same tasks finish elsewhere.
  void failing_node() {
    std::set<std::pair<std::uint32_t, std::uint32_t>> failed, finished;  // stage, task
    std::set<std::uint32_t> nodes;
    double failures = 0;
    for (const LoggedAttempt& attempt : job_.attempts) {
      if (attempt.fate == Fate::finished) finished.insert({attempt.stage, attempt.task});
      if (attempt.fate != Fate::failed) continue;
      ++failures;
      failed.insert({attempt.stage, attempt.task});
      nodes.insert(attempt.node);
    }
    if (nodes.size() != 1 || failed.size() < 3 || !std::includes(finished.begin(), finished.end(), failed.begin(), failed.end()))
      return;
    const std::uint32_t node = *nodes.begin();
    const auto here =
        std::count_if(job_.attempts.begin(), job_.attempts.end(), [&](const LoggedAttempt& each) { return each.node == node; });
    const double share = static_cast<double>(here) / static_cast<double>(job_.attempts.size());
    if (std::pow(share, static_cast<double>(failed.size())) > kChance) return;
    find("failing_node",
         fmt::format("{:.0f} attempts of {} tasks failed on worker {}, and none elsewhere, where the same tasks finished", failures,
                     failed.size(), history_.worker_name(node)),
         "its machine lacks something that the others have: see the first message below; weft node drain takes it out",
         {{"node", node}, {"failed_attempts", failures}, {"tasks", static_cast<double>(failed.size())}});
  }

  void lost_workers() {
    std::map<std::uint32_t, double> lost;
    for (const LoggedAttempt& attempt : job_.attempts)
      if (attempt.fate == Fate::lost) ++lost[attempt.node];
    for (const auto& [node, worker] : history_.workers())
      if (worker.lost && *worker.lost >= job_.status.submitted && *worker.lost <= end() && worker.why != "it left") lost[node] += 0;
    for (const auto& [node, attempts] : lost) {
      const LoggedWorker* worker = history_.worker(node);
      find("lost_worker",
           fmt::format("worker {} was lost{}, and {:.0f} attempts with it", history_.worker_name(node),
                       worker == nullptr || worker->why.empty() ? "" : " (" + worker->why + ")", attempts),
           "its log and weft node list tell why it ended; --shuffle-replicas 2 saves running its maps again",
           {{"node", node}, {"lost_attempts", attempts}});
    }
  }

  /// ": about 2,000 of its records have the key 'the'", by samples.
  std::string hot_key(std::uint32_t stage, std::uint32_t partition) const {
    const auto keys = job_.hot_keys.find({stage, partition});
    if (keys == job_.hot_keys.end()) return "";
    const auto& [key, records] = *std::ranges::max_element(keys->second, {}, [](const auto& one) { return one.second; });
    return fmt::format(": about {} of its records have the key '{}'", records, printable(key));
  }

  void skew() {
    for (const auto& stage : job_.stages) {
      const auto sizes = job_.partition_bytes.find(stage.id);
      if (sizes == job_.partition_bytes.end() || sizes->second.size() < 2) continue;
      const auto& bytes = sizes->second;
      const auto largest = std::max_element(bytes.begin(), bytes.end());
      const double total = static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}));
      const double part = static_cast<double>(*largest) / std::max(total, 1.0);
      const double typical = static_cast<double>(std::max<std::uint64_t>(median(bytes), 1));
      const double fair = 1.0 / static_cast<double>(bytes.size());
      if (*largest < client::kHotBytes || static_cast<double>(*largest) < client::kHotPartition * typical ||
          part < std::max(client::kHotPart, 2 * fair))
        continue;
      find("skew",
           fmt::format("partition {} of stage {} ({}) has {:.0f} % of its {}, {:.0f} times the median{}", largest - bytes.begin(),
                       stage.id, stage.name, 100 * part, human_bytes(static_cast<std::uint64_t>(total)),
                       static_cast<double>(*largest) / typical,
                       hot_key(stage.id, static_cast<std::uint32_t>(largest - bytes.begin()))),
           "few keys have most of the records: combine before the shuffle, or add something that spreads them to the hot keys, or "
           "to what "
           "a sort sorts by",
           {{"stage", stage.id},
            {"partition", static_cast<double>(largest - bytes.begin())},
            {"part", part},
            {"bytes", static_cast<double>(*largest)}});
    }
  }

  void spills() {
    double tasks = 0, bytes = 0, most = 0;
    each_finished({}, [&](const LoggedAttempt& attempt) {
      if (attempt.usage.spilled_bytes == 0) return;
      ++tasks;
      bytes += static_cast<double>(attempt.usage.spilled_bytes);
      most = std::max(most, static_cast<double>(attempt.usage.spilled_bytes + attempt.usage.peak_memory));
    });
    if (tasks == 0 || bytes < static_cast<double>(client::kSpilled)) return;
    find("spill", fmt::format("{:.0f} tasks spilled {}", tasks, human_bytes(static_cast<std::uint64_t>(bytes))),
         fmt::format("with about {} for each task they would not: raise --memory, or use more partitions",
                     human_bytes(static_cast<std::uint64_t>(most))),
         {{"tasks", tasks}, {"spilled_bytes", bytes}, {"wanted_bytes_of_a_task", most}});
  }

  void slow_nodes() {
    for (const SlowNode& slow : history::slow_nodes(job_, seconds(ran())))
      find("slow_node",
           fmt::format(
               "tasks on worker {} take {:.1f} times as long as those of the same stages elsewhere, which cost about {:.1f} s",
               history_.worker_name(slow.node), slow.ratio, slow.cost_seconds),
           "see what else runs on its machine; weft node set gives it less, weft node drain takes it out",
           {{"node", slow.node},
            {"ratio", slow.ratio},
            {"tasks", static_cast<double>(slow.tasks)},
            {"cost_seconds", slow.cost_seconds}});
  }

  /// One file or split is much larger than the others, as it lies there or in records, and its task is what the job waits for.
  void uneven_input() {
    for (const auto& stage : job_.stages) {
      std::map<std::uint32_t, std::uint64_t> splits;
      for (const auto& split : stage.splits) splits[split.task] += split.bytes;
      std::vector<double> bytes, records, took;
      const LoggedAttempt* longest = nullptr;
      each_finished(stage.id, [&](const LoggedAttempt& attempt) {
        if (!splits.contains(attempt.task)) return;
        bytes.push_back(static_cast<double>(splits[attempt.task]));
        records.push_back(static_cast<double>(attempt.input_records));
        took.push_back(duration(attempt));
        if (longest == nullptr || duration(attempt) > duration(*longest)) longest = &attempt;
      });
      if (took.size() < 3) continue;
      const double typical = median(took), most = duration(*longest);
      const double more = std::max(static_cast<double>(splits[longest->task]) / std::max(median(bytes), 1.0),
                                   static_cast<double>(longest->input_records) / std::max(median(records), 1.0));
      if (most < kUneven * typical || more < kUneven || most - typical < worth_reporting()) continue;
      find("uneven_input",
           fmt::format(
               "task {} of stage {} ({}) read {:.0f} times as much as the median, {} and {} records, and took {}, {:.0f} times "
               "the median",
               longest->task, stage.id, stage.name, more, human_bytes(splits[longest->task]), longest->input_records,
               human_duration(longest->ended - longest->launched), most / typical),
           "store large inputs in several files, or so that they can be split: plain, bzip2, or compressed in blocks (bgzip, zstd "
           "and lz4 of many frames)",
           {{"stage", stage.id},
            {"task", longest->task},
            {"times_the_median", more},
            {"seconds", most},
            {"median_seconds", typical}});
    }
  }

  void starvation() {
    if (job_.stages.empty()) return;
    const Time first = job_.attempts.empty() ? end() : job_.attempts.front().launched;
    const Time waited = first - job_.status.submitted;
    if (waited < kStarved || waited * 4 < ran()) return;
    const auto others = static_cast<double>(history_.others(job_));
    find("starved",
         fmt::format("the job waited {} for its first slot{}", human_duration(waited),
                     job_.status.pool.empty() ? "" : fmt::format(" in pool {}", job_.status.pool)),
         others > 0 ? "other jobs had the slots: give its pool a minimum share, the job another pool or priority, or add workers"
                    : "no worker could take its tasks: weft job explain shows what they demand and what the workers have",
         {{"waited_seconds", seconds(waited)}, {"other_jobs", others}});
  }

  void remote_input() {
    double local = 0, remote = 0;
    for (const auto& stage : job_.stages) {
      std::map<std::uint32_t, const master::LoggedSplit*> splits;
      for (const auto& split : stage.splits)
        if (!split.hosts.empty()) splits[split.task] = &split;
      each_finished(stage.id, [&](const LoggedAttempt& attempt) {
        const auto split = splits.find(attempt.task);
        const LoggedWorker* worker = history_.worker(attempt.node);
        if (split == splits.end() || worker == nullptr) return;
        const auto& hosts = split->second->hosts;
        const bool here = std::find(hosts.begin(), hosts.end(), worker->host) != hosts.end() ||
                          std::find(hosts.begin(), hosts.end(), worker->name) != hosts.end();
        (here ? local : remote) += static_cast<double>(split->second->bytes);
      });
    }
    if (remote < static_cast<double>(64u << 20) || remote / (local + remote) < kRemote) return;
    find("remote_input",
         fmt::format("{:.0f} % of the input was read on other machines than those that have it", 100 * remote / (local + remote)),
         "let tasks wait for such machines (scheduler delay), or keep more replicas of the input",
         {{"part", remote / (local + remote)}, {"bytes", remote}});
  }

  /// Memory that is demanded and not held, where it keeps slots idle.
  void demands() {
    for (const auto& stage : job_.stages) {
      std::uint64_t most = 0;
      double tasks = 0;
      bool idle = false;  // slots
      const double demand = stage.demand == schedulers::Resources{} ? job_.options.demand.memory : stage.demand.memory;
      each_finished(stage.id, [&](const LoggedAttempt& attempt) {
        most = std::max(most, attempt.usage.peak_memory), ++tasks;
        const LoggedWorker* worker = history_.worker(attempt.node);
        idle |= worker == nullptr || worker->memory == 0 || worker->memory < demand * static_cast<double>(worker->slots);
      });
      if (demand < static_cast<double>(256u << 20) || tasks < 4 || !idle) continue;
      if (demand < kWrongDemand * static_cast<double>(std::max<std::uint64_t>(most, 16u << 20))) continue;
      find("wrong_demand",
           fmt::format("tasks of stage {} ({}) demand {} of memory, and their operators held {} at most", stage.id, stage.name,
                       human_bytes(static_cast<std::uint64_t>(demand)), human_bytes(most)),
           "demand less, and more tasks run at a time; add what the program's own functions keep, which is not counted",
           {{"stage", stage.id}, {"demanded_bytes", demand}, {"held_bytes", static_cast<double>(most)}});
    }
  }

  void bad_records() {
    double count = 0;
    each_finished({}, [&](const LoggedAttempt& attempt) { count += static_cast<double>(attempt.usage.bad_records.count); });
    const bool found = std::any_of(found_.begin(), found_.end(), [](const Finding& each) { return each.kind == "bad_record"; });
    if (count == 0 || found) return;
    find("bad_record", fmt::format("{:.0f} records made no sense and were left out", count),
         "weft job status shows the first few and where they are", {{"records", count}});
  }

  void deadline() {
    if (!job_.status.deadline || end() <= *job_.status.deadline) return;
    find("late", fmt::format("the deadline was missed by {}", human_duration(end() - *job_.status.deadline)),
         "weft job explain tells what it waited for; more slots, a higher priority or an earlier start help",
         {{"seconds", seconds(end() - *job_.status.deadline)}});
  }

  /// More than half of the time of tasks was not their own code: starting them, reporting their ends.
  void tiny_tasks() {
    std::vector<double> took;
    double all = 0, code = 0;
    each_finished({}, [&](const LoggedAttempt& attempt) {
      took.push_back(duration(attempt));
      all += took.back();
      code += seconds(attempt.usage.run);
    });
    if (took.size() < kManyTiny || code == 0 || median(took) > seconds(kTinyTask) || code > all / 2) return;
    if (ran() < kLongTask) return;
    find("tiny_tasks",
         fmt::format("{} tasks take {:.1f} ms each, and {:.0f} % of that is not their own code but starting them", took.size(),
                     1e3 * median(took), 100 * (1 - code / all)),
         "read larger splits, or use fewer partitions",
         {{"tasks", static_cast<double>(took.size())}, {"median_seconds", median(took)}, {"own_code", code / all}});
  }

  const EventHistory& history_;
  const LoggedJob& job_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> findings_of(const EventHistory& history, const LoggedJob& job) { return Diagnosis(history, job).examine(); }

std::string findings_json(const std::vector<Finding>& findings) {
  return tools::json_line(tools::objects(findings, [](JsonWriter& json, const Finding& finding) {
    tools::members(json, "kind", finding.kind, "finding", finding.text, "advice", finding.advice, "numbers", finding.numbers);
  }));
}

std::string findings_text(const std::vector<Finding>& findings) {
  if (findings.empty()) return "no finding: nothing of what is looked for went wrong\n";
  std::string text;
  for (const Finding& finding : findings)
    text += fmt::format("{}: {}\n    {}\n", finding.kind, escaped(finding.text), finding.advice);
  return text;
}

}  // namespace weft::history
