// Where a job runs: the embedded engine, a private cluster of worker processes, or a standing cluster. The API (engine/api) talks
// to this interface only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/master/core/core.hpp"
#include "engine/master/plan/plan.hpp"
#include "runtime/executor/run_task.hpp"
#include "schedulers/default_scheduler.hpp"

namespace weft::client {

/// Of a driver that was started for a job that exists: it runs the definition again, from what the job has recorded.
struct DriverKey {
  JobId job;
  std::uint64_t key = 0;
  std::string user{};  // whose job it is, whoever the worker runs as; empty: a worker of an earlier release started the driver
  /// Where the job was submitted, if this process is not there, but in a directory that its worker made for it and removes with
  /// what is in it: the worker lacks the other one, or its user may not enter it.
  std::optional<std::string> away_from{};
};
/// From the environment, where the worker that started this process has put it (runtime/worker/driver_process.hpp), and gone from
/// there afterwards: what this process starts has no part in it. Nothing in other processes.
Result<std::optional<DriverKey>> take_driver_key();
/// invalid_argument when the path, of this machine and without a scheme, is relative, and the driver is away from the directory
/// that it is relative to (DriverKey::away_from). `what` says in the message what the path is of, such as "output".
Result<void> refuse_relative(const std::optional<std::string>& away_from, const std::string& what, const std::string& path);

/// What every job program understands besides its own options (declared with CLI11 in engine/api/main.cpp).
struct RunOptions {
  std::string job_name;
  std::vector<std::string> arguments;  // argv[1..], as executors get them
  std::string cluster;                 // --cluster HOST:PORT, or a list (rpc::Endpoint::parse_list); so is `files`
  std::string files;               // --files HOST:PORT: master of the files that weft:// means, when it is not that of `cluster`
  std::uint32_t workers = 0;       // --workers N: private cluster
  std::uint32_t threads = 0;       // --threads N: task slots in all, embedded; per worker with --workers (0: cores, shared out)
  std::uint64_t memory_bytes = 0;  // --memory (0: a quarter of the machine's); see docs/api.md
  std::uint32_t partitions = 0;    // --partitions: default number of reduce partitions (0: chosen by the driver)
  std::vector<std::string> scheduler_plugins;                   // --scheduler-plugin
  std::string scheduler = schedulers::kDefaultScheduler;        // --scheduler (embedded and private cluster)
  master::JobOptions job;                                       // --user, --pool … (master::job_options())
  std::string temporary_directory;                              // --tmp (default $TMPDIR, /tmp)
  bool quiet = false;                                           // --quiet: no progress
  std::chrono::nanoseconds patience = std::chrono::seconds(5);  // --patience: with a master that is away when the job starts
  std::string http;                      // --http: where the page of a job by itself is (page_address()); empty: none
  std::optional<DriverKey> driver_of{};  // take_driver_key(); a job on `cluster` then
};

/// What an earlier driver of the job has recorded of an action.
struct RecordedAction {
  std::optional<Buffer> value;
  std::optional<plan::PlanPart> part;  // that was run for it
};

/// The processes that run a job's tasks, as far as it is known when its stages are planned.
struct Executors {
  std::uint32_t count = 1;        // at least 1; about, or at most
  std::uint64_t task_memory = 0;  // what the tasks of one may hold together, in bytes
};
/// Of a job with these options before it has a session: embedded or with --workers. Of one on a standing cluster, whose memory its
/// driver does not know, with --memory or the least that is usual.
Executors executors_of(const RunOptions& options);
/// The memory of each worker of --workers: half for its tasks, half for what they hand to each other.
std::uint64_t worker_budget(const RunOptions& options);

/// One job's connection to where it runs. Used by the driver's thread.
class Session {
 public:
  virtual ~Session() = default;  // ends the job when still open; a private cluster with it

  /// Runs a part of the plan to its end and returns the target stages' results, per target, per task. Blocks; progress goes to the
  /// reporter. The error is the job's, with its causal chain; the session is over then.
  virtual Result<std::vector<std::vector<Buffer>>> run(plan::PlanPart part) = 0;
  /// Records the value of an action or broadcast for executors that replay the definition.
  virtual Result<void> record(ActionId action, ByteView value) = 0;
  /// Ends the job in good order.
  virtual Result<void> close() = 0;
  virtual master::JobStatus status() = 0;
  /// Task slots the job may expect; the default number of reduce partitions is derived from it.
  virtual std::uint32_t parallelism() = 0;
  virtual Executors executors() = 0;

  /// What is recorded of the action, or nothing; of jobs that this process began, nothing.
  virtual Result<std::optional<RecordedAction>> recorded(ActionId /*action*/) { return std::nullopt; }
  /// Of a job that goes on with another driver when this one is gone; nothing of others. All its drivers' keys have the same
  /// key_of_job().
  virtual std::optional<DriverKey> driver_key() const { return std::nullopt; }
  /// After an error: the job may go on with another driver, so that what it has written must stay.
  virtual bool job_goes_on() const { return false; }
};

/// The master that keeps the files that weft:// paths mean: --files, --cluster, $WEFT_MASTER; empty: none is known.
std::string master_of_files(const RunOptions& options);
/// The files themselves; connected when first used.
std::shared_ptr<storage::RemoteFiles> files_of(const RunOptions& options);

/// In this process, on threads. `program` must outlive the session.
Result<std::unique_ptr<Session>> open_embedded(const RunOptions& options, runtime::JobProgram& program);
/// Starts a master and N worker processes on loopback; they end with this process, whatever ends it.
Result<std::unique_ptr<Session>> open_private_cluster(const RunOptions& options);
/// Submits to a running master, uploading this binary when it is not known there.
Result<std::unique_ptr<Session>> open_cluster(const RunOptions& options);

/// When this process was started by weft in another role (worker of a private cluster, executor), plays that role and returns its
/// exit code; otherwise nothing. The executor runs `define` through `program` with the original arguments.
std::optional<int> internal_role(int argc, char** argv, const std::function<std::unique_ptr<runtime::JobProgram>()>& program);

}  // namespace weft::client
