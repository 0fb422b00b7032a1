#include "base/command_line/completion.hpp"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

#include "base/command_line/help.hpp"
#include "base/command_line/words.hpp"
#include "base/text.hpp"

namespace weft::command_line {

namespace {

constexpr std::string_view kBash = R"(# bash completion of weft; `weft complete` knows the commands.
_weft() {
  local words line
  COMPREPLY=()
  # Of the line itself: bash cuts words at colons.
  read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
  [[ "${COMP_LINE:0:COMP_POINT}" != *[[:space:]] ]] || words+=("")
  local current=${words[-1]} cut=""
  [[ $current != *:* ]] || cut=${current%"${current##*:}"}
  while IFS= read -r line; do
    case $line in
      :files) compopt -o filenames; while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$2") ;;
      *) line=${line%%$'\t'*}; COMPREPLY+=("${line#"$cut"}") ;;
    esac
  done < <("${words[0]/#\~/$HOME}" complete -- "${words[@]:1}" 2> /dev/null)
}
complete -F _weft weft
)";

constexpr std::string_view kZsh = R"(#compdef weft
# zsh completion of weft; `weft complete` knows the commands.
_weft() {
  local line
  local -a found
  for line in "${(@f)$(${~words[1]} complete -- "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    case $line in
      '') ;;
      :files) _files ;;
      *) found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
    esac
  done
  (( $#found == 0 )) || _describe weft found
}
if [ "$funcstack[1]" = "_weft" ]; then _weft "$@"; else compdef _weft weft; fi
)";

constexpr std::string_view kFish = R"(# fish completion of weft; `weft complete` knows the commands.
function __weft_complete
  set -l words (commandline -opc)
  for line in ($words[1] complete -- $words[2..-1] (commandline -ct) 2> /dev/null)
    if test $line = :files
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c weft -f -a '(__weft_complete)'
)";

bool is_path(const std::string& value) {
  return value == "FILE" || value == "DIR" || value == "DIRECTORY" || value == "PROGRAM" || value == "LOCAL";
}

/// What a person reads of an option in a list: its first line.
std::string short_meaning(const std::string& text) { return text.substr(0, text.find_first_of("\n;")); }

void add_value(const CLI::Option& option, Completion& completion) {
  for (const std::string& choice : choices_of(option)) completion.candidates.push_back({choice, ""});
  completion.wanted = option.get_positional() ? option.get_name(true, false) : value_word(option);
  completion.files = is_path(completion.wanted);
}

void add_options(const CLI::App& command, Completion& completion) {
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_group().empty()) continue;
      if (app != &command && (option == app->get_help_ptr() || option == app->get_version_ptr())) continue;
      for (const std::string& name : option->get_lnames())
        completion.candidates.push_back({"--" + name, short_meaning(option->get_description())});
    }
  }
}

/// The argument that follows those that are there; the last one may be repeated.
const CLI::Option* next_argument(const CLI::App& command, std::size_t given) {
  const CLI::Option* last = nullptr;
  for (const CLI::Option* option : command.get_options([](const CLI::Option* one) { return one->get_positional(); })) {
    last = option;
    const int most = std::max(1, option->get_items_expected_max());
    if (given < static_cast<std::size_t>(most)) return option;
    given -= static_cast<std::size_t>(most);
  }
  return last != nullptr && last->get_items_expected_max() > 1 ? last : nullptr;
}

}  // namespace

Completion complete(const CLI::App& root, std::span<const std::string> words) {
  Completion completion;
  const std::string current = words.empty() ? std::string() : words.back();
  const auto before = words.empty() ? words : words.first(words.size() - 1);
  const Arranged arranged = follow(root, before);
  const CLI::App& command = *arranged.command;
  if (std::find(before.begin(), before.end(), "--") != before.end()) {
    completion.files = true;
  } else if (arranged.unvalued != nullptr) {
    add_value(*arranged.unvalued, completion);
  } else if (current.starts_with('-')) {
    const auto equals = current.find('=');
    const CLI::Option* option = equals == std::string::npos ? nullptr : find_option(command, current);
    if (option != nullptr) {
      add_value(*option, completion);
      for (Candidate& one : completion.candidates) one.word.insert(0, current.substr(0, equals + 1));
    } else {
      add_options(command, completion);
    }
  } else if (const auto commands = commands_of(command); !commands.empty()) {
    for (const CLI::App* sub : commands) completion.candidates.push_back({sub->get_name(), short_meaning(sub->get_description())});
  } else if (const CLI::Option* argument = next_argument(command, arranged.arguments)) {
    add_value(*argument, completion);
  }
  std::erase_if(completion.candidates, [&](const Candidate& one) { return !one.word.starts_with(current); });
  return completion;
}

Result<std::string> completion_script(const std::string& shell) {
  const std::string_view script = shell == "bash" ? kBash : shell == "zsh" ? kZsh : shell == "fish" ? kFish : "";
  if (script.empty())
    return fail(Code::invalid_argument, "there is completion for bash, zsh and fish, not for '" + escaped(shell) + "'");
  return std::string(script);
}

}  // namespace weft::command_line
