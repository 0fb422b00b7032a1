// How a worker's port for map outputs answers what only a master can.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace weft::rpc {

/// The message of its error, whose code is invalid_argument. It stays the same from release to release.
inline constexpr std::string_view kMapOutputOnly = "this port serves map output only";

/// Whether a request was refused because it went to such a port.
inline bool is_of_map_output_port(const Error& error) {
  return error.code() == Code::invalid_argument && error.to_string().find(kMapOutputOnly) != std::string::npos;
}

}  // namespace weft::rpc
