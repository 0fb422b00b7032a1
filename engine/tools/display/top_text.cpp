#include "engine/tools/display/top_text.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/node_text.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

namespace {

constexpr std::size_t kRowsOfTable = 3;  // heading, a row, how many more there are

struct TaskCounts {
  std::uint64_t tasks = 0, all = 0, running = 0;
};

TaskCounts counts_of(const master::JobStatus& job) {
  TaskCounts done;
  for (const master::StageStatus& stage : job.stages) {
    done.tasks += stage.finished;
    done.all += stage.tasks;
    done.running += stage.running;
  }
  return done;
}

bool is_running(const master::JobStatus& job) { return job.state == master::JobState::running; }

/// Between two snapshots, per second.
class Rates {
 public:
  Rates(const TopSnapshot& now, const TopSnapshot* before) : before_(before) {
    if (before_ != nullptr) seconds_ = in_seconds(now.at - before_->at);
    if (before_ == nullptr || seconds_ <= 0) return;
    std::map<JobId, const master::JobStatus*> were;
    for (const auto& job : before_->jobs.jobs) were[job.id] = &job;
    for (const auto& job : now.jobs.jobs) {
      const auto was = were.find(job.id);
      read_ += grown(job.input_bytes, was == were.end() ? 0 : was->second->input_bytes);
      shuffled_ += grown(job.shuffle_bytes, was == were.end() ? 0 : was->second->shuffle_bytes);
    }
    for (const auto& [id, job] : now.in_full) tasks_ += tasks_of(job).value_or(0);
  }

  /// Of a job that was shown before, too.
  std::optional<double> tasks_of(const master::JobStatus& job) const {
    if (before_ == nullptr || seconds_ <= 0) return std::nullopt;
    const auto was = before_->in_full.find(job.id);
    if (was == before_->in_full.end()) return std::nullopt;
    return grown(counts_of(job).tasks, counts_of(was->second).tasks);
  }
  std::string text() const {
    if (before_ == nullptr || seconds_ <= 0) return "";
    return fmt::format("; {:.3g} tasks/s, {}/s read, {}/s shuffled", tasks_, human_bytes(static_cast<std::uint64_t>(read_)),
                       human_bytes(static_cast<std::uint64_t>(shuffled_)));
  }

 private:
  double grown(std::uint64_t now, std::uint64_t before) const {
    return now > before ? static_cast<double>(now - before) / seconds_ : 0.0;
  }

  const TopSnapshot* before_;
  double seconds_ = 0, tasks_ = 0, read_ = 0, shuffled_ = 0;
};

std::string sums(const TopSnapshot& now, const Rates& rates) {
  std::size_t ready = 0;
  std::uint64_t slots = 0, busy = 0;
  for (const client::NodeStatus& node : now.nodes) {
    if (node.dead || node.lost) continue;
    ready += node.excluded || node.standing.leaving ? 0 : 1;
    slots += node.slots;
    busy += node.running;
  }
  const auto running = std::count_if(now.jobs.jobs.begin(), now.jobs.jobs.end(), is_running);
  return fmt::format("{} of {} workers ready, {} of {} slots busy, {} jobs running{}", ready, now.nodes.size(), busy, slots,
                     running, rates.text());
}

/// "25/s"
std::string pace(std::optional<double> rate) { return rate && *rate > 0 ? fmt::format("{:.3g}/s", *rate) : "-"; }

/// The stage that runs longest from now on, of those that run: "2 sort".
std::string limiting_stage(const master::JobStatus& job) {
  const master::StageStatus* longest = nullptr;
  for (const master::StageStatus& stage : job.stages)
    if (stage.running > 0 && (longest == nullptr || stage.left > longest->left)) longest = &stage;
  return longest == nullptr ? "-" : fmt::format("{} {}", longest->id.value(), longest->name);
}

std::vector<std::string> table_lines(const TextTable& table, std::size_t hidden, std::string_view noun) {
  std::vector<std::string> lines;
  const std::string text = table.text();
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) lines.emplace_back(line);
  if (hidden > 0) lines.push_back(fmt::format("… and {} more {}", hidden, noun));
  return lines;
}

std::vector<std::string> job_lines(const TopSnapshot& now, const Rates& rates, std::size_t most) {
  std::vector<const master::JobStatus*> running;
  for (const auto& job : now.jobs.jobs)
    if (is_running(job)) running.push_back(&job);
  TextTable table({"JOB", "NAME", "USER", "POOL", "TIME", "TASKS", "RUNNING", "PACE", "LEFT", "LIMITED BY", "READ", "SHUFFLED"});
  const std::size_t shown = std::min(most, running.size());
  for (std::size_t i = running.size() - shown; i < running.size(); ++i) {
    const auto full = now.in_full.find(running[i]->id);
    const master::JobStatus& job = full == now.in_full.end() ? *running[i] : full->second;
    const TaskCounts done = counts_of(job);
    table.row(job.id.value(), client::shown_name(job), job.user, job.pool, human_duration(age(job, now.jobs.now)),
              job.stages.empty() ? "-" : fmt::format("{} of {}", done.tasks, done.all),
              job.stages.empty() ? "-" : std::to_string(done.running), pace(rates.tasks_of(job)),
              job.left > Duration(0) ? "about " + human_duration(job.left) : "-", limiting_stage(job), human_bytes(job.input_bytes),
              human_bytes(job.shuffle_bytes));
  }
  return table_lines(table, running.size() - shown, "jobs");
}

std::vector<std::string> node_lines(const TopSnapshot& now, std::size_t most) {
  std::vector<const client::NodeStatus*> nodes;
  for (const auto& node : now.nodes) nodes.push_back(&node);
  std::stable_sort(nodes.begin(), nodes.end(), [](const auto* a, const auto* b) { return a->running > b->running; });
  TextTable table({"WORKER", "RACK", "STATE", "SLOTS", "CPU", "MEMORY", "STORE", "PREFETCHED"});
  const std::size_t shown = std::min(most, nodes.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const client::NodeStatus& node = *nodes[i];
    const bool measured = node.measured.machine.memory != 0;
    table.row(node.name, node.rack, state_of(node), fmt::format("{} of {}", node.running, node.slots),
              measured ? fmt::format("{:.1f} of {:.1f}", node.measured.worker.cpu, node.measured.machine.cpu) : "-",
              measured ? human_bytes(static_cast<std::uint64_t>(node.measured.worker.memory)) : "-",
              human_bytes(node.store_memory_bytes + node.store_disk_bytes),
              human_bytes(node.prefetch_memory_bytes + node.prefetch_file_bytes));
  }
  return table_lines(table, nodes.size() - shown, "workers");
}

}  // namespace

std::vector<std::string> top_lines(const TopSnapshot& now, const TopSnapshot* before, const TopLayout& view) {
  const Rates rates(now, before);
  std::vector<std::string> lines{sums(now, rates)};
  const std::size_t room = view.rows == 0 ? SIZE_MAX : view.rows - std::min<std::size_t>(view.rows, 3);  // sums and two gaps
  const auto rows = [](std::size_t height) { return height - std::min(height, kRowsOfTable - 1); };
  const auto append = [&lines](std::vector<std::string> more) {
    lines.emplace_back();
    std::move(more.begin(), more.end(), std::back_inserter(lines));
  };
  std::size_t left = room;
  if (view.jobs) {
    const auto jobs = job_lines(now, rates, rows(view.nodes && room != SIZE_MAX ? room / 2 : room));
    left -= std::min(left, jobs.size());
    append(jobs);
  }
  if (view.nodes) append(node_lines(now, rows(room == SIZE_MAX ? room : left)));
  if (view.rows > 0 && lines.size() > view.rows) lines.resize(view.rows);
  return lines;
}

std::string top_json(const TopSnapshot& now) {
  const auto trimmed = [](std::string json) { return json.substr(0, json.find_last_not_of('\n') + 1); };
  client::JobList running;
  running.now = now.jobs.now;
  std::copy_if(now.jobs.jobs.begin(), now.jobs.jobs.end(), std::back_inserter(running.jobs), is_running);
  return fmt::format("{{\"nodes\":{},\"jobs\":{}}}\n", trimmed(nodes_json(now.nodes)), trimmed(jobs_json(running)));
}

}  // namespace weft::tools
