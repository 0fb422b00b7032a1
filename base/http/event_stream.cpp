#include "base/http/event_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/core.h>

namespace weft::http {

void EventStream::send(const std::string& name, std::string_view data, const std::string& about) {
  if (data.ends_with('\n')) data.remove_suffix(1);
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  waiting_[about.empty() ? name : about] = fmt::format("event: {}\ndata: {}\n\n", name, data);
  wake_reader();
}

bool EventStream::waits(const std::string& about) const {
  const std::lock_guard lock(mutex_);
  return waiting_.contains(about);
}

void EventStream::keep_alive() {
  const std::lock_guard lock(mutex_);
  if (closed_ || !waiting_.empty()) return;
  waiting_[""] = ":\n\n";
  wake_reader();
}

void EventStream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_reader();
}

bool EventStream::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

EventStream::Took EventStream::take(char* into, std::size_t room, std::size_t& taken, const std::function<void()>& wait,
                                    std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  if (sent_ == sending_.size() && !waiting_.empty()) {
    sending_ = std::move(waiting_.extract(waiting_.begin()).mapped());
    sent_ = 0;
  }
  taken = std::min(room, sending_.size() - sent_);
  std::memcpy(into, sending_.data() + sent_, taken);
  sent_ += taken;
  if (taken > 0) return Took::some;
  if (closed_) return Took::end;
  wake_ = std::move(wake);
  wait();
  return Took::nothing;
}

void EventStream::abandon() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  wake_ = nullptr;
}

void EventStream::wake_reader() {
  if (const auto wake = std::exchange(wake_, nullptr)) wake();
}

}  // namespace weft::http
