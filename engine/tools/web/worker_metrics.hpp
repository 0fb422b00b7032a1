// What a worker serves over HTTP: measurements of itself (docs/monitoring.md).
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/http/server.hpp"
#include "base/result.hpp"
#include "engine/tools/web/metrics.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::web {

void add_worker(Metrics& metrics, const runtime::protocol::Heartbeat& heartbeat);

/// Serves until destroyed: /metrics; /healthz, which fails when the worker is registered and has sent no heartbeat for a minute;
/// and /readyz, which fails unless it is registered and has sent one in the last ten seconds.
class WorkerMetrics {
 public:
  /// Errors: port in use, address not ours.
  static Result<std::unique_ptr<WorkerMetrics>> start(const std::string& listen);
  /// What is served from now on. Any thread.
  void note(const runtime::protocol::Heartbeat& heartbeat);
  /// Whether the worker is registered with a master from now on. Any thread.
  void note_registration(bool registered);
  const std::string& address() const { return server_->address(); }
  /// "http://host:port", or https.
  std::string url() const { return server_->url(); }

 private:
  http::Response reply(const http::Request& request);
  http::Response state(Duration most) const;

  std::mutex mutex_;
  std::optional<runtime::protocol::Heartbeat> last_;
  bool registered_ = false;
  std::chrono::steady_clock::time_point noted_{};  // the last heartbeat or registration
  std::unique_ptr<http::Server> server_;
};

}  // namespace weft::web
