#include "weft/main.hpp"

#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <thread>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fatal_signal.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "driver.hpp"
#include "engine/client/machine.hpp"
#include "engine/client/run_stats.hpp"
#include "engine/client/session.hpp"
#include "replay.hpp"
#include "weft/failure.hpp"

namespace weft {
namespace {

constexpr int kJobFailed = 1;
constexpr int kUsage = 2;

/// What every job program understands besides its own options.
struct CommonOptions {
  client::RunOptions run;
  bool overwrite = false;
  std::string explain;  // "", "text", "dot"
  std::string stats;    // file for the figures of the run; empty: none
};

/// CLI11 validators that accept what `parse` does.
CLI::Validator parsed_by(std::string type, std::function<Result<void>(const std::string&)> parse) {
  return CLI::Validator(
      [parse = std::move(parse)](std::string& text) {
        const auto parsed = parse(text);
        return parsed ? std::string() : parsed.error().to_string();
      },
      std::move(type));
}

/// 0: auto.
Result<std::uint32_t> partitions_of(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (text != "auto" && (!whole || number < 1 || number > detail::kMostPartitions))
    return fail(Code::invalid_argument, fmt::format("not a number from 1 to {}, and not auto", detail::kMostPartitions));
  return number;
}

void declare_common(CLI::App& app, CommonOptions& options) {
  constexpr const char* kGroup = "How to run";
  client::RunOptions& run = options.run;
  auto* cluster = app.add_option("--cluster", run.cluster, "Run on the cluster whose master is at HOST:PORT")->group(kGroup);
  app.add_option("--files", run.files,
                 "HOST:PORT of the master that keeps the files of weft:// paths (default: that of --cluster, then $WEFT_MASTER)")
      ->group(kGroup);
  app.add_option("--workers", run.workers, "Run on this many private worker processes instead of threads of this one")
      ->excludes(cluster)
      ->check(CLI::Range(1, 256))
      ->group(kGroup);
  app.add_option("--threads", run.threads, "Tasks at a time (per worker with --workers; default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--memory", [&run](const std::string& text) { run.memory_bytes = parse_size(text).value_or(0); },
         "Memory budget of the run, or of each worker, such as 512MiB")
      ->check(parsed_by("SIZE",
                        [](const std::string& text) -> Result<void> {
                          WEFT_ASSIGN(const auto bytes, parse_size(text));
                          if (bytes < (8u << 20)) return fail(Code::invalid_argument, "at least 8MiB");
                          return {};
                        }))
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--partitions", [&run](const std::string& text) { run.partitions = partitions_of(text).value_or(0); },
         "Partitions of shuffles that do not say otherwise (default: auto, by what there is to read)")
      ->check(parsed_by("N|auto", [](const std::string& text) { return partitions_of(text).map([](std::uint32_t) {}); }))
      ->group(kGroup);
  app.add_option("--scheduler", run.scheduler, "Scheduler, with options in brackets")->group(kGroup);
  app.add_option("--scheduler-plugin", run.scheduler_plugins, "Shared object that brings schedulers of one's own; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_option("--user", run.user, "On whose behalf (default: who runs this)")->group(kGroup);
  app.add_option("--pool", run.pool, "Pool or queue of the scheduler")->group(kGroup);
  app.add_option("--priority", run.priority, "Larger goes first")->group(kGroup);
  app.add_option_function<std::string>(
         "--deadline", [&run](const std::string& text) { run.deadline = parse_duration(text).value_or(Duration(0)); },
         "When the job should be done, from its start, such as 10min; for schedulers that care")
      ->check(parsed_by("TIME",
                        [](const std::string& text) -> Result<void> {
                          WEFT_ASSIGN(const auto deadline, parse_duration(text));
                          if (deadline <= Duration(0)) return fail(Code::invalid_argument, "more than 0");
                          return {};
                        }))
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--demand",
         [&run](const std::string& text) { run.demand = schedulers::parse_resources(text).value_or(schedulers::Resources{}); },
         "What each task needs of its node, such as cpu=1,memory=512MiB")
      ->check(parsed_by("RESOURCES",
                        [](const std::string& text) -> Result<void> {
                          WEFT_TRY(schedulers::parse_resources(text));
                          return {};
                        }))
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--task-timeout", [&run](const std::string& text) { run.task_timeout = parse_duration(text).value_or(Duration(0)); },
         "Longest time a task may take, such as 30s")
      ->check(parsed_by("TIME",
                        [](const std::string& text) -> Result<void> {
                          WEFT_TRY(parse_duration(text));
                          return {};
                        }))
      ->group(kGroup);
  app.add_option("--max-attempts", run.max_attempts, "Tries of a task before the job fails")
      ->check(CLI::Range(1, 1000))
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--shuffle-mode", [&run](const std::string& text) { run.shuffle_mode = shuffle::parse_mode(text); },
         "memory: keep map outputs there and bring them to their readers early (default); pull: write them to disk, fetch them "
         "late")
      ->check(CLI::IsMember({"memory", "pull"}))
      ->group(kGroup);
  app.add_option_function<std::uint32_t>(
         "--shuffle-replicas", [&run](const std::uint32_t& copies) { run.shuffle_replicas = copies; },
         "Copies of map outputs, on different workers: 1 (default), or 2, so that a lost worker's maps need not run again")
      ->check(CLI::IsMember({"1", "2"}))
      ->group(kGroup);
  app.add_option("--tmp", run.temporary_directory, "Directory for temporary files")->group(kGroup);
  app.add_flag("--overwrite", options.overwrite, "Replace outputs of earlier runs (directories with a _SUCCESS)")->group(kGroup);
  app.add_flag("--quiet", run.quiet, "No progress on stderr")->group(kGroup);
  app.add_option("--stats", options.stats,
                 "Write to this file (JSON) what each stage read and shuffled, the counters and what was skipped")
      ->group(kGroup);
  app.add_flag("--explain{text}", options.explain, "Print the stages (=dot for Graphviz) and run nothing")
      ->check(CLI::IsMember({"text", "dot"}))
      ->group(kGroup);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

int complain(const std::string& program, const std::string& message, int code) {
  std::fflush(stdout);
  const std::string line = program + ": " + one_line(message) + "\n";
  std::fputs(line.c_str(), stderr);
  return code;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// "--inptu: did you mean --input?"
std::string usage_message(const CLI::ParseError& error, const CLI::App& app, std::span<char* const> arguments,
                          const std::string& program) {
  std::string message = error.what();
  // A misspelt option also shows as a missing one: name the cause.
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    std::vector<std::string> names = option_names(app);
    for (const CLI::App* sub : app.get_subcommands({})) {
      for (std::string& name : option_names(*sub)) names.push_back(std::move(name));
    }
    for (const char* argument : arguments) {
      std::string_view name(argument);
      name = name.substr(0, name.find('='));
      if (!name.starts_with("--") || std::find(names.begin(), names.end(), name) != names.end()) continue;
      message = "unknown option " + std::string(name);
      if (const auto near = nearest(name, names); !near.empty()) message += ", did you mean " + std::string(near) + "?";
      break;
    }
  }
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  return message + "; " + program + " --help lists the options";
}

/// One parsed command line, and the job it asks for.
class CommandLine {
 public:
  using Define = std::function<void(Flow&)>;

  CommandLine(std::string name, const std::string& description) : name_(std::move(name)), app_(description, name_) {
    app_.set_version_flag("--version", name_ + " (weft " + std::string(version()) + ")");
    app_.get_formatter()->column_width(34);
    declare_common(app_, common_);
  }

  void add(const std::string& name, const std::string& description, const std::function<void(CLI::App&)>& declare, Define define) {
    if (name.empty()) {
      declare(app_);
      define_ = std::move(define);
      return;
    }
    CLI::App* sub = app_.add_subcommand(name, description);
    sub->fallthrough();
    declare(*sub);
    sub->callback([this, name, define = std::move(define)] {
      define_ = define;
      common_.run.job_name += "-" + name;
    });
    app_.require_subcommand(1);
  }

  /// The exit code when there is nothing to run.
  std::optional<int> parse(int argc, char** argv) {
    common_.run.job_name = name_;
    common_.run.arguments.assign(argv + (argc > 0 ? 1 : 0), argv + argc);
    try {
      app_.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
      return app_.exit(help);
    } catch (const CLI::CallForAllHelp& help) {
      return app_.exit(help);
    } catch (const CLI::CallForVersion& version) {
      return app_.exit(version);
    } catch (const CLI::ParseError& error) {
      return complain(name_, usage_message(error, app_, std::span(argv, static_cast<std::size_t>(argc)).subspan(1), name_), kUsage);
    }
    return std::nullopt;
  }

  const std::string& name() const { return name_; }
  const CommonOptions& common() const { return common_; }
  const Define& define() const { return define_; }

 private:
  std::string name_;
  CommonOptions common_;
  Define define_;
  CLI::App app_;
};

detail::DriverSettings driver_settings(const CommonOptions& common) {
  detail::DriverSettings settings;
  settings.partitions = common.run.partitions;
  settings.overwrite = common.overwrite;
  settings.files = client::files_of(common.run);
  settings.open_session = [run = common.run](runtime::JobProgram& program) -> Result<std::unique_ptr<client::Session>> {
    if (!run.cluster.empty()) return client::open_cluster(run);
    if (run.workers > 0) return client::open_private_cluster(run);
    return client::open_embedded(run, program);
  };
  if (!common.explain.empty()) {
    const std::uint32_t threads = common.run.threads > 0 ? common.run.threads : client::available_cores();
    settings.explain_with = std::max(1u, common.run.workers > 0 && common.run.threads > 0 ? threads * common.run.workers : threads);
  }
  return settings;
}

void explain(detail::DriverGraph& graph, const CommandLine& line, bool complete) {
  const auto stages = graph.planned();
  const std::string text = line.common().explain == "dot" ? plan::explain_dot(stages) : plan::explain_text(stages);
  std::fputs(text.c_str(), stdout);
  if (!complete) {
    complain(line.name(), "the plan goes on when the value of the last stage is known; --explain runs nothing, so it ends here", 0);
  }
}

/// The job has succeeded and its outputs are there: a fault with the file of --stats is reported, and no more.
void report(const CommandLine& line, detail::DriverGraph& graph) {
  const CommonOptions& common = line.common();
  const master::JobStatus status = graph.status().value_or(master::JobStatus{});
  if (!common.run.quiet)
    std::fputs(client::closing_lines(common.run.job_name, status.counters, graph.skipped_inputs()).c_str(), stderr);
  if (common.stats.empty()) return;
  const auto written = write_file(common.stats, client::run_stats_json(status, graph.skipped_inputs()));
  if (!written) complain(line.name(), "--stats: " + written.error().to_string(), 0);
}

int run_job(const CommandLine& line) {
  auto graph = std::make_shared<detail::DriverGraph>(driver_settings(line.common()));
  const bool explain_only = !line.common().explain.empty();
  try {
    Flow flow(graph);
    line.define()(flow);
    if (explain_only) {
      explain(*graph, line, true);
    } else {
      graph->finish();
      report(line, *graph);
    }
    return 0;
  } catch (const detail::PlanEndsHere&) {
    explain(*graph, line, false);
    return 0;
  } catch (const std::bad_alloc&) {
    graph->abandon();
    return complain(line.name(), "out of memory; give the job more (--memory) or let its definition keep less", kJobFailed);
  } catch (const std::exception& fault) {
    graph->abandon();
    return complain(line.name(), fault.what(), kJobFailed);
  } catch (const runtime::TaskError& fault) {
    graph->abandon();
    return complain(line.name(), fault.error.to_string(), kJobFailed);
  } catch (...) {
    graph->abandon();
    return complain(line.name(), "the definition threw something that is no std::exception", kJobFailed);
  }
}

/// The definition, replayed for an executor.
std::unique_ptr<runtime::JobProgram> replay(const std::shared_ptr<CommandLine>& line, int argc, char** argv) {
  if (line->parse(argc, argv))
    return std::make_unique<detail::ReplayProgram>([](Flow&) { throw std::runtime_error("bad arguments"); });
  return std::make_unique<detail::ReplayProgram>([line](Flow& flow) { line->define()(flow); });
}

}  // namespace

int Programs::main(int argc, char** argv) const {
  const std::string name = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "weft-job";
  try {
    auto line = std::make_shared<CommandLine>(name, description_);
    for (const Job& job : jobs_) line->add(job.name, job.description, job.declare, job.define);
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
    if (const auto role = client::internal_role(argc, argv, [&] { return replay(line, argc, argv); })) return *role;
    if (const auto ended = line->parse(argc, argv)) return *ended;
    log_fatal_signals("driver of " + name);
    return run_job(*line);
  } catch (const std::exception& fault) {  // an option declared twice, …
    return complain(name, fault.what(), kJobFailed);
  }
}

}  // namespace weft
