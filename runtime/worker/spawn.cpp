#include "runtime/worker/spawn.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/private_directory.hpp"

extern char** environ;

namespace weft::runtime {
namespace {

constexpr int kFirstInherited = 3;
constexpr int kAboveInherited = 16;

std::vector<std::string> merged_environment(const std::vector<std::string>& changes) {
  std::vector<std::string> merged = changes;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(changes.begin(), changes.end(), [&](const std::string& change) {
      return change.size() > name.size() && change.starts_with(name) && change[name.size()] == '=';
    });
    if (!replaced) merged.emplace_back(text);
  }
  return merged;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

/// What is executed by descriptor instead of by path.
struct Program {
  int descriptor = -1;
  bool is_script = false;  // stays open for the interpreter
};

/// Which step of the child has failed, and why.
struct Failure {
  enum Step : int { confine, execute } step = execute;
  int error = 0;
};

/// Everything the child needs, made before the fork: between fork and exec only async-signal-safe calls are allowed.
struct Child {
  const SpawnOptions& options;
  char** arguments;
  char** environment;
  int null_input, output, inherited, error_pipe;
  Program program;
  pid_t parent;
  std::optional<unsigned> file_mask;

  [[noreturn]] void run() const {
    for (int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGXFSZ}) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (options.own_group) setpgid(0, 0);
    if (file_mask) umask(*file_mask);
    dup2(null_input, 0);
    if (output >= 0) dup2(output, 1), dup2(output, 2);
    if (inherited >= 0) dup2(inherited, kFirstInherited);
    const unsigned first_other = inherited >= 0 ? kFirstInherited + 1 : kFirstInherited;
    (void)close_range(first_other, ~0U, CLOSE_RANGE_CLOEXEC);  // libraries may open some without that flag
    if (program.is_script) fcntl(program.descriptor, F_SETFD, 0);
    if (options.confinement)
      if (const int error = confine(*options.confinement); error != 0) give_up({Failure::confine, error});
    // After the change of the user, which ends it.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(127);
    close_what_is_not_inherited(first_other);
    enter_directory();
    if (program.descriptor >= 0)
      syscall(SYS_execveat, program.descriptor, "", arguments, environment, AT_EMPTY_PATH);
    else
      execve(options.path.c_str(), arguments, environment);
    give_up({Failure::execute, errno});
  }
  /// Peers of the parent would not notice its end while this process is kept on its way.
  void close_what_is_not_inherited(unsigned first) const {
    auto kept = std::array{static_cast<unsigned>(error_pipe), static_cast<unsigned>(program.descriptor)};
    if (kept[1] < kept[0]) std::swap(kept[0], kept[1]);
    for (const unsigned one : kept) {
      if (one > first) (void)close_range(first, one - 1, 0);
      first = one + 1;  // 0 behind that of no program, which is the largest number
    }
    if (first != 0) (void)close_range(first, ~0U, 0);
  }
  /// The driver's directory need not exist here; paths in tasks are the driver's business.
  void enter_directory() const {
    for (const std::string& directory : options.directories)
      if (chdir(directory.c_str()) == 0) return;
    if (program.descriptor >= 0 && chdir("/") != 0) _exit(127);  // not in a directory of another user's
  }
  [[noreturn]] void give_up(const Failure& failure) const {
    [[maybe_unused]] const auto written = write(error_pipe, &failure, sizeof failure);
    _exit(127);
  }
};

/// A copy of the descriptor out of the way of 0 to 3, close-on-exec.
Fd aside(int fd) { return Fd(fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, kAboveInherited)); }

/// As fork(), into a control group of version 2 when its directory is given: a move afterwards would wait for all processors. The
/// child of the bare system call has nothing of what the C library does at a fork, and needs nothing of it.
pid_t fork_into(int group_directory) {
  if (group_directory < 0) return fork();
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<std::uint64_t>(group_directory);
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
}

/// For another user, who cannot enter the directories of this one: the program, open, and fit to be executed by him.
Result<Fd> open_program(const std::string& path) {
  const Fd opened(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  Fd program = aside(opened.get());
  struct stat info {};
  if (!program.valid() || fstat(program.get(), &info) != 0) return fail(errno_error(fmt::format("cannot execute {}", path), errno));
  constexpr mode_t kForAll = S_IRUSR | S_IXUSR | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH;
  if (const mode_t mode = (info.st_mode & 07777u) | kForAll; mode != (info.st_mode & 07777u) && fchmod(program.get(), mode) != 0)
    return fail(errno_error(fmt::format("cannot let others execute {}", path), errno));
  return program;
}

bool is_script(const Fd& program) {
  std::array<char, 2> begin{};
  return program.valid() && pread(program.get(), begin.data(), begin.size(), 0) == 2 && begin[0] == '#' && begin[1] == '!';
}

}  // namespace

bool Spawned::on_its_way() const {
  pollfd failure{failure_.get(), POLLIN, 0};
  return failure_.valid() && ::poll(&failure, 1, 0) == 0;
}

void Spawned::wait() const {
  pollfd failure{failure_.get(), POLLIN, 0};
  while (::poll(&failure, 1, -1) < 0 && errno == EINTR) continue;
}

Result<void> Spawned::outcome() {
  Failure failure;
  if (on_its_way()) return {};
  const bool failed = read(failure_.get(), &failure, sizeof failure) == sizeof failure;
  failure_.reset();
  if (!failed) return {};
  const char* const what = failure.step == Failure::confine ? "cannot confine" : "cannot execute";
  return fail(errno_error(fmt::format("{} {}", what, path_), failure.error));
}

Result<pid_t> spawn(const SpawnOptions& options) {
  WEFT_ASSIGN(Spawned spawned, begin_spawn(options));
  spawned.wait();
  if (auto running = spawned.outcome(); !running) {
    waitpid(spawned.pid(), nullptr, 0);
    return fail(std::move(running).error());
  }
  return spawned.pid();
}

Result<Spawned> begin_spawn(const SpawnOptions& options) {
  const std::vector<std::string> variables = merged_environment(options.environment);
  std::vector<char*> arguments = pointers(options.arguments);
  std::vector<char*> environment = pointers(variables);

  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno_error("cannot start a process", errno));
  Fd read_end(ends[0]);
  Fd low_end(ends[1]);
  Fd write_end = aside(low_end.get());
  const Fd null_file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Fd null_input = aside(null_file.get());
  const Fd output = aside(options.output);
  const Fd inherited = aside(options.inherited);
  Fd program;
  if (options.confinement && options.confinement->account) {
    WEFT_ASSIGN(program, open_program(options.path));
  }
  const bool have_all = write_end.valid() && null_input.valid() && (options.output < 0 || output.valid()) &&
                        (options.inherited < 0 || inherited.valid());
  if (!have_all) return fail(errno_error("cannot start a process", errno));

  const Child child{options,      arguments.data(), environment.data(), null_input.get(),
                    output.get(), inherited.get(),  write_end.get(),    {program.get(), is_script(program)},
                    getpid(),     users_umask()};
  // A signal that comes between must not run this process's handler in the child.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork_into(options.confinement ? options.confinement->group_directory : -1);
  const int error = errno;
  if (pid == 0) child.run();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return fail(errno_error("cannot start a process", error));
  if (options.own_group) setpgid(pid, pid);  // here, too: a signal to the group, which may follow, must find it
  return Spawned(pid, options.path, std::move(read_end));
}

std::optional<int> wait_for_child(pid_t pid, Duration longest) {
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{process.get(), POLLIN, 0};
  const auto milliseconds = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(longest).count());
  while (::poll(&ended, 1, milliseconds) < 0 && errno == EINTR) continue;
  int status = 0;
  return waitpid(pid, &status, WNOHANG) == pid ? std::optional(status) : std::nullopt;
}

void end_child(pid_t pid) {
  ::kill(pid, SIGKILL);
  (void)wait_for_child(pid, std::chrono::seconds(2));
}

std::string describe_exit(int status) {
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return fmt::format("signal {} (SIG{})", WTERMSIG(status), name != nullptr ? name : "?");
  }
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace weft::runtime
