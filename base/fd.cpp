#include "base/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace weft {

void Fd::reset() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));  // EINTR: Linux has closed it all the same
}

Fd Fd::duplicate() const { return Fd(::fcntl(fd_, F_DUPFD_CLOEXEC, 0)); }

}  // namespace weft
