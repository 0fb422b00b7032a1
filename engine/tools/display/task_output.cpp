#include "engine/tools/display/task_output.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "runtime/protocol/output_mark.hpp"

namespace weft::tools {

namespace {

struct Marked {
  std::size_t begin = 0, end = 0;  // of the mark in the log, its line end included
  runtime::OutputMark mark;
};

std::vector<Marked> marks_in(std::string_view log) {
  std::vector<Marked> marks;
  for (std::size_t at = 0; (at = log.find("[task ", at)) != std::string_view::npos; ++at) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    if (const auto mark = runtime::parse_output_mark(log.substr(at, end - at)))
      marks.push_back({at, std::min(end + 1, log.size()), *mark});
  }
  return marks;
}

}  // namespace

Result<StageTask> parse_task_name(std::string_view text) {
  const auto dot = text.find('.');
  const auto stage = parse_number<std::uint32_t>(text.substr(0, dot));
  const auto task = dot == std::string_view::npos ? std::nullopt : parse_number<std::uint32_t>(text.substr(dot + 1));
  if (!stage || !task)
    return fail(Code::invalid_argument, fmt::format("'{}' is no task; write STAGE.TASK, such as 3.17", escaped(text)));
  return StageTask{*stage, *task};
}

std::string output_of(std::string_view log, StageTask task) {
  const auto marks = marks_in(log);
  std::string text;
  std::size_t done = 0;  // what is before it is in the text, if it belongs there
  for (const Marked& one : marks) {
    if (one.mark.stage != task.stage || one.mark.task != task.task) continue;
    std::size_t at = std::max(done, one.begin - std::min<std::size_t>(one.begin, one.mark.bytes));
    for (const Marked& other : marks) {
      if (other.end <= at || other.begin >= one.begin) continue;
      text += log.substr(at, std::max(other.begin, at) - at);
      at = other.end;
    }
    text += log.substr(at, one.begin - std::min(at, one.begin));
    done = one.end;
  }
  return text;
}

void keep_output_of(StageTask task, std::vector<client::JobLog>& logs) {
  std::erase_if(logs, [](const client::JobLog& log) { return log.driver; });
  for (client::JobLog& log : logs) log.text = Buffer::copy_of(as_bytes(output_of(as_chars(log.text.view()), task)));
  std::erase_if(logs, [](const client::JobLog& log) { return log.error.empty() && log.text.empty(); });
}

}  // namespace weft::tools
