#include "runtime/worker/executor_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cgroup.hpp"
#include "base/guarded.hpp"
#include "base/rpc/frame.hpp"
#include "base/text.hpp"
#include "runtime/executor/process.hpp"
#include "runtime/protocol/output_mark.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr auto kReapInterval = 2ms;
constexpr int kReapPolls = 500;        // then the process is killed
constexpr int kMostReapPolls = 15000;  // then it is given up; one that held much memory takes long to end

std::string where(const protocol::PositionPage::Position& position) {
  return position.path.empty() ? std::string() : fmt::format(" at {} at byte {}", escaped(position.path), position.offset);
}

}  // namespace

std::uint64_t data_limit(const protocol::ExecutorSetup& setup) {
  return setup.memory_bytes + setup.memory_bytes / 2 + (512u << 20) + std::uint64_t{setup.slots} * (16u << 20);
}

std::uint64_t ExecutorProcess::memory_kills() const {
  return weft::memory_kills() + (start_.isolation ? start_.isolation->memory_kills() : 0);
}

Result<std::unique_ptr<ExecutorProcess>> ExecutorProcess::start(rpc::Reactor& reactor, ExecutorStart start, Callbacks callbacks) {
  std::unique_ptr<ExecutorProcess> made(new ExecutorProcess(reactor, std::move(start), std::move(callbacks)));
  WEFT_TRY(made->spawn_process());
  return made;
}

Result<void> ExecutorProcess::spawn_process() {
  WEFT_ASSIGN(page_, protocol::PositionPage::create(start_.setup.slots, page_fd_));
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(errno_error("cannot create a socket pair for the executor", errno));
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const Fd log(open(start_.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return fail(errno_error(fmt::format("cannot write the log {}", start_.log_path), errno));
  struct stat info {};
  if (fstat(log.get(), &info) == 0) log_start_ = static_cast<std::uint64_t>(info.st_size);

  SpawnOptions options;
  options.path = start_.path;
  options.arguments = start_.arguments;
  options.environment = {fmt::format("{}=executor", kRoleVariable), fmt::format("{}={}", kExecutorFdVariable, kExecutorFd),
                         fmt::format("{}={}", kDataLimitVariable, start_.limits_data ? data_limit(start_.setup) : 0)};
  options.environment.insert(options.environment.end(), start_.environment.begin(), start_.environment.end());
  if (start_.isolation) {
    const auto& more = start_.isolation->environment();
    options.environment.insert(options.environment.end(), more.begin(), more.end());
    options.confinement = start_.isolation->confinement();
  }
  if (!start_.directory.empty()) options.directories = {start_.directory};
  options.output = log.get();
  options.inherited = theirs.get();
  options.own_group = true;  // an interrupt from the terminal is for the worker; it ends its executors in good order
  memory_kills_ = memory_kills();
  WEFT_ASSIGN(spawned_, begin_spawn(options));
  pid_ = spawned_.pid();
  shake_hands(std::move(ours));
  return {};
}

void ExecutorProcess::shake_hands(Fd socket) {
  reactor_.adopt(std::move(socket), start_.patience, handler(), protocol::peer_limits(),
                 guarded(alive_, [this](Result<rpc::ConnectionPtr> connected) {
                   if (!connected) return closed(connected.error().to_string());
                   connection_ = std::move(*connected);
                   (void)spawned_.outcome();  // it runs
                   if (ending_) return connection_->close();
                   rpc::Payload setup = protocol::encode(start_.setup);
                   setup.fds.push_back(std::move(page_fd_));
                   connection_->notify(protocol::kSetup, std::move(setup));
                   set_up_ = true;
                   for (auto& [type, payload] : std::exchange(waiting_, {})) connection_->notify(type, std::move(payload));
                 }));
}

rpc::Handler ExecutorProcess::handler() {
  rpc::Handler handler;
  handler.on_request = guarded(alive_, [this](const rpc::ConnectionPtr&, rpc::Message message, rpc::Responder responder) {
    callbacks_.on_request(std::move(message), std::move(responder));
  });
  handler.on_notify = guarded(alive_, [this](const rpc::ConnectionPtr& connection, const rpc::Message& message) {
    const auto understood = on_message(message);
    if (understood) return;
    fault_ = understood.error().to_string();
    connection->close();
  });
  handler.on_close = guarded(alive_, [this](const rpc::ConnectionPtr&, const Error& error) {
    // That the executor has ended is in its exit status; any other error is why it ends.
    const bool ended = error.code() == Code::unavailable || error.code() == Code::cancelled;
    closed(ended ? "" : error.to_string());
  });
  return handler;
}

/// May destroy this object.
Result<void> ExecutorProcess::on_message(const rpc::Message& message) {
  switch (message.type) {
    case protocol::kEvents: {
      WEFT_ASSIGN(protocol::Events events, protocol::decode<protocol::Events>(message));
      on_events(std::move(events.events));
      return {};
    }
    case protocol::kChunkTraffic: {
      WEFT_ASSIGN(const protocol::ChunkTraffic traffic, protocol::decode<protocol::ChunkTraffic>(message));
      start_.racks->add(traffic.racks);
      return {};
    }
    default:
      if (!std::exchange(unknown_noted_, true))
        log_.warn(
            "the executor of {} is {} and sent message {}, which this worker, {}, does not know: passed over; upgrade the worker",
            start_.path, connection_ ? connection_->peer_software() : "another release", message.type, rpc::software_version());
      return {};
  }
}

ExecutorProcess::~ExecutorProcess() {
  if (connection_) connection_->close();
  if (pid_ > 0) end_child(pid_);
}

void ExecutorProcess::send(protocol::ExecutorMessage type, rpc::Payload payload) {
  if (set_up_)
    connection_->notify(type, std::move(payload));
  else
    waiting_.emplace_back(type, std::move(payload));
}

std::vector<AttemptId> ExecutorProcess::attempts() const {
  std::vector<AttemptId> attempts;
  for (const auto& [attempt, running] : running_) attempts.push_back(attempt);
  return attempts;
}

void ExecutorProcess::launch(protocol::Launches launches) {
  for (const protocol::Launch& launch : launches.launches) {
    Running& running = running_[launch.attempt];
    running.stage_name = launch.stage_name;
    running.timeout = launch.timeout;
    if (launch.timeout > Duration(0)) limit(launch.attempt, running, launch.timeout);
  }
  send(protocol::kLaunch, protocol::encode(launches));
}

void ExecutorProcess::limit(const AttemptId& attempt, Running& running, Duration left) {
  running.timer = reactor_.after(left, [this, attempt] {
    const auto found = running_.find(attempt);
    if (found == running_.end()) return;
    Running& late = found->second;
    const Duration before = std::exchange(late.waited, callbacks_.waited(attempt));
    if (late.waited > before) return limit(attempt, late, late.waited - before);
    late.timed_out = true;
    stop_attempt(attempt, late);
  });
}

void ExecutorProcess::provide(ActionId action, SharedBytes value) {
  rpc::Payload payload = protocol::encode(protocol::Value{action});
  if (!value.bytes.empty()) payload.bulk.push_back(std::move(value));
  send(protocol::kValue, std::move(payload));
}

void ExecutorProcess::forget(ShuffleId shuffle) { send(protocol::kForget, protocol::encode(protocol::Forget{shuffle})); }

void ExecutorProcess::kill(const AttemptId& attempt, const std::string& reason) {
  auto found = running_.find(attempt);
  if (found == running_.end() || found->second.asked_to_stop) return;
  found->second.reason = reason;
  stop_attempt(attempt, found->second);
}

void ExecutorProcess::stop_attempt(const AttemptId& attempt, Running& running) {
  running.asked_to_stop = true;
  send(protocol::kStop, protocol::encode(protocol::Stop{attempt}));
  callbacks_.on_stop(attempt);
  running.timer = reactor_.after(start_.stop_grace, [this, attempt] {
    if (pid_ <= 0 || !running_.contains(attempt)) return;
    blamed_ = to_string(attempt);
    if (spawned_.on_its_way()) fault_ = kept_from_starting();
    ::kill(pid_, SIGKILL);
  });
}

void ExecutorProcess::on_events(std::vector<protocol::Event> events) {
  std::vector<protocol::Event> accepted;
  for (protocol::Event& event : events) {
    auto found = running_.find(event.attempt);
    if (found == running_.end()) continue;
    const Running& running = found->second;
    if (running.timed_out && event.kind == TaskEnd::killed) {
      const auto position = page_.find(event.attempt);
      event.kind = TaskEnd::timed_out;
      event.message = fmt::format("ran longer than the task timeout of {}{}", format_duration(running.timeout),
                                  position ? where(*position) : "");
    }
    if (event.kind == TaskEnd::user_code) event.message += limit_reached(event.message);
    running_.erase(found);
    accepted.push_back(std::move(event));
  }
  callbacks_.on_events(std::move(accepted));
}

void ExecutorProcess::end() {
  ending_ = true;
  if (connection_) connection_->close();
  if (!closing_) closed("");
}

void ExecutorProcess::check() {
  if (!closing_ && has_ended()) closed("");
}

bool ExecutorProcess::has_ended() {
  if (pid_ <= 0) return true;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
  ::kill(-pid_, SIGKILL);  // before the number of the group can be another's
  waitpid(pid_, &status_, 0);
  pid_ = -1;
  return true;
}

void ExecutorProcess::closed(const std::string& why) {
  if (fault_.empty()) fault_ = spawned_.on_its_way() ? kept_from_starting() : why;
  if (std::exchange(closing_, true)) return;
  reap();
}

std::string ExecutorProcess::kept_from_starting() const {
  return fmt::format("it has not come as far as its program: a file system does not answer, perhaps that of {}", start_.directory);
}

void ExecutorProcess::reap() {
  if (!has_ended() && ++polls_ < kMostReapPolls) {
    if (polls_ == kReapPolls || (ending_ && polls_ == kReapPolls / 5)) ::kill(pid_, SIGKILL);
    reap_timer_ = reactor_.after(kReapInterval, [this] { reap(); });
    return;
  }
  if (pid_ > 0) {  // the kernel waits for something: for a file system or a device
    log_.error("the executor {} of {} was killed and does not end", pid_, start_.path);
    pid_ = -1;
    status_ = W_EXITCODE(0, SIGKILL);
  }
  if (connection_) connection_->close();
  const std::string how = describe_exit(status_);
  if (const auto begun = spawned_.outcome(); !begun) fault_ = begun.error().to_string();
  if (WIFSIGNALED(status_) && !ending_ && blamed_.empty())
    log_.warn("an executor of {} died of {}; its log is {}", start_.path, how, start_.log_path);
  std::vector<protocol::Event> events;
  for (const auto& [attempt, running] : running_) events.push_back(verdict(attempt, running, how));
  running_.clear();
  const std::weak_ptr<bool> alive = alive_;
  if (!events.empty()) callbacks_.on_events(std::move(events));
  if (alive.expired()) return;
  const auto gone = callbacks_.on_gone;
  gone();
}

protocol::Event ExecutorProcess::verdict(const AttemptId& attempt, const Running& running, const std::string& how) const {
  const auto is = [&](TaskEnd kind, std::string message) {
    return protocol::Event{.attempt = attempt, .kind = kind, .message = std::move(message)};
  };
  const auto position = page_.find(attempt);
  const std::string at = position ? where(*position) : "";
  const bool not_started = !set_up_ && !ending_ && (running.timed_out || !running.asked_to_stop);
  if (not_started) {
    const std::string line = last_line(start_.log_path, log_start_);
    return is(TaskEnd::environment, fmt::format("the executor did not start ({}{}){}{}", how, fault_.empty() ? "" : "; " + fault_,
                                                line.empty() ? "" : ": ", line));
  }
  if (running.timed_out)
    return is(TaskEnd::timed_out,
              fmt::format("ran longer than the task timeout of {}{} and did not stop when asked; its executor was killed",
                          format_duration(running.timeout), at));
  if (running.asked_to_stop || ending_) return is(TaskEnd::killed, running.reason.empty() ? "the job ended" : running.reason);
  if (!blamed_.empty())
    return is(TaskEnd::killed, fmt::format("its executor was killed because {} did not stop when asked", blamed_));
  if (set_up_ && page_.knows_culprit() && !(position && position->died_here))
    return is(TaskEnd::killed, fmt::format("its executor was ended by another task ({})", how));
  const std::string line = last_line(start_.log_path, log_start_);
  return is(TaskEnd::crashed, fmt::format("{} while running {}{}{}{}{}", death(how), running.stage_name, at,
                                          line.empty() ? "" : "; its last line of output: ", line, limit_reached(line)));
}

std::string ExecutorProcess::limit_reached(const std::string& message) const {
  return start_.isolation ? start_.isolation->limit_reached(message) : std::string();
}

std::string ExecutorProcess::death(const std::string& how) const {
  const bool for_memory = WIFSIGNALED(status_) && WTERMSIG(status_) == SIGKILL && memory_kills() > memory_kills_;
  if (!fault_.empty()) return fmt::format("the connection to the executor broke ({}), which ended it", fault_);
  if (WIFEXITED(status_) && WEXITSTATUS(status_) == kExecutorGaveUp) return "the executor gave up";
  if (WIFEXITED(status_)) return fmt::format("a user function or a library that it calls ended the executor by exit() ({})", how);
  if (!for_memory) return fmt::format("the executor died of {}", how);
  if (start_.isolation && start_.isolation->memory_kills() != 0)
    return fmt::format("the executor was killed by the kernel: out of memory (limit {} of the job's processes on this worker)",
                       human_bytes(start_.isolation->memory_limit()));
  const auto limit = memory_limit();
  return fmt::format(
      "the executor was killed by the kernel: out of memory ({}; let user functions keep less, give tasks less with --memory or "
      "fewer of them at a time, or give the workers more)",
      limit ? fmt::format("limit {} of cgroup {}", human_bytes(limit->bytes), limit->group) : "no limit but the machine's own");
}

std::string last_line(const std::string& path, std::uint64_t from) {
  constexpr std::uint64_t kMost = 4096;
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return {};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size <= from) return {};
  const std::uint64_t start = size - from > kMost ? size - kMost : from;
  std::string text(size - start, '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), static_cast<off_t>(start));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  for (std::string_view rest = trim(text); !rest.empty();) {
    const auto newline = rest.rfind('\n');
    const std::string_view line = newline == std::string_view::npos ? rest : rest.substr(newline + 1);
    if (line.find("): died of SIG") == std::string_view::npos && !parse_output_mark(line)) return escaped(line.substr(0, 300));
    rest = newline == std::string_view::npos ? std::string_view() : trim(rest.substr(0, newline));
  }
  return {};
}

}  // namespace weft::runtime
