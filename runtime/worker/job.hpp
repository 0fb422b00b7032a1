// A job as one worker knows it: its program, the values its definition waits for, its shuffles, and its executors: one for tasks
// that hold no device, and one for each device that its tasks hold, which sees that device only and runs one task at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/account.hpp"
#include "runtime/protocol/program_id.hpp"
#include "runtime/worker/context.hpp"
#include "runtime/worker/executor_process.hpp"
#include "runtime/worker/job_shuffle.hpp"

namespace weft::runtime {

/// Reactor thread only.
class WorkerJob : public std::enable_shared_from_this<WorkerJob> {
 public:
  WorkerJob(WorkerContext& worker, protocol::JobSetup setup);

  /// Makes the program ready; launches wait for it. When that fails, they are refused, and the next ones try again.
  void prepare();
  void launch(std::vector<protocol::Launch> launches);
  /// A device is free, or will never be: launches that waited for one go on.
  void launch_waiting();
  /// An action has one value: a repetition does nothing.
  void provide(ActionId action, SharedBytes value);
  void kill(const protocol::KillTask& kill);
  JobShuffle& shuffle() { return shuffle_; }
  /// The shuffle is not read any more.
  void release(ShuffleId shuffle);
  /// The attempts that run, or wait for the program or a device.
  std::vector<AttemptId> attempts() const;
  /// The master that launched its attempts does not wait for their ends: they are not reported from now on.
  void stop_reporting() { reports_ = false; }
  /// Ends the executors; `done` is called, later, when they are gone.
  void end(std::function<void()> done);
  /// Looks after the executors; called now and then.
  void check();
  std::vector<pid_t> executor_pids() const;
  /// Nothing: it is of the worker's own program.
  std::optional<protocol::ProgramId> program() const;

 private:
  /// The device of its tasks; nothing: they hold none.
  using Place = std::optional<std::size_t>;

  void isolate(std::optional<Account> account);
  void fetch();
  void prepared(const Result<std::string>& path);
  void refuse(std::vector<protocol::Launch> launches, const std::string& why);
  /// It demands a device, and all are held.
  bool waits_for_device(const protocol::Launch& launch) const;
  bool lacks_program(const std::vector<protocol::Launch>& launches) const;
  /// Where it runs: on a device that it holds from now on, if it is to hold one. Without a free one it runs the operators' own
  /// functions; unavailable: it demands a device.
  Result<Place> place_of(protocol::Launch& launch);
  void launch_on(Place place, std::vector<protocol::Launch> launches);
  Result<ExecutorProcess*> executor_on(Place place);
  ExecutorProcess::Callbacks callbacks_on(Place place);
  void on_events(Place place, std::vector<protocol::Event> events);
  void on_gone(Place place);
  ExecutorStart executor_start(Place place) const;
  protocol::ExecutorSetup executor_setup() const;

  WorkerContext& worker_;
  const protocol::JobSetup setup_;
  const std::uint32_t task_slots_;  // how many tasks run at a time
  JobShuffle shuffle_;
  std::shared_ptr<const JobIsolation> isolation_;
  std::string binary_path_;  // empty: not ready
  bool preparing_ = false;
  std::vector<protocol::Launch> waiting_;  // for the program, or for a device
  std::map<ActionId, SharedBytes> values_;
  std::map<Place, std::unique_ptr<ExecutorProcess>> executors_;
  bool ended_ = false, reports_ = true;
  std::function<void()> on_end_;
};

}  // namespace weft::runtime
