// The server's scheduler: configuring it while it runs, and what it says of pools and queues.
#include <fmt/core.h>

#include "engine/master/server_impl.hpp"

namespace weft::master {

/// Reads the files it names, and tells the core. On an error everything stays as it was.
Result<void> ServerImpl::configure(const std::string& spec) {
  SchedulerConfigured event{spec, {}, options_.speculation};
  WEFT_ASSIGN(event.files, scheduling::Catalogue::check(catalogue_, spec, options_.scheduler_timeout));
  return apply(std::move(event));
}

void ServerImpl::reload() {
  reactor_->post([this] {
    if (topology_) {
      if (auto reloaded = topology_->reload()) {
        log_.info("topology {} was reloaded", options_.topology);
      } else {
        log_.error("the old topology stays: {}", reloaded.error().to_string());
      }
    }
    if (failed_) return;
    const std::string spec = (*core_)->configuration().spec;
    if (auto configured = configure(spec)) {
      log_.info("scheduler {} was reloaded", spec);
    } else if (!failed_) {
      log_.error("the old configuration of the scheduler stays: {}", configured.error().to_string());
    }
  });
}

Result<rpc::Payload> ServerImpl::on_configure(const rpc::Message& message) {
  WEFT_ASSIGN(client::SchedulerInfo wanted, client::decode<client::SchedulerInfo>(message));
  if (wanted.spec.empty()) wanted.spec = (*core_)->configuration().spec;
  if (auto configured = configure(wanted.spec); !configured) {
    log_.warn("the old configuration of the scheduler stays: {}", configured.error().to_string());
    return fail(std::move(configured).error());
  }
  log_.info("scheduler {} is in force", wanted.spec);
  return on_show_scheduler();
}

Result<rpc::Payload> ServerImpl::on_show_scheduler() {
  const Core& core = **core_;
  client::SchedulerInfo info;
  info.spec = core.configuration().spec;
  for (const auto& [name, text] : core.configuration().files) info.files.push_back(name);
  const schedulers::Registry& registry = catalogue_->registry();
  for (const std::string& name : registry.names()) info.known[name] = registry.description(name);
  info.trouble = core.scheduler_faults();
  info.now = now();
  return client::encode(info);
}

/// What the scheduler says of its groups; pools that it does not speak of, as the cluster sees them.
Result<rpc::Payload> ServerImpl::on_list_groups() {
  const Core& core = **core_;
  WEFT_ASSIGN(const auto groups, core.groups());
  client::GroupList list;
  std::vector<client::GroupInfo>& all = list.groups;
  std::set<std::string> seen;
  const auto add = [&](const schedulers::GroupStatus& status) {
    client::GroupInfo& info = all.emplace_back();
    info.status = status;
    seen.insert(status.name);
    const auto pool = core.view().pools().find(status.name);
    if (pool == core.view().pools().end()) return;
    info.pending = pool->second.pending;
    info.running = pool->second.running;
    info.used = pool->second.used;
  };
  for (const schedulers::GroupStatus& status : groups) add(status);
  for (const auto& [name, pool] : core.view().pools()) {
    if (seen.contains(name)) continue;
    schedulers::GroupStatus status;
    status.name = name;
    status.jobs = pool.jobs.size();
    status.used = pool.used.cpu;
    status.demand = pool.used.cpu + static_cast<double>(pool.pending);
    add(status);
    all.back().unknown = true;
  }
  return client::encode(std::move(list));
}

}  // namespace weft::master
