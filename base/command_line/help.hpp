// How commands and options are shown: the layout of --help, and the words for an option's value. Manual pages use the same.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
class Option;
}  // namespace CLI

namespace weft::command_line {

/// The layout; give it to the root before commands are added to it.
std::shared_ptr<CLI::FormatterBase> help_layout();

/// What stands for the value of an option: "N", "FILE", "memory|pull"; empty for a flag.
std::string value_word(const CLI::Option& option);
/// The values that it can have when these are words; otherwise empty.
std::vector<std::string> choices_of(const CLI::Option& option);
/// What it means, then in brackets what its text leaves out: the numbers it can be, its default, the variable of the environment.
std::string meaning_of(const CLI::Option& option);
/// "weft job status [OPTIONS] JOB"
std::string usage_of(const CLI::App& command);

}  // namespace weft::command_line
