#include "base/command_line/manual.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/command_line/help.hpp"
#include "base/command_line/words.hpp"
#include "base/text.hpp"

namespace weft::command_line {

namespace {

/// As groff reads it back unchanged: no escape, no hyphenation of options, no request at the beginning of a line.
std::string groff(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c == '.' || c == '\'') && (i == 0 || text[i - 1] == '\n')) out += "\\&";
    if (const auto byte = static_cast<unsigned char>(c); byte >= 0xc0) {  // UTF-8: groff reads Latin-1 otherwise
      const int more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
      unsigned code = byte & (0x3fU >> static_cast<unsigned>(more));
      for (int left = more; left > 0 && i + 1 < text.size(); --left)
        code = code << 6U | (static_cast<unsigned char>(text[++i]) & 0x3fU);
      out += fmt::format("\\[u{:04X}]", code);
    } else if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string page_of(const CLI::App& command) {
  std::string name = full_name(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

/// "-n, --lines N" in bold and italics.
std::string heading(const CLI::Option& option) {
  std::string text;
  const auto add = [&](const std::string& name) { text += (text.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", groff(name)); };
  for (const std::string& name : option.get_snames()) add("-" + name);
  for (const std::string& name : option.get_lnames()) add("--" + name);
  if (text.empty()) return fmt::format("\\fI{}\\fR", groff(option.get_name(true, false)));
  const std::string value = value_word(option);
  if (value.empty()) return text;
  return text + (value.starts_with('=') || value.starts_with('[') ? "" : " ") + fmt::format("\\fI{}\\fR", groff(value));
}

void add_options(const CLI::App& command, std::string& text) {
  const auto section = [&](const std::string& title, const std::vector<const CLI::Option*>& options) {
    if (options.empty()) return;
    text += ".SH " + upper(title) + "\n";
    for (const CLI::Option* option : options) text += fmt::format(".TP\n{}\n{}\n", heading(*option), groff(meaning_of(*option)));
  };
  section("Arguments",
          command.get_options([](const CLI::Option* one) { return !one->get_group().empty() && one->get_positional(); }));
  for (const std::string& group : command.get_groups()) {
    if (group.empty()) continue;
    section(group, command.get_options([&](const CLI::Option* one) { return one->get_group() == group && one->nonpositional(); }));
  }
}

void add_commands(const CLI::App& command, std::string& text) {
  const auto commands = commands_of(command);
  if (commands.empty()) return;
  text += ".SH COMMANDS\n";
  for (const CLI::App* sub : commands)
    text += fmt::format(".TP\n\\fB{}\\fR (see \\fB{}\\fR(1))\n{}\n", groff(sub->get_name()), groff(page_of(*sub)),
                        groff(sub->get_description()));
}

/// "Examples:" and lines behind it become a section of lines as they are.
void add_footer(const CLI::App& command, std::string& text) {
  const std::string footer = command.get_footer();
  bool open = false;
  for (const std::string_view line : split(footer, '\n')) {
    if (!line.empty() && line.front() != ' ' && line.ends_with(':')) {
      if (open) text += ".fi\n";
      text += ".SH " + upper(std::string(line.substr(0, line.size() - 1))) + "\n.nf\n";
      open = true;
    } else if (open) {
      text += groff(line) + "\n";
    }
  }
  if (open) text += ".fi\n";
}

void add_pages(const CLI::App& command, const std::string& release, const std::string& closing, std::vector<ManualPage>& pages) {
  const std::string page = page_of(command);
  const CLI::App* around = command.get_parent();
  std::string text = fmt::format(".TH \"{}\" 1 \"\" \"{}\" \"User Commands\"\n", upper(page), release);
  text += fmt::format(".SH NAME\n{} \\- {}\n", groff(page), groff(command.get_description()));
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR{}\n", groff(full_name(command)),
                      groff(usage_of(command).substr(full_name(command).size())));
  add_commands(command, text);
  add_options(command, text);
  add_footer(command, text);
  if (around == nullptr)
    text += closing;
  else
    text +=
        ".SH EXIT STATUS\n0 on success, 2 for a wrong command line, 1 for any other failure, which is described in one line on "
        "standard error.\n.SH SEE ALSO\n\\fB" +
        groff(page_of(*around)) + "\\fR(1)\n";
  pages.push_back({page + ".1", text});
  for (const CLI::App* sub : commands_of(command)) add_pages(*sub, release, closing, pages);
}

}  // namespace

std::vector<ManualPage> manual_pages(const CLI::App& root, const std::string& release, const std::string& closing) {
  std::vector<ManualPage> pages;
  add_pages(root, release, closing, pages);
  return pages;
}

}  // namespace weft::command_line
