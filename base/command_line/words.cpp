#include "base/command_line/words.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::command_line {

namespace {

constexpr std::size_t kMostElsewhere = 3;  // commands of that name in other groups that are named

bool is_long(const std::string& word) { return word.size() > 2 && word.starts_with("--"); }
/// -n, -n5; not a negative number, and not - for standard input.
bool is_short(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}
bool is_option(const std::string& word) { return is_long(word) || is_short(word); }
std::string name_in(const std::string& word) { return is_long(word) ? word.substr(0, word.find('=')) : word.substr(0, 2); }
/// Its value is in the same word.
bool has_value(const std::string& word) { return is_long(word) ? word.find('=') != std::string::npos : word.size() > 2; }

const CLI::Option* own_option(const CLI::App& command, const std::string& name) {
  for (const CLI::Option* option : command.get_options()) {
    const auto& names = is_long(name) ? option->get_lnames() : option->get_snames();
    const std::string bare = name.substr(is_long(name) ? 2 : 1);
    if (std::find(names.begin(), names.end(), bare) != names.end()) return option;
  }
  return nullptr;
}

const CLI::Option* option_below(const CLI::App& group, const std::string& name) {
  for (const CLI::App* command : commands_of(group)) {
    if (const CLI::Option* option = own_option(*command, name)) return option;
    if (const CLI::Option* option = option_below(*command, name)) return option;
  }
  return nullptr;
}

void add_names(const CLI::App& command, bool below, std::vector<std::string>& names) {
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  if (!below) return;
  for (const CLI::App* sub : commands_of(command)) add_names(*sub, true, names);
}

/// The candidate that begins with the word when only one does, or the nearest one; empty: none is like it.
std::string meant(const std::string& word, const std::vector<std::string>& candidates) {
  const auto begins = [&word](const std::string& name) { return name.starts_with(word); };
  if (word.size() > 1 && std::count_if(candidates.begin(), candidates.end(), begins) == 1)
    return *std::find_if(candidates.begin(), candidates.end(), begins);
  const std::string near(nearest(word, candidates));
  return near.empty() || edit_distance(word, near) >= word.size() ? std::string() : near;
}

void find_named(const CLI::App& app, const std::string& name, std::vector<std::string>& found) {
  for (const CLI::App* command : commands_of(app)) {
    if (command->get_name() == name) found.push_back("'" + full_name(*command) + "'");
    find_named(*command, name, found);
  }
}

const CLI::App& root_of(const CLI::App& command) {
  const CLI::App* root = &command;
  while (root->get_parent() != nullptr) root = root->get_parent();
  return *root;
}

std::string see(const CLI::App& command) { return fmt::format(" (see {} --help)", full_name(command)); }

Error unknown_command(const CLI::App& group, const std::string& word) {
  std::vector<std::string> names, elsewhere;
  for (const CLI::App* command : commands_of(group)) names.push_back(command->get_name());
  const std::string text = fmt::format("unknown command '{}' of {}", word, full_name(group));
  find_named(root_of(group), word, elsewhere);
  const std::string near = meant(word, names);
  if (!near.empty() && (elsewhere.empty() || near.starts_with(word)))
    return {Code::invalid_argument, text + ", did you mean '" + near + "'?" + see(group)};
  if (!elsewhere.empty()) {
    const bool more = elsewhere.size() > kMostElsewhere;
    elsewhere.resize(std::min(elsewhere.size(), kMostElsewhere));
    return {Code::invalid_argument, text + ", did you mean " + join(elsewhere, " or ") + (more ? " or …?" : "?") + see(group)};
  }
  return {Code::invalid_argument, text + "; it has " + join(names, ", ") + see(group)};
}

/// A command that passes words on to a program has a last argument of this name.
const CLI::Option* passed_on(const CLI::App& command) { return command.get_option_no_throw("ARGUMENT"); }

Error unknown_option(const CLI::App& command, const std::string& word, const std::vector<std::string>& positionals) {
  const std::string name = name_in(word);
  if (passed_on(command) != nullptr && !positionals.empty())
    return {Code::invalid_argument, fmt::format("{} is no option of {}; the program's own options stand after --: {} {} -- {} …",
                                                name, full_name(command), full_name(command), positionals.front(), name)};
  std::vector<std::string> names;
  add_names(command, true, names);
  for (const CLI::App* around = command.get_parent(); around != nullptr; around = around->get_parent())
    add_names(*around, false, names);
  std::string text = fmt::format("unknown option {}", name);
  if (const std::string near = is_long(word) ? meant(name, names) : std::string(); !near.empty())
    text += ", did you mean " + near + "?";
  return {Code::invalid_argument, text + see(command)};
}

/// One walk over the words. In the lenient mode what is unknown is skipped.
class Walk {
 public:
  Walk(const CLI::App& root, std::span<const std::string> words, bool lenient) : words_(words), lenient_(lenient) {
    result_.command = &root;
  }

  Result<Arranged> run() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        for (result_.words.push_back(word); at_ < words_.size(); ++at_) result_.words.push_back(words_[at_]);
        break;
      }
      if (is_option(word))
        WEFT_TRY(option(word));
      else
        WEFT_TRY(plain(word));
    }
    if (!helped_ && !lenient_) WEFT_TRY(complete());
    result_.words.insert(result_.words.begin() + static_cast<std::ptrdiff_t>(behind_verb_), moved_.begin(), moved_.end());
    return std::move(result_);
  }

 private:
  Result<void> option(const std::string& word) {
    const std::string name = name_in(word);
    const CLI::App& command = *result_.command;
    if (const CLI::Option* known = find_option(command, word)) {
      helped_ = helped_ || name == "--help" || name == "-h" || name == "--version";
      return take(*known, word, result_.words);
    }
    if (const CLI::Option* later = option_below(command, name)) {
      moved_names_.push_back(name);
      return take(*later, word, moved_);
    }
    if (lenient_) return {};
    return fail(unknown_option(command, word, positionals_));
  }

  /// The option and the values behind it.
  Result<void> take(const CLI::Option& option, const std::string& word, std::vector<std::string>& to) {
    to.push_back(word);
    result_.unvalued = nullptr;
    if (!takes_value(option)) return no_empty_choice(word);
    if (has_value(word)) return whole(option, word, word.substr(is_long(word) ? word.find('=') + 1 : 2));
    const bool none = at_ == words_.size();
    if (none) result_.unvalued = &option;
    if (lenient_ && none) return {};
    if (none || (is_option(words_[at_]) && find_option(*result_.command, words_[at_]) != nullptr))
      return option.get_items_expected_min() == 0 ? Result<void>() : fail(no_value(option, word));
    WEFT_TRY(whole(option, word, words_[at_]));
    to.push_back(words_[at_++]);
    // A list of values goes on until the next option; only where no command can follow.
    if (option.get_allow_extra_args() && option.get_items_expected_max() > 1 && commands_of(*result_.command).empty())
      while (at_ < words_.size() && !is_option(words_[at_]) && words_[at_] != "--") to.push_back(words_[at_++]);
    return {};
  }

  /// CLI11 takes `--flag=` for the flag alone: a script whose variable is empty would replace outputs by `--overwrite=$WHICH`.
  Result<void> no_empty_choice(const std::string& word) const {
    if (lenient_ || !is_long(word) || word.find('=') != word.size() - 1) return {};
    return fail(Code::invalid_argument, fmt::format("{}: nothing is behind its '='{}", name_in(word), see(*result_.command)));
  }

  /// CLI11 reads -1 as the largest number of 64 bits.
  Result<void> whole(const CLI::Option& option, const std::string& word, const std::string& value) const {
    if (lenient_ || !value.starts_with('-') || !option.get_type_name().starts_with("UINT")) return {};
    return fail(Code::invalid_argument,
                fmt::format("{}: '{}' is not a whole number from 0 on{}", name_in(word), escaped(value), see(*result_.command)));
  }

  Error no_value(const CLI::Option&, const std::string& word) const {
    return {Code::invalid_argument, fmt::format("{} needs a value{}", name_in(word), see(*result_.command))};
  }

  Result<void> plain(const std::string& word) {
    const auto commands = commands_of(*result_.command);
    const auto named = std::find_if(commands.begin(), commands.end(), [&](const auto* one) { return one->get_name() == word; });
    if (named != commands.end()) {
      result_.command = *named;
      result_.words.push_back(word);
      behind_verb_ = result_.words.size();
      return {};
    }
    if (!commands.empty() && result_.command->get_require_subcommand_min() > 0) {
      if (lenient_) return {};
      return fail(unknown_command(*result_.command, word));
    }
    positionals_.push_back(word);
    ++result_.arguments;
    result_.words.push_back(word);
    return {};
  }

  /// A command that can run was named, and it has the options that stood before it.
  Result<void> complete() const {
    const CLI::App& command = *result_.command;
    if (command.get_require_subcommand_min() > 0) {
      std::vector<std::string> names;
      for (const CLI::App* sub : commands_of(command)) names.push_back(sub->get_name());
      return fail(Code::invalid_argument,
                  fmt::format("{} needs a command: {}{}", full_name(command), join(names, ", "), see(command)));
    }
    for (const std::string& name : moved_names_)
      if (find_option(command, name) == nullptr)
        return fail(Code::invalid_argument, fmt::format("{} has no option {}{}", full_name(command), name, see(command)));
    return {};
  }

  const std::span<const std::string> words_;
  const bool lenient_;
  std::size_t at_ = 0, behind_verb_ = 0;
  bool helped_ = false;
  std::vector<std::string> moved_, moved_names_, positionals_;
  Arranged result_;
};

}  // namespace

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty() && !sub->get_group().empty(); });
}

std::string full_name(const CLI::App& command) {
  const CLI::App* around = command.get_parent();
  return around == nullptr ? command.get_name() : full_name(*around) + " " + command.get_name();
}

const CLI::Option* find_option(const CLI::App& command, const std::string& word) {
  const std::string name = name_in(word);
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    // Every command has help of its own; the version is the program's.
    if (const CLI::Option* option = own_option(*app, name)) return option;
    if (!app->get_fallthrough()) break;
  }
  return nullptr;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

Result<Arranged> arrange(const CLI::App& root, std::span<const std::string> words) { return Walk(root, words, false).run(); }

Arranged follow(const CLI::App& root, std::span<const std::string> words) {
  return Walk(root, words, true).run().value_or(Arranged{{}, &root});
}

}  // namespace weft::command_line
