// Errors as values: every expected failure of weft travels as Result<T>.
//
// An Error has a closed code (what a caller may react to), a message (one line, says what happened and what to do) and an
// optional cause. Bugs use WEFT_ASSERT (base/assert.hpp); exceptions exist only around user code and third-party libraries.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace weft {

/// What a caller may react to. Add a code only when some caller does.
enum class Code : std::uint8_t {
  invalid_argument = 1,    // the user asked for something that cannot be
  not_found = 2,           // a file, job, worker, … does not exist
  already_exists = 3,      // output exists, duplicate name
  unavailable = 4,         // peer gone, block lost: worth another try
  deadline_exceeded = 5,   // the peer did not answer, the task ran too long
  corrupt = 6,             // checksum or format violation
  resource_exhausted = 7,  // memory, disk, descriptor, queue bound
  version_mismatch = 8,    // peer or file speaks another version
  plan_mismatch = 9,       // this binary builds another plan than its driver
  user_code = 10,          // a user's function threw, crashed or never ended
  cancelled = 11,          // killed on request
  io = 12,                 // the operating system refused
  internal = 13,           // a fault of weft's own
};

std::string_view code_name(Code code);

/// A failure with its causal chain. Cheap to move; copies share the cause.
class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  /// The same failure seen from one level up: `message: cause`. Keeps the cause's code unless `code` is given.
  Error wrap(std::string message) &&;
  Error wrap(Code code, std::string message) &&;

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const Error* cause() const { return cause_.get(); }

  /// One line: "message: cause: cause of the cause".
  std::string to_string() const;

 private:
  Code code_;
  std::string message_;
  std::shared_ptr<const Error> cause_;
};

template <class T = void>
using Result = tl::expected<T, Error>;

/// `return fail(Code::not_found, "…")` from any function that returns a Result.
inline tl::unexpected<Error> fail(Code code, std::string message) { return tl::unexpected<Error>(Error(code, std::move(message))); }
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// An error from errno: "what: No such file or directory". ENOENT, EEXIST, ENOSPC, EMFILE and ENOMEM get their codes, the rest is
/// Code::io.
Error errno_error(std::string what, int errno_value);

}  // namespace weft

#define WEFT_CONCAT_INNER(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_INNER(a, b)

/// Returns the error of a Result<...> expression from the enclosing function, or goes on.
#define WEFT_TRY(expression)                                               \
  do {                                                                     \
    if (auto weft_try_result = (expression); !weft_try_result.has_value()) \
      return ::weft::fail(std::move(weft_try_result).error());             \
  } while (false)

/// `WEFT_ASSIGN(auto file, open(path));` declares or assigns, or returns the error.
#define WEFT_ASSIGN(target, expression) WEFT_ASSIGN_INNER(WEFT_CONCAT(weft_result_, __LINE__), target, expression)
#define WEFT_ASSIGN_INNER(name, target, expression)                    \
  auto name = (expression);                                            \
  if (!name.has_value()) return ::weft::fail(std::move(name).error()); \
  target = std::move(name).value()
