// Notes which keys many records of a map output have, as text.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/operators/hot_keys.hpp"
#include "weft/detail/key_text.hpp"

namespace weft::detail {

/// Of a record that is looked at, which are few: code that is not among that of each record.
template <class K>
[[gnu::noinline]] void note_key(runtime::HotKeys& hot, std::uint32_t partition, const K& key) {
  std::string text;
  append_key_text(text, key);
  hot.note(partition, text);
}

}  // namespace weft::detail
