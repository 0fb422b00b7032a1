#include "engine/tools/display/json_members.hpp"

namespace weft::tools {

void write_value(JsonWriter& json, const schedulers::Resources& resources) {
  json.begin_object();
  for (const auto& kind : schedulers::kResourceKinds) json.member(kind.name, resources.*kind.amount);
  json.end_object();
}

void write_value(JsonWriter& json, const shuffle::PrefetchStats& stats) {
  write_value(json, object("prefetched_bytes", stats.prefetched_bytes, "read_bytes", stats.read_bytes, "wasted_bytes",
                           stats.wasted_bytes, "evicted_bytes", stats.evicted_bytes, "evicted_file_bytes", stats.evicted_file_bytes,
                           "returned_bytes", stats.returned_bytes));
}

}  // namespace weft::tools
