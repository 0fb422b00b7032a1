#include "engine/master/server/scheduler_requests.hpp"

#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/group_list.hpp"

namespace weft::master {

Result<void> SchedulerRequests::configure(const std::string& spec) {
  SchedulerConfigured event{spec, {}, options_.speculation};
  WEFT_ASSIGN(event.files, scheduling::Catalogue::check(catalogue_, spec, options_.scheduler_timeout));
  WEFT_ASSIGN(auto rights, schedulers::PoolRights::read(event.files));
  WEFT_TRY(shell_.apply(std::move(event)));
  callers_.use(std::move(rights));
  return {};
}

void SchedulerRequests::add_to(RequestTable& table) {
  using Kind = RequestTable::Kind;
  table.answer(client::kListGroups, Kind::question, [this](const auto&, const auto&) { return on_list_groups(); });
  table.answer(client::kShowScheduler, Kind::question, [this](const auto&, const auto&) { return on_show(); });
  table.answer(client::kConfigureScheduler, Kind::change,
               [this](const auto&, const auto& message) { return on_configure(message); });
}

Result<rpc::Payload> SchedulerRequests::on_configure(const rpc::Message& message) {
  WEFT_ASSIGN(client::SchedulerInfo wanted, client::decode<client::SchedulerInfo>(message));
  if (wanted.spec.empty()) wanted.spec = shell_.core().configuration().spec;
  if (auto configured = configure(wanted.spec); !configured) {
    log_.warn("the old configuration of the scheduler stays: {}", configured.error().to_string());
    return fail(std::move(configured).error());
  }
  log_.info("scheduler {} is in force", wanted.spec);
  return on_show();
}

Result<rpc::Payload> SchedulerRequests::on_show() const {
  const Core& core = shell_.core();
  client::SchedulerInfo info;
  info.spec = core.configuration().spec;
  for (const auto& [name, text] : core.configuration().files) info.files.push_back(name);
  const schedulers::Registry& registry = catalogue_->registry();
  for (const std::string& name : registry.names()) info.known[name] = registry.description(name);
  info.trouble = core.scheduler_faults();
  info.now = shell_.now();
  return client::encode(info);
}

Result<rpc::Payload> SchedulerRequests::on_list_groups() const {
  WEFT_ASSIGN(const auto groups, shell_.core().groups());
  return client::encode(client::GroupList{group_list(groups, shell_.core().view())});
}

}  // namespace weft::master
