// Lines of a split of a text file.
//
// A split owns every line that *starts* in [offset, offset + length), so any way of cutting a file gives each line exactly once. Of
// a compressed file (storage/compression) these are bytes of the file: the split has the text of the blocks that begin in them, and
// owns the lines that start in it or exactly behind it; what begins with a part of a line, or exactly with a line, starts later.
// A line ends with '\n', or with the file; "\r\n" reads like "\n". Any other byte, valid UTF-8 or not, belongs to the line. Length
// is bounded by memory only. A file that is known to be no text (storage/access/content.hpp) is refused by the reader of its first
// split.
#pragma once

#include <cstdint>
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
  explicit TextReader(std::uint64_t longest_line = UINT64_MAX, RemoteFiles* remote = nullptr) : window_(longest_line, remote) {}

  /// Calls `fn(std::string_view line)` for each line; the view is valid during the call. `fn` may return false to stop early; it
  /// may throw. The error that a file changed may come after all lines were given: then they must not be used.
  /// `position(std::uint64_t offset)` is called with the offset of the line first: in the file, or in the text of the split when
  /// the file is compressed. Errors name the path.
  template <class Position, class Fn>
  Result<void> for_each_line(const Split& split, Position&& position, Fn&& fn);

  /// The same lines, many at a time: calls `fn(std::uint64_t offset, std::string_view lines)` with whole lines and their ends (the
  /// file's last one may have none). The lines in between need not be found.
  template <class Fn>
  Result<void> for_each_piece(const Split& split, Fn&& fn);

  /// What was spent until bytes were there.
  Duration read_time() const { return window_.read_time(); }

 private:
  /// Opens and goes to the first line of the split; false when there is none.
  Result<bool> start(const Split& split);
  /// Looks at what the file begins with; opens it again when it is compressed.
  Result<void> open_beginning(const Split& split);
  /// Of the file, or of its text when it is compressed, which must be text as well.
  Result<std::string_view> beginning(std::uint64_t most);
  Result<void> open_text(const Split& split, Format format);
  /// Behind the last whole line in the window that starts before `stop`; null when there is none. The first `searched` bytes have
  /// no end of line.
  const char* end_of_lines(std::size_t searched, std::uint64_t stop) const;

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
  return for_each_piece(split, [&](std::uint64_t offset, std::string_view lines) {
    const char *line = lines.data(), *const end = line + lines.size();
    while (line != end) {
      const void* found = std::memchr(line, '\n', static_cast<std::size_t>(end - line));
      const char* const newline = found != nullptr ? static_cast<const char*>(found) : end;
      position(offset + static_cast<std::uint64_t>(line - lines.data()));
      if (!emit(fn, line, newline)) return false;
      line = newline == end ? end : newline + 1;
    }
    return true;
  });
}

template <class Fn>
Result<void> TextReader::for_each_piece(const Split& split, Fn&& fn) {
  WEFT_ASSIGN(const bool any, start(split));
  if (!any) return window_.finish();
  const auto give = [&](const char* end) {
    const std::string_view lines(window_.begin(), static_cast<std::size_t>(end - window_.begin()));
    if constexpr (std::is_convertible_v<decltype(fn(std::uint64_t{}, lines)), bool>) {
      return static_cast<bool>(fn(window_.offset(), lines));
    } else {
      fn(window_.offset(), lines);
      return true;
    }
  };
  std::size_t searched = 0;  // of the window, without an end of line
  while (true) {
    if (const char* end = end_of_lines(searched, window_.stop())) {
      if (!give(end)) return window_.finish();
      window_.consume_to(end);
      if (window_.offset() >= window_.stop()) return window_.finish();
    }
    searched = window_.size();
    WEFT_ASSIGN(const bool more, window_.more());
    if (!more) break;
  }
  if (window_.size() != 0) give(window_.end());  // the last line of the file has no '\n'
  return window_.finish();
}

}  // namespace weft::storage
