#include "runtime/executor/task_pool.hpp"

#include <algorithm>
#include <cstdio>

#include <sys/stat.h>
#include <unistd.h>

#include "runtime/executor/crash_notes.hpp"
#include "runtime/executor/worker_shuffle.hpp"
#include "runtime/protocol/output_mark.hpp"

namespace weft::runtime {
namespace {

/// Writes an OutputMark when it goes, if the log has grown since. Nothing is written where standard output is no file.
class MarkedOutput {
 public:
  explicit MarkedOutput(const AttemptId& attempt) : attempt_(attempt), from_(log_size()) {}
  ~MarkedOutput() {
    std::fflush(stdout);
    const off_t size = log_size();
    if (size <= from_) return;
    const std::string line = to_string(OutputMark{attempt_.task.stage.value(), attempt_.task.index, attempt_.attempt,
                                                  static_cast<std::uint64_t>(size - from_)}) +
                             "\n";
    [[maybe_unused]] const auto ignored = ::write(STDOUT_FILENO, line.data(), line.size());
  }
  MarkedOutput(const MarkedOutput&) = delete;
  MarkedOutput& operator=(const MarkedOutput&) = delete;

 private:
  static off_t log_size() {
    struct stat status {};
    return ::fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) ? status.st_size : 0;
  }

  const AttemptId attempt_;
  const off_t from_;
};

}  // namespace

void TaskPool::launch(protocol::Launches launches) {
  std::lock_guard lock(mutex_);
  for (protocol::Launch& launch : launches.launches) {
    auto task = std::make_shared<Task>();
    task->launch = std::move(launch);
    tasks_[task->launch.attempt] = task;
    queue_.push_back(std::move(task));
  }
  while (threads_ < setup_.slots && idle_ < queue_.size()) {
    std::thread([this, slot = threads_] { serve(slot); }).detach();
    ++threads_, ++idle_;
  }
  work_.notify_all();
}

void TaskPool::stop(const AttemptId& attempt) {
  std::lock_guard lock(mutex_);
  if (auto found = tasks_.find(attempt); found != tasks_.end()) found->second->stop.store(true, std::memory_order_relaxed);
}

void TaskPool::serve(std::uint32_t slot) {
  for (;;) {
    std::shared_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [&] { return !queue_.empty(); });
      task = std::move(queue_.front());
      queue_.pop_front();
      --idle_;
    }
    protocol::Event event = run(*task, slot);
    {
      std::lock_guard lock(mutex_);
      tasks_.erase(task->launch.attempt);
      ++idle_;
    }
    report_(std::move(event));
  }
}

protocol::Event TaskPool::run(Task& task, std::uint32_t slot) {
  const protocol::Launch& launch = task.launch;
  if (task.stop.load(std::memory_order_relaxed))
    return {.attempt = launch.attempt, .kind = TaskEnd::killed, .message = "stopped before it began"};

  MemoryGrant grant(setup_.memory_bytes / std::max<std::uint32_t>(1, setup_.slots));
  WorkerShuffle shuffle(worker_, launch.attempt, {launch.segment_memory, setup_.segment_directory}, grant.limit(), task.stop);
  TaskContext context =
      context_of(launch.attempt, launch.spec, {shuffle, files_.get(), grant, pages_, tables_, setup_.spill_directory, task.stop});
  const CrashNote note(slot, context);
  const MarkedOutput marked(launch.attempt);
  return run_task(program_, launch.spec.fingerprint, context);
}

}  // namespace weft::runtime
