// The user for whom a request to the master is made.
#pragma once

#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/result.hpp"
#include "base/text.hpp"

namespace weft::master {

struct Caller {
  std::string user{};          // empty: a process of the cluster, or somebody of whom nothing is known
  bool administrator = false;  // may do all
  std::string peer{};          // "127.0.0.1:4711", "worker w1 at 10.0.0.7:4711"

  /// permission_denied unless he is an administrator. `what` follows "may not".
  Result<void> must_administer(std::string_view what) const {
    if (administrator) return {};
    return fail(Code::permission_denied,
                fmt::format("{} may not {}: only an administrator may (weft master --admin)", escaped(user), what));
  }
};

}  // namespace weft::master
