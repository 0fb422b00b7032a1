// WEFT_ASSERT states an invariant of ours. It stays on in release builds; a violation is a bug and ends the process at once,
// because going on could turn a wrong state into a wrong answer. Never for input: what comes from outside is a Result.
#pragma once

namespace weft {

/// Prints "file:line: assertion failed: expression" to stderr and aborts.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace weft

#define WEFT_ASSERT(expression)                                              \
  (__builtin_expect(static_cast<bool>(expression), 1) ? static_cast<void>(0) \
                                                      : ::weft::assertion_failed(#expression, __FILE__, __LINE__))
