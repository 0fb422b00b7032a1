#include "runtime/protocol/program_id.hpp"

#include <charconv>

#include <fmt/core.h>

namespace weft::runtime::protocol {
namespace {

constexpr std::size_t kHashDigits = 32;

bool stands_for_itself(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

std::string encoded(std::string_view user) {
  std::string text;
  for (const char byte : user) {
    if (stands_for_itself(byte))
      text += byte;
    else
      text += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
  }
  return text;
}

/// Nothing: it is not what encoded() gives.
std::optional<std::string> decoded(std::string_view text) {
  std::string user;
  for (std::string_view left = text; !left.empty();) {
    if (left.front() != '%') {
      user += left.front();
      left.remove_prefix(1);
      continue;
    }
    unsigned char byte = 0;
    const std::string_view digits = left.substr(1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (error != std::errc() || end != digits.data() + 2) return std::nullopt;
    user += static_cast<char>(byte);
    left.remove_prefix(3);
  }
  return encoded(user) == text ? std::optional(std::move(user)) : std::nullopt;
}

}  // namespace

std::string file_name(const ProgramId& program) {
  return program.user.empty() ? to_string(program.hash) : fmt::format("{}-{}", to_string(program.hash), encoded(program.user));
}

std::optional<ProgramId> parse_program(std::string_view file_name) {
  const auto hash = parse_hash(file_name.substr(0, kHashDigits));
  if (!hash) return std::nullopt;
  const std::string_view rest = file_name.substr(kHashDigits);
  if (rest.empty()) return ProgramId{*hash, ""};
  if (rest.front() != '-' || rest.size() == 1) return std::nullopt;
  auto user = decoded(rest.substr(1));
  return user ? std::optional(ProgramId{*hash, *std::move(user)}) : std::nullopt;
}

bool is_nameable(std::string_view user) { return encoded(user).size() <= kMostUserInFileName; }

}  // namespace weft::runtime::protocol
