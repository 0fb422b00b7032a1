#include "engine/master/log/log_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/log.hpp"
#include "base/named_file.hpp"
#include "engine/master/log/log_pieces.hpp"

namespace weft::master {

namespace {

constexpr std::uint64_t kStep = 64u << 10;

std::chrono::nanoseconds calendar_now() { return std::chrono::system_clock::now().time_since_epoch(); }

/// Up to the last end of a line among the first `size` bytes.
Result<std::uint64_t> whole_lines(int file, std::uint64_t size) {
  std::string text;
  while (size > 0) {
    const std::uint64_t from = size - std::min(size, kStep);
    text.resize(size - from);
    const ssize_t read = ::pread(file, text.data(), text.size(), static_cast<off_t>(from));
    if (read < 0) return fail(errno_error("cannot read it", errno));
    const std::size_t end = std::string_view(text).substr(0, static_cast<std::size_t>(read)).rfind('\n');
    if (end != std::string_view::npos) return from + end + 1;
    size = from;
  }
  return 0;
}

}  // namespace

Result<LogFile> LogFile::open(const std::string& path, std::string what, const LogRotation& rotation) {
  WEFT_ASSIGN(const auto file, replaceable_file(path));
  LogFile log(file.value_or(path), std::move(what), rotation);
  if (!file) log.keep_whole();
  WEFT_TRY(log.open_file());
  return log;
}

void LogFile::begin_period() {
  if (size_ > 0 && period_ != period_of(calendar_now())) {
    if (const auto rotated = rotate(); !rotated)
      Log("master").warn("{}; the {} goes on in {}", rotated.error().to_string(), what_, path_);
  }
  continues_ = false;  // what is written next is the first of a new file anyway
}

Result<std::uint32_t> LogFile::piece() const {
  WEFT_ASSIGN(const auto pieces, pieces_of(path_));
  return pieces.back().number;
}

Result<void> LogFile::open_file() {
  const auto cannot = [this] { return fail(errno_error(fmt::format("cannot open the {} {}", what_, path_), errno)); };
  Fd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return cannot();
  if (!S_ISREG(status.st_mode)) {  // a pipe, which somebody reads
    keep_whole();
    file_ = std::move(file);
    return {};
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::unavailable, fmt::format("the {} {} is written by another master: name another file", what_, path_));
  const auto found = static_cast<std::uint64_t>(status.st_size);
  WEFT_ASSIGN(const std::uint64_t whole, whole_lines(file.get(), found));
  if (whole < found && ::ftruncate(file.get(), static_cast<off_t>(whole)) != 0) return cannot();
  file_ = std::move(file);
  size_ = whole;
  const auto written = std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  period_ = period_of(size_ > 0 ? written : calendar_now());
  return {};
}

std::int64_t LogFile::period_of(std::chrono::nanoseconds unix_time) const {
  return rotation_.period > Duration(0) ? unix_time / rotation_.period : 0;
}

/// The file gets its number; another one, which says that it continues, takes its name.
Result<void> LogFile::rotate() {
  const auto pieces = pieces_of(path_);
  const std::string rotated = pieces ? rotated_name(path_, pieces->back().number) : std::string();
  if (!pieces || ::rename(path_.c_str(), rotated.c_str()) != 0) {
    const Error why = pieces ? errno_error(fmt::format("cannot rename {} to {}", path_, rotated), errno) : pieces.error();
    Log("master").warn("{}; the {} is not rotated any more and grows", why.to_string(), what_);
    keep_whole();
    return {};
  }
  if (auto opened = open_file(); !opened) {  // on a full disk: this one goes on for now
    (void)::rename(rotated.c_str(), path_.c_str());
    return opened;
  }
  if (archive_) archive_->tend();
  continues_ = true;
  return {};
}

Result<void> LogFile::write(std::string_view lines, const FirstLines& first_lines) {
  const std::string first = continues_ ? first_lines() : std::string();
  WEFT_TRY(write_all(file_.get(), as_bytes(first)));
  WEFT_TRY(write_all(file_.get(), as_bytes(lines)));
  size_ += first.size() + lines.size();
  continues_ = false;
  if (const std::uint64_t lost = std::exchange(lost_, 0); lost > 0)
    Log("master").warn("the {} {} is written again; it lacks {} lines", what_, path_, lost);
  return {};
}

/// Lines that cannot be written are lost; what was written of them is cut off, and the next ones are tried.
Result<void> LogFile::lose(std::string_view lines, Error why) {
  const bool first = lost_ == 0;
  lost_ += static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  continues_ = true;
  const bool cut = ::ftruncate(file_.get(), static_cast<off_t>(size_)) == 0;
  if (!cut) file_ = Fd();
  if (!cut) return fail(std::move(why).wrap(fmt::format("the {} {} ends here", what_, path_)));
  if (!first) return {};
  return fail(std::move(why).wrap(fmt::format("the {} {} lacks what happens until it can be written again", what_, path_)));
}

Result<void> LogFile::append(std::string_view lines, const FirstLines& first_lines) {
  if (!file_.valid() || lines.empty()) return {};
  const bool large = rotation_.bytes > 0 && size_ >= rotation_.bytes;
  const bool old = rotation_.period > Duration(0) && period_ != period_of(calendar_now());
  Result<void> written = size_ > 0 && (large || old) ? rotate() : Result<void>();
  if (written) written = write(lines, first_lines);
  if (!written) written = lose(lines, std::move(written).error());
  return written;
}

}  // namespace weft::master
