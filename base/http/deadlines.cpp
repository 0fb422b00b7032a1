#include "base/http/deadlines.hpp"

#include <sys/socket.h>

namespace weft::http {

void Deadlines::set(const void* connection, int fd, TimePoint until) {
  const std::lock_guard lock(mutex_);
  deadlines_.insert_or_assign(connection, Deadline{fd, until});
}

void Deadlines::forget(const void* connection) {
  const std::lock_guard lock(mutex_);
  deadlines_.erase(connection);
}

void Deadlines::enforce(TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (auto& [connection, deadline] : deadlines_) {
    if (deadline.until > now) continue;
    ::shutdown(deadline.fd, SHUT_RDWR);
    deadline.until = TimePoint::max();
  }
}

}  // namespace weft::http
