#include "engine/master/core/context.hpp"

#include <fmt/format.h>

namespace weft::master {

CoreContext::CoreContext(std::unique_ptr<schedulers::Scheduler> own_scheduler, const CoreOptions& core_options,
                         SchedulerFactory factory)
    : options(core_options),
      timers(commands),
      triggers(options.decide_every, options.on_heartbeats),
      scheduler(std::move(own_scheduler), std::move(factory), view, options.max_refusals, options.max_decisions),
      jobs(options.finished_jobs_kept) {
  view.set_heartbeat(options.heartbeat);
  scheduler.start();
}

std::string CoreContext::node_name(NodeId id) const {
  const schedulers::NodeInfo* node = view.node(id);
  return node == nullptr || node->name.empty() ? fmt::format("node {}", id.value()) : node->name;
}

}  // namespace weft::master
