#include "weft/arguments.hpp"

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "common_options.hpp"

namespace weft {

Argument& Argument::required() {
  option_->required();
  return *this;
}

Argument& Argument::positive() {
  option_->check([](const std::string& text) {
    return parse_number<double>(text).value_or(0) > 0 ? std::string() : "'" + text + "' is not a number above 0";
  });
  return *this;
}

Argument& Argument::between(double lowest, double highest) {
  option_->check(CLI::Range(lowest, highest));
  return *this;
}

Argument& Argument::within(std::int64_t lowest, std::int64_t highest) {
  option_->check(CLI::Range(lowest, highest));
  return *this;
}

Argument& Argument::needs(const Argument& other) {
  option_->needs(other.option_);
  return *this;
}

Argument& Argument::show_default() {
  option_->capture_default_str();
  return *this;
}

Argument Arguments::option(const std::string& name, std::string& value, const std::string& help) {
  return Argument(*parser_->add_option(name, value, help));
}
Argument Arguments::option(const std::string& name, std::int32_t& value, const std::string& help) {
  return Argument(*parser_->add_option(name, value, help));
}
Argument Arguments::option(const std::string& name, std::uint32_t& value, const std::string& help) {
  return Argument(*parser_->add_option(name, value, help));
}
Argument Arguments::option(const std::string& name, std::int64_t& value, const std::string& help) {
  return Argument(*parser_->add_option(name, value, help));
}
Argument Arguments::option(const std::string& name, std::uint64_t& value, const std::string& help) {
  return Argument(*parser_->add_option(name, value, help));
}
Argument Arguments::option(const std::string& name, double& value, const std::string& help) {
  return Argument(*parser_->add_option(name, value, help));
}
Argument Arguments::option(const std::string& name, std::vector<std::string>& values, const std::string& help) {
  return Argument(*parser_->add_option(name, values, help));
}
Argument Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  return Argument(*parser_->add_flag(name, value, help));
}

Argument Arguments::chosen(const std::string& name, std::vector<std::string> words, std::function<void(const std::string&)> choose,
                           const std::string& help) {
  return Argument(
      *parser_->add_option_function<std::string>(name, std::move(choose), help)->check(CLI::IsMember(std::move(words))));
}

void declare(Arguments& arguments, InputOutput& options) {
  arguments.option("--input", options.input, "File, directory or glob pattern (repeatable)").required();
  arguments.option("--output", options.output, kOutputHelp).required();
}

}  // namespace weft
