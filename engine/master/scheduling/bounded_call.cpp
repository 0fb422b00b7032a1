#include "engine/master/scheduling/bounded_call.hpp"

#include <cstdio>

#include <stdlib.h>
#include <unistd.h>

namespace weft::scheduling {

void end_without_destructors() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::on_exit(
        [](int status, void*) {
          std::fflush(nullptr);
          ::_exit(status);
        },
        nullptr);
  });
}

}  // namespace weft::scheduling
