#include "base/private_directory.hpp"

#include <cerrno>
#include <system_error>

#include <sys/stat.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr fs::perms kOthers = fs::perms::group_all | fs::perms::others_all;

std::optional<unsigned>& before() {
  static std::optional<unsigned> umask;  // it belongs to the process, as the mask does
  return umask;
}

Result<void> close_to_others(const fs::path& path, fs::perms now) {
  if ((now & kOthers) == fs::perms::none) return {};
  std::error_code error;
  fs::permissions(path, kOthers, fs::perm_options::remove, error);
  if (error && error.value() != ENOENT) return fail(errno_error("cannot set the mode of " + path.string(), error.value()));
  return {};
}

}  // namespace

Result<void> make_private_directory(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (!error && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) error.assign(errno, std::generic_category());
  if (error) return fail(errno_error("cannot create " + path.string(), error.value()));
  const fs::file_status status = fs::status(path, error);
  if (!fs::is_directory(status)) return fail(Code::io, "cannot create " + path.string() + ": it is no directory");
  WEFT_TRY(close_to_others(path, status.permissions()));
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const fs::file_status entry = at->symlink_status(error);
    if (error || fs::is_symlink(entry)) continue;
    WEFT_TRY(close_to_others(at->path(), entry.permissions()));
  }
  return {};  // what vanished meanwhile is nobody's business either
}

void keep_files_private() {
  const mode_t was = ::umask(077);
  if (!before()) before() = was;
}

std::optional<unsigned> users_umask() { return before(); }

}  // namespace weft
