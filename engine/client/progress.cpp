#include "engine/client/progress.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/text.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/master/expectations.hpp"

namespace weft::client {

namespace {

constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr int kMovedParts = 10;  // of the time until the deadline
constexpr auto kPlainInterval = std::chrono::seconds(1);

void print(const std::string& text) { [[maybe_unused]] const auto ignored = ::write(2, text.data(), text.size()); }

std::string failures(const master::StageStatus& stage) {
  return stage.failed_attempts == 0 ? "" : fmt::format(", {} failed attempts", stage.failed_attempts);
}

}  // namespace

Progress::Progress(std::string job_name, bool quiet)
    : name_(std::move(job_name)), quiet_(quiet), terminal_(::isatty(2) == 1), started_(SystemClock().now()) {
  next_ = started_ + kTerminalInterval;
}

Progress::~Progress() { clear_line(); }

void Progress::clear_line() {
  if (line_shown_) print("\r\033[K");
  line_shown_ = false;
}

void Progress::report_finished_stages(TimePoint now, const master::JobStatus& status) {
  for (const master::StageStatus& stage : status.stages) {
    if (stage.finished != stage.tasks || !reported_.insert(stage.id).second) continue;
    clear_line();
    print(fmt::format("{}: stage {} {}: {} tasks done after {}{}\n", name_, stage.id.value(), stage.name, stage.tasks,
                      human_duration(now - started_), failures(stage)));
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
  clear_line();
  print(fmt::format("{}: {}\n", name_, master::outlook_text(status)));
}

void Progress::update(TimePoint now, const master::JobStatus& status) {
  if (quiet_) return;
  report_deadline(status);
  next_ = now + (terminal_ ? Duration(kTerminalInterval) : Duration(kPlainInterval));
  report_finished_stages(now, status);
  if (!terminal_) return;
  std::string line;
  for (const master::StageStatus& stage : status.stages) {
    if (stage.running == 0) continue;
    line += fmt::format("{}stage {} {}: {}/{} tasks, {} running{}", line.empty() ? "" : " | ", stage.id.value(), stage.name,
                        stage.finished, stage.tasks, stage.running, failures(stage));
  }
  if (line.empty()) return;
  clear_line();
  print(line.substr(0, 160));
  line_shown_ = true;
}

void Progress::report_lost_workers(const master::JobStatus& status) {
  if (const std::string lost = lost_workers_text(status); !lost.empty()) print(fmt::format("{}: {}\n", name_, lost));
}

void Progress::fail(const master::JobStatus& status) {
  if (quiet_) return;
  clear_line();
  report_lost_workers(status);
  if (const std::string bad = bad_record_lines(name_, status); !bad.empty()) print(bad);
}

void Progress::finish(TimePoint now, const master::JobStatus& status) {
  if (quiet_) return;
  report_finished_stages(now, status);
  clear_line();
  report_lost_workers(status);
  print(fmt::format("{}: finished in {}: {} records, {} read, {} shuffled\n", name_, human_duration(now - started_),
                    status.input_records, human_bytes(status.input_bytes), human_bytes(status.shuffle_bytes)));
}

}  // namespace weft::client
