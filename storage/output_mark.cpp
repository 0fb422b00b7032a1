#include "storage/output_mark.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/file.hpp"

namespace weft::storage {
namespace {

std::string in(const std::string& directory) { return directory + "/" + kSuccess; }

}  // namespace

Result<void> write_mark(const std::string& directory, const std::string& mark) {
  const std::string path = in(directory);
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!fd.valid()) return fail(errno_error("cannot write output " + path, errno));
  if (mark.empty()) return {};
  if (auto written = write_all(fd.get(), as_bytes(mark)); !written)
    return fail(std::move(written).error().wrap("cannot write output " + path));
  if (::fsync(fd.get()) != 0) return fail(errno_error("cannot write output " + path, errno));
  return {};
}

Result<void> write_mark(RemoteFiles& files, const std::string& directory, const std::string& mark) {
  WEFT_ASSIGN(const auto file, files.create(in(directory)));
  if (!mark.empty()) WEFT_TRY(file->append(as_bytes(mark)));
  return file->close();
}

bool has_mark(const std::string& directory, const std::string& mark) {
  const std::string path = in(directory);
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  std::string there(mark.size() + 1, '\0');
  const ssize_t got = ::read(fd.get(), there.data(), there.size());
  return got == static_cast<ssize_t>(mark.size()) && there.compare(0, mark.size(), mark) == 0;
}

Result<bool> has_mark(RemoteFiles& files, const std::string& directory, const std::string& mark) {
  const std::string path = in(directory);
  WEFT_ASSIGN(const bool there, files.exists(path));
  if (!there) return false;
  WEFT_ASSIGN(const auto file, files.open(path));
  if (file->size() != mark.size()) return false;
  Buffer text(mark.size());
  WEFT_ASSIGN(const std::size_t got, file->read(0, text.span()));
  return got == mark.size() && as_chars(text.view()) == mark;
}

}  // namespace weft::storage
