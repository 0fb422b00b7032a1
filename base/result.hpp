// Errors as values: every expected failure of weft travels as Result<T>.
//
// An Error has a code to which callers may react, a message of one line that says what happened and what to do, and an optional
// cause. A bug is not an Error: it is asserted (base/assert.hpp). Exceptions exist only around user code and third-party libraries.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace weft {

/// The kinds of failure to which callers react. Add one only when some caller does.
enum class Code : std::uint8_t {
  invalid_argument = 1,    // the user requested something impossible
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
  internal = 13,           // a fault of weft itself
  permission_denied = 14,  // the user may not do this
};

std::string_view code_name(Code code);

/// A failure and the chain of its causes. It is a value: moving is cheap, and copies share the cause, which never changes. Any
/// thread may use its own copy.
class [[nodiscard]] Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  /// Returns this failure as the cause of a new one with `message`. The new one has this one's code unless `code` is given.
  Error wrap(std::string message) &&;
  Error wrap(Code code, std::string message) &&;

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const Error* cause() const { return cause_.get(); }

  /// Returns one line: "message: cause: cause of the cause".
  std::string to_string() const;

 private:
  Code code_;
  std::string message_;
  std::shared_ptr<const Error> cause_;
};

template <class T = void>
using Result = tl::expected<T, Error>;

/// Makes the value that a function with a Result returns on failure: `return fail(Code::not_found, "…");`.
inline tl::unexpected<Error> fail(Code code, std::string message) { return tl::unexpected<Error>(Error(code, std::move(message))); }
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

/// Makes an Error of an errno value: "what: No such file or directory". ENOENT, EEXIST, ENOSPC, EMFILE and ENOMEM have codes of
/// their own; all others become Code::io.
Error errno_error(std::string what, int errno_value);

}  // namespace weft

#define WEFT_CONCAT_INNER(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_INNER(a, b)

/// Evaluates an expression of type Result<…>. On failure the enclosing function returns the error; on success execution continues.
#define WEFT_TRY(expression)                                               \
  do {                                                                     \
    if (auto weft_try_result = (expression); !weft_try_result.has_value()) \
      return ::weft::fail(std::move(weft_try_result).error());             \
  } while (false)

/// Evaluates an expression of type Result<T>. On success its value initialises or is assigned to `target`; on failure the enclosing
/// function returns the error: `WEFT_ASSIGN(auto file, open(path));`. Use it as a statement of its own, not as the body of an `if`.
#define WEFT_ASSIGN(target, expression) WEFT_ASSIGN_INNER(WEFT_CONCAT(weft_result_, __LINE__), target, expression)
#define WEFT_ASSIGN_INNER(name, target, expression)                    \
  auto name = (expression);                                            \
  if (!name.has_value()) return ::weft::fail(std::move(name).error()); \
  target = std::move(name).value()
