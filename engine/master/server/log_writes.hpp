// The thread on which a master writes its event log: for a small task that is a fifth of what the master computes, and nobody has
// to wait for it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/driver/core_driver.hpp"

namespace weft::master {

/// The reactor's thread only. The reactor and the driver outlive it.
class LogWrites {
 public:
  LogWrites(rpc::Reactor& reactor, CoreDriver& driver)
      : reactor_(reactor), driver_(driver), writer_(rpc::Reactor::start("weft-log")) {}
  /// Ends the thread. What it has not written is left to CoreDriver::flush_log().
  ~LogWrites();
  LogWrites(const LogWrites&) = delete;
  LogWrites& operator=(const LogWrites&) = delete;

  /// Lines wait. They are written when there are many, or have waited for 20 ms: one write for each of many thousands of tasks a
  /// second would cost as much as all else that is done for their lines.
  void expect();

 private:
  void write();
  void report();

  rpc::Reactor& reactor_;
  CoreDriver& driver_;
  std::unique_ptr<rpc::Timer> timer_;
  const std::unique_ptr<rpc::Reactor> writer_;
  std::mutex errors_mutex_;
  std::vector<Error> errors_;  // that the driver does not know
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weft::master
