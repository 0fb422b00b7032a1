#include "engine/simulator/workloads/json_documents.hpp"

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::simulator::workloads {

Result<JsonDocuments> JsonDocuments::open(const std::string& path) {
  WEFT_ASSIGN(Lines lines, Lines::open(path, kLongestDocument));
  return JsonDocuments(std::move(lines));
}

/// Drops the object before, and goes to where the next one begins; false at the end of the file.
Result<bool> JsonDocuments::begin() {
  buffer_.erase(0, used_);
  used_ = at_ = 0;
  line_ = lines_.number();
  for (;;) {
    const std::size_t start = buffer_.find_first_not_of(" \t\r\n");
    if (start != std::string::npos) {
      if (buffer_[start] != '{')
        return fail(lines_.error(fmt::format("'{{' was expected, not '{}'", escaped(buffer_.substr(start, 1)))));
      buffer_.erase(0, start);
      return true;
    }
    WEFT_ASSIGN(const bool more, lines_.next());
    if (!more) return false;
    buffer_ = lines_.line();
    line_ = lines_.number();
  }
}

/// Whether the object ends within the buffer.
bool JsonDocuments::scan() {
  for (; at_ < buffer_.size(); ++at_) {
    const char c = buffer_[at_];
    if (in_string_) {
      if (c == '\\') ++at_;
      in_string_ = c != '"';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      used_ = ++at_;
      return true;
    }
  }
  return false;
}

Result<std::optional<JsonReader>> JsonDocuments::next() {
  WEFT_ASSIGN(const bool any, begin());
  if (!any) return std::nullopt;
  while (!scan()) {
    WEFT_ASSIGN(const bool more, lines_.next());
    if (!more) return fail(lines_.error(fmt::format("the file ends within the object that begins in line {}", line_)));
    buffer_ += '\n';
    buffer_ += lines_.line();
    if (buffer_.size() > kLongestDocument) {
      return fail(
          lines_.error(fmt::format("the object that begins in line {} is larger than {}", line_, human_bytes(kLongestDocument))));
    }
  }
  return JsonReader(std::string_view(buffer_).substr(0, used_), lines_.path(), line_);
}

}  // namespace weft::simulator::workloads
