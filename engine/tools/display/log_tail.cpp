#include "engine/tools/display/log_tail.hpp"

#include <algorithm>
#include <utility>

#include "engine/tools/display/job_text.hpp"

namespace weft::tools {

namespace {

constexpr std::size_t kRemembered = 4096;  // bytes of a log's end that are recognised again

}  // namespace

std::string LogTail::add(const std::vector<client::JobLog>& logs) {
  std::string lines;
  for (const client::JobLog& log : logs) {
    if (!log.error.empty()) continue;
    const std::string title = title_of(log);
    SeenLog& seen = seen_[title];
    const std::string_view text = as_chars(log.text.view());
    const std::size_t same = text.rfind(seen.end);  // of nothing: the end
    std::string_view fresh = text;
    if (!seen.end.empty() && same != std::string_view::npos) fresh.remove_prefix(same + seen.end.size());
    if (same == std::string_view::npos) {
      lines += title + "| (some output is left out: weft job logs shows it)\n";
      seen.line.clear();
    }
    for (std::size_t end; (end = fresh.find('\n')) != std::string_view::npos; fresh.remove_prefix(end + 1))
      ((lines += title) += "| ").append(std::exchange(seen.line, {})).append(fresh.substr(0, end + 1));
    seen.line += fresh;
    seen.end = text.substr(text.size() - std::min(text.size(), kRemembered));
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
