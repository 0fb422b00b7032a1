// weft journal check|repair
#include <algorithm>
#include <cstdio>
#include <set>

#include <fmt/format.h>

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

}  // namespace

void add_journal(CLI::App& app, Action& action) {
  CLI::App& journal = add_group(app, "journal", "Check and repair the journal of a master that does not run");
  const auto add = [&](const char* name, const char* help, Result<void> (*run)(const JournalCommandOptions&)) {
    Command<JournalCommandOptions>(journal, action, name, help, run)
        .argument("FILE", &JournalCommandOptions::file, "What the master's --journal names")
        .json();
  };
  add("check", "Say what the journal contains, and where it is damaged; fails when it is", check);
  add("repair", "Copy a damaged journal to FILE.damaged, truncate it at the damage, and say what is lost", repair);
}

}  // namespace weft::tools
