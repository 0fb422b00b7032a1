// --workers N: a master in the driver and N worker processes of the same program, which end with the driver, whatever ends it.
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/run_directory.hpp"
#include "engine/client/cluster_session.hpp"
#include "engine/client/job_page.hpp"
#include "engine/client/machine.hpp"
#include "engine/client/roles.hpp"
#include "engine/master/server/server.hpp"
#include "runtime/worker/executor_process.hpp"
#include "runtime/worker/spawn.hpp"
#include "storage/files/job_files.hpp"

namespace weft::client {

namespace {

constexpr Duration kEndPatience = std::chrono::seconds(6);
constexpr std::uint32_t kMostWorkers = 256;

struct Child {
  pid_t pid = -1;  // -1: reaped
  int status = 0;
  std::string name;
  std::string log_path;
};

/// Whether connections of newcomers are refused, those of workers too.
bool descriptors_are_short() {
  const Fd next(::dup(STDERR_FILENO));
  return !next.valid() || next.get() >= rpc::first_reserved_descriptor();
}

class PrivateCluster {
 public:
  static Result<std::unique_ptr<PrivateCluster>> start(const RunOptions& options) {
    if (options.workers == 0 || options.workers > kMostWorkers)
      return fail(Code::invalid_argument, fmt::format("--workers takes a number from 1 to {}", kMostWorkers));
    WEFT_ASSIGN(RunDirectory directory, RunDirectory::create("private", options.temporary_directory));
    std::unique_ptr<PrivateCluster> cluster(new PrivateCluster(options, std::move(directory)));
    WEFT_TRY(cluster->begin());
    return cluster;
  }

  ~PrivateCluster() {
    server_.reset();  // on which the workers end
    const TimePoint deadline = SystemClock().now() + kEndPatience;
    for (Child& child : children_) {
      while (child.pid > 0 && !reap(child)) {
        if (SystemClock().now() > deadline) ::kill(child.pid, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    spawner_->stop();
  }

  const std::string& address() const { return server_->address(); }
  Executors executors() const { return executors_of(options_); }
  std::uint32_t slots() const { return slots_ * static_cast<std::uint32_t>(children_.size()); }

  /// A worker that was killed is replaced, a few times; one that gives up is an error until all were up once.
  Result<void> check() {
    std::size_t alive = 0;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      if (child.pid > 0 && !reap(child)) {
        ++alive;
      } else if (WIFSIGNALED(child.status) && replacements_ > 0) {
        --replacements_;
        Result<Child> started;
        spawner_->run([&] { started = spawn_worker(++last_number_); });
        if (!started) return fail(std::move(started).error());
        child = std::move(*started);
        ++alive;
      } else if (!complete_) {
        const std::string line = runtime::last_line(child.log_path, 0);
        const bool refused = child.status == 0 && descriptors_are_short();
        return fail(Code::unavailable,
                    fmt::format("{} of the private cluster did not start ({}){}{}", child.name,
                                refused ? "this process has too few descriptors for open files; raise the limit, ulimit -n"
                                        : runtime::describe_exit(child.status),
                                line.empty() ? "" : ": ", line));
      }
    }
    if (alive == 0) return fail(Code::unavailable, "all workers of the private cluster died");
    return {};
  }
  void set_complete() { complete_ = true; }

 private:
  PrivateCluster(RunOptions options, RunDirectory directory)
      : options_(std::move(options)), directory_(std::move(directory)), spawner_(rpc::Reactor::start("weft-spawner")) {}

  Result<void> begin() {
    master::ServerOptions server;
    server.listen = "127.0.0.1:0";
    server.scheduler = options_.scheduler;
    server.scheduler_plugins = options_.scheduler_plugins;
    server.directory = directory_.path() / "master";
    if (!options_.http.empty()) server.event_log = directory_.path() / "events";
    server.log_rotation = {.bytes = 0, .period = Duration(0)};
    const std::string log = server.event_log;
    WEFT_ASSIGN(server_, master::Server::start(std::move(server)));
    if (!log.empty()) {
      WEFT_ASSIGN(page_, JobPage::start(options_.http, log));
      tell_page(options_.job_name, *page_, options_.quiet);
    }
    slots_ = options_.threads > 0 ? options_.threads : std::max(1U, available_cores() / options_.workers);
    Result<void> spawned;
    // From a thread that lives as long as the cluster: children die with the thread that started them.
    spawner_->run([&] {
      while (spawned && children_.size() < options_.workers) {
        auto child = spawn_worker(++last_number_);
        if (child)
          children_.push_back(std::move(*child));
        else
          spawned = fail(std::move(child).error());
      }
    });
    return spawned;
  }

  Result<Child> spawn_worker(std::uint32_t number) {
    // As in the embedded engine, half for what tasks hold and half for what they hand to each other.
    const std::uint64_t budget = worker_budget(options_);
    Child child{-1, 0, fmt::format("worker-{}", number), directory_.path() / fmt::format("worker-{}.log", number)};
    const Fd log(::open(child.log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    if (!log.valid()) return fail(errno_error("cannot write " + child.log_path, errno));
    runtime::SpawnOptions spawn;
    spawn.path = "/proc/self/exe";
    spawn.arguments = {fmt::format("{} (weft {})", options_.job_name, child.name)};
    spawn.environment = worker_environment({
        fmt::format("worker.master={}", server_->address()),
        fmt::format("worker.name={}", child.name),
        fmt::format("worker.slots={}", slots_),
        fmt::format("worker.memory={}", budget / 2),
        fmt::format("worker.store={}", budget / 2),
        fmt::format("worker.directory={}", (directory_.path() / child.name).string()),
    });
    for (std::string& variable : storage::files::environment_of({master_of_files(options_), {}, options_.job.user, {}}))
      spawn.environment.push_back(std::move(variable));  // its executors inherit it
    spawn.output = log.get();
    spawn.own_group = true;
    WEFT_ASSIGN(child.pid, runtime::spawn(spawn));
    return child;
  }

  static bool reap(Child& child) {
    if (::waitpid(child.pid, &child.status, WNOHANG) == 0) return false;
    child.pid = -1;
    return true;
  }

  const RunOptions options_;
  RunDirectory directory_;
  std::unique_ptr<rpc::Reactor> spawner_;
  std::unique_ptr<master::Server> server_;
  std::unique_ptr<JobPage> page_;  // null: none is wanted
  std::vector<Child> children_;
  std::uint32_t slots_ = 1;  // of each worker
  std::uint32_t last_number_ = 0;
  std::uint32_t replacements_ = 8;
  bool complete_ = false;
};

/// The job's session, and the cluster that goes away after it.
class PrivateSession final : public Session {
 public:
  PrivateSession(std::unique_ptr<PrivateCluster> cluster, std::unique_ptr<Session> session)
      : cluster_(std::move(cluster)), session_(std::move(session)) {}

  Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) override { return session_->run(std::move(part)); }
  Result<void> record(ActionId action, ByteView value) override { return session_->record(action, value); }
  Result<void> close() override { return session_->close(); }
  master::JobStatus status() override { return session_->status(); }
  std::uint32_t parallelism() override { return session_->parallelism(); }
  Executors executors() override { return cluster_->executors(); }

 private:
  std::unique_ptr<PrivateCluster> cluster_;
  std::unique_ptr<Session> session_;
};

}  // namespace

Result<std::unique_ptr<Session>> open_private_cluster(const RunOptions& options) {
  WEFT_ASSIGN(auto cluster, PrivateCluster::start(options));
  WEFT_ASSIGN(auto master, rpc::Endpoint::parse(cluster->address()));
  ClusterSessionOptions settings{std::move(master), true, cluster->slots(), [at = cluster.get()] { return at->check(); }};
  RunOptions job = options;
  job.memory_bytes = 0;  // the workers know
  WEFT_ASSIGN(auto session, open_cluster_session(job, std::move(settings)));
  cluster->set_complete();
  return std::unique_ptr<Session>(std::make_unique<PrivateSession>(std::move(cluster), std::move(session)));
}

}  // namespace weft::client
