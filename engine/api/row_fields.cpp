#include "weft/detail/row_fields.hpp"

#include <array>

namespace weft::detail {

std::vector<std::string> names_in_files(std::span<const std::string_view> fields, const std::map<std::string, std::string>& names) {
  std::vector<std::string> found;
  for (const std::string_view field : fields) {
    const auto renamed = names.find(std::string(field));
    found.push_back(renamed == names.end() ? std::string(field) : renamed->second);
  }
  return found;
}

bool read_short_decimal(std::string_view text, double& value) {
  static constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char *at = text.data(), *const end = at + text.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  std::uint64_t digits = 0;
  const char* const first = at;
  while (at != end && static_cast<unsigned char>(*at - '0') < 10) digits = 10 * digits + static_cast<std::uint64_t>(*at++ - '0');
  auto count = at - first;
  std::ptrdiff_t decimals = 0;
  if (at != end && *at == '.') {
    const char* const point = ++at;
    while (at != end && static_cast<unsigned char>(*at - '0') < 10) digits = 10 * digits + static_cast<std::uint64_t>(*at++ - '0');
    decimals = at - point;
    count += decimals;
  }
  // Clinger: both numbers are exact, so that one division rounds once.
  if (at != end || count == 0 || count > 19 || digits > (std::uint64_t{1} << 53) || decimals > 22) return false;
  const double magnitude = static_cast<double>(digits) / kPowers[static_cast<std::size_t>(decimals)];
  value = negative ? -magnitude : magnitude;
  return true;
}

}  // namespace weft::detail
