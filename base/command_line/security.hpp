// --security and --insecure, which every program has that listens or connects: one description for all of them.
#pragma once

#include <string>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace weft::command_line {

struct SecurityOptions {
  std::string directory;
  bool insecure = false;
};

/// Adds them to `app`, in the group of its help that is named; what is parsed is written to `options`, which outlive the parser.
void add_security_options(CLI::App& app, SecurityOptions& options, const std::string& group);

/// Makes $WEFT_SECURITY say what was given, with an absolute path, for this process and those that it starts: executors and drivers
/// have the identity of the worker that starts them. Before there are threads. What was not given leaves what the variable says.
void obey(const SecurityOptions& options);

}  // namespace weft::command_line
