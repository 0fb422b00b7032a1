// JSON objects that follow one another in a file (not in an array), one at a time.
#pragma once

#include <optional>
#include <string>

#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "engine/simulator/workloads/lines.hpp"

namespace weft::simulator::workloads {

/// The largest object, and so the most memory that a file can take.
inline constexpr std::size_t kLongestDocument = 512u << 20;

class JsonDocuments {
 public:
  /// not_found when there is no such file.
  static Result<JsonDocuments> open(const std::string& path);

  /// A reader of the next object, which is found by its braces; nothing after the last. Valid until the next call. `corrupt` for
  /// what is not an object or does not end.
  Result<std::optional<JsonReader>> next();
  /// Calls `use` with a reader of each object that is left. Ends with the first error.
  template <class Use>
  Result<void> for_each(Use use) {
    for (;;) {
      WEFT_ASSIGN(const auto json, next());
      if (!json) return {};
      WEFT_TRY(use(*json));
    }
  }

 private:
  explicit JsonDocuments(Lines lines) : lines_(std::move(lines)) {}
  Result<bool> begin();
  bool scan();

  Lines lines_;
  std::string buffer_;    // the object so far, and what follows its end in the same line
  std::size_t used_ = 0;  // of the buffer, by the object read last
  std::size_t at_ = 0;    // scanned so far
  int depth_ = 0;
  bool in_string_ = false;
  std::uint64_t line_ = 0;  // of the buffer's first
};

}  // namespace weft::simulator::workloads
