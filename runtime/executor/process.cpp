#include "runtime/executor/process.hpp"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fatal_signal.hpp"
#include "base/file.hpp"
#include "base/print_error.hpp"
#include "base/rpc/frame.hpp"
#include "base/sanitized.hpp"
#include "base/text.hpp"
#include "runtime/devices/device_session.hpp"
#include "runtime/executor/crash_notes.hpp"
#include "runtime/executor/task_pool.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr auto kTrafficInterval = 1s;
constexpr std::uint64_t kLeastMapped = 16u << 20;

/// The process's one executor. All its members except report() run on the reactor's thread; it is never destroyed, because
/// task threads may be deep in user code when the process ends.
class Executor {
 public:
  Executor(rpc::Reactor& reactor, std::unique_ptr<JobProgram> program) : reactor_(reactor), program_(std::move(program)) {}

  rpc::Handler handler() {
    rpc::Handler handler;
    handler.on_notify = [this](const rpc::ConnectionPtr& connection, rpc::Message message) {
      on_notify(connection, std::move(message));
    };
    handler.on_close = [](const rpc::ConnectionPtr&, const Error& error) {
      if (error.code() == Code::unavailable || error.code() == Code::cancelled) _exit(0);  // the worker has closed it, or is gone
      give_up(error);
    };
    return handler;
  }

 private:
  /// The last line of its log is what the worker reports.
  [[noreturn]] static void give_up(const Error& why) {
    print_error("executor: {}\n", why.to_string());
    std::fflush(stderr);
    _exit(kExecutorGaveUp);
  }

  void on_notify(const rpc::ConnectionPtr& connection, rpc::Message message) {
    connection_ = connection;
    if (Result<void> done = dispatch(message); !done) give_up(done.error());
  }

  Result<void> dispatch(rpc::Message& message) {
    if (message.type == protocol::kSetup) return set_up(message);
    if (!pool_) return fail(Code::corrupt, "the worker sent something before the set-up");
    switch (message.type) {
      case protocol::kValue:
        return provide(message);
      case protocol::kLaunch: {
        WEFT_ASSIGN(protocol::Launches launches, protocol::decode<protocol::Launches>(message));
        pool_->launch(std::move(launches));
        return {};
      }
      case protocol::kStop: {
        WEFT_ASSIGN(const protocol::Stop stop, protocol::decode<protocol::Stop>(message));
        note_positions();
        pool_->stop(stop.attempt);
        return {};
      }
      case protocol::kForget: {
        WEFT_ASSIGN(const protocol::Forget forget, protocol::decode<protocol::Forget>(message));
        link_->mapped().forget(forget.shuffle);
        return {};
      }
      default:
        if (!std::exchange(unknown_noted_, true))
          print_error("executor: the worker is {} and sent message {}, which this program, of {}, does not know: passed over\n",
                      connection_->peer_software(), message.type, rpc::software_version());
        return {};
    }
  }

  Result<void> set_up(rpc::Message& message) {
    if (pool_ || message.fds.size() != 1) return fail(Code::corrupt, "the set-up is repeated or lacks its descriptor");
    WEFT_ASSIGN(protocol::ExecutorSetup setup, protocol::decode<protocol::ExecutorSetup>(message));
    WEFT_ASSIGN(page_, protocol::PositionPage::attach(message.fds.front()));
    install_crash_notes(page_);
    link_ = std::make_unique<WorkerLink>(reactor_, connection_, std::max(setup.memory_bytes, kLeastMapped));
    pool_ = std::make_unique<TaskPool>(std::move(setup), *program_, *link_,
                                       [this](protocol::Event event) { report(std::move(event)); });
    tell_traffic_in_turn();
    return {};
  }

  Result<void> provide(rpc::Message& message) {
    WEFT_ASSIGN(const protocol::Value value, protocol::decode<protocol::Value>(message));
    program_->provide(value.action, std::move(message.bulk));
    return {};
  }

  /// Task threads. Events that pile up while the reactor is busy go out in one message.
  void report(protocol::Event event) {
    std::lock_guard lock(mutex_);
    ended_.push_back(std::move(event));
    if (ended_.size() == 1) reactor_.post([this] { flush(); });
  }

  void flush() {
    std::vector<protocol::Event> events;
    {
      std::lock_guard lock(mutex_);
      events.swap(ended_);
    }
    tell_traffic();
    protocol::notify_events(*connection_, protocol::kEvents, std::move(events));
  }

  void tell_traffic() {
    auto racks = pool_->take_traffic();
    if (!racks.empty()) connection_->notify(protocol::kChunkTraffic, protocol::encode(protocol::ChunkTraffic{std::move(racks)}));
  }
  void tell_traffic_in_turn() {
    tell_traffic();
    traffic_turn_ = reactor_.after(kTrafficInterval, [this] { tell_traffic_in_turn(); });
  }

  bool unknown_noted_ = false;
  rpc::Reactor& reactor_;
  std::unique_ptr<JobProgram> program_;
  rpc::ConnectionPtr connection_;
  protocol::PositionPage page_;
  std::unique_ptr<WorkerLink> link_;
  std::unique_ptr<TaskPool> pool_;
  std::unique_ptr<rpc::Timer> traffic_turn_;
  std::mutex mutex_;
  std::vector<protocol::Event> ended_;
};

/// User code that allocates without bound gets std::bad_alloc instead of the machine's last page.
void limit_memory() {
  if (kSanitized) return;
  const char* text = std::getenv(kDataLimitVariable);
  const auto bytes = parse_number<std::uint64_t>(text != nullptr ? text : "");
  if (!bytes || *bytes == 0) return;
  const rlimit limit{*bytes, *bytes};
  setrlimit(RLIMIT_DATA, &limit);
}

/// Where memory runs out although no budget is used up, the kernel shall end an executor, since its tasks run again, and not the
/// worker, which holds the map outputs of all jobs.
void die_first_when_memory_runs_out() {
  constexpr int kPoints = 300, kMost = 1000;  // of a thousand, by which its share of the memory counts as larger
  const char* const file = "/proc/self/oom_score_adj";
  const auto text = read_file(file);
  const auto points = parse_number<int>(text ? trim(*text) : "");
  const Fd score(open(file, O_WRONLY | O_CLOEXEC));
  if (points && score.valid()) (void)write_all(score.get(), as_bytes(std::to_string(std::min(*points + kPoints, kMost))));
}

/// Every mapped segment costs a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

[[noreturn]] void sleep_until_closed() {
  for (;;) pause();
}

}  // namespace

std::optional<int> run_if_executor(const std::function<std::unique_ptr<JobProgram>()>& program) {
  const char* role = std::getenv(kRoleVariable);
  if (role == nullptr || std::string_view(role) != "executor") return std::nullopt;
  const char* number = std::getenv(kExecutorFdVariable);
  const auto fd = parse_number<int>(number != nullptr ? number : "");
  if (!fd || *fd < 0 || fcntl(*fd, F_SETFD, FD_CLOEXEC) != 0) {
    print_error("executor: WEFT_EXECUTOR_FD names no open descriptor; executors are started by workers only\n");
    return 2;
  }
  // Processes that user code starts must not take themselves for executors.
  for (const char* name : {kRoleVariable, kExecutorFdVariable}) unsetenv(name);
  end_process_on_device_faults(kExecutorGaveUp);
  log_fatal_signals(fmt::format("executor of {}", program_invocation_short_name));
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);             // a write past RLIMIT_FSIZE fails, as one to a full disk does
  setvbuf(stdout, nullptr, _IOLBF, 0);  // the log shows what tasks print when they print it, and a crash loses none of it
  raise_descriptor_limit();
  limit_memory();
  die_first_when_memory_runs_out();
  unsetenv(kDataLimitVariable);

  std::unique_ptr<JobProgram> job = program();
  if (!job) return 2;
  auto* reactor = rpc::Reactor::start("weft-executor").release();
  auto* executor = new Executor(*reactor, std::move(job));
  reactor->post([=, socket = std::make_shared<Fd>(*fd)] {
    reactor->adopt(std::move(*socket), 30s, executor->handler(), protocol::peer_limits(), [](Result<rpc::ConnectionPtr> connected) {
      if (connected) return;
      print_error("executor: {}\n", connected.error().to_string());
      _exit(2);
    });
  });
  sleep_until_closed();
}

}  // namespace weft::runtime
