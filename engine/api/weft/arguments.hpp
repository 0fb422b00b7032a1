// The command line of a job program: options with names and help, read into variables of the program.
//
// A thin layer over CLI11, compiled into the library: CLI11 itself takes longer to compile than most jobs. A program that wants
// more of it includes <CLI/CLI.hpp> and uses Arguments::parser().
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft {

/// A declared argument. Every member returns it, so that conditions can be chained. If a condition does not hold, the command line
/// is refused with one line that names the argument.
class Argument {
 public:
  explicit Argument(CLI::Option& option) : option_(&option) {}

  Argument& required();
  Argument& positive();
  /// Both bounds are included.
  Argument& between(double lowest, double highest);
  template <std::integral Low, std::integral High>
  Argument& between(Low lowest, High highest) {
    return within(static_cast<std::int64_t>(lowest), static_cast<std::int64_t>(highest));
  }
  /// Refused without the other argument.
  Argument& needs(const Argument& other);
  /// --help shows the variable's present value as the default.
  Argument& show_default();

 private:
  Argument& within(std::int64_t lowest, std::int64_t highest);
  CLI::Option* option_;
};

/// The command line of a job program, while its options are declared. A name with dashes is an option, another one is a positional
/// argument. The variables live as long as the program; they keep their values unless the command line says otherwise.
class Arguments {
 public:
  explicit Arguments(CLI::App& parser) : parser_(&parser) {}

  Argument option(const std::string& name, std::string& value, const std::string& help);
  Argument option(const std::string& name, std::int32_t& value, const std::string& help);
  Argument option(const std::string& name, std::uint32_t& value, const std::string& help);
  Argument option(const std::string& name, std::int64_t& value, const std::string& help);
  Argument option(const std::string& name, std::uint64_t& value, const std::string& help);
  Argument option(const std::string& name, double& value, const std::string& help);
  /// May be repeated.
  Argument option(const std::string& name, std::vector<std::string>& values, const std::string& help);
  /// True when it is given.
  Argument flag(const std::string& name, bool& value, const std::string& help);

  /// One of a few words, each of which stands for a value.
  template <class T>
  Argument choice(const std::string& name, T& value, const std::map<std::string, T>& choices, const std::string& help) {
    std::vector<std::string> words;
    for (const auto& choice : choices) words.push_back(choice.first);
    return chosen(
        name, std::move(words), [&value, choices](const std::string& word) { value = choices.at(word); }, help);
  }

  CLI::App& parser() const { return *parser_; }

 private:
  Argument chosen(const std::string& name, std::vector<std::string> words, std::function<void(const std::string&)> choose,
                  const std::string& help);
  CLI::App* parser_;
};

/// The options of most jobs: --input, a file, a directory or a glob pattern, which may be repeated, and --output, a directory.
/// Both must be given.
struct InputOutput {
  std::vector<std::string> input;
  std::string output;
};
void declare(Arguments& arguments, InputOutput& options);

}  // namespace weft
