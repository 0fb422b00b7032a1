#include "engine/tools/cli/options.hpp"

#include <cstdlib>
#include <filesystem>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::tools {

namespace {

/// `parse` gives a Result<T>; its error is what the user sees.
template <class T, class Parse>
void add_parsed(CLI::App& command, const std::string& name, T& value, const char* type, Parse parse, const std::string& help) {
  command
      .add_option_function<std::string>(
          name, [&value, parse](const std::string& text) { value = parse(text).value_or(value); }, help)
      ->type_name(type)
      ->check([parse](const std::string& text) {
        const Result<T> parsed = parse(text);
        return parsed ? std::string() : parsed.error().to_string();
      });
}

}  // namespace

Result<void> check_directory(const std::string& option, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) || std::filesystem::is_directory(path, ignored)) return {};
  return fail(Code::invalid_argument, fmt::format("{}: {} is no directory; name one, or a place for one", option, path));
}

Result<void> check_distinct(const std::string& option, const std::vector<std::string>& directories) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (std::size_t i = 0; i < directories.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const bool same = fs::weakly_canonical(fs::absolute(directories[i] + "/."), ignored) ==
                            fs::weakly_canonical(fs::absolute(directories[j] + "/."), ignored) ||
                        fs::equivalent(directories[i], directories[j], ignored);
      if (same && directories[i] == directories[j])
        return fail(Code::invalid_argument, fmt::format("{}: {} is given twice; name each directory once", option, directories[i]));
      if (same)
        return fail(Code::invalid_argument,
                    fmt::format("{}: {} and {} are one directory; name it once", option, directories[j], directories[i]));
    }
  return {};
}

void add_master_address(CLI::App& command, MasterOption& master) {
  // Not by CLI11's envname(): that would overwrite what was given to another command with the same variable.
  if (const char* named = std::getenv("WEFT_MASTER"); named != nullptr && *named != '\0') master.address = named;
  command.add_option("--master", master.address, "Address of the master (default: $WEFT_MASTER, else 127.0.0.1:7077)")
      ->type_name("HOST:PORT");
}

void add_master_option(CLI::App& command, MasterOption& master) {
  add_master_address(command, master);
  const auto parse = [](const std::string& text) { return parse_duration(text); };
  command
      .add_option_function<std::string>(
          "--patience",
          [&master, parse](const std::string& text) {
            master.patience = master.at_first = parse(text).value_or(Duration(0));
            master.patience_given = text;
          },
          "How long to wait for a master or workers that are away (default: 5s for a master at the start, 30s later)")
      ->type_name("TIME")
      ->check([parse](const std::string& text) {
        const auto parsed = parse(text);
        return parsed ? std::string() : parsed.error().to_string();
      });
}

void add_job_argument(CLI::App& command, std::uint64_t& job) {
  const auto parse = [&job](const std::string& id) {
    const auto number = parse_number<std::uint64_t>(id);
    if (!number) throw CLI::ValidationError("JOB", "'" + id + "' is not a job number; weft job list shows them");
    job = *number;
  };
  command.add_option_function<std::string>("JOB", parse, "The job's number (weft job list)")->required();
}

void add_overwrite_flag(CLI::App& command, bool& overwrite) {
  command.add_flag("--overwrite", overwrite, "Replace what exists, when the new file is complete");
}

void add_size_option(CLI::App& command, const std::string& name, std::uint64_t& value, const std::string& help) {
  add_parsed(
      command, name, value, "SIZE", [](const std::string& text) { return parse_size(text); }, help);
}

void add_duration_option(CLI::App& command, const std::string& name, Duration& value, Zero zero, const std::string& help) {
  const auto parse = [zero](const std::string& text) -> Result<Duration> {
    WEFT_ASSIGN(const Duration parsed, parse_duration(text));
    if (zero == Zero::refused && parsed <= Duration(0)) return fail(Code::invalid_argument, "must be more than 0");
    return parsed;
  };
  add_parsed(command, name, value, "TIME", parse, help);
}

}  // namespace weft::tools
