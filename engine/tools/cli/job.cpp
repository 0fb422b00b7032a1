// weft job list|status|counters|explain|logs|kill
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/machine.hpp"
#include "base/text.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/cli/commands.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/cli/options.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/table.hpp"
#include "engine/tools/display/task_output.hpp"

namespace weft::tools {

namespace {

struct JobOptions {
  MasterOption master;
  std::uint64_t job = 0;
  bool json = false;
  std::string log_bytes = "64KiB";
  std::string task;  // of which logs are wanted; empty: of all
  std::string reason;
};

Result<void> list(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto jobs, admin->jobs());
  print(options.json ? jobs_json(jobs) : jobs_table(jobs));
  return {};
}

Result<void> status(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto found, admin->job(JobId(options.job)));
  print(options.json ? job_json(found.jobs[0], found.now) : job_text(found.jobs[0], found.now));
  return {};
}

Result<void> counters(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto found, admin->job(JobId(options.job)));
  print(options.json ? counters_json(found.jobs[0]) : counters_table(found.jobs[0]));
  return {};
}

Result<void> explain(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(const auto explained, admin->explain(JobId(options.job)));
  print(options.json ? explanation_json(explained) : explanation_text(explained));
  return {};
}

/// Keeps what that task wrote; an error when it is not there.
Result<void> keep_task(const std::string& name, std::vector<client::JobLog>& logs) {
  WEFT_ASSIGN(const TaskName task, parse_task_name(name));
  for (client::JobLog& log : logs) log.text = Buffer::copy_of(as_bytes(output_of(as_chars(log.text.view()), task)));
  std::erase_if(logs, [](const client::JobLog& log) { return log.error.empty() && log.text.empty(); });
  if (!logs.empty()) return {};
  return fail(Code::not_found,
              fmt::format("no worker has output of task {}: it printed nothing, has not ended, or lies before what "
                          "--bytes shows",
                          name));
}

Result<void> logs(const JobOptions& options) {
  WEFT_ASSIGN(const std::uint64_t bytes, parse_size(options.log_bytes));
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  WEFT_ASSIGN(auto pieces, admin->logs(JobId(options.job), bytes));
  if (!options.task.empty()) WEFT_TRY(keep_task(options.task, pieces));
  print(options.json ? logs_json(pieces) : logs_text(pieces));
  return {};
}

Result<void> kill(const JobOptions& options) {
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  std::string reason = options.reason;
  if (reason.empty()) {
    reason = fmt::format("killed by {}", user_name());
  }
  WEFT_TRY(admin->kill(JobId(options.job), reason));
  print(options.json ? fmt::format("{{\"id\":{},\"killed\":true}}\n", options.job) : fmt::format("job {} killed\n", options.job));
  return {};
}

}  // namespace

void add_job(CLI::App& app, Action& action, int& exit_status) {
  CLI::App* job = app.add_subcommand("job", "List jobs, explain them, read their logs, kill them");
  job->require_subcommand(1);
  auto options = std::make_shared<JobOptions>();
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const JobOptions&), bool of_one) {
    CLI::App* command = job->add_subcommand(name, help);
    add_master_option(*command, options->master);
    if (of_one) add_job_argument(*command, options->job);
    command->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
    return command;
  };
  const auto json = [&](CLI::App* command) { command->add_flag("--json", options->json, "As JSON"); };
  json(add("list", "All jobs, the newest last", list, false));
  json(add("status", "One job with its stages", status, true));
  json(add("counters", "The counters of a job's finished tasks", counters, true));
  json(add("explain", "Why waiting tasks of a job do not run", explain, true));
  CLI::App* log = add("logs", "What a job's tasks wrote to standard output and error, per worker", logs, true);
  json(log);
  log->add_option("--task", options->task, "Only what task STAGE.TASK printed, such as 3.17, and others at the same time")
      ->type_name("STAGE.TASK")
      ->check([](const std::string& text) {
        const auto task = parse_task_name(text);
        return task ? std::string() : task.error().to_string();
      });
  log->add_option("--bytes", options->log_bytes, "At most this much of each worker's log, from its end")
      ->type_name("SIZE")
      ->capture_default_str();
  CLI::App* end = add("kill", "End a job", kill, true);
  json(end);
  end->add_option("--reason", options->reason, "Its driver receives this text");
  add_job_watch(*job, action, exit_status);
  add_job_history(*job, action);
}

}  // namespace weft::tools
