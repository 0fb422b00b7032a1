#include "engine/master/server/log_writes.hpp"

#include <chrono>
#include <utility>

#include "base/guarded.hpp"

namespace weft::master {

void LogWrites::expect() {
  if (driver_.event_log()->many()) return write();
  if (timer_) return;
  timer_ = reactor_.after(std::chrono::milliseconds(20), [this] {
    const auto fired = std::move(timer_);
    write();
  });
}

void LogWrites::write() {
  EventRecorder& log = *driver_.event_log();
  if (!log.hand_over()) return driver_.flush_log();  // a slow disk
  writer_->post([this, &log, at = driver_.now()] {
    auto written = log.write(at);
    if (written) return;
    {
      const std::lock_guard lock(errors_mutex_);
      errors_.push_back(std::move(written).error());
    }
    reactor_.post(guarded(alive_, [this] { report(); }));
  });
}

void LogWrites::report() {
  std::vector<Error> errors;
  {
    const std::lock_guard lock(errors_mutex_);
    errors.swap(errors_);
  }
  for (Error& error : errors) driver_.check_log(fail(std::move(error)));
}

LogWrites::~LogWrites() {
  writer_->stop();
  report();
}

}  // namespace weft::master
