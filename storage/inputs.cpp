// expand_inputs(): from what the user wrote to the files to read.
#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>

#include <dirent.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/scheme.hpp"
#include "storage/split.hpp"

namespace weft::storage {
namespace {

Error unreadable(const std::string& path, int code) { return errno_error("cannot read input " + path, code); }

class Expansion {
 public:
  explicit Expansion(RemoteFiles* remote) : remote_(remote) {}

  Result<void> add_input(const std::string& written) {
    const std::size_t had = found_.paths.size();
    WEFT_TRY(add_written(written));
    if (found_.paths.size() == had) found_.empty.push_back(written);
    return {};
  }
  InputFiles finish() && {
    std::sort(found_.paths.begin(), found_.paths.end());
    for (std::size_t i = 1; i < found_.paths.size(); ++i)
      if (found_.paths[i] == found_.paths[i - 1]) found_.repeated.push_back(found_.paths[i]);
    std::sort(found_.skipped.begin(), found_.skipped.end());
    for (auto* const list : {&found_.paths, &found_.skipped, &found_.repeated})
      list->erase(std::unique(list->begin(), list->end()), list->end());
    return std::move(found_);
  }

 private:
  Result<void> add_written(const std::string& written) {
    if (is_remote(written)) return add_remote(written);
    WEFT_ASSIGN(const std::string path, local_path(written));
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) return add(path, info);  // also a name that merely looks like a pattern
    const int code = errno;
    if (path.find_first_of("*?[{") == std::string::npos) return fail(unreadable(path, code));
    return add_pattern(path);
  }
  static Result<std::string> local_path(std::string_view written) {
    if (written.empty()) return fail(Code::invalid_argument, "an input path is empty");
    if (has_scheme(written)) {
      if (!written.starts_with(kFileScheme))
        return fail(
            Code::invalid_argument,
            "input " + std::string(written) +
                ": only local files (a path, or file://PATH), files of the cluster (weft://PATH), objects (s3://BUCKET/KEY) "
                "and files of HDFS (hdfs://HOST:PORT/PATH) can be read");
      written.remove_prefix(kFileScheme.size());
    }
    return std::string(written);
  }

  Result<void> add_remote(const std::string& written) {
    if (remote_ == nullptr)
      return fail(Code::invalid_argument, "input " + written + ": the files of the cluster cannot be read here");
    auto found = remote_->expand(written);
    if (!found) return fail(std::move(found).error().wrap("cannot read input " + written));
    found_.paths.insert(found_.paths.end(), found->paths.begin(), found->paths.end());
    found_.skipped.insert(found_.skipped.end(), found->skipped.begin(), found->skipped.end());
    return {};
  }

  Result<void> add_pattern(const std::string& pattern) {
    const std::size_t before = found_.paths.size();
    if (find_deep(pattern) == std::string::npos) return add_matches(pattern, true);
    WEFT_TRY(add_below(pattern));
    if (found_.paths.size() == before) return fail(Code::not_found, "no input matches the pattern " + pattern);
    return {};
  }
  /// Where "**" is a name in the pattern.
  static std::size_t find_deep(const std::string& pattern) {
    for (std::size_t at = 0; (at = pattern.find("**", at)) != std::string::npos; ++at) {
      const bool begins = at == 0 || pattern[at - 1] == '/', ends = at + 2 == pattern.size() || pattern[at + 2] == '/';
      if (begins && ends) return at;
    }
    return std::string::npos;
  }
  /// "**" is any number of directories, none included. Those that are skipped in directories are skipped here, and links are not
  /// followed.
  Result<void> add_below(const std::string& pattern) {
    const std::size_t deep = find_deep(pattern);
    if (deep == std::string::npos) return add_matches(pattern, false);
    return walk(deep == 0 ? "./" : pattern.substr(0, deep), pattern.substr(std::min(deep + 3, pattern.size())));
  }
  Result<void> walk(const std::string& directories, const std::string& rest) {
    if (rest.empty()) return add_matches(directories, false);  // all files below
    WEFT_TRY(add_below(directories + rest));
    glob_t matches{};
    const std::unique_ptr<glob_t, void (*)(glob_t*)> guard(&matches, &::globfree);
    const int status = ::glob((directories + "*").c_str(), GLOB_BRACE | GLOB_ONLYDIR, nullptr, &matches);
    if (status != 0 && status != GLOB_NOMATCH)
      return fail(Code::io, "cannot expand the input pattern " + directories + "**/" + rest);
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
      const std::string path = matches.gl_pathv[i];
      struct stat info {};
      if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) continue;
      if (!is_skipped(std::filesystem::path(path).filename().native())) WEFT_TRY(walk(literal(path) + "/", rest));
    }
    return {};
  }
  /// The pattern that only this path matches.
  static std::string literal(const std::string& path) {
    std::string pattern;
    for (const char c : path) {
      if (std::string_view("*?[{}\\").find(c) != std::string_view::npos) pattern.push_back('\\');
      pattern.push_back(c);
    }
    return pattern;
  }
  Result<void> add_matches(const std::string& pattern, bool must_match) {
    glob_t matches{};
    const std::unique_ptr<glob_t, void (*)(glob_t*)> guard(&matches, &::globfree);
    const int status = ::glob(pattern.c_str(), GLOB_BRACE, nullptr, &matches);
    if (status == GLOB_NOMATCH && !must_match) return {};
    if (status == GLOB_NOMATCH) return fail(Code::not_found, "no input matches the pattern " + pattern);
    if (status != 0) return fail(Code::io, "cannot expand the input pattern " + pattern);
    for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
      const std::string_view match = matches.gl_pathv[i];
      if (match.ends_with("/.") || match.ends_with("/..")) continue;  // of a pattern such as "in/.*"
      WEFT_TRY(add_existing(std::string(match)));
    }
    return {};
  }

  Result<void> add_existing(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return fail(unreadable(path, errno));
    return add(path, info);
  }

  Result<void> add(const std::string& path, const struct stat& info) {
    if (S_ISDIR(info.st_mode)) return add_directory(path, info);
    if (!S_ISREG(info.st_mode)) return fail(read_once(path, info));
    if (::access(path.c_str(), R_OK) != 0) return fail(unreadable(path, errno));
    // Absolute, because executors may run in another directory.
    found_.paths.push_back(absolute(path));
    return {};
  }

  static Error read_once(const std::string& path, const struct stat& info) {
    const char* const kind = S_ISFIFO(info.st_mode) ? "a pipe" : S_ISSOCK(info.st_mode) ? "a socket" : "a device";
    return {Code::invalid_argument, "input " + path + " is " + kind +
                                        ", not a regular file or directory: what is read from it once is gone, and a task may have "
                                        "to read it again; save it to a file first"};
  }

  /// ".." behind a symbolic link means the parent of where the link leads: only the file system can tell.
  static std::string absolute(const std::filesystem::path& path) {
    const std::filesystem::path full = std::filesystem::absolute(path);
    if (is_own(full.native())) return followed(full);
    if (std::find(full.begin(), full.end(), "..") == full.end()) return full.lexically_normal();
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::canonical(full.parent_path(), error);
    return error ? full.string() : (parent / full.filename()).string();
  }

  /// Whether the path may mean something else in an executor.
  static bool is_own(std::string_view path) {
    return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
  }
  static std::string followed(const std::filesystem::path& path) {
    std::error_code error;
    const std::filesystem::path real = std::filesystem::canonical(path, error);
    return error ? path.string() : real.string();
  }

  Result<void> add_directory(const std::string& path, const struct stat& info) {
    const auto same = [&](const struct stat& above) { return above.st_dev == info.st_dev && above.st_ino == info.st_ino; };
    if (std::any_of(above_.begin(), above_.end(), same)) return {};  // a symbolic link to a directory we are in
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
    if (!directory) return fail(unreadable(path, errno));
    above_.push_back(info);
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) break;
      const std::string_view name(entry->d_name);
      if (name == "." || name == "..") continue;
      const std::filesystem::path below = std::filesystem::path(path) / name;
      if (is_skipped(name))
        found_.skipped.push_back(below);
      else
        WEFT_TRY(add_existing(below));
    }
    if (errno != 0) return fail(unreadable(path, errno));
    above_.pop_back();
    return {};
  }

  RemoteFiles* remote_;
  InputFiles found_;
  std::vector<struct stat> above_;
};

}  // namespace

Result<InputFiles> expand_inputs(std::span<const std::string> inputs, RemoteFiles* remote) {
  Expansion expansion(remote);
  for (const std::string& input : inputs) WEFT_TRY(expansion.add_input(input));
  return std::move(expansion).finish();
}

}  // namespace weft::storage
