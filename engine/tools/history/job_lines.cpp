#include "engine/tools/history/job_lines.hpp"

#include <optional>
#include <string_view>

#include "base/json_reader.hpp"

namespace weft::history {

namespace {

bool is_of_attempt(std::string_view line) {
  return master::has_event(line, "task_launched") || master::has_event(line, "task_finished") ||
         master::has_event(line, "task_failed") || master::has_event(line, "task_killed");
}

/// `waits`: for its first slot; then others that have some are of interest, too.
bool is_needed(std::string_view line, std::uint64_t job, bool waits) {
  if (const std::optional<std::uint64_t> of = master::job_of(line)) return *of == job || (waits && is_of_attempt(line));
  return !master::has_event(line, "worker_heartbeat") && !master::has_event(line, "timer_fired");
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

History JobLines::take() {
  JsonReader json(last_, "");
  if (const auto last = last_.empty() ? Result<master::EventLine>(fail(Code::not_found, "")) : master::parse_event_line(json))
    history_.pass_to(last->at);
  return std::move(history_);
}

}  // namespace weft::history
