#include "weft/main.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/broken_pipe.hpp"
#include "base/command_line/help.hpp"
#include "base/command_line/usage.hpp"
#include "base/command_line/words.hpp"
#include "base/fatal_signal.hpp"
#include "base/file.hpp"
#include "base/named_file.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "common_options.hpp"
#include "driver.hpp"
#include "engine/client/earlier_job.hpp"
#include "engine/client/job_summary.hpp"
#include "engine/client/machine.hpp"
#include "engine/client/run_stats.hpp"
#include "engine/client/secrets.hpp"
#include "engine/client/session.hpp"
#include "replay.hpp"
#include "runtime/protocol/worker.hpp"
#include "weft/failure.hpp"

namespace weft {
namespace {

constexpr int kJobFailed = 1;
constexpr int kUsage = 2;

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

int complain(const std::string& program, const std::string& message, int code) {
  std::fflush(stdout);
  const std::string line = printable(program + ": " + one_line(message)) + "\n";
  std::fputs(line.c_str(), stderr);
  return code;
}

/// One parsed command line, and the job it asks for.
class CommandLine {
 public:
  using Define = std::function<void(Flow&)>;

  CommandLine(std::string name, const std::string& description) : name_(std::move(name)), app_(description, name_) {
    app_.formatter(command_line::help_layout());
    app_.set_version_flag("--version", name_ + " (weft " + std::string(version()) + ")", "Print the version");
    declare_common(app_, common_);
  }

  void add(const std::string& name, const std::string& description, const std::function<void(Arguments&)>& declare, Define define) {
    if (name.empty()) {
      Arguments arguments(app_);
      declare(arguments);
      define_ = std::move(define);
      return;
    }
    CLI::App* sub = app_.add_subcommand(name, description);
    sub->fallthrough();
    Arguments arguments(*sub);
    declare(arguments);
    sub->callback([this, name, define = std::move(define)] {
      define_ = define;
      common_.run.job_name += "-" + name;
    });
    app_.require_subcommand(1);
  }

  /// The exit code if there is nothing to run.
  std::optional<int> parse(int argc, char** argv) {
    common_.run.job_name = name_;
    common_.run.arguments.assign(argv + (argc > 0 ? 1 : 0), argv + argc);
    auto arranged = command_line::arrange(app_, common_.run.arguments);
    if (!arranged) return complain(name_, arranged.error().to_string(), kUsage);
    try {
      std::reverse(arranged->words.begin(), arranged->words.end());  // as CLI11 takes them
      app_.parse(arranged->words);
    } catch (const CLI::CallForHelp& help) {
      return app_.exit(help);
    } catch (const CLI::CallForAllHelp& help) {
      return app_.exit(help);
    } catch (const CLI::CallForVersion& version) {
      return app_.exit(version);
    } catch (const CLI::ParseError& error) {
      return complain(name_, command_line::usage_message(error, *arranged->command), kUsage);
    }
    return std::nullopt;
  }

  const std::string& name() const { return name_; }
  const CommonOptions& common() const { return common_; }
  const Define& define() const { return define_; }
  std::string output() const { return given_output(app_); }

 private:
  std::string name_;
  CommonOptions common_;
  Define define_;
  CLI::App app_;
};

/// A driver that weft started for a job of its cluster runs nowhere else, whatever the command line says.
client::RunOptions run_options(const CommandLine& line, const std::optional<client::DriverKey>& driver_of) {
  client::RunOptions run = line.common().run;
  if (!driver_of) return run;
  run.driver_of = driver_of;
  run.workers = 0;
  if (!driver_of->user.empty()) run.job.user = driver_of->user;
  const char* const master = std::getenv("WEFT_MASTER");
  if (run.cluster.empty() && master != nullptr) run.cluster = master;
  return run;
}

detail::DriverSettings driver_settings(const CommandLine& line, const std::optional<client::DriverKey>& driver_of) {
  const CommonOptions& common = line.common();
  const client::RunOptions run_here = run_options(line, driver_of);
  detail::DriverSettings settings;
  settings.driver_of = driver_of;
  settings.succeeded = common.run.job.on_disconnect == master::OnDisconnect::go_on;
  settings.output = line.output();
  settings.partitions = common.run.partitions;
  settings.overwrite = !common.overwrite.empty();
  settings.keeps_other_directories = common.overwrite == "directories";
  settings.check_variants = common.check_variants;
  settings.raw_input = common.raw_input;
  settings.growing_inputs = common.growing_inputs;
  settings.files = client::files_of(run_here);
  settings.executors = !run_here.cluster.empty() || run_here.workers > 0;
  settings.open_session = [run = run_here](runtime::JobProgram& program) -> Result<std::unique_ptr<client::Session>> {
    if (!run.cluster.empty()) return client::open_cluster(run);
    if (run.driver_of)
      return fail(Code::invalid_argument, "the driver of a job that exists needs its master: set WEFT_MASTER or say --cluster");
    if (run.workers > 0) return client::open_private_cluster(run);
    return client::open_embedded(run, program);
  };
  if (!common.explain.empty()) {
    const std::uint32_t threads = common.run.threads > 0 ? common.run.threads : client::available_cores();
    settings.explain_with = std::max(1u, common.run.workers > 0 && common.run.threads > 0 ? threads * common.run.workers : threads);
    settings.explain_executors = client::executors_of(run_here);
  }
  return settings;
}

void explain(detail::DriverGraph& graph, const CommandLine& line, bool complete) {
  const auto stages = graph.planned();
  const std::string text = line.common().explain == "dot" ? plan::explain_dot(stages) : plan::explain_text(stages);
  std::fputs(printable_lines(text).c_str(), stdout);
  if (!complete) {
    complain(line.name(), "the plan goes on when the value of the last stage is known; --explain runs nothing, so it ends here", 0);
  }
}

/// The job has succeeded and its outputs are there, whatever is returned: the exit status, which says whether the file of --stats
/// was written.
int report(const CommandLine& line, detail::DriverGraph& graph) {
  const CommonOptions& common = line.common();
  const master::JobStatus status = graph.status().value_or(master::JobStatus{});
  // Skipped records are not progress, so --quiet does not hide them.
  const std::string lines =
      common.run.quiet ? client::bad_record_lines(status.name, status) : client::closing_lines(status, graph.input_notes());
  std::fputs(printable_lines(lines).c_str(), stderr);
  if (common.stats.empty()) return 0;
  const auto written = write_file(common.stats, client::run_stats_json(status, graph.input_notes()));
  if (written) return 0;
  return complain(line.name(), "--stats: " + written.error().to_string() + "; the job has finished, and its outputs are published",
                  kJobFailed);
}

/// The exit status of a driver that has not finished its job.
int abandon(detail::DriverGraph& graph) { return graph.abandon() ? runtime::protocol::kDriverGaveWay : kJobFailed; }

/// Whether the file of --stats can be written, before the job runs.
Result<void> check_stats(const std::string& file, const std::optional<client::DriverKey>& driver_of) {
  if (file.empty()) return {};
  if (driver_of) WEFT_TRY(client::refuse_relative(driver_of->away_from, "--stats", file));
  auto writable = check_named_file(file, IfExists::replace);
  return writable ? Result<void>() : fail(std::move(writable).error().wrap("--stats"));
}

/// A run that did not become a job because one with its request id is over, which then counts: its exit status. Nothing: there is
/// no such job, or `why` says more. An output or an input may be what it stumbled over first: those are as the other job left them.
std::optional<int> end_of_earlier_job(const CommandLine& line, const Error& why) {
  const auto job = client::earlier_job(line.common().run);
  if (!job) return std::nullopt;
  const std::string which =
      fmt::format("job {} has the request id {} and ", job->id.value(), escaped(line.common().run.job.request_id));
  if (job->state == master::JobState::finished)
    return line.common().run.quiet ? 0 : complain(line.name(), which + "has finished; nothing is run again", 0);
  if (why.code() != Code::already_exists) return std::nullopt;
  return complain(line.name(),
                  fmt::format("{}{}: {}; give a new run another --request-id", which,
                              job->state == master::JobState::killed ? "was killed" : "has failed", job->error),
                  kJobFailed);
}

int run_job(const CommandLine& line, bool optimized) {
  if (!optimized && !line.common().run.quiet)
    complain(line.name(),
             "built without optimisation, which takes about eight times the time; -DCMAKE_BUILD_TYPE=Release (-O2) is fast", 0);
  const auto driver_of = client::take_driver_key();
  if (!driver_of) return complain(line.name(), driver_of.error().to_string(), kUsage);
  if (const auto writable = check_stats(line.common().stats, *driver_of); !writable)
    return complain(line.name(), writable.error().to_string(), kUsage);
  auto graph = std::make_shared<detail::DriverGraph>(driver_settings(line, *driver_of));
  const bool explain_only = !line.common().explain.empty();
  try {
    Flow flow(graph);
    line.define()(flow);
    if (explain_only) {
      explain(*graph, line, true);
      return 0;
    }
    graph->finish();
    return report(line, *graph);
  } catch (const detail::PlanEndsHere&) {
    explain(*graph, line, false);
    return 0;
  } catch (const JobFailure& failure) {
    const bool began = graph->status().has_value();
    const int code = abandon(*graph);
    if (const auto ended = began || explain_only ? std::nullopt : end_of_earlier_job(line, failure.error())) return *ended;
    return complain(line.name(), failure.what(), code);
  } catch (const std::bad_alloc&) {
    return complain(line.name(), "out of memory; give the job more (--memory) or let its definition keep less", abandon(*graph));
  } catch (const std::exception& fault) {
    const int code = abandon(*graph);
    return complain(line.name(), fault.what(), code);
  } catch (const runtime::TaskError& fault) {
    const int code = abandon(*graph);
    return complain(line.name(), fault.error.to_string(), code);
  } catch (...) {
    return complain(line.name(), "the definition threw something that is no std::exception", abandon(*graph));
  }
}

/// The definition, replayed for an executor.
std::unique_ptr<runtime::JobProgram> replay(const std::shared_ptr<CommandLine>& line, int argc, char** argv) {
  if (line->parse(argc, argv))
    return std::make_unique<detail::ReplayProgram>([](Flow&) { throw std::runtime_error("bad arguments"); });
  return std::make_unique<detail::ReplayProgram>([line](Flow& flow) { line->define()(flow); }, line->common().check_variants);
}

}  // namespace

int Programs::main(int argc, char** argv, bool optimized) const {
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "weft-job";
  try {
    auto line = std::make_shared<CommandLine>(name, description_);
    for (const Job& job : jobs_) line->add(job.name, job.description, job.declare, job.define);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
    if (const auto role = client::internal_role(argc, argv, [&] { return replay(line, argc, argv); })) return *role;
    if (const auto ended = line->parse(argc, argv)) return *ended;
    command_line::obey(line->common().security);
    if (const auto safe = client::refuse_secrets(line->common().run.arguments); !safe)
      return complain(name, safe.error().to_string(), kJobFailed);
    log_fatal_signals("driver of " + name);
    outlive_broken_pipes();  // of `job | head`: the job goes on, and its outputs are written
    return run_job(*line, optimized);
  } catch (const std::exception& fault) {  // an option declared twice, …
    return complain(name, fault.what(), kJobFailed);
  }
}

}  // namespace weft
