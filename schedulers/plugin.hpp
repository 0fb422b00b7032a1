// Schedulers of users as shared objects. One exports one C function, `weft_scheduler_plugin`, that adds to the registry:
//
//   extern "C" weft::schedulers::PluginInterface weft_scheduler_plugin(weft::schedulers::PluginInterface host,
//   weft::schedulers::Registry* registry) {
//     return weft::schedulers::plugin_entry(host, registry, [](weft::schedulers::Registry& known) {
//       return known.add("mine", "what it does", [](weft::schedulers::Options& options) { … });
//     });
//   }
//
// Project to start from: docs/examples/scheduler-plugin. view/scheduler.hpp and view/view.hpp say what such a scheduler may do,
// parts/parts.hpp how to make one of parts.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

/// What both sides must agree on: a plain C struct.
struct PluginInterface {
  std::uint32_t version;  // grows when the meaning of scheduler.hpp, view.hpp or parts.hpp changes
  std::uint32_t layout;   // a hash of the sizes of the types that both sides use, as this compiler lays them out
};
constexpr bool operator==(const PluginInterface& a, const PluginInterface& b) {
  return a.version == b.version && a.layout == b.layout;
}

constexpr PluginInterface plugin_interface() {
  std::uint32_t layout = 2166136261u;
  for (std::size_t size : {sizeof(ClusterView), sizeof(NodeInfo), sizeof(RackInfo), sizeof(JobInfo), sizeof(StageInfo),
                           sizeof(TaskInfo), sizeof(SpeculativeAttempt), sizeof(GroupInfo), sizeof(GroupStatus),
                           sizeof(PendingTasks), sizeof(ShuffleSizes), sizeof(Resources), sizeof(Notice), sizeof(Sharing),
                           sizeof(Trigger), sizeof(Options), sizeof(Registry), sizeof(Composition), sizeof(Error)})
    layout = (layout ^ static_cast<std::uint32_t>(size)) * 16777619u;
  return {8, layout};
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
