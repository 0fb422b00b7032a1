#include <string>
#include <string_view>

#include <fmt/core.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "engine/tools/web/embedded.hpp"
#include "engine/tools/web/routes.hpp"

namespace weft::web {

namespace {

void add_parameter(JsonWriter& json, const char* in, std::string_view name, const char* type, const char* meaning) {
  json.begin_object().member("name", name).member("in", in).member("required", std::string_view(in) == "path");
  if (*meaning != '\0') json.member("description", meaning);
  json.key("schema").begin_object().member("type", type).end_object().end_object();
}

void add_content(JsonWriter& json, const char* schema) {
  json.key("content").begin_object().key("application/json").begin_object().key("schema").begin_object();
  json.member("$ref", fmt::format("#/components/schemas/{}", schema)).end_object().end_object().end_object();
}

void add_body(JsonWriter& json, const Route& route) {
  json.key("requestBody").begin_object().key("content").begin_object().key("application/json").begin_object().key("schema");
  json.begin_object().member("type", "object").key("properties").begin_object();
  for (const Parameter& parameter : route.parameters) {
    json.key(parameter.name).begin_object().member("type", parameter.type).member("description", parameter.meaning);
    if (std::string_view(parameter.type) == "array") json.key("items").begin_object().member("type", "string").end_object();
    json.end_object();
  }
  json.end_object().end_object().end_object().end_object().end_object();
}

void add_operation(JsonWriter& json, const Route& route) {
  const bool posts = std::string_view(route.method) == "POST";
  json.key(std::string_view(route.method) == "GET" ? "get" : posts ? "post" : "delete").begin_object();
  json.member("summary", route.summary);
  if (*route.command != '\0') json.member("description", fmt::format("As `{}{}`.", route.command, posts ? "" : " --json"));
  json.key("parameters").begin_array();
  for (const std::string_view part : split(route.path, '/'))
    if (part.starts_with('{')) add_parameter(json, "path", part.substr(1, part.size() - 2), "string", "");
  if (std::string_view(route.method) != "GET") add_parameter(json, "header", "X-Weft", "string", "1, unless the body is JSON");
  if (!posts)
    for (const Parameter& one : route.parameters) add_parameter(json, "query", one.name, one.type, one.meaning);
  json.end_array();
  if (posts && !route.parameters.empty()) add_body(json, route);
  json.key("responses").begin_object().key("200").begin_object().member("description", "Done");
  add_content(json, route.schema);
  json.end_object().key("default").begin_object().member("description", "What is wrong");
  add_content(json, "Error");
  json.end_object().end_object().end_object();
}

}  // namespace

std::string openapi_json() {
  JsonWriter json;
  json.begin_object().member("openapi", "3.0.3").key("info").begin_object().member("title", "weft").member("version", version());
  json.member(
          "description",
          "A cluster's master. Answers are what the commands of weft print with --json; later versions may have further members.")
      .end_object();
  json.key("servers").begin_array().begin_object().member("url", kApi).end_object().end_array().key("paths").begin_object();
  std::string_view path;
  for (const Route& route : routes()) {
    if (route.path != path) {
      if (!path.empty()) json.end_object();
      path = route.path;
      json.key(path).begin_object();
    }
    add_operation(json, route);
  }
  if (!path.empty()) json.end_object();
  json.end_object().end_object();
  std::string text = json.text();
  text.pop_back();  // its last bracket: what follows belongs into it
  return fmt::format("{},\"components\":{{\"schemas\":{}}}}}\n", text, trim(embedded::schemas_json()));
}

}  // namespace weft::web
