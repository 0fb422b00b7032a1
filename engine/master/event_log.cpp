#include "engine/master/event_log.hpp"

#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>

#include "base/file.hpp"
#include "base/version.hpp"
#include "engine/master/event_line.hpp"

namespace weft::master {

namespace {

constexpr int kVersion = 1;

}  // namespace

Result<EventLog> EventLog::open(const std::string& path, Time at, const std::string& scheduler) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return fail(errno_error(fmt::format("cannot open the event log {}", path), errno));
  EventLog log(std::move(file), path);
  EventLine first;
  first.at = at;
  first.event = "log_started";
  first.version = kVersion;
  first.program = fmt::format("weft {}", version());
  first.scheduler = scheduler;
  first.unix_time = std::chrono::system_clock::now().time_since_epoch();
  log.add(to_json(std::move(first)));
  WEFT_TRY(log.flush());
  return log;
}

Result<void> EventLog::flush() {
  if (!file_.valid()) text_.clear();
  if (text_.empty()) return {};
  auto written = write_all(file_.get(), as_bytes(text_));
  text_.clear();
  if (written) return {};
  file_ = Fd();
  return fail(std::move(written).error().wrap(fmt::format("the event log {} ends here", path_)));
}

}  // namespace weft::master
