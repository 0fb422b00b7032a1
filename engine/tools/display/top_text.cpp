#include "engine/tools/display/top_text.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json_reader.hpp"
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

/// "▁▃█": each of `columns` is the mean of the values of its part of an hour, over `most`; a blank where there are none.
std::string spark(const TopPast& past, const std::vector<double>& values, double most) {
  constexpr std::array<const char*, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr double kHour = 3600;
  constexpr std::size_t kColumns = 60;  // a minute each
  std::array<double, kColumns> sums{}, counts{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double minutes = past.seconds_ago[i] / kHour * static_cast<double>(kColumns);
    if (!(minutes >= 0 && minutes < static_cast<double>(kColumns))) continue;
    const std::size_t column = kColumns - 1 - static_cast<std::size_t>(minutes);
    sums[column] += values[i];
    ++counts[column];
  }
  std::string text;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const double part = counts[i] > 0 && most > 0 ? std::clamp(sums[i] / counts[i] / most, 0.0, 1.0) : 0;
    text += counts[i] == 0 ? " " : kBlocks[static_cast<std::size_t>(std::min(7.0, part * 8))];
  }
  return text;
}

/// The last hour in a few lines: what was busy, what waited, and the latest events.
std::vector<std::string> past_lines(const TopSnapshot& now) {
  constexpr std::size_t kEvents = 2;
  if (now.past.empty()) return {};
  const auto past = parse_past(now.past);
  if (!past || past->seconds_ago.empty()) return {};
  const auto most = [](const std::vector<double>& values) { return *std::max_element(values.begin(), values.end()); };
  std::vector<std::string> lines{fmt::format("last hour  slots   |{}| {:.1f} of {:.0f}",
                                             spark(*past, past->running, most(past->slots)), past->running.back(),
                                             past->slots.back())};
  if (const double waited = most(past->pending); waited > 0)
    lines.push_back(fmt::format("           waiting |{}| {:.0f}, at most {:.0f}", spark(*past, past->pending, waited),
                                past->pending.back(), waited));
  for (std::size_t i = past->events.size() - std::min(past->events.size(), kEvents); i < past->events.size(); ++i)
    lines.push_back(
        fmt::format("           {} ago: {}",
                    human_duration(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(past->events[i].first))),
                    past->events[i].second));
  return lines;
}

}  // namespace

Result<TopPast> parse_past(std::string_view json) {
  TopPast past;
  JsonReader reader(json, "past");
  const auto numbers = [&reader](std::vector<double>& into) {
    return reader.array([&]() -> Result<void> {
      WEFT_ASSIGN(into.emplace_back(), reader.number());
      return {};
    });
  };
  WEFT_TRY(reader.object([&](std::string_view member) -> Result<void> {
    if (member == "seconds_ago") return numbers(past.seconds_ago);
    if (member == "series")
      return reader.object([&](std::string_view name) -> Result<void> {
        if (name == "slots") return numbers(past.slots);
        if (name == "running") return numbers(past.running);
        if (name == "pending") return numbers(past.pending);
        return reader.skip();
      });
    if (member != "events") return reader.skip();
    return reader.array([&]() -> Result<void> {
      auto& [ago, text] = past.events.emplace_back();
      return reader.object([&, &seconds = ago, &said = text](std::string_view name) -> Result<void> {
        if (name == "seconds_ago") {
          WEFT_ASSIGN(seconds, reader.number());
        } else if (name == "text") {
          WEFT_ASSIGN(said, reader.text());
        } else {
          return reader.skip();
        }
        return {};
      });
    });
  }));
  for (const auto* series : {&past.slots, &past.running, &past.pending})
    if (series->size() != past.seconds_ago.size()) return fail(Code::corrupt, "past: series of different lengths");
  return past;
}

std::vector<std::string> top_lines(const TopSnapshot& now, const TopSnapshot* before, const TopLayout& view) {
  const Rates rates(now, before);
  std::vector<std::string> lines{sums(now, rates)};
  for (std::string& line : past_lines(now)) lines.push_back(std::move(line));
  const std::size_t above = lines.size() + 2;  // and two gaps
  const std::size_t room = view.rows == 0 ? SIZE_MAX : view.rows - std::min(view.rows, above);
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
  return fmt::format("{{\"nodes\":{},\"jobs\":{}{}}}\n", trimmed(nodes_json(now.nodes)), trimmed(jobs_json(running)),
                     now.past.empty() ? std::string() : ",\"past\":" + trimmed(now.past));
}

}  // namespace weft::tools
