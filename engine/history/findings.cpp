#include "engine/history/findings.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/text.hpp"

namespace weft::history {

namespace {

// What is worth a word. Below these a job is healthy: noise of small jobs is no finding.
constexpr double kHotPartition = 4;             // times the median of its shuffle
constexpr std::uint64_t kHotBytes = 16u << 20;  // and at least so large
constexpr double kHotPart = 0.2;                // or this part of a shuffle
constexpr double kSlowNode = 1.5;               // times what the same stages take elsewhere
constexpr double kSlowPart = 0.2;               // of the job's time that the node cost
constexpr double kRemote = 0.5;                 // of the input
constexpr double kWrongDemand = 4;              // demanded, of what was held
constexpr double kSpilled = 64u << 20;          // bytes of all tasks together
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

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class Doctor {
 public:
  Doctor(const History& history, const Job& job) : history_(history), job_(job) {}

  std::vector<Finding> examine() {
    failures();
    lost_workers();
    skew();
    spills();
    slow_nodes();
    starvation();
    remote_input();
    demands();
    bad_records();
    deadline();
    tiny_tasks();
    return std::move(found_);
  }

 private:
  Time end() const { return job_.state == Job::State::running ? history_.now() : job_.ended; }
  std::string worker_name(std::uint32_t node) const {
    const auto found = history_.workers().find(node);
    return found == history_.workers().end() ? fmt::format("node {}", node) : found->second.name;
  }
  void find(const char* kind, std::string text, std::string advice, std::vector<std::pair<std::string, double>> numbers) {
    found_.push_back({kind, std::move(text), std::move(advice), std::move(numbers)});
  }

  /// What attempts died of, by cause, with the first message of each.
  void failures() {
    struct Cause {
      double attempts = 0;
      std::string first;
    };
    std::map<std::string, Cause> causes;
    for (const Attempt& attempt : job_.attempts) {
      if (attempt.fate != Fate::failed) continue;
      Cause& cause = causes[cause_of(attempt)];
      if (++cause.attempts == 1) cause.first = fmt::format("task {}.{}: {}", attempt.stage, attempt.task, attempt.why);
    }
    if (causes.empty() && job_.state == Job::State::failed && contains(job_.error, "bad record"))
      causes["bad_record"] = {1, job_.error};
    for (const auto& [kind, cause] : causes)
      find(kind.c_str(), fmt::format("{:.0f} attempts failed; the first: {}", cause.attempts, cause.first), advice_on(kind),
           {{"failed_attempts", cause.attempts}});
  }
  static std::string cause_of(const Attempt& attempt) {
    if (contains(attempt.why, "No space left") || contains(attempt.why, "disk is full")) return "disk_full";
    if (contains(attempt.why, "bad_alloc") || contains(attempt.why, "out of memory") || contains(attempt.why, "out-of-memory"))
      return "out_of_memory";
    if (contains(attempt.why, "bad record")) return "bad_record";
    if (attempt.kind == "crashed") return contains(attempt.why, "SIGKILL") ? "out_of_memory" : "crash";
    if (attempt.kind == "timed_out") return "timeout";
    if (attempt.kind == "fetch_failed") return "lost_output";
    return attempt.kind == "environment" ? "environment" : "user_code";
  }
  static std::string advice_on(const std::string& kind) {
    static const std::map<std::string, std::string> kAdvice{
        {"disk_full", "free space where the workers keep their work directories and outputs, or name another --directory"},
        {"out_of_memory",
         "raise --memory of the workers' executors, or give a worker fewer slots; more partitions make tasks smaller"},
        {"bad_record", "look at the records that the message names; --max-bad-records lets a job go on without them"},
        {"crash", "the program crashed: weft job logs has the signal and the backtrace"},
        {"timeout", "raise --task-timeout, or find out why the task takes so long"},
        {"lost_output", "map outputs could not be read from another worker; --shuffle-replicas 2 keeps a copy of each"},
        {"environment", "a worker could not do its part: its log tells what it lacks"},
        {"user_code", "the program threw: the message says what and at which input"}};
    return kAdvice.at(kind);
  }

  void lost_workers() {
    std::map<std::uint32_t, double> lost;
    for (const Attempt& attempt : job_.attempts)
      if (attempt.fate == Fate::lost) ++lost[attempt.node];
    for (const auto& [node, worker] : history_.workers())
      if (worker.lost && *worker.lost >= job_.submitted && *worker.lost <= end() && worker.why != "it left") lost[node] += 0;
    for (const auto& [node, attempts] : lost) {
      const auto worker = history_.workers().find(node);
      find("lost_worker",
           fmt::format("worker {} was lost{}, and {:.0f} attempts with it", worker_name(node),
                       worker == history_.workers().end() || worker->second.why.empty() ? "" : " (" + worker->second.why + ")",
                       attempts),
           "its log and weft node list tell why it ended; --shuffle-replicas 2 saves running its maps again",
           {{"node", node}, {"lost_attempts", attempts}});
    }
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
      if (*largest < kHotBytes || static_cast<double>(*largest) < kHotPartition * typical || part < std::max(kHotPart, 2 * fair))
        continue;
      find("skew",
           fmt::format("partition {} of stage {} ({}) has {:.0f} % of its {}, {:.0f} times the median", largest - bytes.begin(),
                       stage.id, stage.name, 100 * part, human_bytes(static_cast<std::uint64_t>(total)),
                       static_cast<double>(*largest) / typical),
           "few keys have most of the records: combine before the shuffle, or add something to the hot keys that spreads them",
           {{"stage", stage.id},
            {"partition", static_cast<double>(largest - bytes.begin())},
            {"part", part},
            {"bytes", static_cast<double>(*largest)}});
    }
  }

  void spills() {
    double tasks = 0, bytes = 0, most = 0;
    for (const Attempt& attempt : job_.attempts) {
      if (attempt.fate != Fate::finished || attempt.usage.spilled_bytes == 0) continue;
      ++tasks;
      bytes += static_cast<double>(attempt.usage.spilled_bytes);
      most = std::max(most, static_cast<double>(attempt.usage.spilled_bytes + attempt.usage.peak_memory));
    }
    if (tasks == 0 || bytes < kSpilled) return;
    find("spill", fmt::format("{:.0f} tasks spilled {}", tasks, human_bytes(static_cast<std::uint64_t>(bytes))),
         fmt::format("with about {} for each task they would not: raise --memory, or use more partitions",
                     human_bytes(static_cast<std::uint64_t>(most))),
         {{"tasks", tasks}, {"spilled_bytes", bytes}, {"wanted_bytes_of_a_task", most}});
  }

  /// A node is slow when its tasks take much longer than the median of their stages, again and again.
  void slow_nodes() {
    std::map<std::uint32_t, std::vector<double>> of_stage;
    const auto took = [](const Attempt& attempt) {
      return seconds((attempt.fate == Fate::running ? Time(0) : attempt.ended) - attempt.launched);
    };
    for (const Attempt& attempt : job_.attempts)
      if (attempt.fate == Fate::finished) of_stage[attempt.stage].push_back(took(attempt));
    std::map<std::uint32_t, double> typical_of;
    for (const auto& [stage, times] : of_stage) typical_of[stage] = median(times);
    struct Pace {
      std::vector<double> ratios;
      double excess = 0;
    };
    std::map<std::uint32_t, Pace> of_node;
    for (const Attempt& attempt : job_.attempts) {
      const double typical = typical_of[attempt.stage];
      const double took_here = took(attempt);
      if ((attempt.fate != Fate::finished && attempt.fate != Fate::killed) || of_stage[attempt.stage].size() < 4 || typical <= 0.01)
        continue;
      if (attempt.fate == Fate::killed && took_here < typical) continue;
      of_node[attempt.node].ratios.push_back(took_here / typical);
      of_node[attempt.node].excess = std::max(of_node[attempt.node].excess, took_here - typical);
    }
    if (of_node.size() < 2) return;
    for (const auto& [node, pace] : of_node) {
      const double ratio = median(pace.ratios);
      if (pace.ratios.size() < 2 || ratio < kSlowNode || pace.excess < std::max(0.2, kSlowPart * seconds(end() - job_.submitted)))
        continue;
      find("slow_node",
           fmt::format("tasks on worker {} take {:.1f} times as long as those of the same stages elsewhere", worker_name(node),
                       ratio),
           "see what else runs on its machine; weft node set gives it less, weft node drain takes it out",
           {{"node", node}, {"ratio", ratio}, {"tasks", static_cast<double>(pace.ratios.size())}});
    }
  }

  void starvation() {
    if (job_.stages.empty()) return;
    const Time first = job_.attempts.empty() ? end() : job_.attempts.front().launched;
    const Time waited = first - job_.submitted;
    if (waited < kStarved || waited * 4 < end() - job_.submitted) return;
    double others = 0;
    for (const auto& [id, other] : history_.jobs())
      if (id != job_.id && other.submitted < first && (other.state == Job::State::running || other.ended > job_.submitted))
        ++others;
    find("starved",
         fmt::format("the job waited {} for its first slot{}", human_duration(waited),
                     job_.pool.empty() ? "" : fmt::format(" in pool {}", job_.pool)),
         others > 0 ? "other jobs had the slots: give its pool a minimum share, the job another pool or priority, or add workers"
                    : "no worker could take its tasks: weft job explain tells what they demand and what there is",
         {{"waited_seconds", seconds(waited)}, {"other_jobs", others}});
  }

  void remote_input() {
    double local = 0, remote = 0;
    for (const auto& stage : job_.stages) {
      std::map<std::uint32_t, const master::LoggedSplit*> splits;
      for (const auto& split : stage.splits)
        if (!split.hosts.empty()) splits[split.task] = &split;
      for (const Attempt& attempt : job_.attempts) {
        const auto split = splits.find(attempt.task);
        const auto worker = history_.workers().find(attempt.node);
        if (attempt.stage != stage.id || attempt.fate != Fate::finished || split == splits.end() ||
            worker == history_.workers().end())
          continue;
        const auto& hosts = split->second->hosts;
        const bool here = std::find(hosts.begin(), hosts.end(), worker->second.host) != hosts.end() ||
                          std::find(hosts.begin(), hosts.end(), worker->second.name) != hosts.end();
        (here ? local : remote) += static_cast<double>(split->second->bytes);
      }
    }
    if (remote < static_cast<double>(64u << 20) || remote / (local + remote) < kRemote) return;
    find("remote_input",
         fmt::format("{:.0f} % of the input was read on other machines than those that have it", 100 * remote / (local + remote)),
         "let tasks wait for such machines (scheduler delay), or keep more replicas of the input",
         {{"part", remote / (local + remote)}, {"bytes", remote}});
  }

  void demands() {
    for (const auto& stage : job_.stages) {
      std::uint64_t most = 0;
      double tasks = 0;
      for (const Attempt& attempt : job_.attempts)
        if (attempt.stage == stage.id && attempt.fate == Fate::finished) most = std::max(most, attempt.usage.peak_memory), ++tasks;
      if (stage.demand.memory < static_cast<double>(256u << 20) || tasks < 4) continue;
      if (stage.demand.memory < kWrongDemand * static_cast<double>(std::max<std::uint64_t>(most, 16u << 20))) continue;
      find("wrong_demand",
           fmt::format("tasks of stage {} ({}) demand {} of memory and held {} at most", stage.id, stage.name,
                       human_bytes(static_cast<std::uint64_t>(stage.demand.memory)), human_bytes(most)),
           "demand less, and more tasks run at a time",
           {{"stage", stage.id}, {"demanded_bytes", stage.demand.memory}, {"held_bytes", static_cast<double>(most)}});
    }
  }

  void bad_records() {
    double count = 0;
    for (const Attempt& attempt : job_.attempts)
      if (attempt.fate == Fate::finished) count += static_cast<double>(attempt.usage.bad_records.count);
    if (count == 0) return;
    find("bad_record", fmt::format("{:.0f} records made no sense and were left out", count),
         "weft job status shows the first few and where they are", {{"records", count}});
  }

  void deadline() {
    if (!job_.deadline || end() <= *job_.deadline) return;
    find("late", fmt::format("the deadline was missed by {}", human_duration(end() - *job_.deadline)),
         "weft job explain tells what it waited for; more slots, a higher priority or an earlier start help",
         {{"seconds", seconds(end() - *job_.deadline)}});
  }

  void tiny_tasks() {
    std::vector<double> took;
    for (const Attempt& attempt : job_.attempts)
      if (attempt.fate == Fate::finished) took.push_back(seconds(attempt.ended - attempt.launched));
    if (took.size() < kManyTiny || median(took) > seconds(kTinyTask) || end() - job_.submitted < 10 * kLongTask) return;
    find("tiny_tasks",
         fmt::format("{} tasks take {:.0f} ms each: starting them is most of the work", took.size(), 1e3 * median(took)),
         "read larger splits, or use fewer partitions",
         {{"tasks", static_cast<double>(took.size())}, {"median_seconds", median(took)}});
  }

  const History& history_;
  const Job& job_;
  std::vector<Finding> found_;
};

}  // namespace

std::vector<Finding> findings_of(const History& history, const Job& job) { return Doctor(history, job).examine(); }

std::string findings_json(const std::vector<Finding>& findings) {
  JsonWriter json;
  json.begin_array();
  for (const Finding& finding : findings) {
    json.begin_object().member("kind", finding.kind).member("finding", finding.text).member("advice", finding.advice);
    json.key("numbers").begin_object();
    for (const auto& [name, value] : finding.numbers) json.member(name, value);
    json.end_object().end_object();
  }
  return json.end_array().text() + "\n";
}

std::string findings_text(const std::vector<Finding>& findings) {
  if (findings.empty()) return "no finding: nothing of what is looked for went wrong\n";
  std::string text;
  for (const Finding& finding : findings)
    text += fmt::format("{}: {}\n    {}\n", finding.kind, escaped(finding.text), finding.advice);
  return text;
}

}  // namespace weft::history
