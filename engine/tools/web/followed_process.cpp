#include "engine/tools/web/followed_process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/worker/spawn.hpp"

namespace weft::web {

namespace {

Result<std::pair<Fd, Fd>> new_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno_error("cannot start a program", errno));
  (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

}  // namespace

Result<std::unique_ptr<FollowedProcess>> FollowedProcess::start(Options options) {
  std::unique_ptr<FollowedProcess> made(new FollowedProcess(std::move(options)));
  WEFT_TRY(made->launch());
  made->thread_ = std::jthread([of = made.get()] { of->follow(); });
  return made;
}

FollowedProcess::~FollowedProcess() { signal(SIGKILL); }

Result<void> FollowedProcess::launch() {
  WEFT_ASSIGN(auto ends, new_pipe());
  runtime::SpawnOptions spawned;
  spawned.path = options_.path;
  spawned.arguments = options_.arguments;
  spawned.output = ends.second.get();
  spawned.own_group = true;
  auto begun = runtime::spawn(spawned);
  running_ = begun.has_value();
  if (!begun) return fail(std::move(begun).error());
  id_ = *begun;
  from_ = std::move(ends.first);
  process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, id_, 0)));
  if (!process_.valid()) {
    const int error = errno;
    ::kill(id_, SIGKILL);
    (void)::waitpid(id_, nullptr, 0);
    running_ = false;
    return fail(errno_error("cannot start " + options_.path, error));
  }
  if (options_.gives_way) (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(id_), 10);
  return {};
}

/// A piece of what is there now; others wait for no more than that to be kept. Its size, 0 when nothing is there, and nothing when
/// there will be no more.
std::optional<std::size_t> FollowedProcess::read_on() {
  std::array<char, 16384> bytes;
  const ssize_t read = ::read(from_.get(), bytes.data(), bytes.size());
  if (read < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (read <= 0) return std::nullopt;
  const auto size = static_cast<std::size_t>(read);
  const std::lock_guard lock(mutex_);
  output_.append(bytes.data(), size);
  if (output_.size() > 2 * options_.kept) output_.erase(0, output_.size() - options_.kept);
  return size;
}

/// What a process that has ended may have left in the pipe.
void FollowedProcess::read_rest() {
  for (std::int64_t left = ::fcntl(from_.get(), F_GETPIPE_SZ); left > 0;) {
    const auto size = read_on();
    if (size.value_or(0) == 0) return;
    left -= static_cast<std::int64_t>(*size);
  }
}

/// Until the process has ended; what its children may still write is not waited for.
void FollowedProcess::follow() {
  std::array<pollfd, 2> polls{{{from_.get(), POLLIN, 0}, {process_.get(), POLLIN, 0}}};
  const TimePoint end = SystemClock().now() + options_.limit;
  while (polls[1].revents == 0) {
    int patience = -1;
    if (options_.limit > Duration(0)) {
      const Duration left = end - SystemClock().now();
      if (left <= Duration(0)) ::kill(-id_, SIGKILL);
      patience = static_cast<int>(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::milliseconds>(left).count()));
    }
    if (::poll(polls.data(), polls.size(), patience) <= 0) continue;  // interrupted, or its limit has passed
    if (polls[0].revents != 0 && !read_on()) polls[0].fd = -1;
  }
  read_rest();
  const std::lock_guard lock(mutex_);
  int status = 0;
  (void)::waitpid(id_, &status, 0);
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  running_ = false;
}

bool FollowedProcess::running() const {
  const std::lock_guard lock(mutex_);
  return running_;
}

int FollowedProcess::exit_code() const {
  const std::lock_guard lock(mutex_);
  return exit_code_;
}

std::string FollowedProcess::output() const {
  const std::lock_guard lock(mutex_);
  return output_.substr(output_.size() - std::min(output_.size(), options_.kept));
}

void FollowedProcess::signal(int number) {
  const std::lock_guard lock(mutex_);
  if (running_) ::kill(-id_, number);
}

}  // namespace weft::web
