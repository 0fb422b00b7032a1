// The options that every job program has besides its own: where and how to run.
#pragma once

#include <string>

#include "base/command_line/security.hpp"
#include "engine/client/session.hpp"

namespace CLI {
class App;
}

namespace weft {

struct CommonOptions {
  client::RunOptions run;
  command_line::SecurityOptions security;
  std::string overwrite;  // "", "all", "directories"
  bool check_variants = false;
  bool raw_input = false;
  bool growing_inputs = false;
  std::string explain;  // "", "text", "dot"
  std::string stats;    // file for the figures of the run; empty: none
};

/// What weft::declare() says of InputOutput::output.
inline constexpr const char* kOutputHelp = "Directory for the result";
/// What was given for that, on the command line that was parsed; empty when the program has no such option.
std::string given_output(const CLI::App& app);

/// Adds them to the command line. What is parsed is written to `options`, which must outlive the parser.
void declare_common(CLI::App& app, CommonOptions& options);

}  // namespace weft
