#include "runtime/worker/isolation.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"
#include "base/private_directory.hpp"
#include "base/text.hpp"

namespace weft::runtime {
namespace {

constexpr std::uint32_t kThreadsOfTask = 4;  // its slot's, and what libraries start
constexpr const char* kTemporary = "/tmp";   // within the job's directory

}  // namespace

WorkerIsolation::WorkerIsolation(const WorkerOptions& options, rpc::Reactor& background) : options_(options), background_(background) {
  if (options.cgroup == kNoCgroup) return;
  auto groups = GroupParent::open(options.cgroup);
  if (groups)
    groups_ = *std::move(groups);
  else
    Log("worker").warn("jobs have no control groups: {}; how much memory and how many processes they take is limited for each process "
                       "and each user only (--cgroup)",
                       groups.error().to_string());
}

Result<std::shared_ptr<const JobIsolation>> WorkerIsolation::isolate(const IsolatedJob& job) {
  WEFT_TRY(make_private_directory(job.directory));
  WEFT_TRY(make_private_directory(job.directory + kTemporary));
  GroupLimits limits;
  if (options_.job_processes != 0) limits.processes = options_.job_processes + std::uint64_t{kThreadsOfTask} * job.task_slots;
  // Map outputs count where they were written, until they are read.
  limits.memory_bytes = job.memory_bytes + options_.store_bytes;
  std::shared_ptr<JobIsolation> made(new JobIsolation(job.directory, limits), [&background = background_](JobIsolation* last) {
    background.post([last = std::shared_ptr<JobIsolation>(last)] {});
  });
  if (groups_) {
    WEFT_ASSIGN(ControlGroup group, groups_->make(job.name, limits));
    made->group_.emplace(std::move(group));
  }
  return std::shared_ptr<const JobIsolation>(std::move(made));
}

std::vector<std::string> JobIsolation::environment() const { return {fmt::format("TMPDIR={}{}", directory_, kTemporary)}; }

Confinement JobIsolation::confinement() const {
  Confinement confinement;
  if (group_) {
    confinement.group_entries = group_->entries();
    confinement.group_directory = group_->directory();
  }
  if (!group_ || !group_->counts_processes()) confinement.processes = processes_beside(limits_.processes);
  return confinement;
}

std::string JobIsolation::limit_reached(const std::string& message) const {
  constexpr std::string_view kProcesses = "the job's processes reached the limit of";
  if (group_ && group_->refused_processes() != 0)
    return fmt::format("; {} {} (weft worker --job-processes)", kProcesses, limits_.processes);
  if (memory_kills() != 0)
    return fmt::format("; {} {} of memory, and the kernel killed one of them (weft worker --memory, --store-memory)", kProcesses,
                       human_bytes(limits_.memory_bytes));
  const bool counted = group_ && group_->counts_processes();
  if (counted || limits_.processes == 0 || message.find(std::strerror(EAGAIN)) == std::string::npos) return {};
  return fmt::format("; perhaps {} {} (weft worker --job-processes)", kProcesses, limits_.processes);
}

}  // namespace weft::runtime
