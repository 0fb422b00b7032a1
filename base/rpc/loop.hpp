// The event loop: readiness of descriptors, timers, tasks from any thread, name resolution. The only user of Asio is loop.cpp.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "base/rpc/socket.hpp"

namespace weft::rpc {

/// A non-blocking descriptor in the loop. Destroying it closes the descriptor; no callback comes after that.
class Watch {
 public:
  virtual ~Watch() = default;
  virtual int fd() const = 0;
  /// One callback of the kind when the descriptor is ready (or in error); asking again while waiting is a bug.
  virtual void await_readable() = 0;
  virtual void await_writable() = 0;
  /// Takes the descriptor out of the loop; no callback comes after that.
  virtual Fd release() = 0;
};

/// All members except post() and shut_down() on the loop's thread.
class Loop {
 public:
  explicit Loop(std::string name);
  ~Loop();

  /// Any thread. Dropped (destroyed on the calling thread) after shut_down().
  void post(std::function<void()> task);
  /// Ends the loop: runs `last` on its thread, drops every callback, closes what is watched, joins. Idempotent.
  void shut_down(std::function<void()> last);
  bool in_thread() const { return std::this_thread::get_id() == thread_id_; }

  /// Soon, after the current callback.
  void defer(std::function<void()> task);
  std::unique_ptr<Watch> watch(Fd fd, std::function<void()> readable, std::function<void()> writable);
  std::unique_ptr<Timer> after(Duration delay, std::function<void()> task);
  /// Addresses of a host name, without blocking the loop (base/rpc/resolver.hpp).
  void resolve(const std::string& host, const std::string& port, std::function<void(Result<std::vector<Address>>)> done);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
  std::mutex shut_down_mutex_;
  std::thread thread_;
  std::thread::id thread_id_;
};

}  // namespace weft::rpc
