#include "engine/tools/cli/options.hpp"

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/rpc/rpc.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/command.hpp"

namespace weft::tools {

Result<void> check_directory(const std::string& option, const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) || std::filesystem::is_directory(path, ignored)) return {};
  return fail(Code::invalid_argument, fmt::format("{}: {} is no directory; name one, or a place for one", option, path));
}

Result<void> check_distinct(const std::string& option, const std::vector<std::string>& directories) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const auto canonical = [&](const std::string& path) { return fs::weakly_canonical(fs::absolute(path + "/."), ignored); };
  for (std::size_t i = 0; i < directories.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const bool same =
          canonical(directories[i]) == canonical(directories[j]) || fs::equivalent(directories[i], directories[j], ignored);
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
  add_value(command, "--master", master.address, "HOST:PORT",
            "Address of the master, or of each, separated by commas (default: $WEFT_MASTER, else 127.0.0.1:7077)")
      ->check(parsed_by(rpc::Endpoint::parse_list));
}

void add_master_option(CLI::App& command, MasterOption& master) {
  add_master_address(command, master);
  const auto set = [&master](const std::string& text) {
    master.patience = master.at_first = parse_duration(text).value_or(Duration(0));
    master.patience_given = text;
  };
  command
      .add_option_function<std::string>(
          "--patience", set,
          "How long to wait for a master or workers that are away (default: 5s for a master at the start, 30s later)")
      ->type_name("TIME")
      ->check(parsed_by(parse_duration));
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
  add_parsed(command, name, value, "SIZE", parse_size, help);
}

void add_duration_option(CLI::App& command, const std::string& name, Duration& value, Zero zero, const std::string& help) {
  const auto parse = [zero](const std::string& text) -> Result<Duration> {
    WEFT_ASSIGN(const Duration parsed, parse_duration(text));
    if (zero == Zero::refused && parsed <= Duration(0)) return fail(Code::invalid_argument, "must be more than 0");
    return parsed;
  };
  add_parsed(command, name, value, "TIME", parse, help);
}

CLI::Option* add_key_option(CLI::App& command, const KeyOption& option, std::vector<std::string>& settings) {
  const auto set = [&settings, key = std::string(option.key)](const std::string& value) { settings.push_back(key + "=" + value); };
  return command.add_option_function<std::string>(option.name, set, option.help)->type_name(option.value);
}

}  // namespace weft::tools
