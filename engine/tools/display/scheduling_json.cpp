#include "engine/tools/display/scheduling_json.hpp"

#include "engine/tools/display/json_members.hpp"

namespace weft::tools {

std::string groups_json(const std::vector<client::GroupInfo>& groups) {
  return json_line(objects(groups, [](JsonWriter& json, const client::GroupInfo& group) {
    const schedulers::GroupStatus& status = group.status;
    members(json, "name", status.name, "parent", status.parent, "known", !group.unknown, "weight", status.weight, "guaranteed",
            status.guaranteed, "fair_share", status.fair_share, "limit", status.limit, "used", status.used, "demand", status.demand,
            "jobs", status.jobs, "running_tasks", group.running, "waiting_tasks", group.pending, "resources", group.used);
  }));
}

std::string scheduler_json(const client::SchedulerInfo& info) {
  const auto scheduler = info.spec.empty() ? std::nullopt : std::optional(info.spec);
  return json_line(object("scheduler", scheduler, "files", info.files, "known", info.known, "refused_decisions",
                          info.trouble.refused, "faults", info.trouble.faults, "last_fault", info.trouble.fault));
}

}  // namespace weft::tools
