#include "base/command_line/help.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/command_line/words.hpp"
#include "base/text.hpp"

namespace weft::command_line {

namespace {

constexpr std::size_t kColumn = 32;

/// "UINT:INT in [1 - 256]" is of type "UINT" with the condition "INT in [1 - 256]". A type may have colons of its own.
struct TypeWords {
  std::string type, condition;
};
TypeWords type_words(const CLI::Option& option) {
  const std::string all = option.get_type_name();
  for (const std::string_view builtin : {"TEXT", "UINT", "INT", "FLOAT", "BOOLEAN"}) {
    if (all == builtin) return {all, ""};
    if (all.starts_with(builtin) && all[builtin.size()] == ':') return {std::string(builtin), all.substr(builtin.size() + 1)};
  }
  for (const std::string_view begin : {":{", ":INT in [", ":UINT in [", ":FLOAT in [", ":POSITIVE", ":NONNEGATIVE"})
    if (const auto at = all.find(begin); at != std::string::npos) return {all.substr(0, at), all.substr(at + 1)};
  return {all, ""};
}

/// "1 to 256"
std::string range_of(const TypeWords& words) {
  const auto open = words.condition.find(" in ["), dash = words.condition.find(" - "), close = words.condition.find(']');
  if (words.condition == "POSITIVE") return "more than 0";
  if (open == std::string::npos || dash == std::string::npos || close == std::string::npos) return "";
  return fmt::format("{} to {}", words.condition.substr(open + 5, dash - open - 5),
                     words.condition.substr(dash + 3, close - dash - 3));
}

bool is_kind(const std::string& condition) {  // SIZE, HOST:PORT, KEY=VALUE
  return !condition.empty() && condition != "POSITIVE" && condition != "NONNEGATIVE" && condition != "NUMBER" &&
         condition.find(" in [") == std::string::npos;
}

bool repeats(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 && option.get_items_expected_max() != option.get_items_expected_min();
}

class Layout : public CLI::Formatter {
 public:
  Layout() {
    column_width(kColumn);
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_usage(const CLI::App* app, std::string) const override { return "Usage: " + usage_of(*app) + "\n"; }

  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode) const override {
    const auto commands = commands_of(*app);
    if (commands.empty()) return "";
    std::string text = "\nCommands:\n";
    for (const CLI::App* command : commands) {
      std::stringstream line;
      CLI::detail::format_help(line, command->get_name(), command->get_description(), get_column_width());
      text += line.str();
    }
    return text;
  }

  /// Without the value that a flag stands for: --explain, not --explain{text}.
  std::string make_option_name(const CLI::Option* option, bool positional) const override {
    const std::string name = CLI::Formatter::make_option_name(option, positional);
    return name.substr(0, name.find('{'));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_positional() && option->get_lnames().empty() && option->get_snames().empty())
      return repeats(*option) ? "..." : "";
    const std::string value = value_word(*option);
    return value.empty() || value.starts_with('[') ? value : " " + value;
  }

  std::string make_option_desc(const CLI::Option* option) const override { return meaning_of(*option); }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_layout() { return std::make_shared<Layout>(); }

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string condition = type_words(option).condition;
  std::vector<std::string> choices;
  if (!condition.starts_with('{') || !condition.ends_with('}')) return choices;
  for (const std::string_view choice : split(std::string_view(condition).substr(1, condition.size() - 2), ','))
    choices.emplace_back(choice);
  return choices;
}

std::string value_word(const CLI::Option& option) {
  const auto choices = choices_of(option);
  if (option.get_type_size() == 0) return choices.empty() ? "" : "=" + join(choices, "|");
  if (!choices.empty() && option.get_items_expected_min() == 0) return "[=" + join(choices, "|") + "]";
  if (!choices.empty()) return join(choices, "|");
  const TypeWords words = type_words(option);
  if (words.type == "UINT" || words.type == "INT") return "N";
  if (words.type == "FLOAT") return "X";
  if (words.type == "BOOLEAN") return "true|false";
  return is_kind(words.condition) ? words.condition : words.type;
}

std::string meaning_of(const CLI::Option& option) {
  std::string text = option.get_description();
  std::replace(text.begin(), text.end(), '\n', ' ');
  std::vector<std::string> more;
  if (const std::string range = range_of(type_words(option)); !range.empty() && text.find(" 0 to 1") == std::string::npos)
    more.push_back(range);
  if (const std::string set = option.get_default_str(); !set.empty() && text.find("(default") == std::string::npos)
    more.push_back("default: " + set);
  if (!option.get_envname().empty()) more.push_back("or $" + option.get_envname());
  if (option.get_required() && option.nonpositional()) more.emplace_back("required");
  if (more.empty()) return text;
  if (!text.ends_with(')')) return fmt::format("{} ({})", text, join(more, "; "));
  text.pop_back();
  return fmt::format("{}; {})", text, join(more, "; "));
}

std::string usage_of(const CLI::App& command) {
  std::string text = full_name(command);
  const auto all = command.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
  if (std::any_of(all.begin(), all.end(), [](const CLI::Option* option) { return option->nonpositional(); })) text += " [OPTIONS]";
  if (!commands_of(command).empty()) text += " COMMAND";
  for (const CLI::Option* option : all) {
    if (!option->get_positional()) continue;
    if (option->get_name() == "ARGUMENT") text += " --";
    std::string name = option->get_name(true, false) + (repeats(*option) ? "..." : "");
    if (repeats(*option) && option->get_items_expected_min() == 2) name += " TARGET";  // paths, then where they go
    std::replace(name.begin(), name.end(), '_', ' ');                                  // KEY_VALUE: two words
    text += option->get_required() ? " " + name : " [" + name + "]";
  }
  return text;
}

}  // namespace weft::command_line
