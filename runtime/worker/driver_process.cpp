#include "runtime/worker/driver_process.hpp"

#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "runtime/worker/executor_process.hpp"

namespace weft::runtime {
namespace {

constexpr off_t kLogBytes = 16 << 10;                        // that it can write at least
constexpr Duration kEndDeadline = std::chrono::seconds(30);  // of one that was killed
constexpr Duration kWatchInterval = std::chrono::milliseconds(20);
constexpr std::string_view kClusterOption = "--cluster";

}  // namespace

std::vector<std::string> driver_arguments(const std::vector<std::string>& arguments, const std::string& master) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == kClusterOption)
      ++i;  // its value
    else if (!(word.starts_with(kClusterOption) && word.size() > kClusterOption.size() && word[kClusterOption.size()] == '='))
      words.push_back(word);
  }
  words.emplace_back(kClusterOption);
  words.push_back(master);
  return words;
}

Result<std::unique_ptr<DriverProcess>> DriverProcess::start(rpc::Reactor& reactor, DriverStart start, Ended ended) {
  std::unique_ptr<DriverProcess> made(new DriverProcess(reactor, std::move(start), std::move(ended)));
  WEFT_TRY(made->spawn_process());
  made->watch_soon();  // the caller has the object before its end is reported
  return made;
}

Result<void> DriverProcess::spawn_process() {
  const Fd log(open(start_.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return fail(errno_error(fmt::format("cannot write the log {}", start_.log_path), errno));
  struct stat info {};
  if (fstat(log.get(), &info) == 0) log_start_ = static_cast<std::uint64_t>(info.st_size);
  // On a full disk nobody would learn why it failed. Another worker has room.
  if (fallocate(log.get(), FALLOC_FL_KEEP_SIZE, info.st_size, kLogBytes) != 0 && errno == ENOSPC)
    return fail(errno_error(fmt::format("cannot write the log {}", start_.log_path), ENOSPC));

  const protocol::StartDriver& command = start_.command;
  SpawnOptions options;
  options.path = start_.path;
  options.arguments = driver_arguments(command.arguments, start_.master);
  options.arguments.insert(options.arguments.begin(), command.program);
  options.environment = {
      fmt::format("{}={}", kDriverJobVariable, command.job.value()), fmt::format("{}={}", kDriverKeyVariable, command.key),
      fmt::format("{}={}", kDriverUserVariable, command.user), fmt::format("{}={}", kDriverSubmittedInVariable, command.directory),
      fmt::format("{}={}", kDriverOwnDirectoryVariable, start_.directory)};
  options.environment.insert(options.environment.end(), start_.environment.begin(), start_.environment.end());
  if (start_.isolation) {
    const auto& more = start_.isolation->environment();
    options.environment.insert(options.environment.end(), more.begin(), more.end());
    options.confinement = start_.isolation->confinement();
  }
  if (!command.directory.empty()) options.directories.push_back(command.directory);
  options.directories.push_back(start_.directory);
  options.output = log.get();
  options.own_group = true;
  WEFT_ASSIGN(spawned_, begin_spawn(options));
  pid_ = spawned_.pid();
  patience_timer_ = reactor_.after(start_.patience, [this] {
    if (pid_ <= 0 || !spawned_.on_its_way()) return;
    kept_ = true;
    kill();
  });
  return {};
}

DriverProcess::~DriverProcess() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  end_child(pid_);
}

void DriverProcess::stop(const std::string& reason) {
  if (std::exchange(stopping_, true) || pid_ <= 0) return;
  stop_reason_ = reason;
  ::kill(-pid_, SIGTERM);
  kill_timer_ = reactor_.after(start_.stop_grace, [this] {
    if (pid_ > 0) kill();
  });
}

void DriverProcess::kill() {
  ::kill(-pid_, SIGKILL);
  kill_timer_ = reactor_.after(kEndDeadline, [this] { given_up_ = true; });
}

bool DriverProcess::reap(int& status) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
  ::kill(-pid_, SIGKILL);  // before the number of the group can be another's
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return true;
}

void DriverProcess::watch_soon() {
  watch_timer_ = reactor_.after(kWatchInterval, [this] { watch(); });
}

void DriverProcess::watch() {
  int status = W_EXITCODE(0, SIGKILL);
  if (!reap(status) && !given_up_) {
    watch_soon();
    return;
  }
  if (pid_ > 0) {  // the kernel waits for something: for a file system or a device
    log_.error("the driver {} of job {} was killed and does not end", pid_, start_.command.job.value());
    pid_ = -1;
  }
  kill_timer_.reset();
  patience_timer_.reset();
  give_back_room();
  const Ended ended = ended_;
  ended(report(status));
}

protocol::DriverEnded DriverProcess::report(int status) {
  protocol::DriverEnded report{start_.command.job, start_.command.key, kDriverNotStarted, ""};
  if (kept_) {
    report.message =
        fmt::format("it did not come as far as its program within {}: a file system does not answer, perhaps that of {}",
                    format_duration(start_.patience), escaped(start_.command.directory));
  } else if (const auto begun = spawned_.outcome(); !begun) {
    report.message = begun.error().to_string();
  } else {
    report.status = status;
    report.message = message(status);
  }
  return report;
}

/// What was set aside for its log and is not needed.
void DriverProcess::give_back_room() const {
  const Fd log(open(start_.log_path.c_str(), O_WRONLY | O_CLOEXEC));
  struct stat info {};
  if (log.valid() && fstat(log.get(), &info) == 0) (void)!ftruncate(log.get(), info.st_size);
}

std::string DriverProcess::message(int status) const {
  if (stopping_) return stop_reason_;
  const std::string line = last_line(start_.log_path, log_start_);
  const std::string how = describe_exit(status);
  if (WIFSIGNALED(status))
    log_.warn("the driver of job {} died of {}; its log is {}", start_.command.job.value(), how, start_.log_path);
  return line.empty() ? how : fmt::format("{}: {}", how, line);
}

}  // namespace weft::runtime
