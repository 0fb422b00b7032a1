// How commands and their options are declared, with CLI11.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/result.hpp"
#include "engine/tools/cli/commands.hpp"
#include "engine/tools/cli/options.hpp"

namespace weft::tools {

/// A command of which one of its subcommands must be given.
inline CLI::App& add_group(CLI::App& parent, const std::string& name, const std::string& help) {
  CLI::App* group = parent.add_subcommand(name, help);
  group->require_subcommand(1);
  return *group;
}

/// A check of an option's text: the error of parse(text), or nothing.
template <class Parse>
auto parsed_by(Parse parse) {
  return [parse](const std::string& text) {
    const auto parsed = parse(text);
    return parsed ? std::string() : parsed.error().to_string();
  };
}

/// `type` stands for the value in the help: "FILE".
template <class T>
CLI::Option* add_value(CLI::App& command, const std::string& name, T& value, const char* type, const std::string& help) {
  return command.add_option(name, value, help)->type_name(type);
}

/// parse(text) gives a Result<T>; its error is what the user sees.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, T& value, const char* type, Parse parse,
                        const std::string& help) {
  const auto set = [&value, parse](const std::string& text) {
    if (auto parsed = parse(text)) value = std::move(*parsed);
  };
  return command.add_option_function<std::string>(name, set, help)->type_name(type)->check(parsed_by(parse));
}

/// A command that does run(options) when it is chosen. Options are declared one after the other; each function returns the command.
template <class Options>
class Command {
 public:
  Command(CLI::App& parent, Action& action, const std::string& name, const std::string& help, Result<void> (*run)(const Options&))
      : Command(parent, action, name, help, [run](const Options& options) { return run(options); }) {}
  /// `run` is an object to be called.
  template <class Run>
  requires std::is_class_v<Run> Command(CLI::App& parent, Action& action, const std::string& name, const std::string& help, Run run)
      : options_(std::make_shared<Options>()), app_(parent.add_subcommand(name, help)) {
    app_->callback([options = options_, check = check_, run, &action] {
      if (const auto fits = *check ? (*check)(*options) : Result<void>(); !fits)
        throw CLI::ValidationError(fits.error().to_string(), CLI::ExitCodes::ValidationError);
      action = [options, run] { return run(*options); };
    });
  }

  /// What is wrong with the options together: ends the program as a wrong option does, with exit code 2.
  Command& checked(std::function<Result<void>(const Options&)> check) {
    *check_ = std::move(check);
    return *this;
  }

  /// --master and --patience.
  Command& master() {
    add_master_option(*app_, options_->master);
    return *this;
  }
  /// The number of a job.
  Command& job() {
    add_job_argument(*app_, options_->job);
    return *this;
  }
  Command& json() { return flag("--json", &Options::json, "As JSON"); }
  Command& overwrite() {
    add_overwrite_flag(*app_, options_->overwrite);
    return *this;
  }
  Command& flag(const std::string& name, bool Options::*value, const std::string& help) {
    app_->add_flag(name, (*options_).*value, help);
    return *this;
  }
  template <class T>
  Command& value(const std::string& name, T Options::*value, const char* type, const std::string& help) {
    add_value(*app_, name, (*options_).*value, type, help);
    return *this;
  }
  /// With its default in the help.
  template <class T>
  Command& value(const std::string& name, T Options::*value, const std::string& help) {
    app_->add_option(name, (*options_).*value, help)->capture_default_str();
    return *this;
  }
  template <class T>
  Command& argument(const std::string& name, T Options::*value, const std::string& help) {
    app_->add_option(name, (*options_).*value, help)->required();
    return *this;
  }

  const std::shared_ptr<Options>& shared() const { return options_; }
  Options& options() const { return *options_; }
  CLI::App& app() const { return *app_; }

 private:
  std::shared_ptr<Options> options_;
  std::shared_ptr<std::function<Result<void>(const Options&)>> check_ =
      std::make_shared<std::function<Result<void>(const Options&)>>();
  CLI::App* app_;
};

}  // namespace weft::tools
