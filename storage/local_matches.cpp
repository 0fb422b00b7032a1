#include "storage/local_matches.hpp"

#include <cerrno>
#include <memory>

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>

namespace weft::storage {
namespace {

struct Failure {
  std::string path;
  int code = 0;
};

/// The first of the call under way in this thread.
thread_local Failure* failure = nullptr;

/// Of what is not there, nothing is left out.
void note(const std::string& path) {
  const int code = errno;
  const bool absent = code == ENOENT || code == ENOTDIR || code == ELOOP || code == ENAMETOOLONG;
  if (!absent && failure->code == 0) *failure = {path, code};
  errno = code;
}

struct OpenDirectory {
  std::string path;
  DIR* stream;
};

// ---- what glob() calls instead of the C library

void* open_directory(const char* path) {
  DIR* const stream = ::opendir(path);
  if (stream != nullptr) return new OpenDirectory{path, stream};
  note(path);
  return nullptr;
}

dirent* next_entry(void* opened) {
  const auto* const directory = static_cast<OpenDirectory*>(opened);
  errno = 0;
  dirent* const entry = ::readdir(directory->stream);
  if (entry == nullptr && errno != 0) note(directory->path);
  return entry;
}

void close_directory(void* opened) {
  const std::unique_ptr<OpenDirectory> directory(static_cast<OpenDirectory*>(opened));
  ::closedir(directory->stream);
}

int status_of(const char* path, struct stat* into) {
  const int status = ::stat(path, into);
  if (status != 0) note(path);
  return status;
}

int own_status_of(const char* path, struct stat* into) {
  const int status = ::lstat(path, into);
  if (status != 0) note(path);
  return status;
}

}  // namespace

Result<std::vector<std::string>> local_matches(const std::string& pattern) {
  Failure first;
  failure = &first;
  glob_t matches{};
  matches.gl_opendir = &open_directory;
  matches.gl_readdir = &next_entry;
  matches.gl_closedir = &close_directory;
  matches.gl_stat = &status_of;
  matches.gl_lstat = &own_status_of;
  const std::unique_ptr<glob_t, void (*)(glob_t*)> guard(&matches, &::globfree);
  const int status = ::glob(pattern.c_str(), GLOB_BRACE | GLOB_ALTDIRFUNC, nullptr, &matches);
  failure = nullptr;
  if (first.code != 0) return fail(errno_error("cannot read input " + first.path, first.code));
  if (status != 0 && status != GLOB_NOMATCH) return fail(Code::io, "cannot expand the input pattern " + pattern);
  return std::vector<std::string>(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
}

}  // namespace weft::storage
