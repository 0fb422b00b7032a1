#include "common_options.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/rpc/rpc.hpp"
#include "base/text.hpp"
#include "driver.hpp"
#include "engine/client/job_flags.hpp"
#include "engine/client/job_page.hpp"

namespace weft {
namespace {

constexpr const char* kGroup = "How to run";

/// An option of which `parse` makes the value; where it cannot, its error is what the user sees. `type` is shown by --help.
template <class T>
void add_parsed(CLI::App& app, const std::string& name, T& value, const std::string& type,
                const std::function<Result<T>(const std::string&)>& parse, const std::string& help) {
  const auto check = [parse](const std::string& text) {
    const auto parsed = parse(text);
    return parsed ? std::string() : parsed.error().to_string();
  };
  app.add_option_function<std::string>(
         name, [&value, parse](const std::string& text) { value = parse(text).value_or(T{}); }, help)
      ->check(CLI::Validator(check, type))
      ->group(kGroup);
}

/// 0: auto.
Result<std::uint32_t> partitions_of(const std::string& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (text != "auto" && (!whole || number < 1 || number > detail::kMostPartitions))
    return fail(Code::invalid_argument,
                fmt::format("not a number from 1 to {}, and not auto; each partition is a task, and often a file",
                            detail::kMostPartitions));
  return number;
}

Result<std::uint64_t> budget_of(const std::string& text) {
  WEFT_ASSIGN(const std::uint64_t bytes, parse_size(text));
  if (bytes < (8u << 20)) return fail(Code::invalid_argument, "at least 8MiB");
  return bytes;
}

Result<Duration> parse_duration_text(const std::string& text) { return parse_duration(text); }

/// An option that is given with nothing (--cluster "$UNSET") is a mistake: the job would run as if it were not there.
void refuse_empty(CLI::App& app) {
  for (CLI::Option* const option : app.get_options())
    if (option->get_group() == kGroup && option->get_type_size() != 0 && option->get_items_expected_min() > 0)
      option->check(
          [](const std::string& text) { return text.empty() ? "the value is empty; give one, or leave the option out" : ""; });
}

std::string address_error(const std::string& text) {
  const auto address = rpc::Endpoint::parse_list(text);
  return address ? std::string() : address.error().to_string();
}

void declare_place(CLI::App& app, client::RunOptions& run) {
  auto* cluster = app.add_option("--cluster", run.cluster,
                                 "Run on the cluster whose master is at HOST:PORT (several masters: HOST:PORT,HOST:PORT)")
                      ->type_name("HOST:PORT")
                      ->group(kGroup);
  app.add_option("--files", run.files,
                 "HOST:PORT of the master that keeps the files of weft:// paths (default: that of --cluster, then $WEFT_MASTER)")
      ->type_name("HOST:PORT")
      ->check(address_error)
      ->group(kGroup);
  add_parsed<Duration>(app, "--patience", run.patience, "TIME", parse_duration_text,
                       "How long to wait for a master of --cluster or --files that is away when the job starts (default: 5s)");
  app.add_option("--workers", run.workers, "Run on this many private worker processes instead of threads of this one")
      ->excludes(cluster)
      ->check(CLI::Range(1, 256))
      ->group(kGroup);
  app.add_option("--http", run.http, "Show the job on a page while it runs; loopback unless HOST says otherwise, port 0 takes any")
      ->excludes(cluster)
      ->type_name("[HOST:]PORT")
      ->check([](const std::string& text) {
        const auto address = client::page_address(text);
        return address ? std::string() : address.error().to_string();
      })
      ->group(kGroup);
  app.add_option("--threads", run.threads, "Tasks at a time (per worker with --workers; default: one per core)")
      ->check(CLI::Range(1, 1024))
      ->group(kGroup);
  add_parsed<std::uint64_t>(app, "--memory", run.memory_bytes, "SIZE", budget_of,
                            "Memory budget of the run, or of each worker, such as 512MiB");
  add_parsed<std::uint32_t>(app, "--partitions", run.partitions, "N|auto", partitions_of,
                            "Partitions of shuffles that do not say otherwise (default: auto, by the size of the input)");
}

void declare_scheduling(CLI::App& app, client::RunOptions& run) {
  app.add_option("--scheduler", run.scheduler, "Scheduler, with options in brackets")->type_name("SCHEDULER")->group(kGroup);
  app.add_option("--scheduler-plugin", run.scheduler_plugins, "Shared object that brings schedulers of one's own; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(kGroup);
}

}  // namespace

std::string given_output(const CLI::App& app) {
  const CLI::Option* const option = app.get_option_no_throw("--output");
  if (option != nullptr && option->get_description() == kOutputHelp && option->count() > 0) return option->results().back();
  for (const CLI::App* const command : app.get_subcommands())
    if (std::string output = given_output(*command); !output.empty()) return output;
  return {};
}

void declare_common(CLI::App& app, CommonOptions& options) {
  declare_place(app, options.run);
  declare_scheduling(app, options.run);
  client::add_job_flags(app, kGroup, [&options](const master::JobOption& option, const std::string& text) {
    (void)option.set(text, options.run.job);
  });
  command_line::add_security_options(app, options.security, kGroup);
  app.add_option("--tmp", options.run.temporary_directory, "Directory for temporary files")->type_name("DIR")->group(kGroup);
  app.add_flag(
         "--overwrite{all}", options.overwrite,
         "Replace outputs of earlier runs, directories with a _SUCCESS (=directories: of those of write_..._by, the directories "
         "that this run writes)")
      ->check(CLI::IsMember({"all", "directories"}))
      ->group(kGroup);
  app.add_option_function<std::string>(
         "--input-format", [&options](const std::string& text) { options.raw_input = text == "raw"; },
         "auto: decompress inputs, refuse what is no text (default); raw: read the bytes of any file as lines")
      ->check(CLI::IsMember({"auto", "raw"}))
      ->group(kGroup);
  app.add_flag("--growing-inputs", options.growing_inputs,
               "Of inputs that only grow, such as logs, read what was there when they were listed; any other change fails the job")
      ->group(kGroup);
  app.add_flag("--quiet", options.run.quiet, "No progress on stderr, only errors and bad records")->group(kGroup);
  app.add_flag("--check-variants", options.check_variants,
               "Run the functions for nodes with attributes as well as the others, and fail where they differ")
      ->group(kGroup);
  app.add_option("--stats", options.stats,
                 "Write to this file (JSON) what each stage read and shuffled, the counters and what was skipped")
      ->type_name("FILE")
      ->group(kGroup);
  app.add_flag("--explain{text}", options.explain, "Print the stages (=dot for Graphviz) and run nothing")
      ->check(CLI::IsMember({"text", "dot"}))
      ->group(kGroup);
  refuse_empty(app);
}

}  // namespace weft
