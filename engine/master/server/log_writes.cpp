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
  writer_->post([this, &log, at = driver_.now(), alive = std::weak_ptr(alive_)] {
    const auto written = log.write(at);
    if (!written) reactor_.post(guarded(alive, [this, written] { driver_.check_log(written); }));
  });
}

}  // namespace weft::master
