#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace weft {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
  std::fflush(stderr);
  std::abort();
}

}  // namespace weft
