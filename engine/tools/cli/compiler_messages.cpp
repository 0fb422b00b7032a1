#include "engine/tools/cli/compiler_messages.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace weft::tools {
namespace {

constexpr std::size_t kLongestLine = 240;

std::string cut(std::string_view line) {
  return std::string(line.substr(0, kLongestLine)) + (line.size() > kLongestLine ? "..." : "");
}

/// "class Dataset<...>": arguments of templates, of which messages may have pages, are left out where they are long.
std::string shortened(std::string_view message) {
  constexpr std::size_t kShortMessage = 160, kShortArguments = 24;
  if (message.size() <= kShortMessage) return std::string(message);
  std::string text;
  for (std::size_t at = 0; at < message.size(); ++at) {
    text.push_back(message[at]);
    if (message[at] != '<' || at == 0 || std::string_view(" <=(-").find(message[at - 1]) != std::string_view::npos) continue;
    std::size_t end = at + 1;
    for (int depth = 1; end < message.size() && depth > 0; ++end) {
      if (message[end] == '<') ++depth;
      if (message[end] == '>' && message[end - 1] != '-') --depth;
    }
    if (end - at <= kShortArguments || message[end - 1] != '>') continue;
    text += "...>";
    at = end - 1;
  }
  return text;
}

struct Diagnostic {
  std::string place;  // "file.cpp:12:3"
  std::string message;
  std::vector<std::string> code{};  // the line of source, and the marks below it
  bool own = false;                 // in the user's files
  bool of_weft = false;             // what weft says of a wrong use
};

/// "FILE:LINE:COLUMN" at the front of a message.
std::string_view place_in(std::string_view line) {
  std::size_t end = 0;
  for (int part = 0; part < 3; ++part) {
    end = line.find(':', end);
    if (end == std::string_view::npos) return {};
    ++end;
  }
  return line.substr(0, end - 1);
}

class Messages {
 public:
  explicit Messages(const std::string& source) : source_(source), directory_(source.substr(0, source.rfind('/') + 1)) {}

  void take(std::string_view line) {
    if (take_error(line)) return;
    if (line.find("undefined reference to ") != std::string_view::npos) return take_unresolved(line);
    const bool required = line.find("required from") != std::string_view::npos;
    if (is_own(line) && required) {
      used_at_ = place_in(line);
    } else if (is_own(line) && line.find("requested here") != std::string_view::npos && !all_.empty() && !all_.back().own) {
      all_.back().place = place_in(line);  // clang says it afterwards
      all_.back().own = all_.back().of_weft;
    }
    const bool code = line.starts_with(' ') && line.find('|') != std::string_view::npos;
    if (code && follows_ && all_.back().code.size() < 2)
      all_.back().code.push_back(cut(line));
    else
      follows_ = false;
  }

  std::string text(std::size_t most_lines) const {
    std::vector<const Diagnostic*> chosen;
    for (const bool own : {true, false}) {
      std::set<std::string> seen;
      for (const Diagnostic& one : all_)
        if (one.own == own && seen.insert(one.place + one.message).second) chosen.push_back(&one);
      if (!chosen.empty()) break;
    }
    std::string text;
    std::size_t lines = 0, shown = 0;
    for (const Diagnostic* one : chosen) {
      const bool last = shown + 1 == chosen.size() && shown + 1 == all_.size();
      if (lines + 1 + one->code.size() + (last ? 0 : 1) > most_lines && shown > 0) break;
      text += cut(fmt::format("{}: error: {}", one->place, one->message)) + "\n";
      for (const std::string& code : one->code) text += code + "\n";
      lines += 1 + one->code.size();
      ++shown;
    }
    if (shown < all_.size()) text += fmt::format("({} more; --full shows all that the compiler says)\n", all_.size() - shown);
    return text;
  }
  bool empty() const { return all_.empty(); }

 private:
  bool is_own(std::string_view line) const {
    if (line.starts_with(source_ + ":")) return true;
    return directory_.empty() ? !line.starts_with('/') : line.starts_with(directory_);
  }
  bool take_error(std::string_view line) {
    for (const std::string_view kind : {": error: ", ": fatal error: "}) {
      const auto at = line.find(kind);
      if (at == std::string_view::npos || line.starts_with(' ')) continue;
      std::string_view message = line.substr(at + kind.size());
      for (const std::string_view front : {"static assertion failed: ", "static assertion failed due to requirement "})
        if (message.starts_with(front)) message.remove_prefix(front.size());
      if (line.starts_with("collect2: ")) return true;  // that the linker has failed
      Diagnostic found{std::string(line.substr(0, at)), shortened(message)};
      found.own = is_own(line);
      found.of_weft =
          line.find("static assertion failed") != std::string_view::npos && message.find("weft ") != std::string_view::npos;
      follows_ = found.own;
      if (!found.own && !used_at_.empty()) {
        found.place = used_at_;
        found.own = found.of_weft;
      }
      used_at_.clear();
      all_.push_back(std::move(found));
      return true;
    }
    return false;
  }
  void take_unresolved(std::string_view line) {
    const std::string_view what = line.substr(line.find("undefined reference to ") + 23);
    const bool main = what.find("main") == 1;
    all_.push_back(
        {source_,
         main ? "there is no main(); a job program has one, which calls weft::main" : "nothing defines " + std::string(what),
         {},
         true});
  }

  const std::string source_, directory_;
  std::vector<Diagnostic> all_;
  std::string used_at_;   // the user's place that the next error belongs to
  bool follows_ = false;  // lines of source may follow
};

}  // namespace

std::string relevant_messages(std::string_view messages, const std::string& source, std::size_t most_lines) {
  Messages found(source);
  const auto lines = split(messages, '\n');
  for (const std::string_view line : lines) found.take(line);
  if (!found.empty()) return printable_lines(found.text(most_lines));
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), most_lines); ++i)
    if (!lines[i].empty()) text += cut(lines[i]) + "\n";
  return printable_lines(text);
}

}  // namespace weft::tools
