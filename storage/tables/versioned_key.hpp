// Keys of a partition's database. Private to storage/tables.
//
//   'd' key, escaped; 0 1; ~version (big-endian)         → 1 and the value, or 0: deleted. The versions of a key lie together,
//                                                          the newest first.
//   'l' version                                          → the entry
//   'e' epoch                                            → version of its first entry
//   's' snapshot id                                      → version
//   'x' transaction, token, version                      → writes set aside
//   'c' transaction                                      → nothing: it was committed
//   'm' "last"                                           → version
//   'm' "format"                                         → text
// Numbers in keys and values have eight bytes, big-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::storage::tables {

/// `version` as eight bytes that sort as the numbers do.
std::string big_endian(std::uint64_t value);
std::uint64_t from_big_endian(std::string_view bytes);

/// What all versions of the key begin with. Prefixes sort as the keys do, and none begins another.
std::string data_prefix(std::string_view key);
std::string data_key(std::string_view key, std::uint64_t version);
struct DataKey {
  std::string_view prefix;  // data_prefix() of the key
  std::uint64_t version = 0;
};
/// Nothing when it is no key of data.
std::optional<DataKey> parse_data_key(std::string_view key);
/// The key of a prefix.
std::string key_of_prefix(std::string_view prefix);

}  // namespace weft::storage::tables
