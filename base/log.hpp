// Logging: one line per event, `2026-01-31T12:00:00.123Z warn  worker: text`, written with one system call to one descriptor.
//
// Whoever logs holds a Log with its component's name; level and descriptor belong to the process and are set once by main().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/result.hpp"

namespace weft {

enum class LogLevel : std::uint8_t { debug, info, warn, error, off };

/// "debug", "info", "warn", "error", "off".
Result<LogLevel> parse_log_level(std::string_view text);
std::string_view log_level_name(LogLevel level);

/// For main(): where lines go (default stderr) and from which level (default warn). Any thread.
void configure_logging(LogLevel level, int fd = 2);

/// A component's voice. Cheap to copy; any thread; never fails (a line that cannot be written is lost).
class Log {
 public:
  explicit Log(std::string component) : component_(std::move(component)) {}

  template <class... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::debug, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::info, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::warn, format, fmt::make_format_args(args...));
  }
  template <class... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    write(LogLevel::error, format, fmt::make_format_args(args...));
  }

  /// For callers that would work to compose a line.
  static bool enabled(LogLevel level);
  const std::string& component() const { return component_; }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) const;

  std::string component_;
};

}  // namespace weft
