// What follows from the description of commands: help, manual pages, completion, --json.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/checks.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

ProcessResult weft(std::vector<std::string> words) {
  words.insert(words.begin(), WEFT_BIN_DIR "/weft");
  return run(words, {.environment = {{"WEFT_MASTER", "127.0.0.1:1"}}});
}

std::vector<std::string> first_words(const std::string& text, const std::string& heading) {
  std::vector<std::string> words;
  const auto at = text.find("\n" + heading + "\n");
  if (at == std::string::npos) return words;
  std::istringstream lines(text.substr(at + heading.size() + 2));
  std::string line;
  while (std::getline(lines, line) && line.starts_with("  ")) {
    std::istringstream first(line);
    if (std::string word; line[2] != ' ' && first >> word) words.push_back(word);
  }
  return words;
}

using Helps = std::map<std::vector<std::string>, std::string>;

/// The help of every command, by its words, from what the help of the commands around it lists.
void collect(const std::vector<std::string>& command, Helps& all) {
  auto words = command;
  words.emplace_back("--help");
  const auto help = weft(words);
  ASSERT_EQ(help.exit_code, 0) << help.err;
  all[command] = help.out;
  for (const std::string& name : first_words(help.out, "Commands:")) {
    auto sub = command;
    sub.push_back(name);
    collect(sub, all);
  }
}

const Helps& commands() {
  static const Helps all = [] {
    Helps found;
    collect({}, found);
    return found;
  }();
  return all;
}

std::string joined(const std::vector<std::string>& command, const std::string& by) {
  std::string text = "weft";
  for (const std::string& word : command) text += by + word;
  return text;
}

/// The long options that a help text lists, as "--json".
std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> names;
  for (std::size_t at = help.find("\n  -"); at != std::string::npos; at = help.find("\n  -", at + 1)) {
    const auto begin = help.find("--", at);
    names.push_back(help.substr(begin, help.find_first_of(" =[\n", begin) - begin));
  }
  return names;
}

TEST(Pages, EveryCommandAndOptionIsInAManualPage) {
  const ScratchDirectory directory;
  ASSERT_EQ(weft({"manual", directory / "man"}).exit_code, 0);
  ASSERT_GE(commands().size(), 60u);
  for (const auto& [command, help] : commands()) {
    std::string page = read_file(directory / ("man/" + joined(command, "-") + ".1"));
    ASSERT_FALSE(page.empty()) << joined(command, " ");
    std::string plain;
    for (const char c : page)
      if (c != '\\') plain += c;
    EXPECT_TRUE(has(plain, help.substr(0, help.find('\n')))) << joined(command, " ");
    const auto options = options_in(help);
    ASSERT_FALSE(options.empty()) << help;
    for (const std::string& option : options)
      EXPECT_TRUE(has(plain, "fB" + option + "fR")) << joined(command, " ") << " " << option;
    for (const std::string& name : first_words(help, "Commands:")) EXPECT_TRUE(has(plain, "fB" + name + "fR")) << page;
  }
  EXPECT_EQ(entries(directory / "man").size(), commands().size());
}

TEST(Pages, HelpSpeaksOfValuesInWordsOfPeople) {
  for (const auto& [command, help] : commands()) {
    for (const char* word : {"UINT", " INT", "FLOAT", ":{", " in [", "REQUIRED", "SUBCOMMAND", "(Env"})
      EXPECT_FALSE(has(help, word)) << joined(command, " ") << ": " << word << "\n" << help;
    EXPECT_TRUE(has(help, "Usage: " + joined(command, " "))) << help;
  }
  const std::string job = run({WEFT_BIN_DIR "/wordcount", "--help"}).out;
  EXPECT_TRUE(has(job, "--workers N ") && has(job, "(1 to 256)") && has(job, "--memory SIZE ") && has(job, "--explain[=text|dot]"))
      << job;
  EXPECT_EQ(weft({"help", "job", "list"}).out, commands().at({"job", "list"}));
}

TEST(Pages, EveryCommandThatAnswersTakesJson) {
  const std::vector<std::string> without{
      "weft master",       "weft worker",         "weft fs cat",     "weft fs head", "weft fs tail",  "weft fs get", "weft fs cp",
      "weft table export", "weft profile export", "weft completion", "weft manual",  "weft job tail", "weft run"};
  for (const auto& [command, help] : commands()) {
    const std::string name = joined(command, " ");
    if (has(help, "\nCommands:\n")) continue;
    EXPECT_EQ(has(help, "--json "), std::find(without.begin(), without.end(), name) == without.end()) << name;
  }
}

TEST(Pages, OptionsStandBeforeOrBehindTheVerb) {
  const std::string refused = "no weft master answers at 127.0.0.1:2;";
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--master", "127.0.0.1:2", "job", "list", "--json"},
                                             {"job", "--master=127.0.0.1:2", "--json", "list"},
                                             {"--json", "job", "list", "--master", "127.0.0.1:2"},
                                             {"--log", "warn", "node", "list", "--master", "127.0.0.1:2"},
                                             {"table", "--master", "127.0.0.1:2", "snapshot", "list", "t"}}) {
    const auto result = weft(words);
    EXPECT_TRUE(result.exit_code == 1 && has(result.err, refused.substr(3))) << words[0] << ": " << result.err;
  }
}

std::string completed(std::vector<std::string> words) {
  words.insert(words.begin(), {"complete", "--"});
  return weft(words).out;
}

TEST(Completion, KnowsCommandsOptionsAndTheirValues) {
  EXPECT_EQ(completed({"job", "st"}), "status\tOne job with its stages\n");
  EXPECT_EQ(completed({"--master", "x:1", "job", "k"}), "kill\tEnd a job\n");
  EXPECT_EQ(completed({"job", "list", "--j"}), "--json\tAs JSON\n");
  EXPECT_EQ(completed({"master", "--shuffle-mode", ""}), "memory\t\npull\t\n");
  EXPECT_EQ(completed({"master", "--shuffle-mode=p"}), "--shuffle-mode=pull\t\n");
  EXPECT_EQ(completed({"completion", "f"}), "fish\t\n");
  EXPECT_EQ(completed({"master", "--journal", ""}), ":files\n");
  EXPECT_EQ(completed({"submit", "--user", "me", ""}), ":files\n");
  EXPECT_EQ(completed({"submit", "./job", "--", ""}), ":files\n");
  EXPECT_EQ(completed({"job", "list", ""}), "");
  EXPECT_EQ(completed({"job", "status", ""}), "") << "without a master";
  EXPECT_EQ(completed({"nonsense", "xyz"}), "");
  EXPECT_TRUE(has(completed({""}), "simulate\t"));
}

/// What a shell offers for a line; the shell's own function is called as it calls it.
TEST(Completion, WorksInBash) {
  const ScratchDirectory directory;
  write_file(directory / "words.txt", "");
  const std::string script =
      "cd " + directory.path() +
      " && source <(" WEFT_BIN_DIR
      "/weft completion bash) && complete -p weft > /dev/null && "
      "try() { COMP_LINE=\"" WEFT_BIN_DIR
      "/weft $1\" COMP_POINT=1000; _weft weft \"${1##* }\" 2> /dev/null; echo \"$1>${COMPREPLY[*]}\"; }; "
      "try 'job sta'; try 'master --shuffle-mode '; try '--master 127.0.0.1:1 node w'; try 'submit w'; try 'nothing x'";
  const auto result = run({"bash", "-c", script});
  EXPECT_EQ(
      result.out,
      "job sta>status\nmaster --shuffle-mode >memory pull\n--master 127.0.0.1:1 node w>wait\nsubmit w>words.txt\nnothing x>\n")
      << result.err;
}

TEST(Completion, IsAScriptThatTheOtherShellsRead) {
  for (const std::string shell : {"zsh", "fish"}) {
    if (run({"/bin/sh", "-c", "command -v " + shell}).exit_code != 0) continue;  // it is not on this machine
    const ScratchDirectory directory;
    write_file(directory / "script", weft({"completion", shell}).out);
    const auto read = run({shell, "-n", directory / "script"});
    EXPECT_TRUE(read.exit_code == 0 && read.err.empty()) << shell << ": " << read.err;
  }
}

}  // namespace
}  // namespace weft::test
