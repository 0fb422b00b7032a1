#include "engine/cli/options.hpp"

#include <CLI/CLI.hpp>

#include "base/text.hpp"

namespace weft::cli {

namespace {

/// `parse` gives a Result<T>; its error is what the user sees.
template <class T, class Parse>
void add_parsed(CLI::App& command, const std::string& name, T& value, Parse parse, const std::string& help) {
  command
      .add_option_function<std::string>(
          name, [&value, parse](const std::string& text) { value = parse(text).value_or(value); }, help)
      ->check([parse](const std::string& text) {
        const Result<T> parsed = parse(text);
        return parsed ? std::string() : parsed.error().to_string();
      });
}

}  // namespace

void add_master_option(CLI::App& command, std::string& master) {
  command.add_option("--master", master, "HOST:PORT of the master")->envname("WEFT_MASTER")->capture_default_str();
}

void add_size_option(CLI::App& command, const std::string& name, std::uint64_t& value, const std::string& help) {
  add_parsed(
      command, name, value, [](const std::string& text) { return parse_size(text); }, help);
}

void add_duration_option(CLI::App& command, const std::string& name, Duration& value, Zero zero, const std::string& help) {
  const auto parse = [zero](const std::string& text) -> Result<Duration> {
    WEFT_ASSIGN(const Duration parsed, parse_duration(text));
    if (zero == Zero::refused && parsed <= Duration(0)) return fail(Code::invalid_argument, "must be more than 0");
    return parsed;
  };
  add_parsed(command, name, value, parse, help);
}

}  // namespace weft::cli
