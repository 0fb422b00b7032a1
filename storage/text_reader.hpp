// Lines of a split of a text file.
//
// A split owns every line that *starts* in [offset, offset + length), so any way of cutting a file gives each line exactly once.
// A line ends with '\n', or with the file; "\r\n" reads like "\n". Any other byte, valid UTF-8 or not, belongs to the line. Length
// is bounded by memory only.
#pragma once

#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "storage/file_window.hpp"
#include "storage/split.hpp"

namespace weft::storage {

/// Keep one per task: its buffer is recycled from split to split. One thread.
class TextReader {
 public:
  /// A longer line is resource_exhausted.
  explicit TextReader(std::uint64_t longest_line = UINT64_MAX) : window_(longest_line) {}

  /// Calls `fn(std::string_view line)` for each line; the view is valid during the call. `fn` may return false to stop early; it
  /// may throw. `position(std::uint64_t offset)` is called with the offset of the line first. Errors name the path.
  template <class Position, class Fn>
  Result<void> for_each_line(const Split& split, Position&& position, Fn&& fn);

 private:
  /// Opens and goes to the first line of the split; false when there is none.
  Result<bool> start(const Split& split);

  /// False to stop.
  template <class Fn>
  static bool emit(Fn& fn, const char* begin, const char* end) {
    if (end != begin && end[-1] == '\r') --end;
    const std::string_view line(begin, static_cast<std::size_t>(end - begin));
    if constexpr (std::is_convertible_v<decltype(fn(line)), bool>) {
      return static_cast<bool>(fn(line));
    } else {
      fn(line);
      return true;
    }
  }

  FileWindow window_;
};

template <class Position, class Fn>
Result<void> for_each_line(const Split& split, Position&& position, Fn&& fn) {
  TextReader reader;
  return reader.for_each_line(split, std::forward<Position>(position), std::forward<Fn>(fn));
}

template <class Position, class Fn>
Result<void> TextReader::for_each_line(const Split& split, Position&& position, Fn&& fn) {
  const std::uint64_t stop = split.offset + split.length;
  WEFT_ASSIGN(const bool any, start(split));
  if (!any) return {};
  std::size_t searched = 0;  // of the window, without finding an end of line
  while (true) {
    const char* line = window_.begin();
    const char* const end = window_.end();
    std::uint64_t offset = window_.offset();
    const auto end_of_line = [&]() -> const char* {
      if (line + searched == end) return nullptr;  // also the empty window before the first read
      return static_cast<const char*>(std::memchr(line + searched, '\n', static_cast<std::size_t>(end - line) - searched));
    };
    while (const char* newline = end_of_line()) {
      if (offset >= stop) return {};
      position(offset);
      if (!emit(fn, line, newline)) return {};
      offset += static_cast<std::uint64_t>(newline + 1 - line);
      line = newline + 1;
      searched = 0;
    }
    if (offset >= stop) return {};
    window_.consume_to(line);
    searched = window_.size();
    WEFT_ASSIGN(const bool more, window_.more());
    if (!more) break;
  }
  if (window_.size() != 0) {  // the last line of the file has no '\n'
    position(window_.offset());
    emit(fn, window_.begin(), window_.end());
  }
  return {};
}

}  // namespace weft::storage
