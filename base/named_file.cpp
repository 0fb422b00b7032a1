#include "base/named_file.hpp"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/unguessable.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel
constexpr long kProcFileSystem = 0x9fa0;

/// What a name stands for.
struct Place {
  std::string path;       // links followed
  int descriptor = -1;    // one of this process, not owned
  bool written_in_place;  // opened and written, not replaced
};

Error refused(const std::string& name, std::string_view why) {
  return Error(Code::invalid_argument, fmt::format("{} {}", name.empty() ? "the empty name" : escaped(name), why));
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// Links in /proc lead to what is open, whatever its name.
bool leads_to_open_file(const fs::path& link) {
  struct statfs info {};
  return ::statfs(folder_of(link).c_str(), &info) == 0 && info.f_type == kProcFileSystem;
}

/// The number, when the path is that of a descriptor of this process.
std::optional<int> own_descriptor(const fs::path& path) {
  const auto number = parse_number<std::uint32_t>(path.filename().string());
  std::error_code error;
  if (!number || *number > INT_MAX) return std::nullopt;
  if (fs::canonical(folder_of(path), error) != fs::canonical("/proc/self/fd", error) || error) return std::nullopt;
  return static_cast<int>(*number);
}

Result<Place> place_of(const std::string& name) {
  fs::path path = name;
  if (!path.has_filename()) return fail(refused(name, "names no file"));
  for (int links = 0; links <= kMostLinks; ++links) {
    if (const auto descriptor = own_descriptor(path)) return Place{path, *descriptor, true};
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
      if (errno != ENOENT) return fail(errno_error("cannot write " + name, errno));
      std::error_code error;
      if (fs::is_directory(folder_of(path), error)) return Place{path, -1, false};
      return fail(Code::not_found, fmt::format("cannot write {}: there is no directory {}", name, folder_of(path).string()));
    }
    if (S_ISDIR(info.st_mode)) return fail(refused(name, "is a directory; name a file"));
    if (!S_ISLNK(info.st_mode)) return Place{path, -1, !S_ISREG(info.st_mode)};
    if (leads_to_open_file(path)) return Place{path, -1, true};
    std::error_code error;
    const fs::path to = fs::read_symlink(path, error);
    if (error) return fail(errno_error("cannot write " + name, error.value()));
    path = to.is_absolute() ? to : folder_of(path) / to;
  }
  return fail(refused(name, "is a link that leads in a circle"));
}

Error exists_already(const std::string& name) {
  return Error(Code::already_exists, escaped(name) + " exists; say --overwrite to replace it");
}

/// For writing, and not begun again.
Result<Fd> open_in_place(const std::string& name, const Place& place) {
  if (place.descriptor >= 0) {
    const int flags = ::fcntl(place.descriptor, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return fail(refused(name, "is not open for writing"));
    if (place.descriptor == STDOUT_FILENO) std::fflush(stdout);
    Fd copy(::fcntl(place.descriptor, F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return fail(errno_error("cannot write " + name, errno));
    return copy;
  }
  Fd opened(::open(place.path.c_str(), O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC));
  if (!opened.valid()) return fail(errno_error("cannot write " + name, errno));
  return opened;
}

}  // namespace

Result<std::optional<std::string>> replaceable_file(const std::string& path) {
  WEFT_ASSIGN(const Place place, place_of(path));
  if (place.written_in_place) return std::optional<std::string>();
  return std::optional(place.path);
}

Result<void> check_named_file(const std::string& path, IfExists exists) {
  WEFT_ASSIGN(const Place place, place_of(path));
  struct stat info {};
  if (place.written_in_place) {
    if (place.descriptor >= 0) return open_in_place(path, place).map([](auto&&) {});
    if (::access(place.path.c_str(), W_OK) != 0) return fail(errno_error("cannot write " + path, errno));
    return {};
  }
  if (exists == IfExists::refuse && ::lstat(place.path.c_str(), &info) == 0) return fail(exists_already(path));
  if (::access(folder_of(place.path).c_str(), W_OK) == 0) return {};
  return fail(errno_error("cannot write " + path, errno));
}

Result<NamedFile> NamedFile::create(const std::string& path, IfExists exists) {
  WEFT_ASSIGN(const Place place, place_of(path));
  NamedFile file(path);
  if (place.written_in_place) {
    WEFT_ASSIGN(file.fd_, open_in_place(path, place));
    return file;
  }
  struct stat info {};
  file.exists_ = exists;
  if (exists == IfExists::refuse && ::lstat(place.path.c_str(), &info) == 0) return fail(exists_already(path));
  WEFT_TRY(file.open_beside(place.path));
  return file;
}

NamedFile& NamedFile::operator=(NamedFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    target_ = std::exchange(other.target_, {});
    temporary_ = std::exchange(other.temporary_, {});
    exists_ = other.exists_;
    fd_ = std::move(other.fd_);
  }
  return *this;
}

/// Under a name that has nothing of the target's: that one may be as long as names may be.
Result<void> NamedFile::open_beside(const std::string& target) {
  do {  // not mkostemp(): the umask decides the mode
    temporary_ = (folder_of(target) / fmt::format(".weft-{:016x}", unguessable_number())).string();
    fd_ = Fd(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  } while (!fd_.valid() && errno == EEXIST);
  if (!fd_.valid()) {
    temporary_.clear();
    return fail(errno_error("cannot write " + path_, errno));
  }
  target_ = target;
  struct stat before {};
  if (::lstat(target.c_str(), &before) != 0) return {};
  // Its owner and group, which only root, or a member of the group, can give. The mode last, since a new owner takes bits of it
  // away.
  if (::fchown(fd_.get(), before.st_uid, before.st_gid) != 0) static_cast<void>(::fchown(fd_.get(), -1U, before.st_gid) == 0);
  if (::fchmod(fd_.get(), before.st_mode & 0777) != 0) return fail(errno_error("cannot write " + path_, errno));
  return {};
}

Result<void> NamedFile::append(ByteView bytes) {
  if (auto written = write_all(fd_.get(), bytes); !written) return fail(std::move(written).error().wrap("cannot write " + path_));
  return {};
}

Result<void> NamedFile::close() {
  if (temporary_.empty()) {
    fd_.reset();
    return {};
  }
  if (::fsync(fd_.get()) != 0) return fail(errno_error("cannot write " + path_, errno));
  WEFT_TRY(rename());
  temporary_.clear();
  fd_.reset();
  return {};
}

Result<void> NamedFile::rename() {
  if (exists_ == IfExists::refuse) {
    if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0) return {};
    if (errno == EEXIST) return fail(exists_already(path_));
    if (errno != EINVAL && errno != ENOSYS) return fail(errno_error("cannot write " + path_, errno));
    struct stat info {};  // a file system without that flag
    if (::lstat(target_.c_str(), &info) == 0) return fail(exists_already(path_));
  }
  if (::rename(temporary_.c_str(), target_.c_str()) == 0) return {};
  if (errno == EBUSY) return copy_over();
  return fail(errno_error("cannot write " + path_, errno));
}

/// Of a file that is mounted by itself, as containers have them (/dev/termination-log): its name cannot be another's.
Result<void> NamedFile::copy_over() {
  const Fd from(::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC)), to(::open(target_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!from.valid() || !to.valid()) return fail(errno_error("cannot write " + path_, errno));
  ssize_t copied = 0;
  do copied = ::sendfile(to.get(), from.get(), nullptr, 1u << 30);
  while (copied > 0 || (copied < 0 && errno == EINTR));
  if (copied != 0 || ::fsync(to.get()) != 0) return fail(errno_error("cannot write " + path_, errno));
  ::unlink(temporary_.c_str());
  return {};
}

void NamedFile::discard() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

std::string short_name(std::string_view name) {
  constexpr std::size_t most = 180;
  if (name.size() <= most) return std::string(name);
  const std::string hash = fmt::format("~{:016x}", hash64(name));
  std::size_t kept = most - hash.size();
  while (kept > 0 && (static_cast<unsigned char>(name[kept]) & 0xc0) == 0x80) --kept;  // not within a character
  return std::string(name.substr(0, kept)) + hash;
}

Result<void> write_named_file(const std::string& path, std::string_view content, IfExists exists) {
  WEFT_ASSIGN(NamedFile file, NamedFile::create(path, exists));
  WEFT_TRY(file.append(as_bytes(content)));
  return file.close();
}

}  // namespace weft
