// Registers a name that is taken.
#include "schedulers/plugin.hpp"

using namespace weft::schedulers;

extern "C" PluginInterface weft_scheduler_plugin(PluginInterface host, Registry* registry) {
  return plugin_entry(host, registry, [](Registry& known) {
    return known.add("fifo", "another one", [](Options&) -> weft::Result<std::unique_ptr<Scheduler>> {
      return weft::fail(weft::Code::internal, "never made");
    });
  });
}
