// What can be changed: what the commands of `weft` change, under the same rules.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "engine/master/nodes/capacity_words.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/scheduling_json.hpp"
#include "engine/tools/web/routes.hpp"

namespace weft::web {

namespace {

constexpr const char* kDone = "{}\n";

/// Reads the members of the body, an object, with read(json, name), which is false for a name that it does not know.
template <class Read>
Result<void> read_body(const ApiCall& call, const Read& read) {
  JsonReader json(call.request.body, "body");
  auto done = json.object([&](std::string_view name) -> Result<void> {
    WEFT_ASSIGN(const bool known, read(json, name));
    return known ? Result<void>() : fail(json.error(fmt::format("unknown member '{}'", escaped(name))));
  });
  if (done) done = json.finish();
  if (!done) return fail(Code::invalid_argument, done.error().to_string());
  return {};
}

/// The members of the body, which is an object of texts or nothing. An unknown member is an error that names it.
Result<std::map<std::string, std::string>> texts(const ApiCall& call, std::initializer_list<std::string_view> known) {
  std::map<std::string, std::string> members;
  if (trim(call.request.body).empty()) return members;
  WEFT_TRY(read_body(call, [&](JsonReader& json, std::string_view name) -> Result<bool> {
    if (std::find(known.begin(), known.end(), name) == known.end()) return false;
    WEFT_ASSIGN(members[std::string(name)], json.text());
    return true;
  }));
  return members;
}

struct WantedDriver {
  std::string program;
  std::vector<std::string> arguments;
};

Result<WantedDriver> driver_in(const ApiCall& call) {
  WantedDriver wanted;
  WEFT_TRY(read_body(call, [&](JsonReader& json, std::string_view name) -> Result<bool> {
    if (name == "arguments")
      return json.array([&] { return json.text().map([&](std::string&& one) { wanted.arguments.push_back(std::move(one)); }); })
          .map([] { return true; });
    if (name != "program") return false;
    WEFT_ASSIGN(wanted.program, json.text());
    return true;
  }));
  return wanted;
}

Result<std::string> submit(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(auto* all, cluster.submissions());
  WEFT_ASSIGN(const WantedDriver wanted, driver_in(call));
  WEFT_ASSIGN(const std::uint64_t number, all->start(wanted.program, wanted.arguments));
  return all->describe(number);
}

Result<std::string> stop(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t number, call.number(0));
  WEFT_ASSIGN(auto* all, cluster.submissions());
  WEFT_TRY(all->stop(number));
  return kDone;
}

std::string killed_by(const std::string& user) { return user.empty() ? "killed over HTTP" : "killed over HTTP by " + user; }

Result<std::string> kill(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  const std::string reason = call.request.parameter("reason");
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_TRY(admin->kill(JobId(id), reason.empty() ? killed_by(cluster.user()) : reason));
  return tools::killed_json(id);
}

Result<std::string> drain(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(const auto files, cluster.files());
  WEFT_TRY(files->drain(call.names.at(0), call.request.method == "POST"));
  return kDone;
}

Result<std::string> set_capacity(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(auto members, texts(call, {"capacity", "reason"}));
  if (const auto words = master::parse_capacity_words(members["capacity"]); !words)
    return fail(Code::invalid_argument, "capacity: " + words.error().to_string());
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_TRY(admin->set_node({call.names.at(0), members["capacity"], members["reason"]}));
  return kDone;
}

Result<std::string> configure(Cluster& cluster, const std::string& spec) {
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_ASSIGN(const auto info, admin->configure_scheduler(spec));
  return tools::scheduler_json(info);
}

Result<std::string> ask_advice(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(auto members, texts(call, {"span"}));
  Duration span = std::chrono::hours(1);
  if (members.contains("span")) {
    auto parsed = parse_duration(members["span"]);
    if (!parsed) return fail(std::move(parsed).error().wrap("span"));
    span = *parsed;
  }
  WEFT_ASSIGN(Adviser * adviser, cluster.adviser());
  WEFT_TRY(adviser->ask(span));
  return adviser->describe();
}

Result<std::string> use_scheduler(Cluster& cluster, const ApiCall& call) {
  WEFT_ASSIGN(auto members, texts(call, {"scheduler"}));
  if (members["scheduler"].empty()) return fail(Code::invalid_argument, "the body names no scheduler: {\"scheduler\":\"fair\"}");
  return configure(cluster, members["scheduler"]);
}

Result<std::string> reload(Cluster& cluster, const ApiCall&) { return configure(cluster, ""); }

Route route(const char* method, const char* path, Answer answer, const char* schema, const char* summary, const char* command = "",
            std::vector<Parameter> parameters = {}) {
  return {method, path, summary, command, std::move(parameters), answer, schema};
}

}  // namespace

std::vector<Route> change_routes() {
  return {
      route("DELETE", "/jobs/{job}", kill, "Killed", "End a job", "weft job kill",
            {{"reason", "string", "Its driver receives this text"}}),
      route("POST", "/submissions", submit, "Submission", "Start a program of --submit-dir, which is the driver of its job",
            "weft submit",
            {{"program", "string", "Its name, without a directory"}, {"arguments", "array", "Its arguments; --cluster is added"}}),
      route("DELETE", "/submissions/{submission}", stop, "Done", "Ask a driver that was started over HTTP to end"),
      route("POST", "/nodes/{worker}/drain", drain, "Done", "Copy what a worker keeps to others, so that it can leave",
            "weft node drain"),
      route("DELETE", "/nodes/{worker}/drain", drain, "Done", "Use a worker again that was drained", "weft node drain --stop"),
      route("POST", "/nodes/{worker}/capacity", set_capacity, "Done", "Give a worker less than it joined with, or that again",
            "weft node set",
            {{"capacity", "string", "slots=2 memory=4GiB …, or nominal"}, {"reason", "string", "Why, for weft node list"}}),
      route("POST", "/advice", ask_advice, "Advice", "Simulate earlier jobs under every scheduler, in the background",
            "weft advise",
            {{"span", "string", "Of jobs that were submitted within this time before now, such as 6h; 0s: of all (1h)"}}),
      route("POST", "/scheduler", use_scheduler, "Scheduler", "Change to another scheduler, or other options", "weft scheduler use",
            {{"scheduler", "string", "NAME or NAME(key=value,…)"}}),
      route("POST", "/scheduler/reload", reload, "Scheduler", "Read the files of the scheduler again", "weft scheduler reload"),
  };
}

}  // namespace weft::web
