// What can be read.
#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/node_text.hpp"
#include "engine/tools/display/rack_text.hpp"
#include "engine/tools/display/scheduling_json.hpp"
#include "engine/tools/display/storage_json.hpp"
#include "engine/tools/display/task_output.hpp"
#include "engine/tools/history/findings.hpp"
#include "engine/tools/history/shuffle_matrix.hpp"
#include "engine/tools/history/tasks_json.hpp"
#include "engine/tools/history/trace.hpp"
#include "engine/tools/web/past.hpp"
#include "engine/tools/web/routes.hpp"

namespace weft::web {

namespace {

constexpr std::uint64_t kLogBytes = 64u << 10;
constexpr std::uint64_t kMostLogBytes = 4u << 20;
constexpr std::uint64_t kTasks = 1000;
constexpr std::uint64_t kMostTasks = 100'000;

Result<std::string> jobs(Cluster& cluster, const Call&) {
  if (cluster.past() != nullptr) return tools::jobs_json(jobs_of(*cluster.past()));
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto list, admin->jobs());
  return tools::jobs_json(list);
}

/// The job that the path names, as the master knows it.
Result<client::JobList> named_job(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  if (cluster.past() != nullptr) {
    WEFT_ASSIGN(const auto history, cluster.past()->job(id));
    return job_of(*history, *history->job(id));
  }
  WEFT_ASSIGN(const auto admin, cluster.admin());
  return admin->job(JobId(id));
}

Result<std::string> job(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const auto found, named_job(cluster, call));
  return tools::job_json(found.jobs[0], found.now);
}

Result<std::string> counters(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const auto found, named_job(cluster, call));
  return tools::counters_json(found.jobs[0]);
}

Result<std::string> explain(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto explained, admin->explain(JobId(id)));
  return tools::explanation_json(explained);
}

/// Of each worker what that task wrote; what could not be asked stays.
Result<void> keep_task(const std::string& name, std::vector<client::JobLog>& logs) {
  WEFT_ASSIGN(const tools::StageTask task, tools::parse_task_name(name));
  for (client::JobLog& log : logs) log.text = Buffer::copy_of(as_bytes(tools::output_of(as_chars(log.text.view()), task)));
  std::erase_if(logs, [](const client::JobLog& log) { return log.error.empty() && log.text.empty(); });
  return {};
}

Result<std::string> logs(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  WEFT_ASSIGN(const std::uint64_t bytes, call.request.number("bytes", kLogBytes));
  if (bytes > kMostLogBytes) return fail(Code::invalid_argument, "bytes is at most " + std::to_string(kMostLogBytes));
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(auto pieces, admin->logs(JobId(id), bytes));
  if (const std::string task = call.request.parameter("task"); !task.empty()) WEFT_TRY(keep_task(task, pieces));
  return tools::logs_json(pieces);
}

Result<std::string> tasks(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  history::TasksWanted wanted;
  WEFT_ASSIGN(wanted.from, call.request.number("from", 0));
  WEFT_ASSIGN(wanted.count, call.request.number("count", kTasks));
  if (wanted.count > kMostTasks) return fail(Code::invalid_argument, "count is at most " + std::to_string(kMostTasks));
  if (!call.request.parameter("stage").empty()) {
    WEFT_ASSIGN(const std::uint64_t stage, call.request.number("stage", 0));
    wanted.stage = static_cast<std::uint32_t>(stage);
  }
  wanted.fate = call.request.parameter("fate");
  WEFT_ASSIGN(wanted.since, call.request.number("since", 0));
  return cluster.with_history(id, [&wanted](const history::EventHistory& history, const history::LoggedJob& job) {
    return history::tasks_json(history, job, wanted);
  });
}

Result<std::string> shuffle(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  const std::string by = call.request.parameter("by");
  if (!by.empty() && by != "node" && by != "rack") return fail(Code::invalid_argument, "by is node or rack");
  return cluster.with_history(id, [&by](const history::EventHistory& history, const history::LoggedJob& job) {
    return history::shuffle_matrix_json(history::shuffle_matrix(history, job, by == "rack"));
  });
}

Result<std::string> findings(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  return cluster.with_history(id, [](const history::EventHistory& history, const history::LoggedJob& job) {
    return history::findings_json(history::findings_of(history, job));
  });
}

Result<std::string> trace(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  return cluster.with_history(id, history::trace_json);
}

Result<std::vector<client::NodeStatus>> all_nodes(Cluster& cluster) {
  if (cluster.past() != nullptr) return nodes_of(*cluster.past());
  WEFT_ASSIGN(const auto admin, cluster.admin());
  return admin->nodes();
}

Result<std::string> nodes(Cluster& cluster, const Call&) {
  WEFT_ASSIGN(const auto all, all_nodes(cluster));
  return tools::nodes_json(all);
}

Result<std::string> racks(Cluster& cluster, const Call&) {
  WEFT_ASSIGN(const auto all, all_nodes(cluster));
  return tools::racks_json(tools::racks_of(all));
}

Result<std::string> groups(Cluster& cluster, const Call&) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto all, admin->groups());
  return tools::groups_json(all);
}

Result<std::string> past_groups(Cluster& cluster, const Call&) {
  if (cluster.past() != nullptr) return fail(Code::not_found, "these are event logs, which tell nothing of pools");
  return cluster.pool_samples().json(SystemClock().now());
}

Result<std::string> scheduler(Cluster& cluster, const Call&) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto info, admin->scheduler());
  return tools::scheduler_json(info);
}

Result<std::string> files(Cluster& cluster, const Call& call) {
  const std::string path = call.request.parameter("path");
  WEFT_ASSIGN(const auto files, cluster.files());
  WEFT_ASSIGN(const auto list, files->list(path.empty() ? "/" : path));
  return tools::files_json(list);
}

Result<std::string> file_chunks(Cluster& cluster, const Call& call) {
  const std::string path = call.request.parameter("path");
  WEFT_ASSIGN(const auto files, cluster.files());
  WEFT_ASSIGN(const auto status, files->stat(path.empty() ? "/" : path));
  if (status.directory)
    return fail(Code::invalid_argument, fmt::format("path={} is a directory; name a file", escaped(status.path)));
  std::string json;
  WEFT_TRY(files->check(path, [&json](const storage::FileChunks& file, const std::vector<storage::NodeSite>& nodes) {
    json = tools::file_chunks_json(file, nodes);
  }));
  return json;
}

Result<std::string> file_report(Cluster& cluster, const Call&) {
  WEFT_ASSIGN(const auto files, cluster.files());
  WEFT_ASSIGN(const auto report, files->report());
  return tools::file_report_json(report);
}

Result<std::string> tables(Cluster& cluster, const Call&) {
  WEFT_ASSIGN(const auto tables, cluster.tables());
  WEFT_ASSIGN(const auto list, tables->list());
  return tools::tables_json(list);
}

Result<std::string> table(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const auto tables, cluster.tables());
  WEFT_ASSIGN(const auto status, tables->describe(call.names.at(0)));
  return tools::table_json(status);
}

Result<std::string> submissions(Cluster& cluster, const Call&) {
  WEFT_ASSIGN(const auto* all, cluster.submissions());
  return all->list();
}

Result<std::string> submission(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t number, call.number(0));
  WEFT_ASSIGN(const auto* all, cluster.submissions());
  return all->describe(number);
}

Result<std::string> openapi(Cluster&, const Call&) { return openapi_json(); }

}  // namespace

std::vector<Route> read_routes() {
  return {
      {"GET", "/jobs", "All jobs that the master knows, the newest last", "weft job list", {}, jobs, "Jobs"},
      {"GET", "/jobs/{job}", "One job with its stages", "weft job status", {}, job, "JobStatus"},
      {"GET", "/jobs/{job}/counters", "The counters of its finished tasks", "weft job counters", {}, counters, "Counters"},
      {"GET", "/jobs/{job}/explain", "Why waiting tasks of it do not run", "weft job explain", {}, explain, "Explanation"},
      {"GET",
       "/jobs/{job}/logs",
       "What its tasks wrote to standard output and error, per worker",
       "weft job logs",
       {{"bytes", "integer", "At most this much of each worker's log, from its end (65536; at most 4194304)"},
        {"task", "string", "Only what this task wrote: STAGE.TASK, such as 3.17"}},
       logs,
       "Logs"},
      {"GET",
       "/jobs/{job}/tasks",
       "Its stages and attempts, from the master's event log",
       "",
       {{"stage", "integer", "Only of this stage"},
        {"fate", "string", "Only those: running, finished, failed, killed, lost"},
        {"from", "integer", "The first of them to be answered (0)"},
        {"count", "integer", "How many at most (1000; at most 100000)"},
        {"since", "integer", "Only those that have changed since an answer with this `version` (0)"}},
       tasks,
       "Tasks"},
      {"GET",
       "/jobs/{job}/shuffle",
       "Bytes that its shuffles moved between workers or racks, from the master's event log",
       "",
       {{"by", "string", "node or rack (node; rack when there are more than 200 nodes)"}},
       shuffle,
       "ShuffleMatrix"},
      {"GET",
       "/jobs/{job}/findings",
       "What went wrong, from the master's event log",
       "weft job diagnose",
       {},
       findings,
       "Findings"},
      {"GET", "/jobs/{job}/trace", "Its trace for Perfetto, from the master's event log", "", {}, trace, "Trace"},
      {"GET", "/nodes", "The workers, their state and their load", "weft node list", {}, nodes, "Nodes"},
      {"GET", "/racks", "The racks, and how much of their uplinks is in use", "weft node list --racks", {}, racks, "Racks"},
      {"GET", "/pools", "The scheduler's pools: shares, minimums, use and demand", "weft pool list", {}, groups, "Groups"},
      {"GET",
       "/pools/past",
       "What pools or queues used over the last hour, and their fair shares",
       "",
       {},
       past_groups,
       "PastGroups"},
      {"GET", "/queues", "The scheduler's queues: capacities, limits, use and demand", "weft queue list", {}, groups, "Groups"},
      {"GET",
       "/scheduler",
       "The scheduler in force, its faults, and which there are",
       "weft scheduler show",
       {},
       scheduler,
       "Scheduler"},
      {"GET",
       "/files",
       "The entries of a directory of the cluster's files, or a file",
       "weft fs ls",
       {{"path", "string", "Which (/)"}},
       files,
       "Files"},
      {"GET",
       "/files/chunks",
       "The chunks of a file, and which workers have them",
       "weft fs fsck --blocks --locations",
       {{"path", "string", "Which file"}},
       file_chunks,
       "FileChunks"},
      {"GET", "/files/report", "Health and use of the cluster's files", "weft fs report", {}, file_report, "FileReport"},
      {"GET", "/tables", "The tables of the cluster", "weft table list", {}, tables, "Tables"},
      {"GET", "/tables/{table}", "One table with its partitions", "weft table stat", {}, table, "Table"},
      {"GET", "/submissions", "The programs that were started over HTTP", "", {}, submissions, "Submissions"},
      {"GET", "/submissions/{submission}", "One of them: whether it runs, and what it wrote", "", {}, submission, "Submission"},
      {"GET", "/openapi.json", "This interface as an OpenAPI document", "", {}, openapi, "Document"},
  };
}

}  // namespace weft::web
