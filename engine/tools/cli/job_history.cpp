// weft job trace, report, diagnose; weft history: from a master's event log.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "base/named_file.hpp"
#include "base/text.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/tools/cli/commands.hpp"
#include "engine/tools/cli/options.hpp"
#include "engine/tools/display/table.hpp"
#include "engine/tools/history/findings.hpp"
#include "engine/tools/history/growing_log.hpp"
#include "engine/tools/history/log_follower.hpp"
#include "engine/tools/history/past_jobs.hpp"
#include "engine/tools/history/trace.hpp"
#include "engine/tools/web/past.hpp"
#include "engine/tools/web/service.hpp"

namespace weft::tools {

namespace {

struct JobHistoryOptions {
  std::uint64_t job = 0;
  std::string log;     // of events
  std::string output;  // empty: standard output
  bool json = false, overwrite = false;
};

Result<void> write_output(const JobHistoryOptions& options, const std::string& text) {
  return write_named_file(options.output, text, options.overwrite ? IfExists::replace : IfExists::refuse);
}

Result<void> trace(const JobHistoryOptions& options) {
  WEFT_ASSIGN(const auto history, history::read_job(options.log, options.job));
  const std::string text = history::trace_json(history, *history.job(options.job));
  if (!options.output.empty()) return write_output(options, text);
  print(text);
  return {};
}

Result<void> report(const JobHistoryOptions& options) {
  WEFT_ASSIGN(const auto history, history::read_job(options.log, options.job));
  return write_output(options, web::report_html(history, *history.job(options.job)));
}

Result<void> diagnose(const JobHistoryOptions& options) {
  WEFT_ASSIGN(const auto history, history::read_job(options.log, options.job));
  const auto findings = history::findings_of(history, *history.job(options.job));
  print(options.json ? history::findings_json(findings) : history::findings_text(findings));
  return {};
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
  fmt::print("{} is shown at http://{}/jobs\n", options.logs, service->address());
  std::fflush(stdout);
  while (!stop.requested()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return {};
}

}  // namespace

void add_history(CLI::App& app, Action& action) {
  auto options = std::make_shared<HistoryOptions>();
  CLI::App* command = app.add_subcommand("history", "Show jobs of the past on a page, from event logs, until it is ended");
  command->add_option("LOGS", options->logs, "An event log, or a directory with those of one master")
      ->required()
      ->check(CLI::ExistingPath);
  command->add_option("--http", options->http, "Where the page is served; port 0 takes any")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  command->add_flag("--follow", options->follow, "A log that is being written: the page goes on with it, and no index is kept");
  command->callback([options, &action] { action = [options] { return show_history(*options); }; });
}

void add_job_history(CLI::App& job, Action& action) {
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const JobHistoryOptions&)) {
    auto options = std::make_shared<JobHistoryOptions>();
    CLI::App* command = job.add_subcommand(name, help);
    add_job_argument(*command, options->job);
    command->add_option("--event-log", options->log, "The event log of its master (weft master --event-log)")
        ->type_name("FILE")
        ->required()
        ->check(CLI::ExistingFile);
    command->callback([options, run, &action] { action = [options, run] { return run(*options); }; });
    return std::pair(command, options);
  };
  const auto [tracing, trace_options] = add("trace", "A job's tasks over time, for Perfetto or Chrome (chrome://tracing)", trace);
  tracing->add_option("-o,--output", trace_options->output, "Where to write it (default: standard output)")->type_name("FILE");
  add_overwrite_flag(*tracing, trace_options->overwrite);
  const auto [reporting, report_options] = add("report", "A job as a page in one file, which opens without a server", report);
  reporting->add_option("-o,--output", report_options->output, "Where to write it")->type_name("FILE")->required();
  add_overwrite_flag(*reporting, report_options->overwrite);
  const auto [diagnosing, diagnose_options] = add("diagnose", "What went wrong with a job, and what to change", diagnose);
  diagnosing->add_flag("--json", diagnose_options->json, "As JSON");
}

}  // namespace weft::tools
