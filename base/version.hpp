// The version of this build, which is sent in handshakes and shown by --version.
#pragma once

#include <string_view>

namespace weft {

/// "0.1.0", the version of the CMake project.
std::string_view version();

}  // namespace weft
