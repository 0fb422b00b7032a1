// weft journal check|dump|repair
#include <algorithm>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/master/journal/journal_check.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/standard_output.hpp"

namespace weft::tools {

namespace {

constexpr std::size_t kJobsNamed = 20;

std::string named(const std::set<JobId>& jobs) {
  std::string text;
  std::size_t number = 0;
  for (const JobId job : jobs) {
    if (number++ == kJobsNamed) return text + fmt::format(" and {} more", jobs.size() - kJobsNamed);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", job.value());
  }
  return text.empty() ? "none" : text;
}

void print_journal(const std::string& file, const master::JournalReport& report) {
  std::string text = fmt::format("{}: a journal of version {}, {} bytes\n", file, master::kJournalVersion, report.bytes);
  text += fmt::format("records: {}{}\n", report.records, report.checkpoint ? ", the first of a checkpoint" : "");
  text += fmt::format("jobs: {} ended; not ended: {}\n", report.ended.size(), named(report.running));
  text += fmt::format("next ids: job {}, node {}\n", report.marks.next_job, report.marks.next_node);
  if (!report.cluster.empty()) text += fmt::format("cluster of its files: {}\n", escaped(report.cluster));
  if (report.damage) {
    text += fmt::format("damaged at byte {}: {}\n", report.whole_bytes, report.damage->what);
    text += fmt::format("behind that: {} bytes, of these {} in {} whole records; jobs: {}\n", report.bytes - report.whole_bytes,
                        report.damage->bytes, report.damage->records, named(report.damage->jobs));
  } else if (report.whole_bytes < report.bytes) {
    text += fmt::format("whole but for its end: a crash left the last {} bytes; the next master removes them\n",
                        report.bytes - report.whole_bytes);
  } else {
    text += "whole\n";
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
}

std::string journal_json(const master::JournalReport& report, const std::string& copy = {}) {
  JsonWriter json;
  json.begin_object();
  members(json, "version", master::kJournalVersion, "bytes", report.bytes, "whole_bytes", report.whole_bytes, "records",
          report.records, "checkpoint", report.checkpoint, "jobs_ended", report.ended.size(), "next_job", report.marks.next_job,
          "next_node", report.marks.next_node, "damaged", report.damage.has_value());
  if (!report.cluster.empty()) json.member("cluster", report.cluster);
  if (report.damage) members(json, "damage", report.damage->what, "records_behind", report.damage->records);
  if (!copy.empty()) json.member("copy", copy);
  return json.end_object().text() + "\n";
}

struct JournalCommandOptions {
  std::string file;
  bool json = false;
};

Result<void> check(const JournalCommandOptions& options) {
  const std::string& file = options.file;
  WEFT_ASSIGN(const master::JournalReport report, master::check_journal(file));
  if (options.json)
    print(journal_json(report));
  else
    print_journal(file, report);
  if (!report.damage) return {};
  return fail(Code::corrupt,
              fmt::format("{} is damaged at byte {}; 'weft journal repair {}' truncates it there", file, report.whole_bytes, file));
}

Result<void> repair(const JournalCommandOptions& options) {
  WEFT_ASSIGN(const master::JournalRepair repair, master::repair_journal(options.file));
  if (options.json) return print(journal_json(repair.before, repair.before.damage ? repair.copy : std::string()));
  print_journal(options.file, repair.before);
  if (!repair.before.damage) {
    fmt::print("there is nothing to repair\n");
    return {};
  }
  fmt::print("truncated at byte {}: the records behind it are lost; the ids of their jobs are not given again\n",
             repair.before.whole_bytes);
  fmt::print("the file as it was: {}\n", repair.copy);
  return {};
}

struct FactJson {
  JsonWriter& json;

  void operator()(const master::SubmissionFact& fact) const {
    members(json, "fact", "submission", "at_ns", fact.at.count(), "slots", fact.slots, "detached", fact.detached);
  }
  void operator()(const master::PartFact& fact) const { members(json, "fact", "part", "bytes", fact.part.size()); }
  void operator()(const master::ValueFact& fact) const {
    members(json, "fact", "value", "action", fact.action.value(), "bytes", fact.value.size());
  }
  void operator()(const master::ShapeFact& fact) const {
    members(json, "fact", "shape", "stage", fact.stage.value(), "bounds", fact.bounds.size(), "splits", fact.splits.size());
  }
  void operator()(const master::LaunchFact& fact) const { of_task("launch", fact), members(json, "node", fact.node.value()); }
  void operator()(const master::FailureFact& fact) const { of_task("failure", fact), members(json, "count", fact.count); }
  void operator()(const master::FinishFact& fact) const {
    of_task("finish", fact);
    members(json, "node", fact.node.value(), "result_bytes", fact.result.size());
  }
  void operator()(const master::DriverFact& fact) const {
    members(json, "fact", "driver", "node", fact.node.value(), "deaths", fact.deaths, "running", fact.running);
  }

 private:
  template <class Fact>
  void of_task(const char* name, const Fact& fact) const {
    members(json, "fact", name, "stage", fact.stage.value(), "task", fact.task, "attempt", fact.attempt);
  }
};

std::string record_json(std::uint64_t offset, const master::JournalRecord& record) {
  JsonWriter json;
  json.begin_object();
  members(json, "offset", offset, "time_ns", record.marks.at.count());
  if (record.checkpoint) json.member("checkpoint", true);
  if (record.masters > 0) json.member("masters", record.masters);
  if (!record.cluster.empty()) json.member("cluster", record.cluster);
  if (record.job) json.member("job", record.job->value());
  if (record.ended) json.member("ended", true);
  if (const auto status = master::decode_status(as_bytes(record.status)); !record.status.empty() && status)
    members(json, "state", name_of(status->state), "name", status->name, "finished_tasks", status->tasks.finished);
  if (record.fact) std::visit(FactJson{json}, *record.fact);
  if (record.node) members(json, "node", record.node->node.value(), "worker", record.node->name, "host", record.node->host);
  if (record.node_gone != NodeId()) json.member("node_gone", record.node_gone.value());
  if (!record.setting.worker.empty())
    members(json, "worker", record.setting.worker, "capacity", record.setting.capacity, "why", record.setting.why);
  return json.end_object().text() + "\n";
}

Result<void> dump(const JournalCommandOptions& options) {
  Result<void> printed;
  WEFT_TRY(master::read_journal(options.file, [&](std::uint64_t offset, const master::JournalRecord& record) {
    if (printed) printed = print(record_json(offset, record));
  }));
  return printed;
}

}  // namespace

void add_journal(CLI::App& app, Action& action) {
  CLI::App& journal = add_group(app, "journal", "Check, print and repair the journal of a master");
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const JournalCommandOptions&)) {
    Command<JournalCommandOptions>(journal, action, name, help, run)
        .argument("FILE", &JournalCommandOptions::file, "What the master's --journal names")
        .json();
  };
  add("dump", "Print its records as JSON lines; of one that is damaged, those before the damage", dump);
  add("check", "Say what the journal contains, and where it is damaged; fails when it is", check);
  add("repair", "Copy a damaged journal to FILE.damaged, truncate it at the damage, and say what is lost", repair);
}

}  // namespace weft::tools
