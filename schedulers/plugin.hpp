// A scheduler of one's own in a shared object. It exports one C function, `weft_scheduler_plugin`, that adds to the registry:
//
//   extern "C" weft::schedulers::PluginInterface weft_scheduler_plugin(weft::schedulers::PluginInterface host,
//   weft::schedulers::Registry* registry) {
//     return weft::schedulers::plugin_entry(host, registry, [](weft::schedulers::Registry& known) {
//       return known.add("mine", "what it does", [](weft::schedulers::Options& options) { … });
//     });
//   }
//
// Project to start from: docs/examples/scheduler-plugin. What such a scheduler may do: view/scheduler.hpp, view/view.hpp; how to
// make one of parts: parts/parts.hpp.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

/// What both sides must agree on. A plain C struct.
struct PluginInterface {
  std::uint32_t version;  // grows when the meaning of scheduler.hpp, view.hpp or parts.hpp changes
  std::uint32_t layout;   // of what both sides touch, as this compiler lays it out
};
constexpr bool operator==(const PluginInterface& a, const PluginInterface& b) {
  return a.version == b.version && a.layout == b.layout;
}

constexpr PluginInterface plugin_interface() {
  std::uint32_t layout = 2166136261u;
  for (std::size_t size :
       {sizeof(ClusterView), sizeof(NodeInfo), sizeof(RackInfo), sizeof(JobInfo), sizeof(StageInfo), sizeof(TaskInfo),
        sizeof(SpeculativeAttempt), sizeof(GroupInfo), sizeof(GroupStatus), sizeof(PendingTasks), sizeof(ShuffleSizes),
        sizeof(Resources), sizeof(Notice), sizeof(Trigger), sizeof(Options), sizeof(Registry), sizeof(Composition), sizeof(Error)})
    layout = (layout ^ static_cast<std::uint32_t>(size)) * 16777619u;
  return {6, layout};
}

/// Type and name of the exported function. When `host` equals its own plugin_interface() it adds its schedulers to `registry`;
/// otherwise it touches nothing. Returns its own plugin_interface() either way. The object is never unloaded.
using PluginEntry = PluginInterface (*)(PluginInterface host, Registry* registry);
inline constexpr const char* kPluginEntry = "weft_scheduler_plugin";

/// Does what PluginEntry promises; `add` gets the registry and returns what Registry::add() did. Throws when that was refused.
template <class Add>
PluginInterface plugin_entry(PluginInterface host, Registry* registry, Add&& add) {
  if (host == plugin_interface()) {
    const Result<void> added = add(*registry);
    if (!added) throw std::runtime_error(added.error().to_string());
  }
  return plugin_interface();
}

}  // namespace weft::schedulers
