// weft job list|status|counters|logs|cancel|kill
#include <fmt/format.h>

#include "base/machine.hpp"
#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/cli/job_watch.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/task_output.hpp"

namespace weft::tools {

namespace {

struct JobOptions {
  MasterOption master;
  std::uint64_t job = 0;
  bool json = false, follow = false;
  std::string log_bytes = "64KiB";
  std::string task;  // of which logs are wanted; empty: of all
  std::string reason;
};

Result<void> list(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto jobs, admin->jobs());
  return print(options.json ? jobs_json(jobs) : jobs_table(jobs));
}

Result<void> status(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto found, admin->job(JobId(options.job)));
  return print(options.json ? job_json(found.jobs[0], found.now) : job_text(found.jobs[0], found.now));
}

Result<void> counters(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto found, admin->job(JobId(options.job)));
  return print(options.json ? counters_json(found.jobs[0]) : counters_table(found.jobs[0]));
}

Result<void> logs(const JobOptions& options) {
  WEFT_ASSIGN(const std::uint64_t bytes, parse_size(options.log_bytes));
  if (options.follow && (options.json || !options.task.empty()))
    return fail(Code::invalid_argument, "--follow prints all that is printed as it comes; it goes with neither --json nor --task");
  if (options.follow) return follow_logs(options.master, options.job, bytes);
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(auto pieces, admin->logs(JobId(options.job), bytes));
  if (!options.task.empty()) {
    WEFT_ASSIGN(const StageTask task, parse_task_name(options.task));
    keep_output_of(task, pieces);
    if (pieces.empty())
      return fail(Code::not_found, fmt::format("no worker has output of task {}: it printed nothing, has not ended, or lies before "
                                               "what --bytes shows",
                                               options.task));
  }
  return print(options.json ? logs_json(pieces) : logs_text(pieces));
}

/// As whom the master knows whoever runs this: by his certificate or token, which need not be named as his account here is.
std::string name_at(client::Admin& admin) {
  const auto seen = admin.who();
  return seen && !seen->user.empty() ? seen->user : user_name();
}

Result<void> kill(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_TRY(admin->kill(JobId(options.job), options.reason.empty() ? "killed by " + name_at(*admin) : options.reason));
  return print(options.json ? killed_json(options.job) : fmt::format("job {} killed\n", options.job));
}

}  // namespace

void add_job(CLI::App& app, Action& action, int& exit_status) {
  CLI::App& job = add_group(app, "job", "List jobs, explain them, read their logs, kill them");
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const JobOptions&)) {
    return Command<JobOptions>(job, action, name, help, run).master();
  };
  add("list", "All jobs, the newest last", list).json();
  add("status", "One job with its stages", status).job().json();
  add("counters", "The counters of a job's finished tasks", counters).job().json();
  auto log = add("logs", "What a job's driver and tasks wrote to standard output and error, per worker", logs).job().json();
  log.app().add_flag("-f,--follow", log.options().follow,
                     "Go on with what they write until the job has ended; a master that is away is waited for as by weft job wait");
  add_value(log.app(), "--task", log.options().task, "STAGE.TASK",
            "Only what task STAGE.TASK printed, such as 3.17, and others at the same time")
      ->check(parsed_by(parse_task_name));
  add_value(log.app(), "--bytes", log.options().log_bytes, "SIZE",
            "At most this much of each worker's log, from its end, and of all 128 MiB")
      ->check(parsed_by(parse_size))
      ->capture_default_str();
  for (const char* name : {"cancel", "kill"}) {
    auto end = add(name, "End a job; cancel and kill are the same", kill).job().json();
    end.app().add_option("--reason", end.options().reason, "Its driver receives this text");
  }
  add_job_watch(job, action, exit_status);
  add_job_history(job, action);
}

}  // namespace weft::tools
