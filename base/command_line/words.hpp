// The words of a command line, before CLI11 sees them: which command they mean, and which of them nobody knows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::command_line {

struct Arranged {
  std::vector<std::string> words;         // for CLI11: every option behind the command that has it
  const CLI::App* command = nullptr;      // the one they mean, as far as they go
  std::size_t arguments = 0;              // words behind it that are neither options nor their values
  const CLI::Option* unvalued = nullptr;  // the last option, when its value is still to come
};

/// Follows `words` (without the program's name) through the commands of `root`. Options of a command may stand before it:
/// `weft --master HOST:PORT job list`. The error is one line: an unknown command or option with the nearest one that exists, an
/// option without its value, or a command that is missing. Values are not looked at. `root` must outlive the result.
Result<Arranged> arrange(const CLI::App& root, std::span<const std::string> words);

/// As far as they can be followed; for completion. What is unknown is skipped.
Arranged follow(const CLI::App& root, std::span<const std::string> words);

/// "weft job list": with the names of the commands around it.
std::string full_name(const CLI::App& command);
/// The option that `word` ("--name", "--name=value", "-n") names for `command`, its own or one of those around it; or nothing.
const CLI::Option* find_option(const CLI::App& command, const std::string& word);
/// Whether a value must or may follow the option as a word of its own.
bool takes_value(const CLI::Option& option);
/// The commands of a group that have names, in the order of their declaration.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

}  // namespace weft::command_line
