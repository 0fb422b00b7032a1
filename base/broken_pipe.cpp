#include "base/broken_pipe.hpp"

#include <csignal>

#include <poll.h>

namespace weft {

void outlive_broken_pipes() {
  struct sigaction before {};
  if (::sigaction(SIGPIPE, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  // A handler, not SIG_IGN: exec() keeps what is ignored, and `head` in a program of the user's would not end what it reads.
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &nothing, nullptr);
}

bool reader_is_gone(int fd) {
  pollfd end{fd, POLLOUT, 0};
  return ::poll(&end, 1, 0) == 1 && (end.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace weft
