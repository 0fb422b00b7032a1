#include "storage/kept_directories.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "storage/output_mark.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReplaced = "_replaced-";  // begins the names of directories that were set aside

Error cannot_keep(const fs::path& path, int code) {
  return errno_error("cannot keep " + path.native() + ", which the job does not replace", code);
}

Result<void> link_file(const fs::path& from, const fs::path& to) {
  if (::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0) == 0) return {};
  const int code = errno;
  if (code != EPERM && code != EOPNOTSUPP) return fail(cannot_keep(from, code));
  return fail(
      cannot_keep(from, code)
          .wrap("this takes a file system with hard links, and files of the user who runs the job (fs.protected_hardlinks); "
                "--overwrite alone needs neither"));
}

Result<void> sync_directory(const fs::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return fail(cannot_keep(path, errno));
  return {};
}

/// The first part of a directory's name that is not there in `to`; or else its whole name.
Result<std::string> first_missing(RemoteFiles& files, const std::string& to, const std::string& directory) {
  for (std::size_t end = directory.find('/'); end != std::string::npos; end = directory.find('/', end + 1)) {
    WEFT_ASSIGN(const bool there, files.exists(to + "/" + directory.substr(0, end)));
    if (!there) return directory.substr(0, end);
  }
  return directory;
}

/// Where directories cannot be exchanged, what is there goes `aside` first, so that nobody reads old and new files together. It
/// comes back when the new directory cannot take its place.
Result<void> replace_directory(RemoteFiles& files, const std::string& from, const std::string& to, const std::string& aside) {
  if (!files.leaves_directories(to)) return files.rename(from, to, true);
  WEFT_ASSIGN(const bool there, files.exists(to));
  if (there) {  // or an earlier process has set it aside
    WEFT_TRY(files.remove(aside));
    auto moved = files.rename(to, aside, false);
    if (!moved && moved.error().code() != Code::not_found) return moved;
  }
  auto renamed = files.rename(from, to, false);
  if (renamed) return files.remove(aside);
  const auto back = files.rename(aside, to, false);
  if (back || back.error().code() == Code::not_found) return renamed;
  return fail(std::move(renamed).error().wrap("what was at " + to + " is at " + aside + "; move it back"));
}

/// Returns the name under which it was moved. Only a whole directory replaces what is there, which goes `aside`: others may have
/// made those above it meanwhile, and theirs stay.
Result<std::string> move_directory(RemoteFiles& files, const std::string& from, const std::string& to, const std::string& directory,
                                   const std::string& aside, bool repeats) {
  for (;;) {
    WEFT_ASSIGN(std::string name, first_missing(files, to, directory));
    if (repeats) {
      WEFT_ASSIGN(const bool left, files.exists(from + "/" + directory));
      if (!left && files.leaves_directories(to)) WEFT_TRY(files.remove(aside));
      if (!left) return directory;
    }
    const bool whole = name == directory;
    const std::string source = from + "/" + name, target = to + "/" + name;
    auto renamed = whole ? replace_directory(files, source, target, aside) : files.rename(source, target, false);
    if (renamed) return name;
    if (whole || renamed.error().code() != Code::already_exists) return fail(std::move(renamed).error());
  }
}

}  // namespace

bool is_in(const std::string& name, const DirectoryNames& directories) {
  for (std::size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind('/', end - 1))
    if (directories.contains(name.substr(0, end))) return true;
  return false;
}

Result<void> link_others(const std::string& from, const std::string& to, const DirectoryNames& replaced) {
  std::vector<fs::path> made{to};
  std::error_code error;
  fs::recursive_directory_iterator entry(from, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const fs::path name = entry->path().lexically_relative(from);
    if (name == kSuccess) continue;
    if (is_in(name, replaced)) {
      entry.disable_recursion_pending();
      continue;
    }
    if (entry->symlink_status(error).type() != fs::file_type::directory) {
      WEFT_TRY(link_file(entry->path(), to / name));
      continue;
    }
    fs::create_directory(to / name, entry->path(), error);  // for the same users as that one
    if (error) return fail(cannot_keep(entry->path(), error.value()));
    made.push_back(to / name);
  }
  if (error) return fail(cannot_keep(from, error.value()));
  for (auto directory = made.rbegin(); directory != made.rend(); ++directory) WEFT_TRY(sync_directory(*directory));
  return {};
}

Result<void> remove_all_but(const std::string& directory, const std::set<std::string>& files) {
  std::vector<fs::path> others;
  std::error_code error;
  fs::recursive_directory_iterator entry(directory, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->symlink_status(error).type() == fs::file_type::directory) continue;
    if (!files.contains(entry->path().lexically_relative(directory))) others.push_back(entry->path());
  }
  for (const fs::path& other : others)
    if (!error) fs::remove(other, error);
  return error ? Result<void>(fail(errno_error("cannot write output " + directory, error.value()))) : Result<void>();
}

Result<void> move_directories(RemoteFiles& files, const std::string& from, const std::string& to, const DirectoryNames& directories,
                              bool repeats) {
  DirectoryNames moved;
  std::size_t number = 0;                             // the same whoever repeats it
  for (const std::string& directory : directories) {  // "a" before "a/b"
    const std::string aside = from + "/" + std::string(kReplaced) + std::to_string(number++);
    if (is_in(directory, moved)) continue;
    WEFT_ASSIGN(std::string name, move_directory(files, from, to, directory, aside, repeats));
    moved.insert(std::move(name));
  }
  return {};
}

Result<bool> holds_replaced(RemoteFiles& files, const std::string& directory) {
  if (!files.leaves_directories(directory)) return false;
  WEFT_ASSIGN(const auto names, files.names(directory));
  return std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with(kReplaced); });
}

}  // namespace weft::storage
