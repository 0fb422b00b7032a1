#include "engine/master/log/event_log.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/named_file.hpp"
#include "base/version.hpp"
#include "engine/master/log/event_line.hpp"
#include "engine/master/log/log_pieces.hpp"

namespace weft::master {

namespace {

constexpr int kVersion = 1;
constexpr std::uint64_t kStep = 64u << 10;

std::chrono::nanoseconds unix_now() { return std::chrono::system_clock::now().time_since_epoch(); }

EventLine first_line(const char* event, Time at) {
  EventLine first;
  first.at = at;
  first.event = event;
  first.version = kVersion;
  first.program = fmt::format("weft {}", version());
  first.unix_time = unix_now();
  return first;
}

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

Result<EventLog> EventLog::open(const std::string& path, Time at, const std::string& scheduler, const LogRotation& rotation,
                                bool continues) {
  WEFT_ASSIGN(const auto file, replaceable_file(path));
  EventLog log(file.value_or(path), rotation);
  if (!file) log.keep_whole();
  WEFT_TRY(log.open_file());
  EventLine first = first_line(continues ? "log_continued" : "log_started", at);
  first.scheduler = scheduler;
  if (log.size_ > 0 && log.period_ != log.period_of(*first.unix_time)) WEFT_TRY(log.rotate());
  log.continues_ = false;  // this line is the first of a new file
  WEFT_ASSIGN(const auto pieces, pieces_of(log.path_));
  log.began_ = {pieces.back().number, log.size_};
  log.archive_ = std::make_unique<LogArchive>(log.path_, rotation);
  log.add(to_json(std::move(first)));
  WEFT_TRY(log.flush(at));
  return log;
}

Result<void> EventLog::open_file() {
  const auto cannot = [this] { return fail(errno_error(fmt::format("cannot open the event log {}", path_), errno)); };
  Fd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return cannot();
  if (!S_ISREG(status.st_mode)) {  // a pipe, which somebody reads
    keep_whole();
    file_ = std::move(file);
    return {};
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(Code::unavailable, fmt::format("the event log {} is written by another master: name another file", path_));
  const auto found = static_cast<std::uint64_t>(status.st_size);
  WEFT_ASSIGN(const std::uint64_t whole, whole_lines(file.get(), found));
  if (whole < found && ::ftruncate(file.get(), static_cast<off_t>(whole)) != 0) return cannot();
  file_ = std::move(file);
  size_ = whole;
  const auto written = std::chrono::seconds(status.st_mtim.tv_sec) + std::chrono::nanoseconds(status.st_mtim.tv_nsec);
  period_ = period_of(size_ > 0 ? written : unix_now());
  return {};
}

std::int64_t EventLog::period_of(std::chrono::nanoseconds unix_time) const {
  return rotation_.period > Duration(0) ? unix_time / rotation_.period : 0;
}

/// The file gets its number; another one, which says that it continues, takes its name.
Result<void> EventLog::rotate() {
  const auto pieces = pieces_of(path_);
  const std::string rotated = pieces ? rotated_name(path_, pieces->back().number) : std::string();
  if (!pieces || ::rename(path_.c_str(), rotated.c_str()) != 0) {
    const Error why = pieces ? errno_error(fmt::format("cannot rename {} to {}", path_, rotated), errno) : pieces.error();
    Log("event-log").warn("{}; the event log is not rotated any more and grows", why.to_string());
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

std::string EventLog::first_lines(Time at) const {
  std::string text = to_json(first_line("log_continued", at)) + '\n';
  for (const auto& [node, line] : repeated_) (text += line) += '\n';
  return text;
}

Result<void> EventLog::write(Time at) {
  const std::string first = continues_ ? first_lines(at) : std::string();
  WEFT_TRY(write_all(file_.get(), as_bytes(first)));
  WEFT_TRY(write_all(file_.get(), as_bytes(text_)));
  size_ += first.size() + text_.size();
  continues_ = false;
  if (const std::uint64_t lost = std::exchange(lost_, 0); lost > 0)
    Log("event-log").warn("the event log {} is written again; it lacks {} lines", path_, lost);
  return {};
}

/// Lines that cannot be written are lost; what was written of them is cut off, and the next ones are tried.
Result<void> EventLog::lose(Error why) {
  const bool first = lost_ == 0;
  lost_ += static_cast<std::uint64_t>(std::count(text_.begin(), text_.end(), '\n'));
  const bool cut = ::ftruncate(file_.get(), static_cast<off_t>(size_)) == 0;
  if (!cut) file_ = Fd();
  if (!cut) return fail(std::move(why).wrap(fmt::format("the event log {} ends here", path_)));
  if (!first) return {};
  return fail(std::move(why).wrap(fmt::format("the event log {} lacks what happens until it can be written again", path_)));
}

Result<void> EventLog::flush(Time at) {
  if (!file_.valid()) text_.clear();
  if (text_.empty()) return {};
  const bool large = rotation_.bytes > 0 && size_ >= rotation_.bytes;
  const bool old = rotation_.period > Duration(0) && period_ != period_of(unix_now());
  Result<void> written = size_ > 0 && (large || old) ? rotate() : Result<void>();
  if (written) written = write(at);
  if (!written) written = lose(std::move(written).error());
  text_.clear();
  return written;
}

}  // namespace weft::master
