#include "engine/tools/web/submissions.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "engine/tools/display/json_members.hpp"
#include "runtime/worker/spawn.hpp"

namespace weft::web {

namespace {

constexpr std::size_t kMostRunning = 64;
constexpr std::size_t kKept = 256;               // with those that have ended
constexpr std::size_t kMostArguments = 1000;     // of a program
constexpr std::size_t kOutputBytes = 64u << 10;  // kept of what a driver writes

/// An executable file in the directory, and nothing that a name could lead to elsewhere.
Result<std::string> file_of(const std::string& directory, const std::string& program) {
  if (program.empty() || program.find('/') != std::string::npos || program.find('\0') != std::string::npos ||
      program.starts_with('.'))
    return fail(Code::invalid_argument, fmt::format("program '{}' is no name of a file in --submit-dir", escaped(program)));
  std::string file = directory + "/" + program;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(file, ignored) || ::access(file.c_str(), X_OK) != 0)
    return fail(Code::not_found, fmt::format("there is no program {} in --submit-dir", escaped(program)));
  return file;
}

Result<void> check_arguments(const std::vector<std::string>& arguments) {
  if (arguments.size() > kMostArguments)
    return fail(Code::invalid_argument, fmt::format("a program gets at most {} arguments", kMostArguments));
  if (std::any_of(arguments.begin(), arguments.end(), [](const std::string& each) { return each.find('\0') != std::string::npos; }))
    return fail(Code::invalid_argument, "no argument may have a byte 0");
  return {};
}

Result<std::pair<Fd, Fd>> new_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno_error("cannot start a program", errno));
  (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

/// What is there now. False when there will be no more.
bool read_on(int from, std::string& into) {
  std::array<char, 4096> bytes{};
  while (true) {
    const ssize_t size = ::read(from, bytes.data(), bytes.size());
    if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
    into.append(bytes.data(), static_cast<std::size_t>(size));
    if (into.size() > 2 * kOutputBytes) into.erase(0, into.size() - kOutputBytes);
  }
}

}  // namespace

/// What changes while it runs is guarded by the mutex of the Submissions.
struct Submissions::Driver {
  std::uint64_t number = 0;
  std::string program;
  std::vector<std::string> arguments;
  Fd from{};       // what it writes; its thread's
  Fd process{};    // its process; its thread's, too
  pid_t pid = -1;  // -1: it has ended
  int exit_code = 0;
  std::string output;
  std::jthread thread;  // last: it ends before the others do

  /// Starts the process.
  Result<void> launch(const std::string& file, const std::string& master);
  void write(JsonWriter& json) const {
    tools::members(json, "submission", number, "program", program, "arguments", arguments, "state", pid < 0 ? "ended" : "running");
    if (pid < 0) tools::members(json, "exit_code", exit_code);
    tools::members(json, "output", output.substr(output.size() - std::min(output.size(), kOutputBytes)));
  }
};

Submissions::Submissions(std::string directory, std::string master)
    : directory_(std::move(directory)), master_(std::move(master)) {}

Submissions::~Submissions() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [number, driver] : drivers_)
      if (driver->pid > 0) ::kill(-driver->pid, SIGKILL);  // its process group
  }
  drivers_.clear();  // waits for their threads
}

Result<void> Submissions::Driver::launch(const std::string& file, const std::string& master) {
  WEFT_ASSIGN(auto ends, new_pipe());
  runtime::SpawnOptions spawned;
  spawned.path = file;
  spawned.arguments = {file};
  spawned.arguments.insert(spawned.arguments.end(), arguments.begin(), arguments.end());
  spawned.arguments.insert(spawned.arguments.end(), {"--cluster", master});
  spawned.output = ends.second.get();
  spawned.own_group = true;
  WEFT_ASSIGN(pid, runtime::spawn(spawned));
  from = std::move(ends.first);
  process = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (process.valid()) return {};
  const int error = errno;
  ::kill(pid, SIGKILL);
  (void)::waitpid(pid, nullptr, 0);
  return fail(errno_error("cannot start " + file, error));
}

Result<std::uint64_t> Submissions::start(const std::string& program, const std::vector<std::string>& arguments) {
  WEFT_ASSIGN(const std::string file, file_of(directory_, program));
  WEFT_TRY(check_arguments(arguments));
  const std::lock_guard lock(mutex_);
  const auto running = std::count_if(drivers_.begin(), drivers_.end(), [](const auto& each) { return each.second->pid > 0; });
  if (static_cast<std::size_t>(running) >= kMostRunning)
    return fail(Code::resource_exhausted,
                fmt::format("{} programs run that were started over HTTP; wait until one has ended", running));
  auto driver = std::make_unique<Driver>();
  driver->program = program;
  driver->arguments = arguments;
  WEFT_TRY(driver->launch(file, master_));
  driver->number = ++last_;
  driver->thread = std::jthread([this, &followed = *driver] { follow(followed); });
  Log("http").info("submission {}: started {} as process {}", driver->number, program, driver->pid);
  drivers_.emplace(driver->number, std::move(driver));
  forget_the_oldest();
  return last_;
}

/// Until the process has ended; what its children may still write is not waited for.
void Submissions::follow(Driver& driver) {
  std::array<pollfd, 2> polls{{{driver.from.get(), POLLIN, 0}, {driver.process.get(), POLLIN, 0}}};
  while (polls[1].revents == 0) {
    if (::poll(polls.data(), polls.size(), -1) < 0) continue;  // interrupted
    const std::lock_guard lock(mutex_);
    if (polls[0].revents != 0 && !read_on(driver.from.get(), driver.output)) polls[0].fd = -1;
  }
  const std::lock_guard lock(mutex_);
  (void)read_on(driver.from.get(), driver.output);
  int status = 0;
  (void)::waitpid(driver.pid, &status, 0);
  driver.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  driver.pid = -1;
}

/// Of those that have ended.
void Submissions::forget_the_oldest() {
  for (auto driver = drivers_.begin(); drivers_.size() > kKept && driver != drivers_.end();)
    driver = driver->second->pid < 0 ? drivers_.erase(driver) : std::next(driver);
}

Result<const Submissions::Driver*> Submissions::driver(std::uint64_t number) const {
  const auto found = drivers_.find(number);
  if (found == drivers_.end()) return fail(Code::not_found, fmt::format("there is no submission {}", number));
  return found->second.get();
}

Result<void> Submissions::stop(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  WEFT_ASSIGN(const Driver* found, driver(number));
  if (found->pid > 0) ::kill(-found->pid, SIGTERM);
  return {};
}

Result<std::string> Submissions::describe(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  WEFT_ASSIGN(const Driver* found, driver(number));
  JsonWriter json;
  json.begin_object();
  found->write(json);
  return json.end_object().text() + "\n";
}

std::string Submissions::list() const {
  const std::lock_guard lock(mutex_);
  return tools::json_line(tools::objects(drivers_, [](JsonWriter& json, const auto& each) { each.second->write(json); }));
}

}  // namespace weft::web
