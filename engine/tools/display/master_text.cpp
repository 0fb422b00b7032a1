#include "engine/tools/display/master_text.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

const char* state_of(const client::MasterStatus& master) {
  switch (master.state) {
    case client::MasterStatus::State::leads:
      return "leads";
    case client::MasterStatus::State::in_sync:
      return "in sync";
    case client::MasterStatus::State::copies:
      return "copies";
  }
  return "";
}

std::string masters_json(const client::MasterList& list) {
  return json_line(object("cluster", list.cluster, "epoch", list.epoch, "masters",
                          objects(list.masters, [](JsonWriter& json, const client::MasterStatus& master) {
                            members(json, "member", master.member, "address", master.address, "state", state_of(master), "behind",
                                    master.behind, "heard_seconds_ago", in_seconds(master.heard), "page", master.page);
                          })));
}

std::string masters_table(const client::MasterList& list) {
  TextTable table({"ADDRESS", "STATE", "BEHIND", "HEARD", "MEMBER", "PAGE"});
  for (const client::MasterStatus& master : list.masters) {
    const bool leads = master.state == client::MasterStatus::State::leads;
    table.row(escaped(master.address), state_of(master), leads ? "-" : fmt::format("{} changes", master.behind),
              leads ? "-" : human_duration(master.heard) + " ago", master.member.empty() ? "-" : escaped(master.member),
              master.page.empty() ? "-" : escaped(master.page));
  }
  if (list.cluster.empty()) return table.text();
  return fmt::format("cluster {}, epoch {}\n{}", escaped(list.cluster), list.epoch, table.text());
}

}  // namespace weft::tools
