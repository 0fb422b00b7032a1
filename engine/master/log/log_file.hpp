// A log of lines in a file that is rotated (FILE.000001.zst, …): the event log and the audit log are such.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "engine/master/log/log_archive.hpp"

namespace weft::master {

/// One thread at a time.
class LogFile {
 public:
  /// Makes the lines with which every later piece begins.
  using FirstLines = std::function<std::string()>;

  /// Continues the file when it exists, after its last whole line; a line that a crash cut off is removed. `what` it is, for
  /// messages: "event log". unavailable when another process writes to the file; other errors name the file.
  static Result<LogFile> open(const std::string& path, std::string what, const LogRotation& rotation);

  /// Rotates the file when what it has is of an earlier period. A warning is logged where that fails, as on a full disk: the file
  /// goes on for now.
  void begin_period();
  /// Tends the pieces that are no longer written, on a thread of their own.
  void begin_archive() { archive_ = std::make_unique<LogArchive>(path_, rotated_); }
  /// Appends whole lines, after rotating the file when it is large or old. They are lost when that fails, as on a full disk; an
  /// error says so once, and the log goes on when there is room, with the first lines again. When it cannot go on, as with a pipe
  /// that nobody reads any more, the error says so, and nothing more is written.
  Result<void> append(std::string_view lines, const FirstLines& first_lines);

  /// Bytes of the piece that is written, and its number.
  std::uint64_t size() const { return size_; }
  Result<std::uint32_t> piece() const;
  /// What was appended last is not in it.
  bool losing() const { return lost_ > 0 || !file_.valid(); }
  /// It cannot go on.
  bool ended() const { return !file_.valid(); }
  /// Waits until the pieces of before are compressed.
  void settle() { archive_->settle(); }

 private:
  LogFile(std::string path, std::string what, const LogRotation& rotation)
      : path_(std::move(path)), what_(std::move(what)), rotation_(rotation), rotated_(rotation) {}
  Result<void> open_file();
  /// From now on it is not rotated.
  void keep_whole() {
    rotation_.bytes = 0;
    rotation_.period = Duration(0);
  }
  Result<void> write(std::string_view lines, const FirstLines& first_lines);
  Result<void> lose(std::string_view lines, Error why);
  Result<void> rotate();
  std::int64_t period_of(std::chrono::nanoseconds unix_time) const;

  std::string path_, what_;
  LogRotation rotation_;  // in force
  LogRotation rotated_;   // as it was wanted: what is there already is kept so
  Fd file_;
  std::uint64_t size_ = 0;
  std::int64_t period_ = 0;  // of the calendar, in which what is in the file was written
  bool continues_ = false;   // what is written next stands behind the first lines: the file is new, or lacks lines
  std::uint64_t lost_ = 0;   // lines, since one was last written
  std::unique_ptr<LogArchive> archive_;
};

}  // namespace weft::master
