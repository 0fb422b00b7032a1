#include "runtime/worker/job.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/core.h>

#include "base/attributes.hpp"
#include "runtime/worker/binary_cache.hpp"
#include "runtime/worker/isolation.hpp"
#include "runtime/worker/job_accounts.hpp"
#include "runtime/worker/worker_devices.hpp"
#include "storage/files/job_files.hpp"

namespace weft::runtime {

std::string WorkerContext::log_path(JobId job) const { return fmt::format("{}/logs/job-{}.log", directory, job.value()); }
std::string WorkerContext::driver_log_path(JobId job) const {
  return fmt::format("{}/logs/job-{}.driver.log", directory, job.value());
}
std::string WorkerContext::job_directory(JobId job) const { return fmt::format("{}/jobs/{}", directory, job.value()); }

void WorkerContext::remove_directory(const std::string& path) {
  std::string gone = fmt::format("{}.gone-{}", path, ++next_removed);
  std::error_code error;
  std::filesystem::rename(path, gone, error);
  if (error) return;
  removals.post([gone = std::move(gone)] {
    std::error_code ignored;
    std::filesystem::remove_all(gone, ignored);
  });
}

namespace {

/// Of tasks that take less than a slot, more run at a time.
std::uint32_t slots_for(double task_cpu, std::uint32_t slots) {
  constexpr double kMost = 4096;
  if (!(task_cpu > 0 && task_cpu < 1)) return slots;
  return static_cast<std::uint32_t>(std::clamp(std::floor(slots / task_cpu + 1e-9), 1.0, kMost));
}

bool is_for_devices(const std::string& variant) { return variant.substr(0, variant.find('=')) == kAcceleratorAttribute; }

}  // namespace

WorkerJob::WorkerJob(WorkerContext& worker, protocol::JobSetup setup)
    : worker_(worker),
      setup_(std::move(setup)),
      task_slots_(slots_for(setup_.task_cpu, worker.options.slots)),
      shuffle_(worker, setup_.job, setup_.shuffle_mode, task_slots_) {}

std::optional<ProgramId> WorkerJob::program() const {
  if (setup_.same_binary) return std::nullopt;
  return ProgramId{setup_.binary, setup_.user};
}

void WorkerJob::prepare() {
  if (std::exchange(preparing_, true)) return;
  if (isolation_) return fetch();
  worker_.accounts->find(setup_.user, [weak = weak_from_this()](Result<std::optional<Account>> account) {
    const auto self = weak.lock();
    if (!self || self->ended_) return;
    if (account) return self->isolate(*std::move(account));
    self->prepared(fail(std::move(account).error()));
  });
}

void WorkerJob::isolate(std::optional<Account> account) {
  const std::string directory = worker_.job_directory(setup_.job);
  worker_.remove_directory(directory);  // of the same job, which was ended here before, or could not be prepared
  auto isolation = worker_.isolation->isolate({.name = fmt::format("{}-{}", setup_.job.value(), worker_.next_isolated++),
                                               .directory = directory,
                                               .account = std::move(account),
                                               .task_slots = task_slots_,
                                               .memory_bytes = data_limit(executor_setup())});
  if (!isolation) return prepared(fail(std::move(isolation).error()));
  isolation_ = *std::move(isolation);
  fetch();
}

void WorkerJob::fetch() {
  const auto fetched = program();
  if (!fetched) return prepared("/proc/self/exe");
  worker_.binaries->get(*fetched, [weak = weak_from_this()](const Result<std::string>& path) {
    if (const auto self = weak.lock()) self->prepared(path);
  });
}

void WorkerJob::prepared(const Result<std::string>& path) {
  preparing_ = false;
  std::vector<protocol::Launch> launches = std::exchange(waiting_, {});
  if (!path) return refuse(std::move(launches), path.error().to_string());
  binary_path_ = *path;
  launch(std::move(launches));
}

void WorkerJob::refuse(std::vector<protocol::Launch> launches, const std::string& why) {
  std::vector<protocol::Event> events;
  for (const protocol::Launch& launch : launches)
    events.push_back({.attempt = launch.attempt, .kind = TaskEnd::environment, .message = why});
  if (!events.empty()) worker_.report(std::move(events));
}

ExecutorStart WorkerJob::executor_start(Place place) const {
  ExecutorStart start;
  start.path = binary_path_;
  start.arguments = setup_.arguments;
  start.arguments.insert(start.arguments.begin(), setup_.program);
  start.directory = setup_.directory;
  start.log_path = worker_.log_path(setup_.job);
  start.stop_grace = worker_.options.stop_grace;
  storage::files::JobFilesOptions files;
  files.directory = worker_.job_directory(setup_.job);
  if (!worker_.options.private_cluster) {  // there executors inherit what their driver knows
    files.master = worker_.options.master;
    files.host = worker_.options.name;
    files.user = setup_.user;
  }
  start.environment = storage::files::environment_of(files);
  const auto devices = worker_.devices->environment(place);
  start.environment.insert(start.environment.end(), devices.begin(), devices.end());
  start.isolation = isolation_;
  start.racks = worker_.racks;
  start.setup = executor_setup();
  if (place) {
    start.setup.memory_bytes /= std::max(task_slots_, 1u);
    start.setup.slots = 1;
    start.limits_data = false;
  }
  return start;
}

protocol::ExecutorSetup WorkerJob::executor_setup() const {
  protocol::ExecutorSetup setup;
  setup.rack = worker_.racks->rack();
  setup.job = setup_.job;
  setup.node = worker_.outputs.self;
  setup.slots = task_slots_;
  setup.memory_bytes = setup_.memory_bytes > 0 ? setup_.memory_bytes : worker_.options.memory_bytes;
  setup.spill_directory = worker_.job_directory(setup_.job);
  const bool other_user = isolation_ && isolation_->account();  // the store's directory is closed to him
  setup.segment_directory = other_user ? setup.spill_directory : worker_.store->directory();
  return setup;
}

void WorkerJob::launch(std::vector<protocol::Launch> launches) {
  if (launches.empty() || ended_) return;
  if (lacks_program(launches)) {
    std::move(launches.begin(), launches.end(), std::back_inserter(waiting_));
    return prepare();  // again, if that failed: a full disk may have room by now
  }
  std::map<Place, std::vector<protocol::Launch>> by_place;
  for (protocol::Launch& launch : launches) {
    if (waits_for_device(launch)) {
      waiting_.push_back(std::move(launch));
      continue;
    }
    const auto place = place_of(launch);
    if (place)
      by_place[*place].push_back(std::move(launch));
    else
      refuse({std::move(launch)}, place.error().to_string());
  }
  for (auto& [place, of_place] : by_place) launch_on(place, std::move(of_place));
}

/// The program was not fetched yet, or its file was removed since and one of these may need an executor that does not run yet.
bool WorkerJob::lacks_program(const std::vector<protocol::Launch>& launches) const {
  if (binary_path_.empty()) return true;
  if (const auto needed = program(); !needed || worker_.binaries->has(*needed)) return false;
  const bool runs = executors_.contains(Place());
  return std::any_of(launches.begin(), launches.end(), [runs](const auto& launch) { return launch.device || !runs; });
}

void WorkerJob::launch_waiting() { launch(std::exchange(waiting_, {})); }

/// The master gives a device away as soon as it has killed the attempt that held it, which takes a moment to end.
bool WorkerJob::waits_for_device(const protocol::Launch& launch) const {
  return launch.needs_device && worker_.devices->all_held();
}

Result<WorkerJob::Place> WorkerJob::place_of(protocol::Launch& launch) {
  if (!launch.device) return Place();
  if (const Place place = worker_.devices->take(launch.attempt)) return place;
  if (!launch.needs_device) {
    std::erase_if(launch.spec.variants, is_for_devices);
    return Place();
  }
  return fail(Code::unavailable, "no device of this worker works");
}

void WorkerJob::launch_on(Place place, std::vector<protocol::Launch> launches) {
  const auto executor = executor_on(place);
  if (!executor) {
    for (const protocol::Launch& launch : launches) worker_.devices->give_back(launch.attempt);
    if (place) worker_.on_device_back();
    return refuse(std::move(launches), executor.error().to_string());
  }
  for (protocol::Launch& launch : launches) shuffle_.begin(launch);
  (*executor)->launch({std::move(launches)});
}

Result<ExecutorProcess*> WorkerJob::executor_on(Place place) {
  if (const auto found = executors_.find(place); found != executors_.end()) return found->second.get();
  WEFT_ASSIGN(auto started, ExecutorProcess::start(worker_.reactor, executor_start(place), callbacks_on(place)));
  worker_.log.info("job {}: started executor {} of {}{}", setup_.job.value(), started->pid(), setup_.name,
                   place ? " on device " + (*worker_.devices)[*place].label : "");
  for (const auto& [action, value] : values_) started->provide(action, value);
  return executors_.emplace(place, std::move(started)).first->second.get();
}

ExecutorProcess::Callbacks WorkerJob::callbacks_on(Place place) {
  ExecutorProcess::Callbacks callbacks;
  callbacks.on_events = [this, place](std::vector<protocol::Event> events) { on_events(place, std::move(events)); };
  callbacks.on_request = [this](rpc::Message message, rpc::Responder responder) {
    shuffle_.on_request(std::move(message), std::move(responder));
  };
  callbacks.on_stop = [this](const AttemptId& attempt) { shuffle_.stop_waiting(attempt); };
  callbacks.waited = [this](const AttemptId& attempt) { return shuffle_.waited(attempt); };
  callbacks.on_gone = [this, place] { on_gone(place); };
  return callbacks;
}

/// A crash on a device may be the driver's.
void WorkerJob::on_events(Place place, std::vector<protocol::Event> events) {
  bool crashed = false;
  for (protocol::Event& event : events) {
    shuffle_.end(event.attempt);
    event.device = place.has_value();
    if (place) worker_.devices->give_back(event.attempt);
    crashed = crashed || event.kind == TaskEnd::crashed;
  }
  if (place) worker_.on_device_back();
  if (place && crashed) worker_.on_device_crash(*place);
  if (reports_) worker_.report(std::move(events));
}

/// Called from within the executor: it is destroyed when it has returned.
void WorkerJob::on_gone(Place place) {
  const auto gone = executors_.find(place);
  worker_.reactor.post([executor = std::shared_ptr<ExecutorProcess>(std::move(gone->second))] {});
  executors_.erase(gone);
  worker_.on_process_gone();
  if (on_end_ && executors_.empty()) worker_.reactor.post(std::exchange(on_end_, nullptr));
}

void WorkerJob::provide(ActionId action, SharedBytes value) {
  const auto [place, fresh] = values_.try_emplace(action, std::move(value));
  if (!fresh) return;
  for (const auto& [on, executor] : executors_) executor->provide(action, place->second);
}

void WorkerJob::kill(const protocol::KillTask& kill) {
  for (const auto& [place, executor] : executors_) executor->kill(kill.attempt, kill.reason);
  const auto waits = std::erase_if(waiting_, [&](const auto& launch) { return launch.attempt == kill.attempt; });
  if (waits == 0) return;
  std::vector<protocol::Event> events;
  events.push_back({.attempt = kill.attempt, .kind = TaskEnd::killed, .message = kill.reason});
  worker_.report(std::move(events));
}

void WorkerJob::release(ShuffleId shuffle) {
  shuffle_.release(shuffle);
  for (const auto& [place, executor] : executors_) executor->forget(shuffle);
}

void WorkerJob::end(std::function<void()> done) {
  ended_ = true;
  waiting_.clear();
  shuffle_.end_job();
  if (executors_.empty()) return worker_.reactor.post(std::move(done));
  on_end_ = std::move(done);
  // end() may call on_gone() at once, which erases the executor.
  std::vector<ExecutorProcess*> all;
  for (const auto& [place, executor] : executors_) all.push_back(executor.get());
  for (ExecutorProcess* executor : all) executor->end();
}

std::vector<AttemptId> WorkerJob::attempts() const {
  std::vector<AttemptId> attempts;
  for (const auto& [place, executor] : executors_) {
    const auto of_executor = executor->attempts();
    attempts.insert(attempts.end(), of_executor.begin(), of_executor.end());
  }
  for (const protocol::Launch& launch : waiting_) attempts.push_back(launch.attempt);
  return attempts;
}

std::vector<pid_t> WorkerJob::executor_pids() const {
  std::vector<pid_t> pids;
  for (const auto& [place, executor] : executors_)
    if (const pid_t pid = executor->pid(); pid > 0) pids.push_back(pid);
  return pids;
}

void WorkerJob::check() {
  std::vector<ExecutorProcess*> all;  // one that is gone is erased
  for (const auto& [place, executor] : executors_) all.push_back(executor.get());
  for (ExecutorProcess* executor : all) executor->check();
}

}  // namespace weft::runtime
