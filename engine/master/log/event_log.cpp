#include "engine/master/log/event_log.hpp"

#include <chrono>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/version.hpp"
#include "engine/master/log/event_line.hpp"

namespace weft::master {

namespace {

constexpr int kVersion = 1;

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

}  // namespace

Result<EventLog> EventLog::open(const std::string& path, Time at, const std::string& scheduler, const LogRotation& rotation,
                                bool continues) {
  WEFT_ASSIGN(LogFile file, LogFile::open(path, "event log", rotation));
  file.begin_period();
  WEFT_ASSIGN(const std::uint32_t piece, file.piece());
  const LogPlace began{piece, file.size()};
  file.begin_archive();
  EventLog log(std::move(file), began);
  EventLine first = first_line(continues ? "log_continued" : "log_started", at);
  first.scheduler = scheduler;
  log.add(log.begin_ = to_json(std::move(first)));
  if (auto written = log.flush(at); !written) {
    if (log.file_.ended()) return fail(std::move(written).error());
    Log("master").warn("{}", written.error().to_string());
  }
  return log;
}

std::string EventLog::first_lines(Time at) const {
  std::string text = (begin_.empty() ? to_json(first_line("log_continued", at)) : begin_) + '\n';
  if (configured_) {
    EventLine configured = *configured_;
    configured.at = at;
    text += to_json(std::move(configured)) + '\n';
  }
  for (const auto& [node, line] : repeated_) (text += line) += '\n';
  return text;
}

Result<void> EventLog::flush(Time at) {
  auto written = file_.append(text_, [this, at] { return first_lines(at); });
  text_.clear();
  if (!file_.losing()) begin_.clear();
  return written;
}

}  // namespace weft::master
