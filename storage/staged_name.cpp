#include "storage/staged_name.hpp"

namespace weft::storage {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string staged_name(std::string_view receipt, std::string_view name) {
  std::string out;
  for (const char c : receipt) {
    out.push_back(kDigits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(kDigits[static_cast<unsigned char>(c) & 15]);
  }
  return out.append(":").append(name);
}

std::string receipt_in(std::string_view staged_name) {
  const auto colon = staged_name.find(':');
  if (colon == std::string_view::npos) return {};
  std::string receipt;
  for (std::size_t i = 0; i + 1 < colon; i += 2) {
    const auto high = kDigits.find(staged_name[i]), low = kDigits.find(staged_name[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    receipt.push_back(static_cast<char>(high * 16 + low));
  }
  return receipt;
}

}  // namespace weft::storage
