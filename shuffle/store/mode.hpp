// How map outputs get to those who read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::shuffle {

enum class Mode : std::uint8_t {
  memory = 0,  // kept in memory, prefetched to where readers were placed while maps run
  pull = 1,    // written to disk by the map task, fetched when the reader starts: what others do, to compare with
};
constexpr Mode last_of(Mode) { return Mode::pull; }

constexpr std::string_view mode_name(Mode mode) { return mode == Mode::pull ? "pull" : "memory"; }
constexpr std::optional<Mode> parse_mode(std::string_view name) {
  if (name == mode_name(Mode::memory)) return Mode::memory;
  if (name == mode_name(Mode::pull)) return Mode::pull;
  return std::nullopt;
}

}  // namespace weft::shuffle
