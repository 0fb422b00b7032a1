#include "engine/master/server/job_bounds.hpp"

#include <map>
#include <utility>

#include <fmt/core.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "runtime/protocol/program_id.hpp"

namespace weft::master {

namespace {

constexpr std::size_t kMostSubmissionBytes = 16u << 20;  // encoded: mostly its arguments
constexpr std::size_t kMostOptionBytes = 64u << 10;      // of the texts that the statuses of the job have as long as it is known
constexpr std::size_t kMostPartBytes = 256u << 20;       // encoded
constexpr std::size_t kMostPartsBytes = 1u << 30;        // of all actions of a job
constexpr std::size_t kShortText = 256;                  // of each that is shortened
constexpr std::size_t kNumberBytes = 512;                // about what a status takes beside its texts

template <class Map>
std::size_t bytes_of(const Map& named) {
  std::size_t bytes = 0;
  for (const auto& [name, value] : named) {
    bytes += name.size() + 32;
    if constexpr (requires { value.size(); }) bytes += value.size();
  }
  return bytes;
}

std::size_t bytes_of(const JobStatus& job) {
  std::size_t bytes = kNumberBytes + job.name.size() + job.user.size() + job.pool.size() + job.error.size();
  for (const std::string& worker : job.lost_workers) bytes += worker.size() + 16;
  return bytes + bytes_of(job.counters) + bytes_of(job.options);
}

}  // namespace

Result<void> check_submission(const client::Submit& submit) {
  const JobOptions& options = submit.options;
  const std::size_t texts = submit.name.size() + options.user.size() + options.pool.size() + bytes_of(texts_of(options));
  if (texts > kMostOptionBytes)
    return fail(Code::invalid_argument, fmt::format("the name and the options of the job take {}; at most {} are possible",
                                                    human_bytes(texts), human_bytes(kMostOptionBytes)));
  if (!submit.same_binary && !runtime::protocol::is_nameable(options.user))
    return fail(
        Code::invalid_argument,
        fmt::format("the name of the job's user is too long for a file of the program: at most {} bytes, or a third of that "
                    "where they are no ASCII letters and digits",
                    runtime::protocol::kMostUserInFileName));
  if (const std::size_t bytes = client::encode(submit).header.size(); bytes > kMostSubmissionBytes)
    return fail(Code::invalid_argument,
                fmt::format("the arguments of the job take {}; at most {} are possible: put them into a file", human_bytes(bytes),
                            human_bytes(kMostSubmissionBytes)));
  return {};
}

Result<void> check_part(std::size_t bytes, const RunningJob& job) {
  std::size_t all = bytes;
  for (const auto& [action, part] : job.parts) all += part.size();
  if (bytes <= kMostPartBytes && all <= kMostPartsBytes) return {};
  return fail(Code::invalid_argument,
              fmt::format("the plan of an action takes {}, and those of all actions of the job {}; at most {} and {} are possible: "
                          "read fewer files in a job",
                          human_bytes(bytes), human_bytes(all), human_bytes(kMostPartBytes), human_bytes(kMostPartsBytes)));
}

void shorten(std::vector<JobStatus>& jobs, std::size_t most) {
  std::size_t all = 0;
  for (const JobStatus& job : jobs) all += bytes_of(job);
  if (all <= most) return;
  for (JobStatus& job : jobs) {
    if (bytes_of(job) <= most / jobs.size()) continue;
    job.counters.clear();
    job.options.clear();
    job.lost_workers.clear();
    for (std::string* text : {&job.name, &job.user, &job.pool, &job.error}) *text = bounded(std::move(*text), kShortText);
  }
}

}  // namespace weft::master
