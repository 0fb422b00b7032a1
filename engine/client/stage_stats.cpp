#include "engine/client/stage_stats.hpp"

#include "base/json.hpp"

namespace weft::client {

std::string stage_stats_json(const master::JobStatus& status) {
  JsonWriter json;
  json.begin_object().member("job", status.name).key("stages").begin_array();
  for (const master::StageStatus& stage : status.stages) {
    json.begin_object().member("id", stage.id.value()).member("name", stage.name).member("tasks", stage.tasks);
    json.member("input_bytes", stage.input_bytes).member("shuffle_bytes", stage.shuffle_bytes).end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace weft::client
