#include "base/result.hpp"

#include <array>
#include <cerrno>
#include <system_error>

#include "base/printable.hpp"

namespace weft {

std::string_view code_name(Code code) {
  static constexpr std::array<std::string_view, 15> kNames{
      "unknown", "invalid_argument",   "not_found",        "already_exists", "unavailable", "deadline_exceeded",
      "corrupt", "resource_exhausted", "version_mismatch", "plan_mismatch",  "user_code",   "cancelled",
      "io",      "internal",           "permission_denied"};
  static_assert(kNames.size() == static_cast<std::size_t>(Code::permission_denied) + 1);
  const auto value = static_cast<std::size_t>(code);
  return kNames[value < kNames.size() ? value : 0];
}

Error Error::wrap(std::string message) && {
  const Code code = code_;
  return std::move(*this).wrap(code, std::move(message));
}

Error Error::wrap(Code code, std::string message) && {
  Error outer(code, std::move(message));
  outer.cause_ = std::make_shared<const Error>(std::move(*this));
  return outer;
}

std::string Error::to_string() const {
  std::string text = message_;
  for (const Error* error = cause(); error != nullptr; error = error->cause()) {
    text += ": ";
    text += error->message();
  }
  return printable(text);
}

namespace {

Code code_of_errno(int value) {
  switch (value) {
    case ENOENT:
      return Code::not_found;
    case EEXIST:
      return Code::already_exists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::resource_exhausted;
    default:
      return Code::io;
  }
}

}  // namespace

Error errno_error(std::string what, int errno_value) {
  what += ": ";
  what += std::generic_category().message(errno_value);
  return Error(code_of_errno(errno_value), std::move(what));
}

}  // namespace weft
