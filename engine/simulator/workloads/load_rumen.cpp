// Rumen job traces of Hadoop: JSON objects one after another, a job each, with the times and counters of every attempt.
//
// A task takes what its first successful attempt took (a reduce: from the end of its shuffle on), or, without one, the mean of its
// stage. Broken times (-1, an end before the start) count as not known. Set-up and clean-up tasks are left out, jobs without tasks
// too.
#include <algorithm>
#include <array>
#include <limits>

#include <fmt/core.h>

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "engine/simulator/workloads/json_documents.hpp"
#include "engine/simulator/workloads/known_durations.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/rumen_hosts.hpp"
#include "engine/simulator/workloads/settings.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

struct Attempt {
  bool success = false;
  std::int64_t start = -1, finish = -1, shuffle_finished = -1;  // milliseconds
  std::int64_t read = -1, written = -1, map_output = -1, shuffled = -1;
};

struct Task {
  std::optional<Time> duration;
  std::vector<std::string> hosts;
  std::uint64_t read = 0, written = 0, map_output = 0, shuffled = 0;
};

struct Job {
  JobSpec spec;
  std::int64_t submitted = -1;
  std::vector<Task> maps, reduces;
};

std::uint64_t at_least_zero(std::int64_t value) { return static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)); }

class RumenParser {
 public:
  RumenParser(const JsonReader& json, RumenHosts& hosts) : json_(json), hosts_(hosts) {}

  Result<Job> parse() {
    Job job;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      if (key == "jobID") return text(job.spec.name);
      if (key == "user") return text(job.spec.options.user);
      if (key == "queue") return text(job.spec.options.pool);
      if (key == "priority") return priority(job.spec.options.priority);
      if (key == "submitTime") return number(job.submitted);
      if (key == "mapTasks") return tasks(job.maps, false);
      if (key == "reduceTasks") return tasks(job.reduces, true);
      return json_.skip();
    }));
    if (job.submitted < 0) return fail(json_.error(fmt::format("job '{}' has no submitTime", escaped(job.spec.name))));
    if (!job.reduces.empty() && job.maps.empty()) {
      return fail(json_.error(fmt::format("job '{}' has reduces but no maps", escaped(job.spec.name))));
    }
    return job;
  }

 private:
  Result<void> text(std::string& value) {
    if (json_.peek() == JsonReader::Kind::null) return json_.skip();
    WEFT_ASSIGN(value, json_.text());
    return {};
  }
  Result<void> number(std::int64_t& value) {
    if (json_.peek() == JsonReader::Kind::null) return json_.skip();
    WEFT_ASSIGN(value, json_.integer());
    return {};
  }

  Result<void> priority(int& value) {
    constexpr std::array<std::string_view, 5> kNames{"VERY_LOW", "LOW", "NORMAL", "HIGH", "VERY_HIGH"};
    std::string name = "NORMAL";
    WEFT_TRY(text(name));
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) return fail(json_.error(fmt::format("'{}' is no priority", escaped(name))));
    value = static_cast<int>(found - kNames.begin()) - 2;
    return {};
  }

  Result<void> tasks(std::vector<Task>& tasks, bool reduce) {
    return json_.array([&]() -> Result<void> {
      if (tasks.size() == kMaxTasks) return fail(json_.error(fmt::format("more than {} tasks", kMaxTasks)));
      WEFT_ASSIGN(tasks.emplace_back(), task(reduce));
      return {};
    });
  }

  Result<Task> task(bool reduce) {
    Task task;
    std::optional<Attempt> winner;
    std::int64_t input = -1, output = -1;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      if (key == "inputBytes") return number(input);
      if (key == "outputBytes") return number(output);
      if (key == "preferredLocations") return locations(task.hosts);
      if (key != "attempts") return json_.skip();
      return json_.array([&]() -> Result<void> {
        WEFT_ASSIGN(const Attempt one, attempt());
        if (one.success && !winner) winner = one;
        return {};
      });
    }));
    if (!winner) return task;
    const std::int64_t start = reduce && winner->shuffle_finished > 0 ? winner->shuffle_finished : winner->start;
    const std::int64_t took = winner->finish - start;
    if (start > 0 && took >= 0 && took <= static_cast<std::int64_t>(kMaxSeconds * 1000))
      task.duration = std::chrono::milliseconds(took);
    task.read = at_least_zero(winner->read >= 0 ? winner->read : input);
    task.written = at_least_zero(winner->written);
    task.map_output = at_least_zero(winner->map_output >= 0 ? winner->map_output : output);
    task.shuffled = at_least_zero(winner->shuffled >= 0 ? winner->shuffled : input);
    return task;
  }

  Result<Attempt> attempt() {
    Attempt attempt;
    std::string host, result;
    WEFT_TRY(json_.object([&](std::string_view key) -> Result<void> {
      if (key == "startTime") return number(attempt.start);
      if (key == "finishTime") return number(attempt.finish);
      if (key == "shuffleFinished") return number(attempt.shuffle_finished);
      if (key == "hdfsBytesRead") return number(attempt.read);
      if (key == "hdfsBytesWritten") return number(attempt.written);
      if (key == "mapOutputBytes") return number(attempt.map_output);
      if (key == "reduceShuffleBytes") return number(attempt.shuffled);
      if (key == "hostName") return text(host);
      if (key == "result") return text(result);
      return json_.skip();
    }));
    hosts_.add_path(host);
    attempt.success = result == "SUCCESS";
    return attempt;
  }

  Result<void> locations(std::vector<std::string>& hosts) {
    if (json_.peek() == JsonReader::Kind::null) return json_.skip();
    return json_.array([&] {
      return json_.object([&](std::string_view key) -> Result<void> {
        if (key != "layers") return json_.skip();
        std::vector<std::string> layers;
        WEFT_TRY(json_.array([&] { return text(layers.emplace_back()); }));
        if (layers.size() < 2) return fail(json_.error("a location has a rack and a host"));
        hosts.push_back(hosts_.add(layers[layers.size() - 2], layers.back()));
        return {};
      });
    });
  }

  JsonReader json_;
  RumenHosts& hosts_;
};

/// What is the same for maps and reduces; counts the tasks that were given the mean.
StageSpec to_stage(std::string name, const std::vector<Task>& tasks, std::size_t& unknown) {
  StageSpec stage;
  stage.name = std::move(name);
  stage.tasks = static_cast<std::uint32_t>(tasks.size());
  for (const Task& task : tasks) stage.output_bytes += task.written;
  unknown += set_durations(tasks, stage);
  return stage;
}

void add_stages(Job& job, std::size_t& unknown) {
  StageSpec map = to_stage("map", job.maps, unknown);
  std::uint64_t map_output = 0, shuffled = 0;
  const bool placed = std::any_of(job.maps.begin(), job.maps.end(), [](const Task& task) { return !task.hosts.empty(); });
  for (Task& task : job.maps) {
    map.input_bytes += task.read;
    map_output += task.map_output;
    if (placed) map.hosts.push_back(std::move(task.hosts));
  }
  if (!job.reduces.empty()) {
    for (const Task& task : job.reduces) {
      shuffled += task.shuffled;
      map.partition_weights.push_back(static_cast<double>(task.shuffled));
    }
    if (shuffled == 0) map.partition_weights.clear();
    map.shuffle_bytes = shuffled > 0 ? shuffled : map_output;
    if (map.input_bytes > 0) {
      job.spec.hints.shuffle_ratio = static_cast<double>(map.shuffle_bytes) / static_cast<double>(map.input_bytes);
    }
  }
  job.spec.stages.push_back(std::move(map));
  if (job.reduces.empty()) return;
  StageSpec reduce = to_stage("reduce", job.reduces, unknown);
  reduce.parents = {0};
  job.spec.stages.push_back(std::move(reduce));
}

}  // namespace

Result<Workload> load_rumen(const std::string& path, const Settings& settings, const Context&) {
  std::string topology;
  Config config;
  config.text("topology", topology, "Rumen's file of racks and hosts");
  WEFT_TRY(assign(settings, config));
  RumenHosts hosts;
  if (!topology.empty()) WEFT_TRY(hosts.load(topology));
  WEFT_ASSIGN(JsonDocuments documents, JsonDocuments::open(path));
  std::vector<Job> jobs;
  std::size_t empty = 0, unknown = 0;
  WEFT_TRY(documents.for_each([&](const JsonReader& json) -> Result<void> {
    WEFT_ASSIGN(Job job, RumenParser(json, hosts).parse());
    if (job.maps.empty()) {
      ++empty;
      return {};
    }
    add_stages(job, unknown);
    jobs.push_back(std::move(job));
    return {};
  }));
  Workload workload;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const Job& job : jobs) first = std::min(first, job.submitted);
  for (Job& job : jobs) {
    const std::int64_t since = job.submitted - first;
    if (since > static_cast<std::int64_t>(kMaxSeconds * 1000)) {
      return fail(Code::corrupt,
                  fmt::format("{}: job '{}' was submitted {} s after the first", path, escaped(job.spec.name), since / 1000));
    }
    job.spec.arrival = std::chrono::milliseconds(since);
    workload.jobs.push_back(std::move(job.spec));
  }
  workload.hosts = std::move(hosts).take();
  if (empty > 0) workload.notes.push_back(fmt::format("{} jobs without tasks are left out", empty));
  if (unknown > 0) workload.notes.push_back(fmt::format("{} tasks without a known time take the mean of their stage", unknown));
  return workload;
}

}  // namespace weft::simulator::workloads
