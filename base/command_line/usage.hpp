// Errors of a command line for people.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace weft::command_line {

/// One line for what CLI11 refused in the words of `command`: the word that is wrong, why, and which help to read. Without the
/// program's name in front.
std::string usage_message(const CLI::ParseError& error, const CLI::App& command);

}  // namespace weft::command_line
