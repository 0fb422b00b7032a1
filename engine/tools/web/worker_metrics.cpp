#include "engine/tools/web/worker_metrics.hpp"

#include <utility>

#include <fmt/core.h>

#include "base/rpc/credentials.hpp"
#include "base/text.hpp"

namespace weft::web {

namespace {

constexpr Duration kLate = std::chrono::seconds(10), kSilent = std::chrono::minutes(1);

}  // namespace

void add_worker(Metrics& metrics, const runtime::protocol::Heartbeat& heartbeat) {
  const auto& [worker, machine, in, out, racks] = heartbeat.measured;
  metrics.single("weft_self_cpus", "Processors that the worker and its executors use", worker.cpu);
  metrics.single("weft_self_memory_bytes", "Memory of the worker and its executors", worker.memory);
  metrics.single("weft_self_machine_cpus", "Processors in use on its machine, by everybody", machine.cpu);
  metrics.single("weft_self_machine_memory_bytes", "Memory in use on its machine, by everybody", machine.memory);
  metrics.single("weft_self_disk_read_bytes_per_second", "Read from disks of its machine", machine.disk_read);
  metrics.single("weft_self_disk_write_bytes_per_second", "Written to disks of its machine", machine.disk_write);
  metrics.single("weft_self_network_in_bytes_per_second", "That comes to its machine", machine.network_in);
  metrics.single("weft_self_network_out_bytes_per_second", "That its machine sends", machine.network_out);
  metrics.single("weft_self_cross_rack_in_bytes_per_second", "Of map outputs and chunks from other racks", in);
  metrics.single("weft_self_cross_rack_out_bytes_per_second", "Of map outputs and chunks to other racks", out);
  metrics.single("weft_self_store_memory_bytes", "Map outputs held in memory", heartbeat.store_memory_bytes);
  metrics.single("weft_self_store_disk_bytes", "Map outputs held in files", heartbeat.store_disk_bytes);
  metrics.single("weft_self_prefetch_memory_bytes", "Prefetched blocks held in memory", heartbeat.prefetch_memory_bytes);
  metrics.single("weft_self_prefetch_file_bytes", "Prefetched blocks held in files", heartbeat.prefetch_file_bytes);
  metrics.single("weft_self_prefetched_bytes", "Blocks that were prefetched", heartbeat.prefetch.prefetched_bytes,
                 Metrics::Type::counter);
  metrics.single("weft_self_prefetch_read_bytes", "Of these, read by tasks", heartbeat.prefetch.read_bytes, Metrics::Type::counter);
  metrics.single("weft_self_prefetch_wasted_bytes", "Of these, given up before a task read them", heartbeat.prefetch.wasted_bytes,
                 Metrics::Type::counter);
  metrics.single("weft_self_prefetch_evicted_bytes", "Of these, moved from memory to files", heartbeat.prefetch.evicted_bytes,
                 Metrics::Type::counter);
}

Result<std::unique_ptr<WorkerMetrics>> WorkerMetrics::start(const std::string& listen) {
  auto made = std::make_unique<WorkerMetrics>();
  http::ServerOptions options;
  options.listen = listen;
  options.threads = 1;
  WEFT_ASSIGN(options.security, rpc::security_of_environment());
  WEFT_ASSIGN(made->server_, http::Server::start(std::move(options), [self = made.get()](const http::Request& request) {
                return self->reply(request);
              }));
  return made;
}

void WorkerMetrics::note(const runtime::protocol::Heartbeat& heartbeat) {
  const std::lock_guard lock(mutex_);
  last_ = heartbeat;
  noted_ = std::chrono::steady_clock::now();
}

void WorkerMetrics::note_registration(bool registered) {
  const std::lock_guard lock(mutex_);
  registered_ = registered;
  noted_ = std::chrono::steady_clock::now();
}

http::Response WorkerMetrics::state(Duration most) const {
  const auto silent = std::chrono::steady_clock::now() - noted_;
  if (silent <= most) return {.type = "text/plain", .body = "ok\n"};
  return http::error_response(503, fmt::format("the worker has sent no heartbeat for {}", format_duration(silent)));
}

http::Response WorkerMetrics::reply(const http::Request& request) {
  const std::lock_guard lock(mutex_);
  if (request.method == "GET" && request.path == "/healthz") return state(registered_ ? kSilent : Duration::max());
  if (request.method == "GET" && request.path == "/readyz")
    return registered_ ? state(kLate) : http::error_response(503, "the worker is registered with no master");
  if (request.path != "/metrics" || request.method != "GET")
    return http::error_response(404, "a worker serves /metrics, /healthz and /readyz only");
  Metrics metrics;
  add_process(metrics);
  if (last_) add_worker(metrics, *last_);
  return {.type = kMetricsType, .body = metrics.text()};
}

}  // namespace weft::web
