// The lines of one file of an event log, as they are or compressed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/master/log/event_line.hpp"
#include "engine/master/log/log_pieces.hpp"

namespace weft::master {

/// One thread. It goes on to read the file that it opened, even if that is renamed meanwhile.
class LogLines {
 public:
  /// `offset`: of its text, where a line begins. not_found when there is no such file. Compression is recognised by content.
  static Result<LogLines> open(const std::string& path, std::uint64_t offset = 0);
  LogLines(LogLines&&) noexcept;
  LogLines& operator=(LogLines&&) noexcept;
  ~LogLines();

  /// Goes to the next line that is not empty. False: there is no other whole line, because the last one is still being written, or
  /// was cut off by a crash. A file that is not compressed may have more at the next call. An error names the file.
  Result<bool> next();
  /// After next() returned false: goes to the text after the last end of a line, if that is whole JSON.
  bool next_unended();

  /// Without its end. Valid until the next call.
  std::string_view line() const { return line_; }
  /// Where it begins in the text of the file, and where the next one does.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  /// Counted from `offset`.
  std::uint64_t number() const { return number_; }

  Result<EventLine> parse() const;
  /// "path:line: reason", corrupt.
  Error error(std::string_view reason) const;

 private:
  friend Result<std::string> read_text(const LogPiece& piece, std::uint64_t offset, std::uint64_t bytes);
  struct Source;
  LogLines(std::string path, std::unique_ptr<Source> source, std::uint64_t offset);
  Result<bool> fill();

  std::string path_;
  std::unique_ptr<Source> source_;
  std::string buffer_;
  std::size_t at_ = 0;        // where the next line begins in the buffer
  std::size_t searched_ = 0;  // there is no end of a line between at_ and here
  std::string_view line_;
  std::uint64_t begin_, end_, number_ = 0;
};

/// Opens a piece, which may have been compressed since it was listed.
Result<LogLines> open_piece(const LogPiece& piece, std::uint64_t offset = 0);

/// `bytes` of the text of a piece from `offset` on; corrupt when there are fewer.
Result<std::string> read_text(const LogPiece& piece, std::uint64_t offset, std::uint64_t bytes);

/// Calls `use` for each line, with the place of its piece in `pieces`. Ends with the first error.
Result<void> for_each_line(const std::vector<LogPiece>& pieces,
                           const std::function<Result<void>(const LogLines& lines, std::size_t piece)>& use);

// What a line is about, in the form in which masters write lines, found without parsing all of it.
/// Its job; nothing when it is about none, or another program wrote it.
std::optional<std::uint64_t> job_of(std::string_view line);
/// Its event; empty when another program wrote it.
std::string_view event_of(std::string_view line);

}  // namespace weft::master
