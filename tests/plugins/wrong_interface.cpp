// Says that it was built for another interface, and would crash if it were used nevertheless.
#include <cstdint>
#include <cstdlib>

extern "C" {
struct Interface {
  std::uint32_t version, layout;
};
Interface weft_scheduler_plugin(Interface host, void*) {
  if (host.version == 999) std::abort();
  return {999, 1};
}
}
