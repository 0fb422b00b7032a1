#include "base/result.hpp"

#include <cerrno>
#include <system_error>

#include "base/printable.hpp"

namespace weft {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::not_found:
      return "not_found";
    case Code::already_exists:
      return "already_exists";
    case Code::unavailable:
      return "unavailable";
    case Code::deadline_exceeded:
      return "deadline_exceeded";
    case Code::corrupt:
      return "corrupt";
    case Code::resource_exhausted:
      return "resource_exhausted";
    case Code::version_mismatch:
      return "version_mismatch";
    case Code::plan_mismatch:
      return "plan_mismatch";
    case Code::user_code:
      return "user_code";
    case Code::cancelled:
      return "cancelled";
    case Code::io:
      return "io";
    case Code::internal:
      return "internal";
  }
  return "unknown";
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
