#include "storage/partition_path.hpp"

#include <charconv>

namespace weft::storage {
namespace {

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const char* const digits = text.data() + at + 1;
    if (text[at] == '%' && at + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      plain.push_back(static_cast<char>(byte));
      at += 2;
    } else {
      plain.push_back(text[at]);
    }
  }
  return plain;
}

}  // namespace

std::optional<PartitionValue> partition_value(std::string_view directory) {
  const auto equals = directory.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  PartitionValue found{unescaped(directory.substr(0, equals)), std::nullopt};
  const std::string_view value = directory.substr(equals + 1);
  if (value != "__HIVE_DEFAULT_PARTITION__") found.value = unescaped(value);
  return found;
}

std::vector<PartitionValue> partition_values(std::string_view path) {
  std::vector<PartitionValue> values;
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    if (auto value = partition_value(path.substr(0, slash))) values.push_back(*std::move(value));
    path.remove_prefix(slash + 1);
  }
  return values;
}

}  // namespace weft::storage
