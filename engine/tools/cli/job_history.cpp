// weft job explain, trace, report, diagnose; weft history: from an event log, of a master that runs or of one that is gone.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "base/named_file.hpp"
#include "base/text.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/display/earlier_runs.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/history/critical_path.hpp"
#include "engine/tools/history/findings.hpp"
#include "engine/tools/history/growing_log.hpp"
#include "engine/tools/history/log_follower.hpp"
#include "engine/tools/history/past_jobs.hpp"
#include "engine/tools/history/remote_log.hpp"
#include "engine/tools/history/trace.hpp"
#include "engine/tools/web/past.hpp"
#include "engine/tools/web/service.hpp"

namespace weft::tools {

namespace {

struct JobHistoryOptions {
  std::uint64_t job = 0;
  std::string log;  // of events; empty: the master's
  MasterOption master;
  std::string output;  // empty: standard output
  bool json = false, overwrite = false;
};

Result<history::EventHistory> history_of(const JobHistoryOptions& options) {
  if (!options.log.empty()) return history::read_job(options.log, options.job);
  WEFT_ASSIGN(const auto admin, admin_at(options.master));
  return history::fetch_job([&](const client::EventsWanted& wanted) { return admin->events(wanted); }, options.job);
}

Result<void> write_output(const JobHistoryOptions& options, const std::string& text) {
  return write_named_file(options.output, text, options.overwrite ? IfExists::replace : IfExists::refuse);
}

Result<void> trace(const JobHistoryOptions& options) {
  WEFT_ASSIGN(const auto history, history_of(options));
  const std::string text = history::trace_json(history, *history.job(options.job));
  if (!options.output.empty()) return write_output(options, text);
  return print(text);
}

Result<void> report(const JobHistoryOptions& options) {
  WEFT_ASSIGN(const auto history, history_of(options));
  return write_output(options, web::report_html(history, *history.job(options.job)));
}

Result<void> diagnose(const JobHistoryOptions& options) {
  WEFT_ASSIGN(const auto history, history_of(options));
  const auto findings = history::findings_of(history, *history.job(options.job));
  return print(options.json ? history::findings_json(findings) : history::findings_text(findings));
}

/// Why its tasks wait now, what its time went to, and how long it took before. A master without an event log knows the first only.
Result<void> explain(const JobHistoryOptions& options) {
  std::string text;
  if (options.log.empty()) {
    WEFT_ASSIGN(const auto admin, admin_at(options.master));
    WEFT_ASSIGN(const auto explained, admin->explain(JobId(options.job)));
    if (options.json) return print(explanation_json(explained));
    text = explanation_text(explained);
    if (const auto jobs = admin->jobs()) text += earlier_runs_text(earlier_runs(*jobs, JobId(options.job)));
  }
  const auto history = history_of(options);
  if (!history) {
    if (!options.log.empty()) return fail(history.error());
    return print(text);
  }
  const history::LoggedJob& job = *history->job(options.job);
  if (options.json) return print(history::path_json(*history, job));
  if (text.empty())
    text = fmt::format("job {} {} ({})\n", options.job, escaped(client::shown_name(job.status)), name_of(job.status.state));
  return print(text + history::path_text(*history, job));
}

struct HistoryOptions {
  std::string logs;
  std::string http = "127.0.0.1:7079";
  bool follow = false;
};

Result<void> show_history(const HistoryOptions& options) {
  const client::StopSignal stop;
  std::unique_ptr<history::LoggedJobs> jobs;
  if (options.follow) {
    jobs = std::make_unique<history::GrowingLog>(options.logs);
  } else {
    WEFT_ASSIGN(jobs, history::PastJobs::open(options.logs));
  }
  WEFT_ASSIGN(const auto service, web::Service::start(options.http, std::move(jobs)));
  fmt::print("{} is shown at {}/jobs\n", options.logs, service->url());
  std::fflush(stdout);
  while (!stop.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return {};
}

}  // namespace

void add_history(CLI::App& app, Action& action) {
  const Command<HistoryOptions> command(app, action, "history",
                                        "Show jobs of the past on a page, from event logs, until it is ended", show_history);
  HistoryOptions& options = command.options();
  command.app()
      .add_option("LOGS", options.logs, "An event log, or a directory with those of one master")
      ->required()
      ->check(CLI::ExistingPath);
  add_value(command.app(), "--http", options.http, "HOST:PORT", "Where the page is served; port 0 takes any")
      ->capture_default_str();
  command.app().add_flag("--follow", options.follow, "A log that is being written: the page goes on with it, and no index is kept");
}

void add_job_history(CLI::App& job, Action& action) {
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const JobHistoryOptions&)) {
    Command<JobHistoryOptions> command(job, action, name, help, run);
    command.job().master();
    add_value(command.app(), "--event-log", command.options().log, "FILE",
              "An event log, also of a master that is gone (default: that of the master that runs)")
        ->check(CLI::ExistingFile);
    return command;
  };
  add("explain", "Why waiting tasks of a job do not run, and what its time went to", explain).json();
  add("trace", "A job's tasks over time, for Perfetto or Chrome (chrome://tracing)", trace)
      .value("-o,--output", &JobHistoryOptions::output, "FILE", "Where to write it (default: standard output)")
      .overwrite();
  auto reporting = add("report", "A job as a page in one file, which opens without a server", report);
  add_value(reporting.app(), "-o,--output", reporting.options().output, "FILE", "Where to write it")->required();
  reporting.overwrite();
  add("diagnose", "What went wrong with a job, and what to change", diagnose).json();
}

}  // namespace weft::tools
