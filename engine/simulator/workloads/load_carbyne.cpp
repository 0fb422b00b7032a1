// The DAG files of the Carbyne authors' simulator:
//
//   # name
//   stages id [arrival_s]
//   stage duration_s cpu memory net_in net_out disk_in disk_out tasks     demands as parts of a machine
//   edges
//   parent child ata
#include <array>
#include <map>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/simulator/workloads/lines.hpp"
#include "engine/simulator/workloads/settings.hpp"
#include "engine/simulator/workloads/stage_order.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> result;
  while (!(line = trim(line)).empty()) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    result.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return result;
}

class CarbyneReader {
 public:
  CarbyneReader(Lines lines, const schedulers::Resources& machine) : lines_(std::move(lines)), machine_(machine) {}

  Result<Workload> read() {
    Workload workload;
    for (;;) {
      WEFT_ASSIGN(const bool more, next());
      if (!more) break;
      if (words_[0].front() == '#') {
        name_ = std::string(trim(trim(lines_.line()).substr(1)));
        continue;
      }
      WEFT_ASSIGN(JobSpec job, this->job());
      WEFT_TRY(add_job(workload, std::move(job), lines_));
    }
    if (replaced_ > 0) workload.notes.push_back(fmt::format("{} stages are given twice: the last counts", replaced_));
    return workload;
  }

 private:
  /// To the next line that is not empty, as words.
  Result<bool> next() {
    do {
      WEFT_ASSIGN(const bool more, lines_.next());
      if (!more) return false;
      words_ = words(lines_.line());
    } while (words_.empty());
    return true;
  }

  Result<void> needed(std::string_view what) {
    WEFT_ASSIGN(const bool more, next());
    if (!more) return fail(lines_.error(fmt::format("the file ends where {} was expected", what)));
    return {};
  }

  Result<JobSpec> job() {
    if (words_.size() < 2 || words_.size() > 3) return fail(lines_.error("expected 'stages id [arrival]'"));
    const std::uint64_t first_line = lines_.number();
    WEFT_ASSIGN(const auto count, whole(lines_, words_[0], "the number of stages", kMaxStages, 1));
    JobSpec job;
    job.name = name_.empty() ? std::string(words_[1]) : name_;
    name_.clear();
    if (words_.size() == 3) {
      WEFT_ASSIGN(job.arrival, seconds(lines_, words_[2], "the arrival"));
    }
    positions_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      WEFT_TRY(needed(fmt::format("stage {} of {}", i + 1, count)));
      WEFT_ASSIGN(StageSpec stage, this->stage());
      const auto [at, added] = positions_.emplace(stage.name, static_cast<std::uint32_t>(job.stages.size()));
      if (added) {
        job.stages.push_back(std::move(stage));
      } else {  // the authors' BigBench file has some; their simulator takes the last
        job.stages[at->second] = std::move(stage);
        ++replaced_;
      }
    }
    WEFT_ASSIGN(const auto edges, this->edges());
    WEFT_TRY(order_stages(job, edges, lines_, first_line));
    return job;
  }

  Result<StageSpec> stage() {
    if (words_.size() != 9) return fail(lines_.error(fmt::format("a stage has 9 fields, this line {}", words_.size())));
    StageSpec stage;
    stage.name = std::string(words_[0]);
    WEFT_ASSIGN(stage.duration, seconds(lines_, words_[1], "the duration"));
    using R = schedulers::Resources;
    constexpr std::array<double R::*, 6> kOrder{&R::cpu,         &R::memory,    &R::network_in,
                                                &R::network_out, &R::disk_read, &R::disk_write};
    for (std::size_t i = 0; i < kOrder.size(); ++i) {
      WEFT_ASSIGN(const double part, real(lines_, words_[2 + i], "a demand", 1e6));
      stage.demand.*kOrder[i] = part * machine_.*kOrder[i];
    }
    WEFT_ASSIGN(const auto tasks, whole(lines_, words_[8], "the number of tasks", kMaxTasks, 1));
    stage.tasks = static_cast<std::uint32_t>(tasks);
    return stage;
  }

  Result<std::vector<Edge>> edges() {
    WEFT_TRY(needed("the number of edges"));
    if (words_.size() != 1) return fail(lines_.error("expected the number of edges"));
    WEFT_ASSIGN(const auto count, whole(lines_, words_[0], "the number of edges", kMaxStages * 10));
    std::vector<Edge> result;
    for (std::uint64_t i = 0; i < count; ++i) {
      WEFT_TRY(needed(fmt::format("edge {} of {}", i + 1, count)));
      if (words_.size() < 2 || words_.size() > 3) return fail(lines_.error("expected 'parent child ata'"));
      WEFT_ASSIGN(const auto from, position(words_[0]));
      WEFT_ASSIGN(const auto to, position(words_[1]));
      result.push_back({from, to});
    }
    return result;
  }

  Result<std::uint32_t> position(std::string_view name) const {
    const auto found = positions_.find(name);
    if (found == positions_.end()) return fail(lines_.error(fmt::format("no stage is called '{}'", escaped(name))));
    return found->second;
  }

  Lines lines_;
  schedulers::Resources machine_;
  std::vector<std::string_view> words_;  // of the current line
  std::string name_;                     // of the job to come
  std::map<std::string, std::uint32_t, std::less<>> positions_;
  std::size_t replaced_ = 0;
};

}  // namespace

Result<Workload> load_carbyne(const std::string& path, const Settings& settings, const Context& context) {
  constexpr std::int64_t kFileOrder = -1;
  std::int64_t hash_order = kFileOrder;
  Config config;
  config.integer("hash_order", hash_order, "Jobs of one second enter as in the authors' simulator, with hashes from here on", 0,
                 1'000'000);
  WEFT_TRY(assign(settings, config));
  WEFT_ASSIGN(Lines lines, Lines::open(path));
  WEFT_ASSIGN(Workload workload, CarbyneReader(std::move(lines), context.machine).read());
  if (hash_order != kFileOrder) workload.hash_order = static_cast<std::uint32_t>(hash_order);
  return workload;
}

}  // namespace weft::simulator::workloads
