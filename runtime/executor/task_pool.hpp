// The slots of an executor: threads that run the attempts they are given, started as they are needed.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/page_pool.hpp"
#include "runtime/executor/run_task.hpp"
#include "runtime/executor/worker_link.hpp"
#include "runtime/protocol/executor.hpp"
#include "storage/files/job_files.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::runtime {

/// launch() and stop() from one thread; `report` is called on task threads, once per attempt.
class TaskPool {
 public:
  using Report = std::function<void(protocol::Event)>;

  TaskPool(protocol::ExecutorSetup setup, JobProgram& program, WorkerLink& worker, Report report)
      : setup_(std::move(setup)),
        program_(program),
        worker_(worker),
        report_(std::move(report)),
        pages_(setup_.memory_bytes),
        tables_(setup_.memory_bytes, setup_.slots, pages_) {}
  /// The process must be about to end: threads in user code that never returns are abandoned.
  ~TaskPool() = default;

  void launch(protocol::Launches launches);
  /// Asks the attempt to end soon; one that is not running here (any more) is ignored.
  void stop(const AttemptId& attempt);
  /// What its tasks read and wrote of files in other racks, since the last call. Any thread.
  std::vector<storage::RackBytes> take_traffic() { return racks_->take(); }

 private:
  struct Task {
    protocol::Launch launch;
    std::atomic<bool> stop{false};
  };

  void serve(std::uint32_t slot);
  protocol::Event run(Task& task, std::uint32_t slot);

  const protocol::ExecutorSetup setup_;
  JobProgram& program_;
  WorkerLink& worker_;
  Report report_;
  const std::shared_ptr<storage::RackTally> racks_ = std::make_shared<storage::RackTally>(setup_.rack);
  const std::shared_ptr<storage::RemoteFiles> files_ = storage::files::job_files_of_environment(racks_);
  PagePool pages_;
  SharedTables tables_;

  std::mutex mutex_;  // guards everything below
  std::condition_variable work_;
  std::deque<std::shared_ptr<Task>> queue_;
  std::map<AttemptId, std::shared_ptr<Task>> tasks_;  // queued or running
  std::uint32_t threads_ = 0, idle_ = 0;
};

}  // namespace weft::runtime
