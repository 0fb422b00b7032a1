// Completion of words in shells: their scripts ask the program, which knows its commands and options.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace weft::command_line {

struct Candidate {
  std::string word;
  std::string meaning;
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  // and files of this machine
  std::string wanted;  // otherwise: the name of the value or argument ("JOB"), for a caller that can complete it; may be empty
};

/// What can stand in place of the last of `words` (without the program's name), which may be empty or the beginning of a word.
Completion complete(const CLI::App& root, std::span<const std::string> words);

/// The script for "bash", "zsh" or "fish", which calls `weft complete -- WORDS…`: a line per candidate, word, tab, meaning; or
/// ":files". invalid_argument for another shell.
Result<std::string> completion_script(const std::string& shell);

}  // namespace weft::command_line
