#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "base/text.hpp"
#include "base/version.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/web/embedded.hpp"
#include "engine/tools/web/routes.hpp"

namespace weft::web {

namespace {

using tools::members, tools::object, tools::objects;

/// The content of a body or an answer: JSON of this schema, a value as of object().
template <class Schema>
auto content(const Schema& schema) {
  return [&schema](JsonWriter& json) { write_value(json, object("application/json", object("schema", schema))); };
}

/// An answer, by the name of its schema.
auto described(const char* description, const std::string& schema) {
  return [=](JsonWriter& json) {
    const std::string reference = "#/components/schemas/" + schema;
    write_value(json, object("description", description, "content", content(object("$ref", reference))));
  };
}

struct PlacedParameter {
  const char* in;
  std::string name;
  const char *type, *meaning;
};

std::vector<PlacedParameter> parameters_of(const Route& route, bool posts) {
  std::vector<PlacedParameter> all;
  for (const std::string_view part : split(route.path, '/'))
    if (part.starts_with('{')) all.push_back({"path", std::string(part.substr(1, part.size() - 2)), "string", ""});
  if (std::string_view(route.method) != "GET") all.push_back({"header", "X-Weft", "string", "1, unless the body is JSON"});
  if (!posts)
    for (const Parameter& one : route.parameters) all.push_back({"query", one.name, one.type, one.meaning});
  return all;
}

void write_parameter(JsonWriter& json, const PlacedParameter& parameter) {
  members(json, "name", parameter.name, "in", parameter.in, "required", std::string_view(parameter.in) == "path");
  if (*parameter.meaning != '\0') members(json, "description", parameter.meaning);
  members(json, "schema", object("type", parameter.type));
}

/// The parameters as the properties of an object that is posted.
void write_properties(JsonWriter& json, const Route& route) {
  json.begin_object();
  for (const Parameter& parameter : route.parameters) {
    json.key(parameter.name).begin_object();
    members(json, "type", parameter.type, "description", parameter.meaning);
    if (std::string_view(parameter.type) == "array") members(json, "items", object("type", "string"));
    json.end_object();
  }
  json.end_object();
}

void write_operation(JsonWriter& json, const Route& route) {
  const bool posts = std::string_view(route.method) == "POST";
  json.key(std::string_view(route.method) == "GET" ? "get" : posts ? "post" : "delete").begin_object();
  members(json, "summary", route.summary);
  if (*route.command != '\0') members(json, "description", fmt::format("As `{}{}`.", route.command, posts ? "" : " --json"));
  members(json, "parameters", objects(parameters_of(route, posts), write_parameter));
  const auto properties = [&route](JsonWriter& body) { write_properties(body, route); };
  if (posts && !route.parameters.empty())
    members(json, "requestBody", object("content", content(object("type", "object", "properties", properties))));
  members(json, "responses", object("200", described("Done", route.schema), "default", described("What is wrong", "Error")));
  json.end_object();
}

/// By path, then by method.
void write_paths(JsonWriter& json) {
  json.begin_object();
  std::string_view path;
  for (const Route& route : routes()) {
    if (route.path != path) {
      if (!path.empty()) json.end_object();
      path = route.path;
      json.key(path).begin_object();
    }
    write_operation(json, route);
  }
  if (!path.empty()) json.end_object();
  json.end_object();
}

}  // namespace

std::string openapi_json() {
  constexpr std::string_view kDescription =
      "A cluster's master. Answers are what the commands of weft print with --json; later versions may have further members.";
  JsonWriter json;
  const std::vector<std::string_view> servers{kApi};
  write_value(json, object("openapi", "3.0.3", "info", object("title", "weft", "version", version(), "description", kDescription),
                           "servers", objects(servers, [](JsonWriter& server, auto url) { members(server, "url", url); }), "paths",
                           write_paths));
  std::string text = json.text();
  text.pop_back();  // its last bracket: what follows belongs into it
  return fmt::format("{},\"components\":{{\"schemas\":{}}}}}\n", text, trim(embedded::schemas_json()));
}

}  // namespace weft::web
