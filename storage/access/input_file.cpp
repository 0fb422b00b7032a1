#include "storage/access/input_file.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::storage {

Result<InputFile> InputFile::open(const std::string& path, RemoteFiles* remote, const FileVersion& listed) {
  InputFile file;
  file.path_ = path;
  file.listed_ = listed;
  if (is_remote(path)) {
    if (remote == nullptr) return fail(Code::invalid_argument, "input " + path + " is no local file");
    WEFT_ASSIGN(file.remote_, remote->open(path, listed));
    file.size_ = file.remote_->size();
    return file;
  }
  // O_NONBLOCK: a FIFO put in the file's place must not block the task.
  file.fd_ = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.fd_.valid()) return fail(errno_error("cannot read input " + path, errno));
  struct stat info {};
  if (::fstat(file.fd_.get(), &info) != 0) return fail(errno_error("cannot read input " + path, errno));
  if (!S_ISREG(info.st_mode)) return fail(Code::invalid_argument, "input " + path + " is not a regular file");
  WEFT_TRY(check_same(path, listed, version_of(info, true)));
  file.size_ = listed.known() ? listed.bytes : static_cast<std::uint64_t>(info.st_size);
  return file;
}

Result<void> InputFile::check_unchanged() const {
  if (remote_ || !listed_.known()) return {};
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) return fail(errno_error("cannot read input " + path_, errno));
  return check_same(path_, listed_, version_of(info, true));
}

Result<std::size_t> InputFile::read(std::uint64_t offset, MutableBytes into) {
  if (remote_) return remote_->read(offset, into);
  if (listed_.known()) into = into.first(std::min<std::uint64_t>(into.size(), size_ - std::min(size_, offset)));
  ssize_t count = 0;
  do {
    count = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(errno_error("cannot read input " + path_ + " at byte " + std::to_string(offset), errno));
  return static_cast<std::size_t>(count);
}

}  // namespace weft::storage
