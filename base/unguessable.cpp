#include "base/unguessable.hpp"

#include <sys/random.h>

#include "base/assert.hpp"

namespace weft {

std::uint64_t unguessable_number() {
  std::uint64_t number = 0;
  while (number == 0) {
    const ssize_t got = ::getrandom(&number, sizeof number, 0);  // so few bytes come whole, once the machine has started
    WEFT_ASSERT(got == sizeof number);
  }
  return number;
}

}  // namespace weft
