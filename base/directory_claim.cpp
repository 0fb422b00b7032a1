#include "base/directory_claim.hpp"

#include <cerrno>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>

namespace weft {

Result<Fd> claim_directory(const std::string& path, std::string_view role) {
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return fail(errno_error("cannot open the directory " + path, errno));
  if (::flock(directory.get(), LOCK_EX | LOCK_NB) == 0) return directory;
  if (errno != EWOULDBLOCK) return Fd();
  return fail(
      Code::unavailable,
      fmt::format("the directory {} is in use by another {} that runs; end that one, or name another directory", path, role));
}

}  // namespace weft
