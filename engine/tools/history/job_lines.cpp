#include "engine/tools/history/job_lines.hpp"

#include <optional>
#include <string_view>

namespace weft::history {

namespace {

/// `waits`: the job waits for its first slot. Then launches and ends of other jobs' attempts are needed, too.
bool is_needed(std::string_view line, std::uint64_t job, bool waits) {
  const std::string_view event = master::event_of(line);
  if (const std::optional<std::uint64_t> of = master::job_of(line)) return *of == job || (waits && master::is_of_attempt(event));
  return event != "worker_heartbeat" && event != "timer_fired";
}

}  // namespace

Result<void> JobLines::apply(const master::LogLines& lines) {
  if (!is_needed(lines.line(), job_, history_.waits(job_))) {
    last_ = lines.line();
    return {};
  }
  last_.clear();
  WEFT_ASSIGN(const auto event, lines.parse());
  history_.apply(event);
  return {};
}

EventHistory JobLines::take() {
  if (const auto last = master::parse_event_line(last_, "")) history_.pass_to(last->at);
  return std::move(history_);
}

}  // namespace weft::history
