#include "engine/tools/cli/job_compiler.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "engine/tools/cli/compiler_messages.hpp"
#include "engine/tools/cli/precompiled_api.hpp"
#include "runtime/worker/spawn.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr std::uint64_t kLargestSource = 16u << 20;
constexpr std::size_t kMostLines = 9;  // of errors; weft's own line follows
constexpr std::string_view kProgram = ".program", kHeaders = ".headers", kApiHeader = ".hpp";
constexpr auto kLeftBehind = std::chrono::hours(24);

/// lib/weft/job-flags.
struct JobFlags {
  std::string compiler;
  Words flags, libraries, link;
};

Result<JobFlags> job_flags() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  const fs::path prefix = program.parent_path().parent_path(), file = prefix / "lib/weft/job-flags";
  if (!fs::exists(file, failed))
    return fail(Code::not_found,
                fmt::format("there is no {}: install weft's headers and libraries (cmake --install, or the package's "
                            "development part), or use the weft of a build",
                            file.string()));
  WEFT_ASSIGN(std::string text, read_file(file));
  constexpr std::string_view kPrefix = "@prefix@";
  for (auto at = text.find(kPrefix); at != std::string::npos; at = text.find(kPrefix))
    text.replace(at, kPrefix.size(), prefix.string());
  JobFlags flags;
  for (const std::string_view line : split(text, '\n')) {
    const auto space = std::min(line.find(' '), line.size());
    const std::string_view kind = line.substr(0, space);
    const std::string word(line.substr(std::min(space + 1, line.size())));
    if (kind == "compiler") flags.compiler = word;
    if (kind == "flag") flags.flags.push_back(word);
    if (kind == "library") flags.libraries.push_back(word);
    if (kind == "link") flags.link.push_back(word);
  }
  return flags;
}

bool is_program(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

/// The file of a compiler that is named by a path or looked for in $PATH.
Result<std::string> compiler_file(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (is_program(name)) return name;
  } else if (const char* const path = std::getenv("PATH"); path != nullptr) {
    for (const std::string_view directory : split(path, ':'))
      if (const std::string file = fmt::format("{}/{}", directory, name); is_program(file)) return file;
  }
  return fail(Code::not_found,
              fmt::format("there is no compiler {}: install g++ 12 or later, or name another one with --compiler", name));
}

Result<std::string> source_text(const std::string& path) {
  std::error_code failed;
  const auto status = fs::status(path, failed);
  if (!fs::exists(status)) return fail(Code::not_found, fmt::format("there is no {}", path));
  if (!fs::is_regular_file(status))
    return fail(Code::invalid_argument, fmt::format("{} is no file with the source of a program", path));
  WEFT_ASSIGN(std::string text, read_file(path, kLargestSource));
  if (text.find('\0') != std::string::npos)
    return fail(Code::invalid_argument,
                fmt::format("{} is not C++: it has bytes that are 0 (a program that is compiled already runs by "
                            "itself, or with weft submit)",
                            path));
  return text;
}

/// What stands for the content of a file that is not read for it.
std::string identity_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return path + " ?\n";
  return fmt::format("{} {} {} {}\n", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::string hash_of(const std::string& text) { return to_string(hash128(as_bytes(text))); }

/// One compilation and the place of its program in the cache.
class Compilation {
 public:
  Compilation(CompileOptions options, JobFlags flags, std::string compiler, fs::path cache)
      : options_(std::move(options)), flags_(std::move(flags)), compiler_(std::move(compiler)), cache_(std::move(cache)) {}

  Result<CompiledJob> run(const std::string& source) {
    key_ = hash_of(key_text(source));
    if (auto known = find()) return *std::move(known);
    WEFT_ASSIGN(const Fd lock, locked());
    if (auto known = find()) return *std::move(known);  // another process has compiled it meanwhile
    WEFT_ASSIGN(const fs::path program, compile(source));
    evict(program);
    if (auto made = find()) return *std::move(made);
    return fail(Code::io, fmt::format("the program of {} is gone from {} already; run it again", options_.source, cache_.string()));
  }

 private:
  /// What all programs depend on.
  std::string common_text() const {
    std::error_code ignored;
    std::string text = fmt::format("{}\n", version()) + identity_of(fs::canonical(compiler_, ignored));
    for (const Words* words : {&flags_.flags, &flags_.link})
      for (const std::string& word : *words) text += word + "\n";
    for (const std::string& library : flags_.libraries) text += identity_of(library);
    return text;
  }
  std::string key_text(const std::string& source) const {
    std::error_code ignored;
    return fmt::format("{}{}\n{}", common_text(), fs::absolute(options_.source, ignored).parent_path().string(), source);
  }
  fs::path headers_file() const { return cache_ / (key_ + std::string(kHeaders)); }
  /// The program that the source and its own headers, of these paths and as they are now, are compiled to.
  fs::path program_file(std::string_view headers) const {
    std::string text = key_;
    for (const std::string_view path : split(headers, '\n')) {
      const auto hash = path.empty() ? Result<Hash128>(Hash128()) : hash_file(std::string(path));
      text += fmt::format("{} {}\n", path, hash ? to_string(*hash) : "?");
    }
    return cache_ / (hash_of(text) + std::string(kProgram));
  }

  std::optional<CompiledJob> find() const {
    const auto headers = read_file(headers_file());
    if (!headers) return std::nullopt;
    CompiledJob job{program_file(*headers), Fd()};
    job.in_use = Fd(::open(job.program.c_str(), O_RDONLY));  // inherited on purpose: it ends with the program
    struct stat info {};
    if (!job.in_use.valid() || ::flock(job.in_use.get(), LOCK_SH) != 0 || ::fstat(job.in_use.get(), &info) != 0)
      return std::nullopt;
    if (info.st_nlink == 0) return std::nullopt;  // evicted in between
    ::futimens(job.in_use.get(), nullptr);
    return job;
  }

  /// Two processes do not compile the same at once.
  Result<Fd> locked() const {
    const fs::path path = cache_ / (std::string("lock-") + key_[0]);
    Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd.valid() || ::flock(fd.get(), LOCK_EX) != 0) return fail(errno_error("cannot lock " + path.string(), errno));
    return fd;
  }

  /// The path of the program.
  Result<fs::path> compile(const std::string& source) {
    const auto begun = fs::file_time_type::clock::now();
    WEFT_ASSIGN(const TempDir work, TempDir::create("build-", cache_));
    const fs::path program = work.path() / "program", list = work.path() / "headers", messages = work.path() / "messages";
    Words compiler{compiler_};
    compiler.insert(compiler.end(), flags_.flags.begin(), flags_.flags.end());
    compiler.emplace_back("-fdiagnostics-color=never");
    PrecompiledApi api(cache_, hash_of(common_text()));
    Words included;
    if (begins_with_api(source) &&
        options_.cache_bytes >= 2 * PrecompiledApi::kBytes) {  // or it would be evicted as soon as it is made
      included = api.words();
      if (included.empty()) static_cast<void>(api.start(compiler, work.path()));  // for the programs that follow
    }
    const auto words = [&](const Words& before) {
      Words all = compiler;
      all.insert(all.end(), before.begin(), before.end());
      all.insert(all.end(), {"-MMD", "-MF", list, "-o", program, "-x", "c++", options_.source, "-x", "none", "-Wl,--start-group"});
      all.insert(all.end(), flags_.libraries.begin(), flags_.libraries.end());
      all.emplace_back("-Wl,--end-group");
      all.insert(all.end(), flags_.link.begin(), flags_.link.end());
      return all;
    };
    WEFT_ASSIGN(const bool readable, run_compiler(words(included), messages, !included.empty()));
    if (!readable) {
      api.remove();
      WEFT_TRY(run_compiler(words({}), messages, false));
    }
    api.finish();
    WEFT_ASSIGN(const std::string headers, own_headers(list));
    WEFT_TRY(check_unchanged(source, headers, begun));
    std::error_code failed;
    const fs::path kept = program_file(headers);
    fs::permissions(program, fs::perms::owner_all, failed);
    if (!failed) fs::rename(program, kept, failed);
    if (failed) return fail(Code::io, fmt::format("cannot keep the program in {}: {}", cache_.string(), failed.message()));
    WEFT_TRY(write_file(headers_file(), headers));
    return kept;
  }

  /// What was compiled may be found again only under what was hashed.
  Result<void> check_unchanged(const std::string& source, std::string_view headers, fs::file_time_type begun) const {
    WEFT_ASSIGN(const std::string now, source_text(options_.source));
    bool changed = now != source;
    for (const std::string_view header : split(headers, '\n')) {
      std::error_code failed;
      if (!header.empty()) changed = changed || fs::last_write_time(fs::path(header), failed) >= begun || failed;
    }
    if (!changed) return {};
    return fail(Code::io,
                fmt::format("{}, or a file that it includes, was changed while it was compiled; run it again", options_.source));
  }

  /// False if the compiler cannot read the precompiled header, of which nothing is printed.
  Result<bool> run_compiler(const Words& words, const fs::path& messages, bool precompiled) const {
    const Fd output(::open(messages.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!output.valid()) return fail(errno_error("cannot write " + messages.string(), errno));
    WEFT_ASSIGN(
        const pid_t child,
        runtime::spawn(
            {.path = compiler_, .arguments = words, .environment = {"LC_ALL=C"}, .directories = {}, .output = output.get()}));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
      if (errno != EINTR) return fail(errno_error("cannot wait for the compiler", errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    WEFT_ASSIGN(const std::string said, read_file(messages, 1u << 30));
    if (precompiled && said.find(" reading precompiled header") != std::string::npos) return false;
    const std::string shown = options_.full ? said : relevant_messages(said, options_.source, kMostLines);
    std::fwrite(shown.data(), 1, shown.size(), stderr);
    if (WIFSIGNALED(status))
      return fail(Code::io, fmt::format("the compiler {} was ended by {}: is there enough memory?", compiler_,
                                        runtime::describe_exit(status)));
    if (shown.empty())
      return fail(Code::io, fmt::format("the compiler {} failed and said nothing ({})", compiler_, runtime::describe_exit(status)));
    return fail(Code::invalid_argument, fmt::format("{} does not compile", options_.source));
  }

  /// The files besides the source and the precompiled header that the compiler read, as make has them: "program: a.cpp b\ c.hpp \".
  Result<std::string> own_headers(const fs::path& list) const {
    WEFT_ASSIGN(const std::string text, read_file(list));
    std::string headers, word;
    std::error_code ignored;
    const fs::path source = fs::absolute(options_.source, ignored);
    const auto end_word = [&] {
      const fs::path path = fs::absolute(word, ignored);
      if (!word.empty() && path != source && path.parent_path() != cache_) headers += path.string() + "\n";
      word.clear();
    };
    for (std::size_t at = std::min(text.find(": "), text.size()) + 1; at < text.size(); ++at) {
      const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\n';
      if (c == '\\' && next != '\n') {
        word.push_back(text[++at]);
      } else if (c == '$' && next == '$') {
        word.push_back(text[++at]);
      } else if (c == ' ' || c == '\n' || c == '\\') {
        end_word();
      } else {
        word.push_back(c);
      }
    }
    end_word();
    return headers;
  }

  /// The least recently used programs and precompiled headers go, but for programs that run and the one that was `made` now.
  void evict(const fs::path& made) const {
    struct Kept {
      fs::file_time_type used;
      std::uint64_t bytes;
      fs::path path;
    };
    std::vector<Kept> all;
    std::uint64_t bytes = 0;
    std::error_code failed;
    for (fs::directory_iterator entry(cache_, failed), end; !failed && entry != end; entry.increment(failed)) {
      std::error_code ignored;
      const auto used = fs::last_write_time(entry->path(), ignored);
      const std::string name = entry->path().filename();
      const auto unused_for = fs::file_time_type::clock::now() - used;
      if (name.ends_with(kProgram) || name.ends_with(PrecompiledApi::kEnding)) {
        all.push_back({used, entry->file_size(ignored), entry->path()});
        bytes += all.back().bytes;
      } else if (name.ends_with(kHeaders) || name.ends_with(kApiHeader) ? unused_for > 30 * kLeftBehind
                                                                        : name.starts_with("build-") && unused_for > kLeftBehind) {
        fs::remove_all(entry->path(), ignored);
      }
    }
    std::sort(all.begin(), all.end(), [](const Kept& a, const Kept& b) { return a.used < b.used; });
    for (const Kept& one : all) {
      if (bytes <= options_.cache_bytes) break;
      if (one.path == made) continue;
      const Fd fd(::open(one.path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!fd.valid() || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) continue;
      if (::unlink(one.path.c_str()) == 0) bytes -= one.bytes;
    }
  }

  const CompileOptions options_;
  const JobFlags flags_;
  const std::string compiler_;
  const fs::path cache_;
  std::string key_;
};

}  // namespace

Result<fs::path> run_cache() {
  fs::path cache;
  if (const char* const named = std::getenv("XDG_CACHE_HOME"); named != nullptr && *named == '/')
    cache = named;
  else if (const char* const home = std::getenv("HOME"); home != nullptr && *home == '/')
    cache = fs::path(home) / ".cache";
  else
    return fail(Code::invalid_argument, "there is no place to keep compiled programs: set HOME or XDG_CACHE_HOME");
  cache /= "weft/run";
  std::error_code failed;
  fs::create_directories(cache.parent_path(), failed);
  if (failed) return fail(Code::io, fmt::format("cannot make {}: {}", cache.parent_path().string(), failed.message()));
  struct stat info {};
  if ((::mkdir(cache.c_str(), 0700) != 0 && errno != EEXIST) || ::lstat(cache.c_str(), &info) != 0)
    return fail(errno_error("cannot make " + cache.string(), errno));
  if (!S_ISDIR(info.st_mode) || info.st_uid != ::geteuid())
    return fail(Code::invalid_argument,
                fmt::format("{} is not a directory of this user; remove it, or set XDG_CACHE_HOME", cache.string()));
  if ((info.st_mode & 077) != 0)
    return fail(Code::invalid_argument, fmt::format("other users may look into {}; chmod 700 it", cache.string()));
  return cache;
}

Result<CompiledJob> compile_job(const CompileOptions& options) {
  WEFT_ASSIGN(const std::string source, source_text(options.source));
  WEFT_ASSIGN(JobFlags flags, job_flags());
  WEFT_ASSIGN(std::string compiler, compiler_file(options.compiler.empty() ? flags.compiler : options.compiler));
  WEFT_ASSIGN(fs::path cache, run_cache());
  return Compilation(options, std::move(flags), std::move(compiler), std::move(cache)).run(source);
}

}  // namespace weft::tools
