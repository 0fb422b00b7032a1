// Until when each connection may take for what it does: a request that comes a byte at a time, an answer that is not read.
#pragma once

#include <map>
#include <mutex>

#include "base/clock.hpp"

namespace weft::http {

/// Any thread.
class Deadlines {
 public:
  /// From now on the connection has until then; it may be known already. `fd` is its socket, and is open until forget().
  void set(const void* connection, int fd, TimePoint until);
  void forget(const void* connection);
  /// Shuts down the sockets of clients that are late, each once: the server notices, and closes them.
  void enforce(TimePoint now);

 private:
  struct Deadline {
    int fd;
    TimePoint until;
  };
  std::mutex mutex_;
  std::map<const void*, Deadline> deadlines_;
};

}  // namespace weft::http
