// How map outputs get to their readers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace weft::shuffle {

enum class Mode : std::uint8_t {
  memory = 0,  // kept in memory, prefetched to where readers were placed while maps run
  pull = 1,    // written to disk by the map task, fetched when the reader starts, as in other systems: for comparison
};
constexpr Mode last_of(Mode) { return Mode::pull; }

constexpr std::string_view to_string(Mode mode) { return mode == Mode::pull ? "pull" : "memory"; }
constexpr std::optional<Mode> parse_mode(std::string_view name) {
  if (name == to_string(Mode::memory)) return Mode::memory;
  if (name == to_string(Mode::pull)) return Mode::pull;
  return std::nullopt;
}
/// For messages that carry it as text (base/rpc/versioned.hpp).
inline Result<void> from_text(std::string_view text, Mode& mode) {
  const std::optional<Mode> known = parse_mode(text);
  if (!known) return fail(Code::invalid_argument, "unknown shuffle mode");
  mode = *known;
  return {};
}

}  // namespace weft::shuffle
