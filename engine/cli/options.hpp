// Options that several commands share.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

// Each adds an option to `command` and writes its value into `value`, which must live until the command line is parsed. A value
// that cannot be parsed ends the program with exit code 2 and a line that says why.

/// The --master option of all clients. Without it $WEFT_MASTER decides, then what `master` holds (127.0.0.1:7077).
void add_master_option(CLI::App& command, std::string& master);
/// The number of a job, which is required.
void add_job_argument(CLI::App& command, std::uint64_t& job);
/// A size in bytes, such as 64MiB.
void add_size_option(CLI::App& command, const std::string& name, std::uint64_t& value, const std::string& help);
/// A time, such as 250ms or 5s; `Zero::refused` wants more than 0.
enum class Zero : bool { allowed, refused };
void add_duration_option(CLI::App& command, const std::string& name, Duration& value, Zero zero, const std::string& help);

/// What an option names may be made as a directory, or is one; otherwise Code::invalid_argument, before anything starts.
Result<void> check_directory(const std::string& option, const std::string& path);

/// An option of the command line that sets one key of a settings file.
struct KeyOption {
  const char* name;
  const char* key;
  const char* value;  // what stands for it in the help
  const char* help;
};

}  // namespace weft::cli
