// The worker daemon: keeps the shuffle store, runs jobs' tasks in executors, serves map outputs to other workers, and carries out
// its master's commands. A library, so that `weft worker` and the workers of a private cluster are the same thing.
#pragma once

#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "runtime/worker/options.hpp"

namespace weft::runtime {

class Worker {
 public:
  /// Opens store and data port and begins to look for the master. Errors: directory not usable, port in use, bad option.
  static Result<std::unique_ptr<Worker>> start(WorkerOptions options);
  /// Ends executors, closes the connection to the master, removes its directories.
  virtual ~Worker() = default;

  /// "host:port" where other workers fetch.
  virtual const std::string& data_address() const = 0;
  /// Blocks until the worker cannot go on (its master is of another version; a private cluster has ended) or stop() was called.
  /// After stop() the error has Code::cancelled.
  virtual Error wait() = 0;
  /// Any thread; also from a signal-handling thread.
  virtual void stop() = 0;
  /// As stop(), but the worker first finishes its tasks and hands over what others need of it: map outputs, chunks, partitions of
  /// tables (WorkerOptions::drain_chunks). It takes `longest` at most. Any thread. A second call does nothing.
  virtual void drain(Duration longest) = 0;
};

}  // namespace weft::runtime
