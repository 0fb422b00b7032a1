// Says that it was built for another interface, and would crash if it were used nevertheless.
#include <cstdint>
#include <cstdlib>

#ifndef WEFT_INTERFACE_VERSION
#define WEFT_INTERFACE_VERSION 999
#endif

extern "C" {
struct Interface {
  std::uint32_t version, layout;
};
Interface weft_scheduler_plugin(Interface host, void*) {
  if (host.version == WEFT_INTERFACE_VERSION) std::abort();
  return {WEFT_INTERFACE_VERSION, 1};
}
}
