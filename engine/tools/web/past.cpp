#include "engine/tools/web/past.hpp"

#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/history/critical_path.hpp"
#include "engine/tools/history/findings.hpp"
#include "engine/tools/history/shuffle_matrix.hpp"
#include "engine/tools/history/status.hpp"
#include "engine/tools/history/tasks_json.hpp"
#include "engine/tools/web/embedded.hpp"

namespace weft::web {

namespace {

constexpr std::size_t kReportedTasks = 100'000;

void replace(std::string& text, std::string_view part, const std::string& by) {
  const std::size_t at = text.find(part);
  WEFT_ASSERT(at != std::string::npos);
  text.replace(at, part.size(), by);
}

/// JSON inside a script of HTML: nothing in it may look like the script's end.
std::string in_script(const std::string& json) {
  std::string made;
  for (const char c : json) c == '<' ? made += "\\u003c" : made += c;
  return made;
}

std::string inlined(std::string_view script) { return fmt::format("<script>{}</script>", script); }

}  // namespace

client::JobList jobs_of(const history::LoggedJobs& past) {
  client::JobList list;
  list.now = past.now();
  list.jobs = past.statuses();
  return list;
}

client::JobList job_of(const history::EventHistory& history, const history::LoggedJob& job) {
  client::JobList list;
  list.now = history.now();
  list.jobs.push_back(history::status_of(job));
  return list;
}

std::vector<client::NodeStatus> nodes_of(const history::LoggedJobs& past) {
  std::vector<client::NodeStatus> nodes;
  const history::Time now = past.now();
  for (const auto& [id, worker] : past.workers()) {
    client::NodeStatus& node = nodes.emplace_back();
    node.id = NodeId(id);
    node.name = worker.name;
    node.host = worker.host;
    node.rack = worker.rack;
    node.slots = worker.slots;
    node.capacity.cpu = worker.slots;
    node.dead = worker.lost.has_value();
    node.cause = worker.why;
    node.heard = worker.lost ? now - *worker.lost : Duration(0);
  }
  return nodes;
}

std::string report_html(const history::EventHistory& history, const history::LoggedJob& job) {
  const client::JobList status = job_of(history, job);
  const std::string at = fmt::format("/jobs/{}", job.status.id.value());
  const std::pair<const char*, std::string> parts[] = {
      {"", tools::job_json(status.jobs[0], status.now)},
      {"/counters", tools::counters_json(status.jobs[0])},
      {"/tasks", history::tasks_json(history, job, {.count = kReportedTasks})},
      {"/shuffle", history::shuffle_matrix_json(history::shuffle_matrix(history, job, false))},
      {"/path", history::path_json(history, job)},
      {"/findings", history::findings_json(history::findings_of(history, job))}};
  std::string data = fmt::format("{{\"job\":{}", job.status.id.value());
  for (const auto& [name, json] : parts) data += fmt::format(R"(,"{}{}":{})", at, name, json);
  data += '}';
  std::string page(embedded::index_html());
  replace(page, R"(<link rel="stylesheet" href="/weft.css">)", "<style>" + std::string(embedded::weft_css()) + "</style>");
  replace(page, R"(<script src="/weft.js" defer></script>)",
          "<script type=\"application/json\" id=\"data\">" + in_script(data) + "</script>\n" + inlined(embedded::weft_js()));
  replace(page, R"(<script src="/views.js" defer></script>)", inlined(embedded::views_js()));
  for (const char* of_clusters : {R"(<script src="/past.js" defer></script>)", R"(<script src="/scheduler.js" defer></script>)"})
    replace(page, of_clusters, "");  // a report has nothing of them
  replace(page, R"(<script src="/job.js" defer></script>)", inlined(embedded::job_js()));
  return page;
}

}  // namespace weft::web
