// Manual pages of all commands, from their description.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace weft::command_line {

struct ManualPage {
  std::string name;  // weft-job-list.1
  std::string text;  // groff, macros of man(7)
};

/// A page for `root` and one for each command below it. `release` is "weft 0.1.0"; `closing` is groff text for the end of the
/// first page (ENVIRONMENT, …).
std::vector<ManualPage> manual_pages(const CLI::App& root, const std::string& release, const std::string& closing);

}  // namespace weft::command_line
