#include "storage/http/web_text.hpp"

#include <ctime>

namespace weft::storage::http {
namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::int64_t> seconds_of(const std::string& text, const char* form) {
  std::tm parts{};
  if (::strptime(text.c_str(), form, &parts) == nullptr) return std::nullopt;
  return ::timegm(&parts);
}

}  // namespace

std::string uri_encoded(std::string_view text, bool keep_slashes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_plain(c) || (keep_slashes && c == '/')) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
  return out;
}

std::string uri_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() ? digit(text[i + 1]) : -1, low = i + 2 < text.size() ? digit(text[i + 2]) : -1;
    if (text[i] == '%' && high >= 0 && low >= 0) {
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

std::string base64(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < group.size() ? static_cast<unsigned char>(group[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out.push_back(k <= group.size() ? kBase64[bits >> (18 - 6 * k) & 63] : '=');
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string out;
  std::uint32_t bits = 0, count = 0;
  for (const char c : text.substr(0, text.size() - padding)) {
    const auto digit = kBase64.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out.push_back(static_cast<char>(bits >> count & 0xff));
    bits &= (1U << count) - 1;
  }
  return base64(out) == text ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> seconds_of_http(const std::string& date) { return seconds_of(date, "%a, %d %b %Y %H:%M:%S"); }
std::optional<std::int64_t> seconds_of_iso(const std::string& time) { return seconds_of(time, "%Y-%m-%dT%H:%M:%S"); }

}  // namespace weft::storage::http
