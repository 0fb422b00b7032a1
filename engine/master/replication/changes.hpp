// Changes of a store of keys and values, as bytes of a LogEntry.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"

namespace weft::master {

/// A value, or nothing for a key that is erased.
using KeyChange = std::pair<std::string, std::optional<std::string>>;
struct Changes {
  std::vector<KeyChange> changes;
};

SharedBytes to_bytes(const Changes& changes);
Result<Changes> parse_changes(ByteView bytes);

}  // namespace weft::master
