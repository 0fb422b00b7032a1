#include "engine/client/job_summary.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::client {

const std::string& shown_name(const master::JobStatus& status) {
  const auto title = status.options.find("name");
  return title == status.options.end() ? status.name : title->second;
}

std::string lost_workers_text(const master::JobStatus& status) {
  if (status.workers_lost == 0) return {};
  std::string text = status.workers_lost == 1 ? "1 worker was" : fmt::format("{} workers were", status.workers_lost);
  text += " lost while it ran: " + join(status.lost_workers, ", ");
  if (status.workers_lost > status.lost_workers.size()) text += ", …";
  return text;
}

std::string bad_record_lines(const std::string& name, const master::JobStatus& status) {
  std::string lines;
  for (const master::StageStatus& stage : status.stages) {
    const runtime::BadRecords& bad = stage.usage.bad_records;
    if (bad.count == 0) continue;
    lines += fmt::format("{}: {} bad {} in stage {}, {}\n", name, bad.count, bad.count == 1 ? "record" : "records",
                         stage.id.value(), escaped(stage.name));
    for (const std::string& example : bad.examples) lines += fmt::format("{}:   {}\n", name, example);
  }
  return lines;
}

std::string remark_lines(const std::string& name, const master::JobStatus& status) {
  std::string lines;
  for (const master::StageStatus& stage : status.stages) {
    const std::string of_stage = fmt::format("{}: stage {} {}", name, stage.id.value(), escaped(stage.name));
    const Distribution &read = stage.usage.figures.shuffle_read_bytes, &spilled = stage.usage.figures.spilled_bytes;
    const auto largest = static_cast<double>(read.max), typical = static_cast<double>(std::max<std::uint64_t>(read.median, 1));
    if (read.max >= kHotBytes && largest >= kHotPartition * typical && largest >= kHotPart * static_cast<double>(read.total))
      lines += fmt::format(
          "{}: one task read {} of shuffles, {:.0f} times the median: few keys have most of the records; combine before the "
          "shuffle, or "
          "spread them\n",
          of_stage, human_bytes(read.max), largest / typical);
    if (spilled.total >= kSpilled)
      lines += fmt::format("{}: its tasks spilled {}: more --memory, or more partitions, and they would not\n", of_stage,
                           human_bytes(spilled.total));
  }
  return lines;
}

void add_bad_records(JsonWriter& json, const runtime::BadRecords& bad) {
  if (bad.count == 0) return;
  json.member("bad_records", bad.count).key("bad_record_examples").begin_array();
  for (const std::string& example : bad.examples) json.value(example);
  json.end_array();
}

void add_lost_workers(JsonWriter& json, const master::JobStatus& status) {
  json.member("workers_lost", status.workers_lost).key("lost_workers").begin_array();
  for (const std::string& worker : status.lost_workers) json.value(worker);
  json.end_array();
}

}  // namespace weft::client
