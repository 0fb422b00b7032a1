// What a worker serves over HTTP: measurements of itself (docs/monitoring.md).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/http/server.hpp"
#include "base/result.hpp"
#include "engine/web/metrics.hpp"
#include "runtime/protocol/worker.hpp"

namespace weft::web {

void add_worker(Metrics& metrics, const runtime::protocol::Heartbeat& heartbeat);

/// Serves /metrics until destroyed.
class WorkerMetrics {
 public:
  /// Errors: port in use, address not ours.
  static Result<std::unique_ptr<WorkerMetrics>> start(const std::string& listen);
  /// What is served from now on. Any thread.
  void note(const runtime::protocol::Heartbeat& heartbeat);
  const std::string& address() const { return server_->address(); }

 private:
  http::Response reply(const http::Request& request);

  std::mutex mutex_;
  std::optional<runtime::protocol::Heartbeat> last_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace weft::web
