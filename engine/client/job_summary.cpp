#include "engine/client/job_summary.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::client {

std::string lost_workers_text(const master::JobStatus& status) {
  if (status.workers_lost == 0) return {};
  std::string text = status.workers_lost == 1 ? "1 worker was" : fmt::format("{} workers were", status.workers_lost);
  text += " lost while it ran: " + join(status.lost_workers, ", ");
  if (status.workers_lost > status.lost_workers.size()) text += ", …";
  return text;
}

void add_lost_workers(JsonWriter& json, const master::JobStatus& status) {
  json.member("workers_lost", status.workers_lost).key("lost_workers").begin_array();
  for (const std::string& worker : status.lost_workers) json.value(worker);
  json.end_array();
}

}  // namespace weft::client
