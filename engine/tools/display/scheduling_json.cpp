#include "engine/tools/display/scheduling_json.hpp"

#include "base/json.hpp"
#include "engine/tools/display/table.hpp"

namespace weft::tools {

std::string groups_json(const std::vector<client::GroupInfo>& groups) {
  JsonWriter json;
  json.begin_array();
  for (const client::GroupInfo& group : groups) {
    const schedulers::GroupStatus& status = group.status;
    json.begin_object().member("name", status.name).member("parent", status.parent).member("known", !group.unknown);
    json.member("weight", status.weight)
        .member("guaranteed", status.guaranteed)
        .member("fair_share", status.fair_share)
        .key("limit");
    if (status.limit) {
      json.value(*status.limit);
    } else {
      json.null();
    }
    json.member("used", status.used).member("demand", status.demand).member("jobs", status.jobs);
    json.member("running_tasks", group.running).member("waiting_tasks", group.pending).key("resources");
    add_resources(json, group.used);
    json.end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

std::string scheduler_json(const client::SchedulerInfo& info) {
  JsonWriter json;
  json.begin_object().key("scheduler");
  if (info.spec.empty()) {
    json.null();
  } else {
    json.value(info.spec);
  }
  json.key("files").begin_array();
  for (const std::string& file : info.files) json.value(file);
  json.end_array().key("known").begin_object();
  for (const auto& [name, description] : info.known) json.member(name, description);
  json.end_object().member("refused_decisions", info.trouble.refused).member("faults", info.trouble.faults);
  json.member("last_fault", info.trouble.fault).end_object();
  return json.text() + "\n";
}

}  // namespace weft::tools
