// Logging: one line per event, `2026-01-31T12:00:00.123Z warn  worker: text`, written with one system call to one descriptor.
//
// Each component has a Log with its name. The level and the descriptor belong to the process; main() sets them once.
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

/// Sets the descriptor to which lines go (before the first call: stderr) and the lowest level that is written (warn). For main();
/// any thread may call it. The descriptor must stay open.
void configure_logging(LogLevel level, int fd = 2);

/// Writes the lines of one component. Any thread may use it, copies are cheap, and calls never fail: a line that cannot be
/// written is lost.
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

  /// Whether lines of this level are written, for lines that are expensive to compose.
  static bool enabled(LogLevel level);
  const std::string& component() const { return component_; }

 private:
  void write(LogLevel level, fmt::string_view format, fmt::format_args args) const;

  std::string component_;
};

}  // namespace weft
