#include "engine/master/nodes/topology.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

extern char** environ;

namespace weft::master {

namespace {

constexpr std::size_t kMostOutput = 4096;
constexpr std::size_t kLongestRack = 255;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; (begin = line.find_first_not_of(" \t", begin)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

/// "60MB", or "60MB/30MB".
Result<schedulers::UplinkRate> parse_uplink(std::string_view text) {
  const auto slash = text.find('/');
  WEFT_ASSIGN(const std::uint64_t up, parse_size(text.substr(0, slash)));
  std::uint64_t down = up;
  if (slash != std::string_view::npos) {
    WEFT_ASSIGN(down, parse_size(text.substr(slash + 1)));
  }
  if (up == 0 || down == 0) return fail(Code::invalid_argument, fmt::format("an uplink of '{}' carries nothing", escaped(text)));
  return schedulers::UplinkRate{static_cast<double>(up), static_cast<double>(down)};
}

/// "RACK", or "RACK UPLINK".
Result<Rack> parse_rack(std::span<const std::string_view> words) {
  if (words.empty() || words.size() > 2 || words[0].size() > kLongestRack) return fail(Code::invalid_argument, "not a rack");
  Rack rack{std::string(words[0]), {}};
  if (words.size() == 2) {
    WEFT_ASSIGN(rack.uplink, parse_uplink(words[1]));
  }
  return rack;
}

/// A rack has one uplink: the lines of its hosts say the same of it, or nothing.
Result<void> agree_on_uplinks(const std::string& path, std::map<std::string, Rack>& racks) {
  std::map<std::string, schedulers::UplinkRate> uplinks;
  for (const auto& [host, rack] : racks) {
    if (rack.uplink == schedulers::UplinkRate{}) continue;
    if (uplinks.emplace(rack.name, rack.uplink).first->second != rack.uplink)
      return fail(Code::invalid_argument, fmt::format("{}: rack {} has two different uplinks", path, rack.name));
  }
  for (auto& [host, rack] : racks)
    if (const auto known = uplinks.find(rack.name); known != uplinks.end()) rack.uplink = known->second;
  return {};
}

/// "HOST RACK" and "HOST RACK UPLINK" lines into a map.
Result<std::map<std::string, Rack>> parse(const std::string& path, const std::string& text) {
  std::map<std::string, Rack> racks;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto words = words_of(line);
    auto rack = parse_rack(std::span(words).subspan(1));
    if (!rack)
      return fail(Code::invalid_argument, fmt::format("{}:{}: '{}' is not of the form HOST RACK or HOST RACK UPLINK ({})", path,
                                                      number, escaped(line), rack.error().message()));
    if (!racks.emplace(words[0], std::move(*rack)).second)
      return fail(Code::invalid_argument, fmt::format("{}:{}: host {} is there twice", path, number, words[0]));
  }
  WEFT_TRY(agree_on_uplinks(path, racks));
  return racks;
}

/// A running program; killed with its whole group when it is still there at the end.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) end();
  }
  void end() {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  /// Its wait status, when it has ended.
  std::optional<int> ended() {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_;
};

struct Pipe {
  Fd read, write;
  static Result<Pipe> open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno_error("cannot create a pipe", errno));
    return Pipe{Fd(ends[0]), Fd(ends[1])};
  }
};

Result<pid_t> start(const std::string& path, const std::string& host, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string program = path, argument = host;
  std::array<char*, 3> words{program.data(), argument.data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path.c_str(), &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(errno_error(fmt::format("cannot run {}", path), error));
  return pid;
}

std::string first_line(const std::string& text) { return std::string(trim(text.substr(0, text.find('\n')))); }

}  // namespace

Result<std::unique_ptr<Topology>> Topology::open(const std::string& path, Duration timeout) {
  std::unique_ptr<Topology> made(new Topology(path, timeout));
  WEFT_TRY(made->reload());
  return made;
}

Result<void> Topology::reload() {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0) return fail(errno_error(fmt::format("cannot read the topology {}", path_), errno));
  const bool program = S_ISREG(info.st_mode) && ::access(path_.c_str(), X_OK) == 0;
  std::map<std::string, Rack> racks;
  if (!program) {
    WEFT_ASSIGN(const std::string text, read_file(path_));
    WEFT_ASSIGN(racks, parse(path_, text));
  }
  const std::lock_guard lock(mutex_);
  program_ = program;
  racks_ = std::move(racks);
  return {};
}

Result<std::optional<Rack>> Topology::rack_of(const std::string& host) {
  {
    const std::lock_guard lock(mutex_);
    auto known = racks_.find(host);
    if (known == racks_.end() && !program_) known = racks_.find("*");
    if (known != racks_.end()) return known->second;
    if (!program_) return std::nullopt;
  }
  WEFT_ASSIGN(Rack rack, ask(host));
  const std::lock_guard lock(mutex_);
  racks_[host] = rack;
  return rack;
}

Result<Rack> Topology::ask(const std::string& host) const {
  const std::string what = fmt::format("the topology program {}, asked for host {},", path_, escaped(host));
  if (host.starts_with('-')) return fail(Code::invalid_argument, fmt::format("host {} begins with a dash", escaped(host)));
  WEFT_ASSIGN(Pipe out, Pipe::open());
  WEFT_ASSIGN(Pipe err, Pipe::open());
  WEFT_ASSIGN(const pid_t pid, start(path_, host, out, err));
  Child child(pid);
  out.write = Fd();
  err.write = Fd();
  const TimePoint end = SystemClock().now() + timeout_;
  std::array<std::string, 2> texts;
  std::array<pollfd, 2> waits{pollfd{out.read.get(), POLLIN, 0}, pollfd{err.read.get(), POLLIN, 0}};
  std::optional<int> status;
  while (!status) {
    if (SystemClock().now() >= end)
      return fail(Code::deadline_exceeded, fmt::format("{} took longer than {}", what, format_duration(timeout_)));
    ::poll(waits.data(), waits.size(), 10);
    status = child.ended();  // before the last look at its output
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].fd < 0) continue;
      std::array<char, 1024> piece{};
      pollfd ready{waits[i].fd, POLLIN, 0};
      while (waits[i].fd >= 0 && ::poll(&ready, 1, 0) > 0) {
        const ssize_t got = ::read(waits[i].fd, piece.data(), piece.size());
        if (got <= 0) waits[i].fd = -1;
        if (got > 0 && texts[i].size() < kMostOutput) texts[i].append(piece.data(), static_cast<std::size_t>(got));
        if (texts[i].size() >= kMostOutput) break;
      }
    }
  }
  const std::string complaint = texts[1].empty() ? "" : ": " + escaped(first_line(texts[1]));
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    const std::string how = WIFEXITED(*status) ? fmt::format("exited with {}", WEXITSTATUS(*status))
                                               : fmt::format("died of signal {}", WTERMSIG(*status));
    return fail(Code::io, fmt::format("{} {}{}", what, how, complaint));
  }
  const std::string line = first_line(texts[0]);
  auto rack = parse_rack(words_of(line));
  if (!rack)
    return fail(Code::io, fmt::format("{} printed '{}', which is no name of a rack, with or without an uplink ({})", what,
                                      escaped(line.substr(0, 100)), rack.error().message()));
  return rack;
}

}  // namespace weft::master
