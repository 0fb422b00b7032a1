// What can be changed: what the commands of `weft` change, under the same rules.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "engine/master/nodes/capacity_words.hpp"
#include "engine/tools/display/scheduling_json.hpp"
#include "engine/tools/web/routes.hpp"

namespace weft::web {

namespace {

constexpr const char* kDone = "{}\n";

/// The members of the body, which is an object of texts or nothing. An unknown member is an error that names it.
Result<std::map<std::string, std::string>> texts(const Call& call, std::initializer_list<std::string_view> known) {
  std::map<std::string, std::string> members;
  if (trim(call.request.body).empty()) return members;
  JsonReader json(call.request.body, "body");
  auto read = json.object([&](std::string_view name) -> Result<void> {
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(json.error(fmt::format("unknown member '{}'", escaped(name))));
    WEFT_ASSIGN(members[std::string(name)], json.text());
    return {};
  });
  if (read) read = json.finish();
  if (!read) return fail(Code::invalid_argument, read.error().to_string());
  return members;
}

struct Wanted {
  std::string program;
  std::vector<std::string> arguments;
};

Result<Wanted> wanted_of(const Call& call) {
  Wanted wanted;
  JsonReader json(call.request.body, "body");
  auto read = json.object([&](std::string_view name) -> Result<void> {
    if (name == "arguments")
      return json.array([&]() -> Result<void> {
        WEFT_ASSIGN(std::string argument, json.text());
        wanted.arguments.push_back(std::move(argument));
        return {};
      });
    if (name != "program") return fail(json.error(fmt::format("unknown member '{}'", escaped(name))));
    WEFT_ASSIGN(wanted.program, json.text());
    return {};
  });
  if (read) read = json.finish();
  if (!read) return fail(Code::invalid_argument, read.error().to_string());
  return wanted;
}

Result<std::string> submit(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(auto* all, cluster.submissions());
  WEFT_ASSIGN(const Wanted wanted, wanted_of(call));
  WEFT_ASSIGN(const std::uint64_t number, all->start(wanted.program, wanted.arguments));
  return all->describe(number);
}

Result<std::string> stop(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t number, call.number(0));
  WEFT_ASSIGN(auto* all, cluster.submissions());
  WEFT_TRY(all->stop(number));
  return kDone;
}

Result<std::string> kill(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const std::uint64_t id, call.number(0));
  const std::string reason = call.request.parameter("reason");
  WEFT_ASSIGN(const auto admin, cluster.admin());
  WEFT_TRY(admin->kill(JobId(id), reason.empty() ? "killed over HTTP" : reason));
  JsonWriter json;
  json.begin_object().member("id", id).member("killed", true).end_object();
  return json.text() + "\n";
}

Result<std::string> drain(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(const auto files, cluster.files());
  WEFT_TRY(files->drain(call.names.at(0), call.request.method == "POST"));
  return kDone;
}

Result<std::string> set_capacity(Cluster& cluster, const Call& call) {
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

Result<std::string> use_scheduler(Cluster& cluster, const Call& call) {
  WEFT_ASSIGN(auto members, texts(call, {"scheduler"}));
  if (members["scheduler"].empty()) return fail(Code::invalid_argument, "the body names no scheduler: {\"scheduler\":\"fair\"}");
  return configure(cluster, members["scheduler"]);
}

Result<std::string> reload(Cluster& cluster, const Call&) { return configure(cluster, ""); }

}  // namespace

std::vector<Route> change_routes() {
  return {
      {"DELETE",
       "/jobs/{job}",
       "End a job",
       "weft job kill",
       {{"reason", "string", "Its driver receives this text"}},
       kill,
       "Killed"},
      {"POST",
       "/submissions",
       "Start a program of --submit-dir, which is the driver of its job",
       "weft submit",
       {{"program", "string", "Its name, without a directory"}, {"arguments", "array", "What it is told; --cluster is added"}},
       submit,
       "Submission"},
      {"DELETE", "/submissions/{submission}", "Ask a driver that was started over HTTP to end", "", {}, stop, "Done"},
      {"POST",
       "/nodes/{worker}/drain",
       "Copy what a worker keeps to others, so that it can leave",
       "weft node drain",
       {},
       drain,
       "Done"},
      {"DELETE", "/nodes/{worker}/drain", "Use a worker again that was drained", "weft node drain --stop", {}, drain, "Done"},
      {"POST",
       "/nodes/{worker}/capacity",
       "Give a worker less than it joined with, or that again",
       "weft node set",
       {{"capacity", "string", "slots=2 memory=4GiB …, or nominal"}, {"reason", "string", "Why, for who lists the workers"}},
       set_capacity,
       "Done"},
      {"POST",
       "/scheduler",
       "Change to another scheduler, or other options",
       "weft scheduler use",
       {{"scheduler", "string", "NAME or NAME(key=value,…)"}},
       use_scheduler,
       "Scheduler"},
      {"POST", "/scheduler/reload", "Read the files of the scheduler again", "weft scheduler reload", {}, reload, "Scheduler"},
  };
}

}  // namespace weft::web
