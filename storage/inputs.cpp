#include "storage/inputs.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/local_matches.hpp"
#include "storage/scheme.hpp"

namespace weft::storage {
namespace {

Error unreadable(const std::string& path, int code) { return errno_error("cannot read input " + path, code); }

using Place = std::pair<dev_t, ino_t>;

/// Whether the numbers of inodes are kept, asked once of each file system.
class KeptInodes {
 public:
  bool operator()(const std::string& path, dev_t device) {
    const auto [known, fresh] = known_.try_emplace(device);
    if (fresh) known->second = keeps_inodes(path);
    return known->second;
  }

 private:
  std::map<dev_t, bool> known_;
};

/// What is known of a file besides its path.
struct Found {
  bool linked = false;  // a symbolic link is on the way to it from what the user wrote
  std::string path;
  FileVersion version;
  Place place{};  // {0, 0}: it is none of this machine
};

class Expansion {
 public:
  Expansion(RemoteFiles* remote, Repeats repeats, const DirectoryFilter& wanted)
      : remote_(remote), once_(repeats == Repeats::once), wanted_(wanted) {}

  Result<void> add_input(const std::string& written) {
    const std::size_t had = met_;
    WEFT_TRY(add_written(written));
    if (met_ == had) found_.empty.push_back(written);
    return {};
  }
  /// Links to directories: when all else is known, so that a directory has the name that needs no link.
  Result<void> follow_links() {
    linked_ = true;
    while (!links_.empty()) {
      const std::string path = std::move(links_.extract(links_.begin()).value());
      WEFT_TRY(add_existing(path));
    }
    return {};
  }
  InputFiles finish() && {
    if (once_) {
      // Of several names of one file, the first without a link stays. Length and time are compared as well: no file may be lost
      // where a file system gives one number to several.
      const auto file_of = [](const Found& file) { return std::tie(file.place, file.version.bytes, file.version.modified_ns); };
      std::sort(files_.begin(), files_.end(), [&](const Found& a, const Found& b) {
        return std::tuple_cat(file_of(a), std::tie(a.linked, a.path)) < std::tuple_cat(file_of(b), std::tie(b.linked, b.path));
      });
      drop_all_but_first([&](const Found& a, const Found& b) { return a.place != Place{} && file_of(a) == file_of(b); });
    }
    std::sort(files_.begin(), files_.end(), [](const Found& a, const Found& b) { return a.path < b.path; });
    drop_all_but_first([](const Found& a, const Found& b) { return a.path == b.path; });
    for (Found& file : files_) {
      found_.paths.push_back(std::move(file.path));
      found_.versions.push_back(std::move(file.version));
    }
    for (auto* const list : {&found_.skipped, &found_.repeated}) {
      std::sort(list->begin(), list->end());
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    return std::move(found_);
  }

 private:
  /// Of neighbours that are the same, the first one stays.
  template <class Same>
  void drop_all_but_first(Same&& same) {
    std::vector<Found> kept;
    for (Found& file : files_) {
      if (kept.empty() || !same(kept.back(), file))
        kept.push_back(std::move(file));
      else
        found_.repeated.push_back(std::move(file.path));
    }
    files_ = std::move(kept);
  }

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
    auto found = remote_->expand(written, wanted_);
    if (!found) return fail(std::move(found).error().wrap("cannot read input " + written));
    found->versions.resize(found->paths.size());
    met_ += found->paths.size() + found->unwanted;
    for (std::size_t i = 0; i < found->paths.size(); ++i)
      files_.push_back({false, std::move(found->paths[i]), std::move(found->versions[i])});
    found_.skipped.insert(found_.skipped.end(), found->skipped.begin(), found->skipped.end());
    return {};
  }

  Result<void> add_pattern(const std::string& pattern) {
    const std::size_t before = met_;
    if (find_deep(pattern) == std::string::npos) return add_matches(pattern, true);
    WEFT_TRY(add_below(pattern));
    if (met_ == before) return fail(Code::not_found, "no input matches the pattern " + pattern);
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
    WEFT_ASSIGN(const auto matches, local_matches(directories + "*"));
    for (const std::string& path : matches) {
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
    WEFT_ASSIGN(const auto matches, local_matches(pattern));
    if (matches.empty() && must_match) return fail(Code::not_found, "no input matches the pattern " + pattern);
    for (const std::string& match : matches) {
      if (match.ends_with("/.") || match.ends_with("/..")) continue;  // of a pattern such as "in/.*"
      WEFT_TRY(add_entry(match, DT_UNKNOWN));
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
    ++met_;
    files_.push_back({linked_, absolute(path), version_of(info, kept_(path, info.st_dev)), {info.st_dev, info.st_ino}});
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
    const Place place{info.st_dev, info.st_ino};
    const bool above = std::find(above_.begin(), above_.end(), place) != above_.end();  // a symbolic link to a directory we are in
    if (above || (!entered_.insert(place).second && once_)) {
      ++met_;
      found_.repeated.push_back(absolute(path));
      return {};
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), &::closedir);
    if (!directory) return fail(unreadable(path, errno));
    std::vector<std::pair<std::string, unsigned char>> entries;
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(directory.get());
      if (entry == nullptr) break;
      const std::string_view name(entry->d_name);
      if (name != "." && name != "..") entries.emplace_back(name, entry->d_type);
    }
    if (errno != 0) return fail(unreadable(path, errno));
    std::sort(entries.begin(), entries.end());
    above_.push_back(place);
    for (const auto& [name, type] : entries) {
      const std::filesystem::path below = std::filesystem::path(path) / name;
      if (is_skipped(name))
        found_.skipped.push_back(below);
      else if (type == DT_DIR && wanted_ && !wanted_(name))
        ++met_;
      else
        WEFT_TRY(add_entry(below, type));
    }
    above_.pop_back();
    return {};
  }

  Result<void> add_entry(const std::string& path, unsigned char type) {
    struct stat info {};
    const bool may_be_link = type == DT_LNK || type == DT_UNKNOWN;
    if (once_ && may_be_link && ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
      ++met_;
      links_.insert(path);
      return {};
    }
    return add_existing(path);
  }

  RemoteFiles* remote_;
  const bool once_;
  const DirectoryFilter& wanted_;
  InputFiles found_;          // without the files
  std::vector<Found> files_;  // in any order, some several times
  std::vector<Place> above_;
  std::set<Place> entered_;      // directories
  std::set<std::string> links_;  // not followed yet
  bool linked_ = false;          // they are now
  std::size_t met_ = 0;          // files, directories known already, and links
  KeptInodes kept_;
};

}  // namespace

Result<InputFiles> expand_inputs(std::span<const std::string> inputs, RemoteFiles* remote, Repeats repeats,
                                 const DirectoryFilter& wanted) {
  Expansion expansion(remote, repeats, wanted);
  for (const std::string& input : inputs) WEFT_TRY(expansion.add_input(input));
  WEFT_TRY(expansion.follow_links());
  return std::move(expansion).finish();
}

}  // namespace weft::storage
