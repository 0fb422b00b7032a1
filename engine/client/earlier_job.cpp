#include "engine/client/earlier_job.hpp"

#include <string>
#include <utility>

#include "base/machine.hpp"
#include "engine/client/admin.hpp"

namespace weft::client {

std::optional<master::JobStatus> earlier_job(const RunOptions& run) {
  if (run.job.request_id.empty() || run.cluster.empty() || run.driver_of) return std::nullopt;
  const std::string user = run.job.user.empty() ? user_name() : run.job.user;
  const auto admin = Admin::connect(run.cluster, {.user = user});
  if (!admin) return std::nullopt;
  auto list = (*admin)->jobs();
  if (!list) return std::nullopt;
  const auto seen = (*admin)->who();  // a certificate says it, whatever the command line says
  for (master::JobStatus& job : list->jobs) {
    const auto request = job.options.find("request-id");
    const bool same = request != job.options.end() && request->second == run.job.request_id;
    if (same && (job.user == user || (seen && job.user == seen->user)) && job.state != master::JobState::running)
      return std::move(job);
  }
  return std::nullopt;
}

}  // namespace weft::client
