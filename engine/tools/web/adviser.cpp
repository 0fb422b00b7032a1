#include "engine/tools/web/adviser.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "engine/tools/display/json_members.hpp"

namespace weft::web {

namespace {

constexpr auto kBudget = std::chrono::seconds(60);  // then no simulation begins
constexpr auto kLimit = std::chrono::minutes(5);    // then it is ended, whatever it does
constexpr std::size_t kKept = 1u << 20;             // of the answer

/// Why there is no answer: its last line, without what programs say of themselves before an error.
std::string why(const FollowedProcess& process) {
  const std::string output = process.output();
  const std::string_view text = trim(output);
  const std::string_view line = text.substr(text.rfind('\n') == std::string_view::npos ? 0 : text.rfind('\n') + 1);
  if (line.empty()) return "it ended without an answer, which takes five minutes at most";
  constexpr std::string_view kProgram = "weft advise: ";
  return printable(line.starts_with(kProgram) ? line.substr(kProgram.size()) : line);
}

}  // namespace

Result<void> Adviser::ask(Duration span) {
  if (span < Duration(0)) return fail(Code::invalid_argument, "a span is a time such as 1h, or 0s for all that the event log has");
  const std::lock_guard lock(mutex_);
  if (question_ && question_->process->running())
    return fail(Code::already_exists, "the last question is being answered; ask again when it is");
  FollowedProcess::Options options{
      .path = program_,
      .arguments = {"weft", "advise", "--from-log", event_log_, "--budget", format_duration(kBudget), "--json", "--quiet"},
      .kept = kKept,
      .limit = kLimit,
      .gives_way = true};
  if (span > Duration(0)) options.arguments.insert(options.arguments.end(), {"--last", format_duration(span)});
  WEFT_ASSIGN(auto process, FollowedProcess::start(std::move(options)));
  question_ = Question{span, SystemClock().now(), std::move(process)};
  return {};
}

std::string Adviser::describe() const {
  const std::lock_guard lock(mutex_);
  JsonWriter json;
  json.begin_object();
  if (!question_) {
    tools::members(json, "state", "none");
    return json.end_object().text() + "\n";
  }
  const FollowedProcess& process = *question_->process;
  const bool running = process.running();  // first: the answer is whole when it has ended
  const bool answered = !running && process.exit_code() == 0;
  tools::members(json, "state",
                 running    ? "running"
                 : answered ? "answered"
                            : "failed",
                 "span_seconds", in_seconds(question_->span), "seconds_ago", in_seconds(SystemClock().now() - question_->began));
  if (!running && !answered) tools::members(json, "error", why(process));
  std::string text = json.end_object().text();
  if (answered) text.insert(text.size() - 1, fmt::format(",\"advice\":{}", trim(process.output())));
  return text + "\n";
}

}  // namespace weft::web
