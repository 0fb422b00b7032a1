#include "engine/tools/cli/secret_client.hpp"

#include <string_view>

#include "base/json.hpp"
#include "base/json_reader.hpp"
#include "storage/http/web_text.hpp"

namespace weft::tools {
namespace {

using Kind = JsonReader::Kind;

Result<void> read_version(JsonReader& json, Secret& secret) {
  return json.object([&](std::string_view name) -> Result<void> {
    if (name != "resourceVersion") return json.skip();
    WEFT_ASSIGN(secret.version, json.text());
    return {};
  });
}

Result<void> read_files(JsonReader& json, Secret& secret) {
  if (json.peek() == Kind::null) return json.skip();
  return json.object([&](std::string_view name) -> Result<void> {
    WEFT_ASSIGN(const std::string text, json.text());
    auto bytes = storage::http::from_base64(text);
    if (!bytes) return fail(json.error("a file is not in base64"));
    secret.files[std::string(name)] = *std::move(bytes);
    return {};
  });
}

master::ApiServer::Object named(const std::string& name) {
  return {"Secret", name, "get, create and update for the resource secrets"};
}

}  // namespace

Result<Secret> parse_secret(const std::string& text) {
  Secret secret;
  std::string kind;
  JsonReader json(text, "the Secret");
  WEFT_TRY(json.object([&](std::string_view name) -> Result<void> {
    if (name == "metadata") return read_version(json, secret);
    if (name == "data") return read_files(json, secret);
    if (name != "kind") return json.skip();
    WEFT_ASSIGN(kind, json.text());
    return {};
  }));
  WEFT_TRY(json.finish());
  if (kind != "Secret" || secret.version.empty()) return fail(json.error("this is no Secret with a version"));
  return secret;
}

std::string secret_text(const Secret& secret, const std::string& name_space, const std::string& name, const std::string& instance) {
  JsonWriter json;
  json.begin_object().member("apiVersion", "v1").member("kind", "Secret").member("type", "Opaque");
  json.key("metadata").begin_object().member("name", name).member("namespace", name_space);
  if (!secret.version.empty()) json.member("resourceVersion", secret.version);
  json.key("labels").begin_object().member("app.kubernetes.io/name", "weft").member("app.kubernetes.io/instance", instance);
  json.end_object().end_object();
  json.key("data").begin_object();
  for (const auto& [file, bytes] : secret.files) json.member(file, storage::http::base64(bytes));
  json.end_object().end_object();
  return json.text();
}

Result<Secret> SecretClient::get(const std::string& name) {
  WEFT_ASSIGN(const auto response, server_->ask("GET", collection() + "/" + name, "", master::CallTime(patience_)));
  if (response.status == 404) return Secret{};
  if (response.status != 200) return fail(server_->refusal(response, named(name)));
  auto secret = parse_secret(response.body);
  if (!secret)
    return fail(std::move(secret).error().wrap(Code::unavailable, "the API server of Kubernetes answers what makes no sense"));
  return secret;
}

Result<bool> SecretClient::put(const std::string& name, const std::string& instance, const Secret& secret) {
  const bool fresh = secret.version.empty();
  const std::string text = secret_text(secret, server_->name_space(), name, instance);
  WEFT_ASSIGN(const auto response, server_->ask(fresh ? "POST" : "PUT", fresh ? collection() : collection() + "/" + name, text,
                                                master::CallTime(patience_)));
  if (response.status == 409 || (response.status == 404 && !fresh)) return false;
  if (response.status != 200 && response.status != 201) return fail(server_->refusal(response, named(name)));
  return true;
}

}  // namespace weft::tools
