#include "base/unlinked_file.hpp"

#include <cerrno>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

namespace weft {

Result<Fd> unlinked_file(const std::string& directory) {
  Fd fd(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    return fail(errno_error("creating a temporary file in " + directory, errno));
  std::string name = directory + "/.weft-XXXXXX";
  fd = Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (!fd.valid()) return fail(errno_error("creating a temporary file in " + directory, errno));
  ::unlink(name.c_str());
  return fd;
}

}  // namespace weft
