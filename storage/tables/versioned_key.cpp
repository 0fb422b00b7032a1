#include "storage/tables/versioned_key.hpp"

namespace weft::storage::tables {
namespace {

constexpr std::size_t kVersionBytes = 8;

}  // namespace

std::string big_endian(std::uint64_t value) {
  std::string bytes(kVersionBytes, '\0');
  for (std::size_t i = 0; i < kVersionBytes; ++i) bytes[i] = static_cast<char>(value >> (8 * (kVersionBytes - 1 - i)));
  return bytes;
}

std::uint64_t from_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

std::string data_prefix(std::string_view key) {
  std::string prefix = "d";
  for (const char byte : key) {
    prefix += byte;
    if (byte == '\0') prefix += '\xff';
  }
  prefix += '\0';
  prefix += '\1';
  return prefix;
}

std::string data_key(std::string_view key, std::uint64_t version) { return data_prefix(key) + big_endian(~version); }

std::optional<DataKey> parse_data_key(std::string_view key) {
  if (key.size() < 3 + kVersionBytes || key[0] != 'd') return std::nullopt;
  return DataKey{key.substr(0, key.size() - kVersionBytes), ~from_big_endian(key.substr(key.size() - kVersionBytes))};
}

std::string key_of_prefix(std::string_view prefix) {
  std::string key;
  for (std::size_t i = 1; i + 2 < prefix.size(); ++i) {
    key += prefix[i];
    if (prefix[i] == '\0') ++i;
  }
  return key;
}

}  // namespace weft::storage::tables
