#include "runtime/worker/worker.hpp"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.hpp"
#include "base/directory_claim.hpp"
#include "base/fatal_signal.hpp"
#include "base/file.hpp"
#include "base/machine.hpp"
#include "base/private_directory.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/run_directory.hpp"
#include "base/unguessable.hpp"
#include "runtime/worker/binary_cache.hpp"
#include "runtime/worker/capacity_files.hpp"
#include "runtime/worker/departure.hpp"
#include "runtime/worker/file_search.hpp"
#include "runtime/worker/isolation.hpp"
#include "runtime/worker/job.hpp"
#include "runtime/worker/job_accounts.hpp"
#include "runtime/worker/kept_logs.hpp"
#include "runtime/worker/measurements.hpp"
#include "runtime/worker/orphans.hpp"
#include "runtime/worker/registration.hpp"
#include "runtime/worker/worker_devices.hpp"
#include "runtime/worker/worker_drivers.hpp"

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kLogsKept = 100;
constexpr std::uint64_t kMostProgramBytes = std::uint64_t{4} << 30;  // more are kept only while they are in use
constexpr std::uint64_t kMostLogBytes = 4u << 20;
constexpr auto kEndDeadline = 5s;
constexpr auto kOrphansInterval = 2ms;
constexpr int kOrphansLooks = 2500;  // then the worker complains, and looks again when the next process has gone

/// The end of a file, at most `most` bytes; empty when there is no file.
Buffer tail(const std::string& path, std::uint64_t most) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info {};
  if (!file.valid() || fstat(file.get(), &info) != 0) return {};
  const auto size = static_cast<std::uint64_t>(info.st_size);
  Buffer text(std::min(size, most));
  const ssize_t got = pread(file.get(), text.data(), text.size(), static_cast<off_t>(size - text.size()));
  text.truncate(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

class WorkerImpl final : public Worker {
 public:
  WorkerImpl(WorkerOptions options, WorkerDevices devices)
      : devices_(std::move(devices)),
        background_(rpc::Reactor::start("weft-background")),
        removals_(rpc::Reactor::start("weft-removals")),
        reactor_(rpc::Reactor::start("weft-worker", options.security)),
        context_{*reactor_, *background_, *removals_, std::move(options), {}},
        capacity_files_(context_.options.capacity_from, context_.options.forecast) {}

  ~WorkerImpl() override {
    end_everything();
    reactor_->run([this] {
      departure_.reset();
      if (link_) link_->close();
      link_.reset();
      if (data_) data_->close();
      chunks_.reset();
      jobs_.clear();
      ending_.clear();
      drivers_.reset();
      files_.reset();
      accounts_.reset();
      end_orphans(0);
      binaries_.reset();
      data_.reset();
    });
    reactor_->stop();
    background_->stop();  // what was posted to them may hold room in the store, which goes last
    removals_->stop();
    if (chunk_chores_) chunk_chores_->stop();
  }

  Result<void> begin() {
    rpc::raise_descriptor_limit();
    if (context_.options.own_process) adopt_orphans();
    WEFT_TRY(prepare_directories());
    WEFT_ASSIGN(store_, shuffle::Store::open(context_.directory + "/store", context_.options.store_bytes, context_.options.slots));
    context_.store = store_.get();
    WEFT_TRY(isolation_->prepare());
    context_.devices = &devices_;
    WEFT_ASSIGN(const rpc::Endpoint master, rpc::Endpoint::parse_list(context_.options.master));
    Result<void> began;
    reactor_->run([&] { began = begin_serving(master); });
    return began;
  }

  const std::string& data_address() const override { return data_address_; }

  Error wait() override {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return end_.has_value(); });
    return *end_;
  }
  void stop() override { finish(Error(Code::cancelled, "stopped")); }
  void drain(Duration longest) override {
    reactor_->post([this, longest] {
      if (departure_ || !link_) return;
      Departure::Steps steps{
          [this] {
            link_->report(protocol::Leaving{chunks_ != nullptr, context_.options.drain_chunks == kDrainChunksSole});
          },
          [this] { stop(); }};
      departure_ = std::make_unique<Departure>(*reactor_, longest, link_->registered(), std::move(steps));
    });
  }

 private:
  Result<void> prepare_directories() {
    if (context_.options.directory.empty()) {
      WEFT_ASSIGN(RunDirectory made, RunDirectory::create("worker"));
      temporary_.emplace(std::move(made));
      context_.directory = temporary_->path();
    } else {
      context_.directory = std::filesystem::absolute(context_.options.directory);
    }
    std::error_code error;
    std::filesystem::create_directories(context_.directory, error);  // or one that the user made, and shares
    if (error) return fail(Code::io, fmt::format("cannot create {}: {}", context_.directory, error.message()));
    if (!temporary_) {
      WEFT_TRY(keep_others_from_writing(context_.directory));
      WEFT_ASSIGN(directory_claim_, claim_directory(context_.directory, "worker"));
    }
    // What jobs of an earlier worker still do here ends first.
    isolation_ = std::make_unique<WorkerIsolation>(context_.options, *background_, context_.directory);
    context_.isolation = isolation_.get();
    WEFT_TRY(clear_jobs());
    for (const char* name : {"/jobs", "/logs", "/binaries"}) WEFT_TRY(make_private_directory(context_.directory + name));
    logs_.emplace(context_, kLogsKept);
    return {};
  }

  /// Of an earlier worker. A process that still writes there must not reach what this one makes.
  Result<void> clear_jobs() {
    const std::string jobs = context_.directory + "/jobs", left = jobs + ".left-";
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(context_.directory, error)) {
      std::error_code ignored;
      if (entry.path().native().starts_with(left)) std::filesystem::remove_all(entry.path(), ignored);
    }
    std::filesystem::remove_all(jobs, error);
    if (!error) return {};
    const std::string aside = fmt::format("{}{}", left, unguessable_number());
    std::error_code moved;
    std::filesystem::rename(jobs, aside, moved);
    if (moved)
      return fail(Code::io, fmt::format("cannot remove {}, which an earlier worker left: {}; end the processes that use it", jobs,
                                        error.message()));
    context_.log.warn("what jobs of an earlier worker left is in {} now, because it cannot be removed: {}", aside, error.message());
    return {};
  }

  Result<void> begin_serving(const rpc::Endpoint& master) {
    WEFT_ASSIGN(data_, DataPlane::open(*reactor_, *background_, *store_, context_.options, [this](rpc::Handler handler) {
                  return chunks_ ? chunks_->handler(std::move(handler)) : handler;
                }));
    context_.data = data_.get();
    data_address_ = data_->address();
    binaries_ = std::make_unique<BinaryCache>(*reactor_, *background_, context_.directory + "/binaries",
                                              [this] { return link_ && link_->registered() ? link_->connection() : nullptr; });
    context_.binaries = binaries_.get();
    files_ = std::make_unique<FileSearch>(*reactor_);
    accounts_ = std::make_unique<JobAccounts>(*reactor_, context_.options);
    context_.accounts = accounts_.get();
    drivers_ = std::make_unique<WorkerDrivers>(context_, [this](const protocol::DriverEnded& ended) {
      logs_->ended(ended.job);
      return link_ && link_->report(ended);
    });
    binaries_->bound(kMostProgramBytes, [this] { return programs_in_use(); });
    if (context_.options.chunks) {
      chunk_chores_ = rpc::Reactor::start("weft-chunks");
      chunks_ = context_.options.chunks(
          {*reactor_, *chunk_chores_, data_address_, [this](const Error& why) { finish(why); }, context_.racks});
    }

    WEFT_ASSIGN(auto attributes, parse_attributes(context_.options.attributes));
    attributes.merge(devices_.attributes());  // what the user says goes first
    protocol::Register registration{
        context_.options.name,  context_.options.host,       context_.options.rack,
        data_address_,          context_.options.slots,      context_.options.memory_bytes,
        std::move(attributes),  context_.options.local_data, devices_.capacity(context_.options.capacity),
        data_->prefetch_bytes()};
    registration.usable_processors = machine_processors();
    registration.named = context_.options.named;
    registration.process = unguessable_number();
    if (context_.options.yield) describe_machine(registration);
    Registration::Callbacks callbacks;
    callbacks.on_registered = [this](const protocol::Registered& as) {
      context_.outputs.self = as.node;
      logs_->numbered(as.numbering);
      binaries_->master_found();
      const rpc::Protocol spoken = link_->connection()->protocol().value_or(0);
      // A worker that is back goes by what it knows until a master that has heard of all workers says otherwise.
      if (!as.resumed || spoken < data_->keys().lowest()) data_->keys().set_lowest(spoken);
      if (as.resumed) data_->prefetcher().report_all_jobs();
      measurements_.set_rack(as.rack);
      context_.racks->set_rack(as.rack);
      capacity_files_.forget();
      if (chunks_) chunks_->registered(link_->connection());
      if (departure_) departure_->registered();
      drivers_->report_again();
      if (context_.options.on_registration) context_.options.on_registration(true);
    };
    callbacks.on_other = [this](const rpc::Message& message) -> Result<bool> {
      if (message.type == protocol::kRemains) WEFT_TRY(on_remains(message));
      return message.type == protocol::kRemains || (chunks_ && chunks_->on_notify(message));
    };
    callbacks.on_commands = [this](std::vector<protocol::Command> commands) { obey(std::move(commands)); };
    callbacks.on_read_log = [this](protocol::LogRequest request, rpc::Responder responder) {
      rpc::Payload payload;
      payload.bulk.emplace_back(tail(request.driver ? context_.driver_log_path(request.job) : context_.log_path(request.job),
                                     std::min(request.max_bytes, kMostLogBytes)));
      responder.reply(std::move(payload));
    };
    callbacks.on_find_files = [this](protocol::FileQuery query, rpc::Responder responder) {
      const std::string user = query.user;
      auto to = std::make_shared<rpc::Responder>(std::move(responder));
      accounts_->find(user, [this, query = std::move(query), to](JobAccounts::Found account) {
        account ? files_->find(query, *std::move(account), std::move(*to)) : to->fail(account.error());
      });
    };
    callbacks.heartbeat = [this] { return look_after(); };
    callbacks.held = [this] { return held(); };
    callbacks.on_away = [this] {
      binaries_->master_lost(true);
      for (const auto& [id, job] : jobs_) job->check();  // as with each heartbeat
      no_registration();
    };
    callbacks.on_lost = [this](const Error& error, bool final) {
      binaries_->master_lost(false);
      forget_commands();
      drop_all_jobs();
      no_registration();
      if (final) finish(error);
    };
    link_ = std::make_unique<Registration>(*reactor_, master, std::move(registration), !context_.options.private_cluster,
                                           context_.options.master_patience, std::move(callbacks));
    context_.report = [this](std::vector<protocol::Event> events) { link_->report(std::move(events)); };
    context_.on_device_crash = [this](std::size_t device) {
      devices_.suspect(device, *reactor_, *background_, [this](std::uint32_t lost, const std::string& why) {
        capacity_files_.devices_lost(lost, why);
        context_.on_device_back();
      });
    };
    context_.on_device_back = [this] {
      reactor_->post([this] {
        for (const auto& [id, job] : jobs_) job->launch_waiting();
      });
    };
    context_.on_process_gone = [this] { end_orphans(kOrphansLooks); };
    context_.report_replica = [this](const protocol::ReplicaEnded& ended) { link_->report(ended); };
    link_->connect();
    return {};
  }

  void no_registration() {
    if (chunks_) chunks_->lost();
    if (departure_) departure_->lost();
    if (context_.options.on_registration) context_.options.on_registration(false);
  }

  protocol::Held held() const {
    protocol::Held held;
    for (const auto& [id, job] : jobs_) {
      held.jobs.push_back(id);
      for (const AttemptId& attempt : job->attempts()) {
        held.running.push_back(attempt);
        if (devices_.is_holder(attempt)) held.with_device.push_back(attempt);
      }
    }
    for (const shuffle::SegmentKey& key : store_->segments())
      if (jobs_.contains(key.job)) held.outputs.push_back({key.job, key.shuffle, key.map, key.attempt});
    held.drivers = drivers_->running_drivers();
    return held;
  }

  Result<void> on_remains(const rpc::Message& message) {
    WEFT_ASSIGN(const protocol::Remains remains, protocol::decode<protocol::Remains>(message));
    if (departure_) departure_->on_remains(remains);
    return {};
  }

  protocol::Heartbeat look_after() {
    protocol::Heartbeat heartbeat;
    std::vector<pid_t> processes{getpid()};
    for (const auto& [id, job] : jobs_) {
      job->check();
      for (const pid_t executor : job->executor_pids()) processes.push_back(executor);
    }
    for (const pid_t driver : drivers_->pids()) processes.push_back(driver);
    heartbeat.measured = measurements_.measure(processes, data_->links().traffic(), context_.racks->total(), SystemClock().now());
    const shuffle::StoreStats stats = store_->stats();
    heartbeat.store_memory_bytes = stats.memory_bytes;
    heartbeat.store_disk_bytes = stats.disk_bytes;
    if (chunks_) chunks_->heartbeat();
    heartbeat.clock = std::chrono::system_clock::now().time_since_epoch();
    const shuffle::PrefetcherState prefetched = data_->prefetcher().state();
    heartbeat.prefetch = prefetched;
    heartbeat.prefetch_memory_bytes = prefetched.held_bytes;
    heartbeat.prefetch_file_bytes = prefetched.file_bytes;
    report_ahead();
    if (const auto texts = capacity_files_.changed()) link_->report(*texts);
    if (context_.options.on_heartbeat) context_.options.on_heartbeat(heartbeat);
    return heartbeat;
  }

  void report_ahead() {
    std::vector<protocol::JobPrefetch> jobs;
    for (const auto& [job, bytes] : data_->prefetcher().changed_jobs()) jobs.push_back({job, bytes});
    link_->report(jobs);
  }

  /// Carries the commands out in order; launches for one job in a row go to its executor in one message.
  void obey(std::vector<protocol::Command> commands) {
    std::vector<protocol::Launch> launches;
    auto pass_on = [&] {
      if (launches.empty()) return;
      const JobId job = launches.front().attempt.task.job;
      if (auto found = jobs_.find(job); found != jobs_.end())
        found->second->launch(std::exchange(launches, {}));
      else
        launches.clear();
    };
    for (protocol::Command& command : commands) {
      if (auto* launch = std::get_if<protocol::Launch>(&command)) {
        if (!launches.empty() && launches.front().attempt.task.job != launch->attempt.task.job) pass_on();
        launches.push_back(std::move(*launch));
        continue;
      }
      pass_on();
      std::visit([this](auto& what) { carry_out(what); }, command);
    }
    pass_on();
  }

  void add_nodes(std::vector<protocol::NodeAddress>& nodes) {
    for (protocol::NodeAddress& node : nodes) {
      data_->links().set_rack(node.address, node.rack);
      context_.outputs.lost.erase(node.node);  // a master that came back may have found it again
      context_.outputs.nodes[node.node] = {std::move(node.name), std::move(node.address)};
    }
  }

  void carry_out(protocol::Launch&) {}
  void carry_out(protocol::JobSetup& setup) {
    const JobId id = setup.job;
    if (jobs_.contains(id)) return;
    data_->begin_job(id, setup.user);
    logs_->begun(id);
    auto job = std::make_shared<WorkerJob>(context_, std::move(setup));
    jobs_[id] = job;
    job->prepare();
  }
  void carry_out(protocol::ActionValue& value) {
    if (auto found = jobs_.find(value.job); found != jobs_.end()) found->second->provide(value.action, std::move(value.bytes));
  }
  void carry_out(protocol::KillTask& kill) {
    if (auto found = jobs_.find(kill.attempt.task.job); found != jobs_.end()) found->second->kill(kill);
  }
  void carry_out(protocol::ShuffleLocations& locations) {
    add_nodes(locations.holders);
    if (auto found = jobs_.find(locations.job); found != jobs_.end()) found->second->shuffle().set_locations(locations);
  }
  void carry_out(protocol::ShuffleExtended& more) {
    add_nodes(more.holders);
    if (auto found = jobs_.find(more.job); found != jobs_.end()) found->second->shuffle().extend(more);
  }
  void carry_out(protocol::PrefetchShuffle& prefetch) {
    add_nodes(prefetch.holders);
    if (auto found = jobs_.find(prefetch.job); found != jobs_.end()) found->second->shuffle().prefetch(prefetch);
  }
  void carry_out(protocol::ReplicateOutput& command) {
    if (auto found = jobs_.find(command.job); found != jobs_.end()) found->second->shuffle().replicate(command);
  }
  void carry_out(protocol::ReleaseShuffle& release) {
    if (auto found = jobs_.find(release.job); found != jobs_.end()) found->second->release(release.shuffle);
    store_->release(release.job, release.shuffle);  // here, so that it cannot overtake a commit that comes later
  }
  void carry_out(protocol::ReleaseJob& release) { end_job(release.job); }
  void carry_out(protocol::StartDriver& start) {
    const std::vector<JobId> running = drivers_->running_drivers();
    std::erase_if(driver_programs_, [&running](const auto& driver) {
      return std::find(running.begin(), running.end(), driver.first) == running.end();
    });
    driver_programs_[start.job] = {start.binary, start.user};
    logs_->begun(start.job);
    drivers_->start(std::move(start));
  }
  void carry_out(protocol::StopDriver& stop) { drivers_->stop(stop); }
  void carry_out(protocol::JobKey& key) {
    if (jobs_.contains(key.job)) data_->keys().set(key.job, key.key);
  }
  void carry_out(protocol::LowestProtocol& lowest) { data_->keys().set_lowest(lowest.protocol); }
  void carry_out(protocol::NodeLost& lost) {
    const Error why(Code::unavailable, "the worker was lost: " + lost.reason);
    for (const auto& [id, job] : jobs_) job->shuffle().forget(lost.node);
    if (context_.outputs.nodes.erase(lost.node) != 0) context_.outputs.lost[lost.node] = why.to_string();
    data_->forget(lost.address, why);
    for (const auto& [id, job] : jobs_) job->shuffle().locations_changed();
    if (chunks_) chunks_->node_lost(lost.address, why);
  }

  void end_job(JobId id) {
    auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    auto job = std::move(found->second);
    jobs_.erase(found);
    ending_.insert(job);
    std::weak_ptr<WorkerJob> weak = job;
    job->end([this, weak, id] {
      ending_.erase(weak.lock());
      if (jobs_.contains(id)) return;  // given again by a master that came back
      store_->release(id);
      data_->end_job(id);
      context_.remove_directory(context_.job_directory(id));
      logs_->ended(id);
      if (jobs_.empty() && ending_.empty()) all_ended_.notify_all();
    });
    report_ahead();
  }

  /// Of jobs whose executors or drivers are here, or may be started here.
  std::set<ProgramId> programs_in_use() const {
    std::set<ProgramId> programs;
    const auto add = [&programs](const WorkerJob& job) {
      if (const auto program = job.program()) programs.insert(*program);
    };
    for (const auto& [id, job] : jobs_) add(*job);
    for (const auto& job : ending_) add(*job);
    for (const JobId job : drivers_->running_drivers())
      if (const auto driver = driver_programs_.find(job); driver != driver_programs_.end()) programs.insert(driver->second);
    return programs;
  }

  /// Nothing that the master commanded is reported any more: as another node the worker has had none of it.
  void forget_commands() {
    for (const auto& job : ending_) job->stop_reporting();
    for (const auto& [id, job] : jobs_) job->stop_reporting();
  }

  void drop_all_jobs() {
    while (!jobs_.empty()) {
      const JobId id = jobs_.begin()->first;
      end_job(id);
      store_->release(id);  // at once: the job may be given again before its executor is gone
    }
    if (drivers_) drivers_->end_all();  // null: it did not begin
    context_.outputs = {};
  }

  /// What the processes of jobs have left behind, and whatever that leaves behind.
  void end_orphans(int looks) {
    if (!context_.options.own_process) return;
    std::set<pid_t> own;
    const auto add = [&](const WorkerJob& job) {
      for (const pid_t executor : job.executor_pids()) own.insert(executor);
    };
    for (const pid_t trying : devices_.processes()) own.insert(trying);
    for (const auto& [id, job] : jobs_) add(*job);
    for (const auto& job : ending_) add(*job);
    if (drivers_)
      for (const pid_t driver : drivers_->pids()) own.insert(driver);
    const std::size_t left = kill_orphans(own);
    if (left == 0) return orphans_turn_.reset();
    if (looks == 0) return context_.log.error("{} processes that jobs left behind were killed and do not end", left);
    orphans_turn_ = reactor_->after(kOrphansInterval, [this, looks] { end_orphans(looks - 1); });
  }

  /// Ends the executors and gives them a moment to go.
  void end_everything() {
    reactor_->run([this] { drop_all_jobs(); });
    const auto deadline = std::chrono::steady_clock::now() + kEndDeadline;
    std::unique_lock lock(ended_mutex_);
    for (bool gone = false; !gone && std::chrono::steady_clock::now() < deadline;) {
      reactor_->run([&] { gone = ending_.empty(); });
      if (!gone) all_ended_.wait_for(lock, 5ms);
    }
  }

  void finish(Error error) {
    std::lock_guard lock(mutex_);
    if (!end_) end_.emplace(std::move(error));
    ended_.notify_all();
  }

  WorkerDevices devices_;
  std::optional<RunDirectory> temporary_;
  Fd directory_claim_;  // of the one that the user named
  std::unique_ptr<shuffle::Store> store_;
  std::unique_ptr<rpc::Reactor> background_, removals_;
  std::unique_ptr<rpc::Reactor> chunk_chores_;  // beside it, because a chunk directory may hang; null: there are none
  std::unique_ptr<rpc::Reactor> reactor_;
  WorkerContext context_;
  std::string data_address_;

  // Reactor thread.
  std::unique_ptr<WorkerIsolation> isolation_;  // made before, as the directories are
  Measurements measurements_;
  CapacityFiles capacity_files_;
  std::unique_ptr<DataPlane> data_;
  std::unique_ptr<BinaryCache> binaries_;
  std::unique_ptr<Registration> link_;
  std::unique_ptr<FileSearch> files_;
  std::unique_ptr<JobAccounts> accounts_;
  std::unique_ptr<WorkerDrivers> drivers_;
  std::unique_ptr<ChunkService> chunks_;  // null: it keeps none
  std::unique_ptr<Departure> departure_;  // null: it stays
  std::map<JobId, std::shared_ptr<WorkerJob>> jobs_;
  std::set<std::shared_ptr<WorkerJob>> ending_;
  std::unique_ptr<rpc::Timer> orphans_turn_;
  std::optional<KeptLogs> logs_;                // made before
  std::map<JobId, ProgramId> driver_programs_;  // of those that were started here, also when some have ended
  std::uint64_t removed_ = 0;                   // directories of jobs

  std::mutex mutex_;  // guards end_
  std::condition_variable ended_;
  std::optional<Error> end_;
  std::mutex ended_mutex_;
  std::condition_variable all_ended_;
};

}  // namespace

Result<std::unique_ptr<Worker>> Worker::start(WorkerOptions options) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  WEFT_TRY(complete(options));
  log_fatal_signals("worker " + options.name);
  WEFT_ASSIGN(WorkerDevices devices, WorkerDevices::open(options.devices));
  auto worker = std::make_unique<WorkerImpl>(std::move(options), std::move(devices));
  WEFT_TRY(worker->begin());
  return std::unique_ptr<Worker>(std::move(worker));
}

}  // namespace weft::runtime
