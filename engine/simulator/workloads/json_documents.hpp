// JSON values that follow one another in a file (not in an array), one at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "engine/simulator/workloads/lines.hpp"

namespace weft::simulator::workloads {

/// The largest value, and so the most memory a file can ask for.
inline constexpr std::size_t kLongestDocument = 512u << 20;

/// The text of one object, valid until the next one is read; for a JsonReader.
struct JsonDocument {
  std::string_view text;
  std::string_view path;
  std::uint64_t line = 1;  // where it begins
};

class JsonDocuments {
 public:
  explicit JsonDocuments(Lines lines) : lines_(std::move(lines)) {}

  /// The next object, found by its braces; nothing after the last. `corrupt` for what is not an object or does not end.
  Result<std::optional<JsonDocument>> next();

 private:
  Result<bool> begin();
  bool scan();

  Lines lines_;
  std::string buffer_;    // the object so far, and what follows its end in the same line
  std::size_t used_ = 0;  // of the buffer, by the object given out last
  std::size_t at_ = 0;    // scanned so far
  int depth_ = 0;
  bool in_string_ = false;
  std::uint64_t line_ = 0;  // of the buffer's first
};

}  // namespace weft::simulator::workloads
