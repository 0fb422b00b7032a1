#include "base/command_line/usage.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/command_line/help.hpp"
#include "base/command_line/words.hpp"
#include "base/text.hpp"

namespace weft::command_line {

namespace {

/// Cuts "head" from the front of `text`; false when it begins otherwise.
bool cut(std::string_view& text, std::string_view head) {
  if (!text.starts_with(head)) return false;
  text.remove_prefix(head.size());
  return true;
}

/// "JOB is required: the job's number (weft job list)"
std::string required(std::string_view what, const CLI::App& command) {
  constexpr std::string_view kTail = " is required";
  if (!what.ends_with(kTail)) return std::string(what);
  const std::string name(what.substr(0, what.size() - kTail.size()));
  const CLI::Option* option = command.get_option_no_throw(name);
  if (option == nullptr || !option->get_positional()) return std::string(what);
  return fmt::format("{} is required: {}", name, option->get_description());
}

/// CLI11: "Could not convert: --lines = abc".
std::string not_converted(std::string_view what, const CLI::App& command) {
  if (!cut(what, "Could not convert: ")) return std::string(what);
  const auto middle = what.find(" = ");
  if (middle == std::string_view::npos) return std::string(what);
  const std::string name(what.substr(0, middle)), value(what.substr(middle + 3));
  const CLI::Option* option = find_option(command, name);
  if (option == nullptr) option = command.get_option_no_throw(name);
  const std::string type = option == nullptr ? "" : option->get_type_name();
  if (option != nullptr && option->get_expected_max() == 0)
    return fmt::format("{} takes no value; leave '{}' out", name, escaped(value));
  const bool digits = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  if (digits && !type.starts_with("FLOAT")) return fmt::format("{}: {} is too large", name, value);
  const char* wanted = type.starts_with("INT")     ? "a whole number"
                       : type.starts_with("FLOAT") ? "a number"
                                                   : "a whole number from 0 on";
  return fmt::format("{}: '{}' is not {}", name, escaped(value), wanted);
}

/// "0 to 0.5" of "0.000000 to 0.500000"
std::string without_zeros(std::string_view range) {
  std::vector<std::string> words;
  for (const std::string_view word : split(range, ' ')) {
    words.emplace_back(word);
    std::string& number = words.back();
    if (number.find('.') == std::string::npos) continue;
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
  }
  return join(words, " ");
}

/// CLI11: "--shuffle-mode: mem not in {memory,pull}", "--workers: Value 500 not in range 1 to 256".
std::string invalid(std::string_view what) {
  const auto colon = what.find(": ");
  if (colon == std::string_view::npos) return std::string(what);
  const std::string name(what.substr(0, colon));
  std::string_view rest = what.substr(colon + 2);
  if (const auto in = rest.find(" not in {"); in != std::string_view::npos && rest.ends_with('}')) {
    const std::string value(rest.substr(0, in));
    const std::string_view list = rest.substr(in + 9, rest.size() - in - 10);
    std::vector<std::string> choices;
    for (const std::string_view choice : split(list, ',')) choices.emplace_back(choice);
    std::string_view near = nearest(value, choices);
    if (edit_distance(value, near) >= value.size()) near = {};
    return fmt::format("{}: '{}' is none of {}{}", name, escaped(value), join(choices, ", "),
                       near.empty() ? "" : fmt::format(", did you mean {}?", near));
  }
  if (const auto in = rest.find(" not in range "); in != std::string_view::npos && cut(rest, "Value ")) {
    const auto range = rest.find(" not in range ");
    return fmt::format("{}: '{}' is not a number from {}", name, escaped(rest.substr(0, range)),
                       without_zeros(rest.substr(range + 14)));
  }
  for (const std::string_view head : {"File does not exist: ", "Directory does not exist: ", "Path does not exist: "})
    if (std::string_view path = rest; cut(path, head)) return fmt::format("{}: there is no {}; correct the path", name, path);
  if (std::string_view path = rest; cut(path, "File is actually a directory: "))
    return fmt::format("{}: {} is a directory; name a file", name, path);
  return std::string(what);
}

/// "--a excludes --b", "--a requires --b"
std::string related(std::string_view what) {
  const auto both = [&](std::string_view verb, const char* form) -> std::string {
    const auto at = what.find(verb);
    return at == std::string_view::npos ? "" : fmt::format(fmt::runtime(form), what.substr(0, at), what.substr(at + verb.size()));
  };
  if (const std::string text = both(" excludes ", "{} and {} exclude each other; give one of them"); !text.empty()) return text;
  const std::string text = both(" requires ", "{} works with {} only; give that, too");
  return text.empty() ? std::string(what) : text;
}

/// CLI11: "PATH: At least 2 required but received 1", "--output: At Most 1 required but received 2", "--cluster: 1 required
/// HOST:PORT missing" (also where its value is empty: "--cluster=")
std::string wrong_count(std::string_view what, const CLI::App& command) {
  constexpr std::string_view kNone = ": 1 required ", kMissing = " missing";
  if (const auto at = what.find(kNone); at != std::string_view::npos && what.ends_with(kMissing)) {
    std::string_view type = what.substr(at + kNone.size());
    type.remove_suffix(kMissing.size());
    return fmt::format("{} has no value; give it {}, or leave it out", what.substr(0, at), type);
  }
  const auto colon = what.find(": "), middle = what.find(" required but received ");
  if (colon == std::string_view::npos || middle == std::string_view::npos) return std::string(what);
  const std::string_view name = what.substr(0, colon), received = what.substr(middle + 23);
  std::string_view bound = what.substr(colon + 2, middle - colon - 2);
  if (cut(bound, "At Most ") && bound == "1") return fmt::format("{} is given {} times; give it once", name, received);
  if (!cut(bound, "At least ")) return std::string(what);
  return fmt::format("{}: {} are needed, not {}: {}", name, bound, received, usage_of(command));
}

std::string superfluous(std::string_view what, const CLI::App& command) {
  const auto colon = what.find(": ");
  const std::string_view words = colon == std::string_view::npos ? what : what.substr(colon + 2);
  const std::string usage = usage_of(command);
  return fmt::format("'{}' is more than {} takes: {}", escaped(words), full_name(command), usage);
}

}  // namespace

std::string usage_message(const CLI::ParseError& error, const CLI::App& command) {
  const std::string_view what = error.what();
  std::string message;
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr)
    message = required(what, command);
  else if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    message = not_converted(what, command);
  else if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr)
    message = invalid(what);
  else if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr)
    message = wrong_count(what, command);
  else if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    message = superfluous(what, command);
  else
    message = related(what);
  std::replace(message.begin(), message.end(), '\n', ' ');
  while (!message.empty() && (message.back() == ' ' || (message.back() == '.' && !message.ends_with("...")))) message.pop_back();
  return fmt::format("{} (see {} --help)", message, full_name(command));
}

}  // namespace weft::command_line
