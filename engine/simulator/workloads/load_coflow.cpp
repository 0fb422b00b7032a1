// The Facebook coflow trace (github.com/coflow/coflow-benchmark):
//
//   ports coflows
//   id arrival_ms mappers port… reducers port:MB…
//
// A coflow becomes a job of maps that are pinned to their ports and take no time, and reduces pinned to theirs. Each mapper sends
// the same to a reducer, as the source says; MB are 10^6 bytes. The ports become the workload's hosts, "port-0" and so on.
#include <cmath>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/settings.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

constexpr std::uint64_t kMaxPorts = 1'000'000;

/// The words of the current line, one after another.
class Words {
 public:
  explicit Words(const Lines& lines) : lines_(lines), rest_(trim(lines.line())) {}

  Result<std::string_view> next(std::string_view what) {
    if (rest_.empty()) return fail(lines_.error(fmt::format("the line ends where {} was expected", what)));
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const auto word = rest_.substr(0, end);
    rest_ = trim(rest_.substr(end));
    return word;
  }
  Result<std::uint64_t> number(std::string_view what, std::uint64_t largest, std::uint64_t smallest = 0) {
    WEFT_ASSIGN(const auto word, next(what));
    return whole(lines_, word, what, largest, smallest);
  }
  Result<void> finish() const {
    if (!rest_.empty()) return fail(lines_.error(fmt::format("'{}' is too much", escaped(rest_.substr(0, 40)))));
    return {};
  }

 private:
  const Lines& lines_;
  std::string_view rest_;
};

std::string host(std::uint64_t port) { return fmt::format("port-{}", port); }

Result<void> mappers(Words& words, std::uint64_t ports, StageSpec& stage) {
  WEFT_ASSIGN(const auto count, words.number("the number of mappers", kMaxPorts, 1));
  for (std::uint64_t i = 0; i < count; ++i) {
    WEFT_ASSIGN(const auto port, words.number("a mapper's port", ports - 1));
    stage.hosts.push_back({host(port)});
  }
  stage.tasks = static_cast<std::uint32_t>(count);
  return {};
}

/// Fills the stage and gives the sum of its bytes.
Result<double> reducers(const Lines& lines, Words& words, std::uint64_t ports, StageSpec& stage, std::vector<double>& weights) {
  WEFT_ASSIGN(const auto count, words.number("the number of reducers", kMaxPorts, 1));
  double sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    WEFT_ASSIGN(const auto word, words.next("port:MB"));
    const auto parts = split(word, ':');
    if (parts.size() != 2) return fail(lines.error(fmt::format("expected port:MB, not '{}'", escaped(word.substr(0, 40)))));
    WEFT_ASSIGN(const auto port, whole(lines, parts[0], "a reducer's port", ports - 1));
    WEFT_ASSIGN(const double megabytes, real(lines, parts[1], "a reducer's MB", 1e9));
    stage.hosts.push_back({host(port)});
    weights.push_back(megabytes);
    sum += megabytes * 1e6;
  }
  stage.tasks = static_cast<std::uint32_t>(count);
  return sum;
}

Result<JobSpec> parse(const Lines& lines, std::uint64_t ports) {
  Words words(lines);
  JobSpec job;
  WEFT_ASSIGN(const auto id, words.next("an id"));
  job.name = fmt::format("coflow {}", id);
  WEFT_ASSIGN(const auto milliseconds, words.number("the arrival in ms", static_cast<std::uint64_t>(kMaxSeconds * 1000)));
  job.arrival = std::chrono::milliseconds(milliseconds);
  job.stages.resize(2);
  StageSpec &map = job.stages[0], &reduce = job.stages[1];
  map.name = "map";
  reduce.name = "reduce";
  reduce.parents = {0};
  WEFT_TRY(mappers(words, ports, map));
  WEFT_ASSIGN(const double bytes, reducers(lines, words, ports, reduce, map.partition_weights));
  map.shuffle_bytes = static_cast<std::uint64_t>(std::llround(bytes));
  WEFT_TRY(words.finish());
  return job;
}

}  // namespace

Result<Workload> load_coflow(const std::string& path, const Settings& settings, const Context&) {
  WEFT_TRY(assign_none(settings));
  WEFT_ASSIGN(Lines lines, Lines::open(path, 64u << 20));
  WEFT_ASSIGN(const bool any, lines.next());
  if (!any) return fail(lines.error("the file is empty; its first line has the numbers of ports and coflows"));
  Words head(lines);
  WEFT_ASSIGN(const auto ports, head.number("the number of ports", kMaxPorts, 1));
  WEFT_ASSIGN(const auto coflows, head.number("the number of coflows", kMaxJobs, 1));
  WEFT_TRY(head.finish());
  Workload workload;
  for (std::uint64_t port = 0; port < ports; ++port) workload.hosts.push_back({host(port), ""});
  WEFT_TRY(lines.for_each([&]() -> Result<void> {
    if (trim(lines.line()).empty()) return {};
    if (workload.jobs.size() == coflows) return fail(lines.error(fmt::format("more than the {} coflows announced", coflows)));
    WEFT_ASSIGN(JobSpec job, parse(lines, ports));
    return add_job(workload, std::move(job), lines);
  }));
  if (workload.jobs.size() != coflows) {
    return fail(lines.error(fmt::format("the file ends after {} of {} coflows", workload.jobs.size(), coflows)));
  }
  return workload;
}

}  // namespace weft::simulator::workloads
