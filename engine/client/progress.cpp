#include "engine/client/progress.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/master/core/expectations.hpp"

namespace weft::client {

namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(1);
constexpr auto kLinesInterval = std::chrono::seconds(10);
constexpr int kMovedParts = 10;          // of the time until the deadline
constexpr std::size_t kStageLines = 20;  // of finished stages; further ones are reported together

void print(const std::string& text) {
  const std::string shown = printable_lines(text);
  [[maybe_unused]] const auto ignored = ::write(2, shown.data(), shown.size());
}

std::string failures(std::uint64_t attempts) { return attempts == 0 ? "" : fmt::format(", {} failed attempts", attempts); }

/// "0.25", "3.1", "25", "12000" tasks per second.
std::string rate_text(double rate) { return rate >= 10 ? fmt::format("{:.0f}", rate) : fmt::format("{:.2g}", rate); }

}  // namespace

Progress::Progress(std::string job_name, bool quiet)
    : name_(std::move(job_name)), quiet_(quiet), live_(2), started_(SystemClock().now()) {
  next_ = started_ + kTerminalInterval;
  next_lines_ = started_ + kLinesInterval;
}

void Progress::watch_since(TimePoint submitted) {
  started_ = submitted;
  from_start_ = false;
}

/// " after 3.1 s", since the job began; empty where that is not known.
std::string Progress::stage_time(TimePoint now, const master::JobStatus& status, const master::StageStatus& stage) const {
  if (from_start_ || running_.contains(stage.id)) return " after " + human_duration(now - started_);
  const master::Time ended = stage.usage.ended;
  return ended > status.submitted ? " after " + human_duration(ended - status.submitted) : std::string();
}

void Progress::report_finished_stages(TimePoint now, const master::JobStatus& status) {
  for (const master::StageStatus& stage : status.stages) {
    if (stage.finished != stage.tasks || !reported_.insert(stage.id).second) continue;
    const std::string after = stage_time(now, status, stage);
    running_.erase(stage.id);
    if (reported_.size() <= kStageLines) {
      print(fmt::format("{}: stage {} {}: {} tasks done{}{}\n", name_, stage.id.value(), stage.name, stage.tasks, after,
                        failures(stage.failed_attempts)));
      continue;
    }
    ++unreported_.stages;
    unreported_.tasks += stage.tasks;
    unreported_.failed_attempts += stage.failed_attempts;
  }
}

void Progress::report_rest(TimePoint now) {
  const Unreported rest = std::exchange(unreported_, Unreported{});
  if (rest.stages > 0)
    print(fmt::format("{}: {} further stages with {} tasks done after {}{}\n", name_, rest.stages, rest.tasks,
                      human_duration(now - started_), failures(rest.failed_attempts)));
}

/// "stage 3 reduce: 120 of 400 tasks, 8 running, 25 tasks/s, 11 s left"
std::string Progress::line_of(TimePoint now, const master::StageStatus& stage) {
  const Began& began = running_.try_emplace(stage.id, Began{now, stage.finished}).first->second;
  std::string line = fmt::format("{}: stage {} {}: {} of {} tasks, {} running{}", name_, stage.id.value(), stage.name,
                                 stage.finished, stage.tasks, stage.running, failures(stage.failed_attempts));
  const double seconds = in_seconds(now - began.at);
  if (stage.finished <= began.finished || seconds <= 0) return line;
  const double rate = static_cast<double>(stage.finished - began.finished) / seconds;
  line += fmt::format(", {} tasks/s", rate_text(rate));
  return stage.left > Duration(0) ? line + fmt::format(", {} left", human_duration(stage.left)) : line;
}

void Progress::report_running(TimePoint now, const master::JobStatus& status) {
  std::vector<std::string> lines;
  for (const master::StageStatus& stage : status.stages)
    if (stage.running > 0 && stage.finished < stage.tasks) lines.push_back(printable(line_of(now, stage)));
  if (live_.works()) live_.show(lines);
  if (now < next_lines_) return;
  next_lines_ = now + kLinesInterval;
  report_rest(now);
  if (live_.works()) return;
  for (const std::string& line : lines) print(line + "\n");
}

/// Workers that were lost since the last time, while the job goes on.
void Progress::report_losses(const master::JobStatus& status) {
  for (; losses_told_ < status.workers_lost; ++losses_told_) {
    if (losses_told_ >= status.lost_workers.size()) continue;  // only the first few have names
    print(fmt::format("{}: lost worker {}; what it ran and what is needed of its outputs runs again elsewhere\n", name_,
                      status.lost_workers[losses_told_]));
  }
}

/// When it is known first, when it turns, and when the expected end has moved by a tenth of the time that the job was given.
void Progress::report_deadline(const master::JobStatus& status) {
  if (!status.deadline || !status.expected) return;
  const master::Expectation& now = *status.expected;
  if (said_) {
    if (now.end <= Duration(0)) return;
    const bool turned = said_->end <= Duration(0) || (said_->end > *status.deadline) != (now.end > *status.deadline);
    const Duration moved = now.end > said_->end ? now.end - said_->end : said_->end - now.end;
    if (!turned && moved * kMovedParts < *status.deadline - status.submitted) return;
  }
  said_ = now;
  print(fmt::format("{}: {}\n", name_, master::outlook_text(status)));
}

void Progress::update(TimePoint now, const master::JobStatus& status) {
  if (quiet_) return;
  next_ = now + (live_.works() ? Duration(kTerminalInterval) : Duration(kPlainInterval));
  report_deadline(status);
  report_losses(status);
  report_finished_stages(now, status);
  report_running(now, status);
}

void Progress::report_lost_workers(const master::JobStatus& status) {
  if (const std::string lost = lost_workers_text(status); !lost.empty()) print(fmt::format("{}: {}\n", name_, lost));
}

void Progress::fail(const master::JobStatus& status) {
  if (quiet_) return;
  live_.clear();
  report_lost_workers(status);
  if (const std::string bad = bad_record_lines(name_, status); !bad.empty()) print(bad);
}

void Progress::finish(TimePoint now, const master::JobStatus& status) {
  if (quiet_) return;
  live_.clear();
  report_finished_stages(now, status);
  report_rest(now);
  report_lost_workers(status);
  print(fmt::format("{}: finished in {}: {} records, {} read, {} shuffled\n", name_, human_duration(now - started_),
                    status.input_records, human_bytes(status.input_bytes), human_bytes(status.shuffle_bytes)));
}

}  // namespace weft::client
