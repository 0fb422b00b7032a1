// WEFT_ASSERT states an invariant of weft. It stays on in release builds. A violation is a bug and ends the process at once,
// because continuing could turn a wrong state into a wrong result. Do not use it for input: bad input is a Result.
#pragma once

namespace weft {

/// Prints "file:line: assertion failed: expression" to stderr and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace weft

#define WEFT_ASSERT(expression)                                              \
  (__builtin_expect(static_cast<bool>(expression), 1) ? static_cast<void>(0) \
                                                      : ::weft::assertion_failed(#expression, __FILE__, __LINE__))
