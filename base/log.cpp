#include "base/log.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <ctime>

#include <sys/time.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace weft {
namespace {

// The one process-wide setting of weft: a log line must reach the operator from wherever it is written.
std::atomic<LogLevel> process_level{LogLevel::warn};
std::atomic<int> process_fd{2};

constexpr std::array<std::string_view, 5> kLevelNames{"debug", "info", "warn", "error", "off"};  // by value

std::string utc_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm utc{};
  ::gmtime_r(&now.tv_sec, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour,
                     utc.tm_min, utc.tm_sec, now.tv_nsec / 1'000'000);
}

void write_line(std::string_view line) {
  while (::write(process_fd.load(std::memory_order_relaxed), line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), text);
  if (found != kLevelNames.end()) return static_cast<LogLevel>(found - kLevelNames.begin());
  return fail(Code::invalid_argument, fmt::format("'{}' is not a log level (debug, info, warn, error, off)", escaped(text)));
}

std::string_view log_level_name(LogLevel level) { return kLevelNames.at(static_cast<std::size_t>(level)); }

void configure_logging(LogLevel level, int fd) {
  process_fd.store(fd, std::memory_order_relaxed);
  process_level.store(level, std::memory_order_relaxed);
}

bool Log::enabled(LogLevel level) { return level >= process_level.load(std::memory_order_relaxed); }

void Log::write(LogLevel level, fmt::string_view format, fmt::format_args args) const {
  if (!enabled(level)) return;
  const int saved_errno = errno;
  const std::string text = printable(fmt::vformat(format, args));
  write_line(fmt::format("{} {:<5} {}: {}\n", utc_now(), log_level_name(level), component_, text));
  errno = saved_errno;
}

}  // namespace weft
