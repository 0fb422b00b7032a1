// Numbers with their nouns: "1 rack", "2 racks", "3 directories".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

/// `plural`: where it is not the noun and an s.
inline std::string counted(std::uint64_t number, std::string_view noun, std::string_view plural = {}) {
  std::string text = std::to_string(number) + ' ';
  if (number == 1 || plural.empty()) {
    text += noun;
    if (number != 1) text += 's';
  } else {
    text += plural;
  }
  return text;
}

}  // namespace weft
