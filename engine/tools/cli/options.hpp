// Options that several commands share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::tools {

// Each adds an option to `command` and writes its value into `value`, which must live until the command line is parsed. A value
// that cannot be parsed ends the program with exit code 2 and a line that says why.

/// The master that a command asks, and how long it waits for one that is away. What it waits for is reported on standard error.
struct MasterOption {
  std::string address = "127.0.0.1:7077";
  Duration patience = std::chrono::seconds(30);
  Duration at_first = std::chrono::seconds(5);  // for the first answer: a wrong address is noticed soon
  std::string patience_given;                   // --patience as it was written; empty: it was not
};
/// --master of all clients. Without it $WEFT_MASTER decides, then 127.0.0.1:7077.
void add_master_address(CLI::App& command, MasterOption& master);
/// --master and --patience, which is for both waits.
void add_master_option(CLI::App& command, MasterOption& master);
/// The number of a job, which is required.
void add_job_argument(CLI::App& command, std::uint64_t& job);
/// A size in bytes, such as 64MiB.
void add_size_option(CLI::App& command, const std::string& name, std::uint64_t& value, const std::string& help);
/// A time, such as 250ms or 5s; `Zero::refused` wants more than 0.
enum class Zero : bool { allowed, refused };
void add_duration_option(CLI::App& command, const std::string& name, Duration& value, Zero zero, const std::string& help);

/// --overwrite, of every command whose purpose is to write a file: without it, an existing file is not replaced. Files that
/// describe a run (--stats, --report, --port-file, …) are always replaced.
void add_overwrite_flag(CLI::App& command, bool& overwrite);

/// Checks that the path is a directory, or that none exists there yet; otherwise Code::invalid_argument, before anything starts.
Result<void> check_directory(const std::string& option, const std::string& path);

/// Checks that no directory is named twice, also not by a link or another path; otherwise Code::invalid_argument.
Result<void> check_distinct(const std::string& option, const std::vector<std::string>& directories);

/// An option of the command line that sets one key of a settings file.
struct KeyOption {
  const char* name;
  const char* key;
  const char* value;  // what stands for it in the help
  const char* help;
};
/// Adds "key=value" to `settings`, which must live until the command line is parsed.
CLI::Option* add_key_option(CLI::App& command, const KeyOption& option, std::vector<std::string>& settings);

}  // namespace weft::tools
