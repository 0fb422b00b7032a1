// What can be read.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/tools/display/earlier_runs.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/master_text.hpp"
#include "engine/tools/display/node_text.hpp"
#include "engine/tools/display/rack_text.hpp"
#include "engine/tools/display/scheduling_json.hpp"
#include "engine/tools/display/storage_json.hpp"
#include "engine/tools/display/task_output.hpp"
#include "engine/tools/history/critical_path.hpp"
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

Result<std::string> jobs(Cluster& cluster, const ApiCall&) {
  if (cluster.past() != nullptr) return tools::jobs_json(jobs_of(*cluster.past()));
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto list, admin->jobs());
  return tools::jobs_json(list);
}

/// The job that the path names, as the master knows it.
Result<client::JobList> named_job(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  if (cluster.past() != nullptr) {
    WEFT_ASSIGN(const auto history, cluster.past()->job(id));
    return job_of(*history, *history->job(id));
  }
  WEFT_ASSIGN(const auto admin, cluster.admin());
  return admin->job(JobId(id));
}

Result<std::string> job(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const auto found, named_job(cluster, call));
  return tools::job_json(found.jobs[0], found.now);
}

Result<std::string> counters(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const auto found, named_job(cluster, call));
  return tools::counters_json(found.jobs[0]);
}

Result<std::string> explain(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto explained, admin->explain(JobId(id)));
  return tools::explanation_json(explained);
}

Result<std::string> logs(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  WEFT_ASSIGN(const std::uint64_t bytes, call.request.number("bytes", kLogBytes));
  if (bytes > kMostLogBytes) return fail(Code::invalid_argument, "bytes is at most " + std::to_string(kMostLogBytes));
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(auto pieces, admin->logs(JobId(id), bytes));
  if (const std::string name = call.request.parameter("task"); !name.empty()) {
    WEFT_ASSIGN(const tools::StageTask task, tools::parse_task_name(name));
    tools::keep_output_of(task, pieces);
  }
  return tools::logs_json(pieces);
}

bool is_fate(std::string_view word) {
  using history::Fate;
  return std::ranges::any_of(std::array{Fate::running, Fate::finished, Fate::failed, Fate::killed, Fate::lost},
                             [word](Fate fate) { return word == name_of(fate); });
}

Result<std::string> tasks(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  history::TasksWanted wanted;
  WEFT_ASSIGN(wanted.from, call.request.number("from", 0));
  WEFT_ASSIGN(wanted.count, call.request.number("count", kTasks));
  if (wanted.count > kMostTasks) return fail(Code::invalid_argument, "count is at most " + std::to_string(kMostTasks));
  if (!call.request.parameter("stage").empty()) {
    WEFT_ASSIGN(const std::uint64_t stage, call.request.number("stage", 0));
    if (stage > UINT32_MAX) return fail(Code::invalid_argument, fmt::format("stage is at most {}", UINT32_MAX));
    wanted.stage = static_cast<std::uint32_t>(stage);
  }
  wanted.fate = call.request.parameter("fate");
  if (!wanted.fate.empty() && !is_fate(wanted.fate))
    return fail(Code::invalid_argument, "fate is running, finished, failed, killed or lost");
  WEFT_ASSIGN(wanted.since, call.request.number("since", 0));
  return cluster.with_history(id, [&](const auto& history, const auto& job) { return history::tasks_json(history, job, wanted); });
}

Result<std::string> shuffle(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  const std::string by = call.request.parameter("by");
  if (!by.empty() && by != "node" && by != "rack") return fail(Code::invalid_argument, "by is node or rack");
  return cluster.with_history(id, [&by](const auto& history, const auto& job) {
    return history::shuffle_matrix_json(history::shuffle_matrix(history, job, by == "rack"));
  });
}

Result<std::string> findings(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  return cluster.with_history(
      id, [](const auto& history, const auto& job) { return history::findings_json(history::findings_of(history, job)); });
}

Result<std::string> path(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  return cluster.with_history(id, history::path_json);
}

Result<std::string> runs(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  if (cluster.past() != nullptr) return tools::jobs_json(tools::earlier_runs(jobs_of(*cluster.past()), JobId(id)));
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto list, admin->jobs());
  return tools::jobs_json(tools::earlier_runs(list, JobId(id)));
}

Result<std::string> trace(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  return cluster.with_history(id, history::trace_json);
}

Result<std::vector<client::NodeStatus>> all_nodes(Cluster& cluster) {
  if (cluster.past() != nullptr) return nodes_of(*cluster.past());
  WEFT_ASSIGN(const auto admin, cluster.admin());
  return admin->nodes();
}

Result<std::string> masters(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto list, admin->masters());
  return tools::masters_json(list);
}

Result<std::string> nodes(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const auto all, all_nodes(cluster));
  return tools::nodes_json(all);
}

Result<std::string> racks(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const auto all, all_nodes(cluster));
  return tools::racks_json(tools::racks_of(all));
}

Result<std::string> groups(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto all, admin->groups());
  return tools::groups_json(all);
}

Result<std::string> past_groups(Cluster& cluster, const ApiCall&) {
  if (cluster.past() != nullptr) return fail(Code::not_found, "these are event logs, which have nothing of pools");
  return cluster.pool_samples().json(SystemClock().now());
}

Result<std::string> past(Cluster& cluster, const ApiCall& call) {
  if (cluster.past() != nullptr) return fail(Code::not_found, "these are event logs, which have no samples of a cluster");
  const std::string span = call.request.parameter("span");
  return cluster.samples().json(SystemClock().now(), span.empty() ? "hour" : span);
}

Result<std::string> scheduler(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto info, admin->scheduler());
  return tools::scheduler_json(info);
}

Result<std::string> files(Cluster& cluster, const ApiCall& call) {
  const std::string path = call.request.parameter("path");
  WEFT_ASSIGN(const auto files, cluster.files());
  WEFT_ASSIGN(const auto list, files->list(path.empty() ? "/" : path));
  return tools::files_json(list);
}

Result<std::string> file_chunks(Cluster& cluster, const ApiCall& call) {
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

Result<std::string> file_report(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const auto files, cluster.files());
  WEFT_ASSIGN(const auto report, files->report());
  return tools::file_report_json(report);
}

Result<std::string> tables(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const auto tables, cluster.tables());
  WEFT_ASSIGN(const auto list, tables->list());
  return tools::tables_json(list);
}

Result<std::string> table(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const auto tables, cluster.tables());
  WEFT_ASSIGN(const auto status, tables->describe(call.names.at(0)));
  return tools::table_json(status);
}

Result<std::string> advice(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const Adviser* adviser, cluster.adviser());
  return adviser->describe();
}

Result<std::string> submissions(Cluster& cluster, const ApiCall&) {
  WEFT_ASSIGN(const auto* all, cluster.submissions());
  return all->list();
}

Result<std::string> submission(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t number, call.number(0));
  WEFT_ASSIGN(const auto* all, cluster.submissions());
  return all->describe(number);
}

Result<std::string> openapi(Cluster&, const ApiCall&) { return openapi_json(); }

Route get(const char* path, Answer answer, const char* schema, const char* summary, const char* command = "",
          std::vector<Parameter> parameters = {}) {
  return {"GET", path, summary, command, std::move(parameters), answer, schema};
}

}  // namespace

std::vector<Route> read_routes() {
  return {
      get("/jobs", jobs, "Jobs", "All jobs that the master knows, the newest last", "weft job list"),
      get("/jobs/{job}", job, "JobStatus", "One job with its stages", "weft job status"),
      get("/jobs/{job}/counters", counters, "Counters", "The counters of its finished tasks", "weft job counters"),
      get("/jobs/{job}/explain", explain, "Explanation", "Why waiting tasks of it do not run", "weft job explain"),
      get("/jobs/{job}/logs", logs, "Logs", "What its tasks wrote to standard output and error, per worker", "weft job logs",
          {{"bytes", "integer", "At most this much of each worker's log, from its end (65536; at most 4194304)"},
           {"task", "string", "Only what this task wrote: STAGE.TASK, such as 3.17"}}),
      get("/jobs/{job}/tasks", tasks, "Tasks", "Its stages and attempts, from the master's event log", "",
          {{"stage", "integer", "Only of this stage"},
           {"fate", "string", "Only those: running, finished, failed, killed, lost"},
           {"from", "integer", "The first of them to be answered (0)"},
           {"count", "integer", "How many at most (1000; at most 100000)"},
           {"since", "integer", "Only those that have changed since an answer with this `version` (0)"}}),
      get("/jobs/{job}/shuffle", shuffle, "ShuffleMatrix",
          "Bytes that its shuffles moved between workers or racks, from the master's event log", "",
          {{"by", "string", "node or rack (node; rack when there are more than 200 nodes)"}}),
      get("/jobs/{job}/findings", findings, "Findings", "What went wrong, from the master's event log", "weft job diagnose"),
      get("/jobs/{job}/path", path, "CriticalPath",
          "What its time went to: the chain of attempts and waits that led to its end, from the master's event log"),
      get("/jobs/{job}/runs", runs, "Jobs", "Earlier jobs of the same name and user, at most the last 20, the newest last"),
      get("/jobs/{job}/trace", trace, "Trace", "Its trace for Perfetto, from the master's event log"),
      get("/masters", masters, "Masters", "The masters: which one leads, and which can take over", "weft masters"),
      get("/nodes", nodes, "Nodes", "The workers, their state and their load", "weft node list"),
      get("/racks", racks, "Racks", "The racks, and how much of their uplinks is in use", "weft node list --racks"),
      get("/pools", groups, "Groups", "The scheduler's pools: shares, minimums, use and demand", "weft pool list"),
      get("/pools/past", past_groups, "PastGroups", "What pools or queues used over the last hour, and their fair shares"),
      get("/past", past, "ClusterPast", "What the cluster did: its slots, load and traffic over time, and what happened", "",
          {{"span", "string", "The last hour, day or week (hour)"}}),
      get("/queues", groups, "Groups", "The scheduler's queues: capacities, limits, use and demand", "weft queue list"),
      get("/scheduler", scheduler, "Scheduler", "The scheduler in force, its faults, and which there are", "weft scheduler show"),
      get("/advice", advice, "Advice",
          "What another scheduler would have done with earlier jobs: the last question, and its answer"),
      get("/files", files, "Files", "The entries of a directory of the cluster's files, or a file", "weft fs ls",
          {{"path", "string", "Which (/)"}}),
      get("/files/chunks", file_chunks, "FileChunks", "The chunks of a file, and which workers have them",
          "weft fs fsck --blocks --locations", {{"path", "string", "Which file"}}),
      get("/files/report", file_report, "FileReport", "Health and use of the cluster's files", "weft fs report"),
      get("/tables", tables, "Tables", "The tables of the cluster", "weft table list"),
      get("/tables/{table}", table, "Table", "One table with its partitions", "weft table stat"),
      get("/submissions", submissions, "Submissions", "The programs that were started over HTTP"),
      get("/submissions/{submission}", submission, "Submission", "One of them: whether it runs, and what it wrote"),
      get("/openapi.json", openapi, "Document", "This interface as an OpenAPI document"),
  };
}

}  // namespace weft::web
