#include "engine/tools/display/log_tail.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/tools/display/job_text.hpp"

namespace weft::tools {

namespace {

constexpr std::size_t kRecognised = 4096;        // bytes of a log's end
constexpr std::size_t kLongestLine = 64u << 10;  // is shown before it ends, in pieces

/// How many bytes of the text were shown before, when they are the end of the same log; nothing: this is not known. Where lines
/// repeat, several numbers are possible. The smallest is given, so that a line may be shown twice, but none is left out.
std::optional<std::size_t> told_of(std::string_view text, std::string_view before) {
  if (text.starts_with(before)) return before.size();
  const std::string_view end = before.substr(before.size() - std::min(before.size(), kRecognised));
  for (std::size_t at = text.find(end); at != std::string_view::npos; at = text.find(end, at + 1)) {
    const std::size_t told = at + end.size();
    if (before.ends_with(text.substr(0, told))) return told;
  }
  return std::nullopt;
}

}  // namespace

std::string LogTail::add(const std::vector<client::JobLog>& logs) {
  std::string lines;
  for (const client::JobLog& log : logs) {
    if (!log.error.empty()) continue;
    const std::string title = title_of(log);
    SeenLog& seen = seen_[title];
    const std::string_view text = as_chars(log.text.view());
    const std::optional<std::size_t> told = told_of(text, seen.text);
    std::string_view fresh = text.substr(told.value_or(0));
    if (!told) {
      lines += title + "| (some output is left out: weft job logs shows it)\n";
      seen.line.clear();
    }
    for (std::size_t end; (end = fresh.find('\n')) != std::string_view::npos; fresh.remove_prefix(end + 1))
      ((lines += title) += "| ").append(std::exchange(seen.line, {})).append(fresh.substr(0, end + 1));
    seen.line += fresh;
    if (seen.line.size() > kLongestLine) ((lines += title) += "| ").append(std::exchange(seen.line, {})).append("\n");
    seen.text = text;
  }
  return lines;
}

std::string LogTail::rest() {
  std::string lines;
  for (auto& [node, seen] : seen_)
    if (!seen.line.empty()) lines += node + "| " + std::exchange(seen.line, {}) + "\n";
  return lines;
}

}  // namespace weft::tools
