// The embedded engine: the master core in the driver's thread, threads instead of workers.
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/run_directory.hpp"
#include "engine/client/crash_guard.hpp"
#include "engine/client/embedded_slots.hpp"
#include "engine/client/job_page.hpp"
#include "engine/client/machine.hpp"
#include "engine/client/progress.hpp"
#include "engine/client/session.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/master/core/expectations.hpp"
#include "engine/master/driver/core_driver.hpp"
#include "engine/master/scheduling/catalogue.hpp"
#include "schedulers/builtin.hpp"
#include "storage/files/job_files.hpp"

namespace weft::client {

namespace {

constexpr JobId kJob{1};
constexpr NodeId kNode{1};
constexpr Duration kWait = std::chrono::milliseconds(100);       // at most between two looks at timeouts and progress
constexpr Duration kStopGrace = std::chrono::seconds(2);         // for a task that was asked to stop
constexpr Duration kSchedulerTimeout = std::chrono::seconds(5);  // of a call of one that is not weft's own
constexpr Duration kPatience = std::chrono::seconds(2);          // for all tasks at the end
constexpr std::uint64_t kSmallestTaskMemory = std::uint64_t{4} << 20;

class EmbeddedSession final : public Session, private master::CoreDriver::BackEnd {
 public:
  EmbeddedSession(const RunOptions& options, std::shared_ptr<const scheduling::Catalogue> catalogue, scheduling::Files files,
                  RunDirectory directory, std::shared_ptr<Slots> slots, schedulers::Resources capacity)
      : options_(options),
        directory_(std::move(directory)),
        slots_(std::move(slots)),
        capacity_(capacity),
        scheduler_files_(std::move(files)),
        guard_(slots_->mailbox().fd()),
        progress_(options.job_name, options.quiet),
        started_(SystemClock().now()) {
    driver_.observe_with(observer_);
    driver_.begin(std::make_unique<master::Core>(schedulers::make_scheduler("fifo").value(),
                                                 master::CoreOptions{.heartbeat_timeout = master::Time(0)},
                                                 scheduling::Catalogue::factory(catalogue)),
                  catalogue->has_plugins() ? std::optional(kSchedulerTimeout) : std::nullopt);
  }

  ~EmbeddedSession() override {
    const bool crashed = CrashGuard::crash().task != nullptr;
    if (slots_->finish(crashed ? Duration(0) : kPatience)) return;
    // A user function does not return. Its thread cannot be ended, so the process must end before static destructors run.
    std::atexit([] { ::_exit(EXIT_FAILURE); });
  }

  Result<void> begin() {
    if (!options_.http.empty()) WEFT_TRY(show());
    slots_->start();
    WEFT_TRY(apply(master::SchedulerConfigured{options_.scheduler, std::move(scheduler_files_)}));
    master::WorkerJoined node;
    node.node = kNode;
    node.name = "this process";
    node.host = machine_name();
    node.rack = "default";
    node.capacity = capacity_;
    WEFT_TRY(apply(std::move(node)));
    master::JobOptions job = options_.job;
    if (job.user.empty()) job.user = user_name();
    job.shuffle_replicas.reset();  // there is one node
    WEFT_ASSIGN(auto submitted, master::submission(kJob, options_.job_name, std::move(job), now()));
    return apply(std::move(submitted));
  }

  Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) override {
    const ActionId action = part.action;
    finished_.reset();
    WEFT_TRY(apply(master::PlanExtended{kJob, std::move(part)}));
    const Undisturbed undisturbed(progress_);
    while (!finished_ && !failed_) {
      for (master::Event& event : slots_->mailbox().take(next_wait())) {
        if (auto applied = apply(std::move(event)); !applied && failed_) break;
      }
      WEFT_TRY(check_crash());
      if (stop_.requested()) return fail(Code::cancelled, "stopped by a signal; no output was written");
      WEFT_TRY(check_stops());
      fire_timers();
      if (const TimePoint now = SystemClock().now(); progress_.due(now)) progress_.update(now, status());
    }
    if (failed_) return fail(*failed_);
    if (finished_->action != action) return fail(Code::internal, "the core finished another action than the one asked for");
    return std::move(finished_->results);
  }

  Result<void> record(ActionId, ByteView) override { return {}; }  // nothing replays this process's definition

  Result<void> close() override {
    progress_.finish(SystemClock().now(), status());
    return apply(master::JobClosed{kJob});
  }

  master::JobStatus status() override {
    if (driver_.ended()) return {};
    auto job = driver_.core().job(kJob);
    if (!job) return {};
    (void)expectations_.add(driver_.core(), now(), *job);  // progress says it
    return std::move(*job);
  }
  std::uint32_t parallelism() override { return static_cast<std::uint32_t>(capacity_.cpu); }
  Executors executors() override { return executors_of(options_); }

 private:
  master::Time now() const override { return SystemClock().now() - started_; }

  /// The page reads a log of what happens here.
  Result<void> show() {
    const std::string path = directory_.path() / "events";
    WEFT_ASSIGN(auto log, master::EventLog::open(path, now(), options_.scheduler, {.bytes = 0, .period = Duration(0)}));
    driver_.log_to(std::move(log));
    WEFT_ASSIGN(page_, JobPage::start(options_.http, path));
    tell_page(options_.job_name, *page_, options_.quiet);
    return {};
  }

  /// Refused events are late news of fenced attempts; nothing else can be refused here but a plan.
  Result<void> apply(master::Event event) { return driver_.apply(std::move(event)); }

  void carry_out(master::Command& command) override {
    std::visit([this](auto& what) { carry_out(what); }, command);
  }
  void stuck(const Error& why) override { failed_ = why; }
  /// Once: a scheduler that fails may fail at every event.
  void scheduler_failed(const master::SchedulerFaults& faults) override {
    if (!std::exchange(fault_reported_, true)) Log("driver").error("{}", faults.fault);
  }
  /// A disk that is full costs the page what comes, not the job.
  void log_failed(const Error& why) override { Log("driver").warn("{}", why.to_string()); }

  void carry_out(master::LaunchTask& launch) { slots_->launch(std::move(launch)); }
  void carry_out(const master::KillTask& kill) { slots_->stop(kill.attempt); }
  void carry_out(master::ShuffleLocations& table) {
    shuffle::KnownOutputs known{*table.outputs, table.maps, *table.written, {}};
    if (known.maps == 0) known.make_index();
    slots_->set_outputs(table.shuffle, std::move(known));
  }
  void carry_out(master::ShuffleExtended& more) { slots_->add_output(more.shuffle, more.output, std::move(more.written)); }
  void carry_out(const master::PrefetchShuffle&) {}                       // all of it is here
  void carry_out(const master::ReplicateOutput&) { WEFT_ASSERT(false); }  // there is one node only
  void carry_out(const master::OutputMoved&) {}
  void carry_out(const master::StageRolledBack&) {}
  void carry_out(const master::ReleaseShuffle& release) { slots_->release(release.job, release.shuffle); }
  void carry_out(const master::ReleaseJob& release) { slots_->store().release(release.job); }
  void carry_out(master::ActionFinished& action) { finished_ = std::move(action); }
  void carry_out(const master::JobFailed& failure) { failed_ = failure.error; }
  void carry_out(const master::NodeLost&) {}
  void carry_out(const master::JobFinished&) {}
  void carry_out(const master::SetTimer& timer) { timers_.emplace(timer.at, timer.timer); }

  Duration next_wait() const {
    if (timers_.empty()) return kWait;
    return std::clamp<Duration>(timers_.begin()->first - now(), Duration(0), kWait);
  }

  void fire_timers() {
    while (!timers_.empty() && timers_.begin()->first <= now()) {
      const auto timer = timers_.begin()->second;
      timers_.erase(timers_.begin());
      (void)apply(master::TimerFired{timer});
    }
  }

  Result<void> check_crash() {
    const CrashGuard::Crash crash = CrashGuard::crash();
    if (crash.task == nullptr) return {};
    std::string position;
    if (crash.task->position_path != nullptr)
      position = fmt::format(" (reading {} at byte {})", crash.task->position_path, crash.task->position_offset);
    return fail(
        Code::user_code,
        fmt::format("a user function of stage {} task {} crashed with signal {} ({}){}; --workers 1 isolates crashes and retries",
                    slots_->stage_name(crash.task->attempt), crash.task->attempt.task.index, crash.signal,
                    ::sigdescr_np(crash.signal), position));
  }

  Result<void> check_stops() {
    const auto overdue = slots_->check_stops(SystemClock().now(), kStopGrace);
    if (!overdue) return {};
    const std::string why =
        overdue->limit ? fmt::format("ran longer than --task-timeout {}s", std::chrono::duration<double>(*overdue->limit).count())
                       : std::string("was preempted");
    return fail(Code::deadline_exceeded, fmt::format("stage {} task {} {} and does not stop{}; --workers 1 can kill and retry it",
                                                     overdue->stage_name, overdue->attempt.task.index, why, overdue->position));
  }

  const RunOptions options_;
  const RunDirectory directory_;
  const std::shared_ptr<Slots> slots_;
  const schedulers::Resources capacity_;
  scheduling::Files scheduler_files_;
  profiles::History history_;  // of this run: the rounds of a loop are like those before
  profiles::Observer observer_{history_};
  master::CoreDriver driver_{*this};
  bool fault_reported_ = false;  // of the scheduler
  const CrashGuard guard_;
  const StopSignal stop_;
  Progress progress_;
  master::Expectations expectations_;
  const TimePoint started_;
  std::multimap<master::Time, std::uint64_t> timers_;
  std::optional<master::ActionFinished> finished_;
  std::optional<Error> failed_;
  std::unique_ptr<JobPage> page_;
};

std::uint64_t budget_of(const RunOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes : default_memory_budget();
}

/// A slot for each core; fewer if the memory is not enough for their tasks.
std::uint32_t slots_within(std::uint64_t budget) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(budget / 2 / kSmallestTaskMemory, 1, available_cores()));
}

}  // namespace

std::shared_ptr<storage::RemoteFiles> files_of(const RunOptions& options) {
  return storage::files::job_files({.master = master_of_files(options),
                                    .user = options.job.user,
                                    .directory = options.temporary_directory,
                                    .at_first = options.patience});
}

std::string master_of_files(const RunOptions& options) {
  if (!options.files.empty()) return options.files;
  if (!options.cluster.empty()) return options.cluster;
  const char* master = std::getenv("WEFT_MASTER");
  return master != nullptr ? master : "";
}

std::uint64_t worker_budget(const RunOptions& options) {
  return options.memory_bytes > 0 ? options.memory_bytes : default_memory_budget() * 2 / options.workers;
}

Executors executors_of(const RunOptions& options) {
  constexpr std::uint64_t kUsual = std::uint64_t{1} << 30;  // a worker of a machine of 4 GiB
  if (!options.cluster.empty() || options.driver_of) return {1, options.memory_bytes > 0 ? options.memory_bytes : kUsual};
  if (options.workers == 0) return {1, budget_of(options) / 2};
  return {options.workers, worker_budget(options) / 2};
}

Result<std::unique_ptr<Session>> open_embedded(const RunOptions& options, runtime::JobProgram& program) {
  WEFT_ASSIGN(const auto catalogue, scheduling::Catalogue::open(options.scheduler_plugins));
  WEFT_ASSIGN(scheduling::Files files, scheduling::Catalogue::check(catalogue, options.scheduler, kSchedulerTimeout));
  WEFT_ASSIGN(auto directory, RunDirectory::create("run", options.temporary_directory));
  const std::uint64_t budget = budget_of(options);
  const std::uint32_t count = options.threads > 0 ? options.threads : slots_within(budget);
  bound_private_memory(budget);
  // Half for what tasks hold, half for what they hand to each other.
  WEFT_ASSIGN(auto store, shuffle::Store::open((directory.path() / "shuffle").string(), budget / 2, count));
  Slots::Settings settings;
  settings.shuffle_mode = options.job.shuffle_mode.value_or(shuffle::Mode::memory);
  settings.count = count;
  settings.memory_per_task = std::max(budget / 2 / count, kSmallestTaskMemory);
  settings.spill_directory = directory.path().string();
  settings.node = kNode;
  settings.files = files_of(options);
  auto slots = std::make_shared<Slots>(std::move(settings), std::move(store), program);
  const schedulers::Resources capacity{.cpu = static_cast<double>(count), .memory = static_cast<double>(budget)};
  auto session =
      std::make_unique<EmbeddedSession>(options, catalogue, std::move(files), std::move(directory), std::move(slots), capacity);
  WEFT_TRY(session->begin());
  return std::unique_ptr<Session>(std::move(session));
}

}  // namespace weft::client
