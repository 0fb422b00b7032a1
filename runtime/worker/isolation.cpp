#include "runtime/worker/isolation.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.hpp"
#include "base/rpc/credentials.hpp"
#include "base/sanitized.hpp"
#include "base/text.hpp"

namespace weft::runtime {
namespace {

constexpr std::uint32_t kThreadsOfTask = 4;  // its slot's, and what libraries start
constexpr const char* kTemporary = "/tmp";   // within the job's directory
constexpr const char* kShellCannotFork = "annot fork";

/// What a user's processes are to know. The worker's own key is not for others: what the user has put into his home serves the same
/// purposes, and without it his tasks have no certificate.
std::vector<std::string> environment_of(const Account& account, bool certificates) {
  std::vector<std::string> variables{"HOME=" + account.home, "USER=" + account.name, "LOGNAME=" + account.name};
  if (!certificates) return variables;
  const std::string own = account.home + "/.weft";
  std::error_code ignored;
  variables.push_back(fmt::format("{}={}", rpc::kSecurityVariable, std::filesystem::is_directory(own, ignored) ? own : ""));
  return variables;
}

}  // namespace

WorkerIsolation::WorkerIsolation(const WorkerOptions& options, rpc::Reactor& background, std::string directory)
    : options_(options), background_(background), directory_(std::move(directory)) {
  if (options_.cgroup != kNoCgroup) open_groups();
}

Result<void> WorkerIsolation::prepare() {
  if (options_.run_as != kRunAsSelf) {
    WEFT_TRY(check_user());
    WEFT_TRY(let_others_pass());
  }
  if (options_.run_as == kRunAsSelf && ::geteuid() == 0 && options_.security.credentials)
    Log("worker").warn(
        "programs of all users run as root here, and can read this worker's key: --run-as submitter has them run as their users");
  if (options_.sandbox) WEFT_TRY(try_sandbox());
  return {};
}

void WorkerIsolation::open_groups() {
  auto groups = GroupParent::open(options_.cgroup);
  if (groups)
    groups_ = *std::move(groups);
  else
    Log("worker").info(
        "jobs have no control groups: {}; how much memory and how many processes they take is limited for each process "
        "and each user only (--cgroup)",
        groups.error().to_string());
}

Result<void> WorkerIsolation::check_user() const {
  if (options_.run_as == kRunAsSubmitter) return {};
  WEFT_ASSIGN(const Account account, find_account(options_.run_as));
  if (auto harmless = check_no_administrator(account); !harmless)
    return fail(std::move(harmless).error().wrap(
        "programs of all users would run as one who is to have no rights over this machine (worker.run_as); name another user, or "
        "--run-as submitter"));
  return {};
}

Result<void> WorkerIsolation::let_others_pass() {
  for (const std::string& path : {directory_, directory_ + "/jobs"}) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || ::chmod(path.c_str(), (info.st_mode & 07777u) | S_IXGRP | S_IXOTH) != 0)
      return fail(errno_error("cannot let other users pass through " + path, errno));
  }
  if (auto open = check_open_to_others(directory_); !open)
    return fail(std::move(open).error().wrap(
        "jobs cannot run as other users than the worker's in its directory; name another one (--directory), or --run-as self"));
  return {};
}

Result<void> WorkerIsolation::try_sandbox() const {
  const std::string jobs = directory_ + "/jobs";
  const std::string why = why_not(Sandbox(directory_, jobs, jobs, options_.writable));
  if (why.empty()) return {};
  return fail(Code::io, "there can be no sandbox here (worker.sandbox), which needs the right to mount and Linux 5.12: " + why);
}

Result<std::shared_ptr<const JobIsolation>> WorkerIsolation::isolate(const IsolatedJob& job) {
  const std::string temporary = job.directory + kTemporary;
  for (const std::string& path : {job.directory, temporary})
    if (::mkdir(path.c_str(), 0700) != 0) return fail(errno_error("cannot create " + path, errno));
  for (const std::string& path : {temporary, job.directory})  // then nothing is made in it any more
    if (job.account && ::lchown(path.c_str(), job.account->user, job.account->group) != 0)
      return fail(errno_error(fmt::format("cannot give {} to the user {}", path, job.account->name), errno));
  GroupLimits limits;
  if (options_.job_processes != 0) limits.processes = options_.job_processes + std::uint64_t{kThreadsOfTask} * job.task_slots;
  // Map outputs count where they were written, until they are read. Sanitizers take memory of their own.
  if (!kSanitized) limits.memory_bytes = job.memory_bytes + options_.store_bytes;
  std::shared_ptr<JobIsolation> made(
      new JobIsolation(job.directory, limits, job.account),
      [&background = background_](JobIsolation* last) { background.post([last = std::shared_ptr<JobIsolation>(last)] {}); });
  made->environment_ = {fmt::format("TMPDIR={}", temporary)};
  if (made->account_)
    for (std::string& variable : environment_of(*made->account_, options_.security.credentials != nullptr))
      made->environment_.push_back(std::move(variable));
  if (options_.sandbox) made->sandbox_ = std::make_shared<const Sandbox>(directory_, job.directory, temporary, options_.writable);
  if (groups_) {
    WEFT_ASSIGN(ControlGroup group, groups_->make(job.name, limits));
    made->group_.emplace(std::move(group));
  }
  return std::shared_ptr<const JobIsolation>(std::move(made));
}

Confinement JobIsolation::confinement() const {
  Confinement confinement;
  if (group_) {
    confinement.group_entries = group_->entries();
    confinement.group_directory = group_->directory();
  }
  confinement.account = account_;
  confinement.sandbox = sandbox_;
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
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if (counted || limits_.processes == 0 || !(says(std::strerror(EAGAIN)) || says(kShellCannotFork))) return {};
  return fmt::format("; perhaps {} {} (weft worker --job-processes)", kProcesses, limits_.processes);
}

}  // namespace weft::runtime
