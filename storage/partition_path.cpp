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

/// As Hive has it.
std::string escaped_value(std::string_view text) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF", kSpecial = "\"#%'*/:=?\\{}[]^";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f && kSpecial.find(c) == std::string_view::npos) {
      escaped.push_back(c);
    } else {
      escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return escaped;
}

constexpr std::string_view kMissing = "__HIVE_DEFAULT_PARTITION__";

}  // namespace

std::string partition_directory(const PartitionValue& value) {
  std::string directory = escaped_value(value.key) + "=";
  if (!value.value) return directory.append(kMissing);
  // A text that is the word for a missing value is no missing value.
  return *value.value == kMissing ? directory.append("%5F").append(kMissing.substr(1)) : directory + escaped_value(*value.value);
}

std::optional<PartitionValue> partition_value(std::string_view directory) {
  const auto equals = directory.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  PartitionValue found{unescaped(directory.substr(0, equals)), std::nullopt};
  const std::string_view value = directory.substr(equals + 1);
  if (value != kMissing) found.value = unescaped(value);
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
