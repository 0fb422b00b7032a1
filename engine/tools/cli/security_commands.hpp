// Parts of `weft security`.
#pragma once

#include "engine/tools/cli/command.hpp"

namespace weft::tools {

/// kubernetes
void add_security_kubernetes(CLI::App& security, Action& action);

}  // namespace weft::tools
