#include "engine/master/election/api_server.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "base/bytes.hpp"
#include "base/file.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"

namespace weft::master {
namespace {

using storage::http::HttpClient;
using storage::http::HttpOptions;
using storage::http::HttpRequest;
using storage::http::HttpResponse;

constexpr std::uint64_t kLargestApiAnswer = 4u << 20;  // an object has at most 1.5 MiB
constexpr std::uint64_t kLargestToken = 64u << 10;
constexpr std::uint64_t kLargestName = 4u << 10;

/// What the API server says in a Status object.
std::string message_of(const HttpResponse& response) {
  std::string message;
  JsonReader json(response.body, "Status");
  const auto read = json.object([&](std::string_view name) -> Result<void> {
    if (name != "message" || json.peek() != JsonReader::Kind::text) return json.skip();
    WEFT_ASSIGN(message, json.text());
    return {};
  });
  return read && !message.empty() ? escaped(message) : fmt::format("status {}", response.status);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What a pod knows of its API server.
Result<void> take_from_pod(ApiServerOptions& options) {
  const std::string host = variable("KUBERNETES_SERVICE_HOST"), port = variable("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty())
    return fail(
        Code::invalid_argument,
        fmt::format("this process runs in no pod of Kubernetes (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
                    "set); name the API server with {}",
                    options.server_setting));
  options.server =
      host.find(':') == std::string::npos ? fmt::format("https://{}:{}", host, port) : fmt::format("https://[{}]:{}", host, port);
  if (options.token_file.empty()) options.token_file = options.pod_directory + "/token";
  if (options.certificates.empty()) options.certificates = options.pod_directory + "/ca.crt";
  return {};
}

}  // namespace

bool is_kubernetes_name(std::string_view text, std::size_t longest) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), fits) && text.front() != '.';
}

Result<std::unique_ptr<ApiServer>> ApiServer::open(ApiServerOptions options) {
  if (options.server.empty()) WEFT_TRY(take_from_pod(options));
  WEFT_ASSIGN(options.server, checked_url(options.server, options.server_setting, true));
  if (options.name_space.empty()) {
    auto text = read_file(options.pod_directory + "/namespace", kLargestName);
    if (!text)
      return fail(std::move(text).error().wrap(Code::invalid_argument, "no namespace of Kubernetes is named, and this is no pod"));
    options.name_space = trim(*text);
  }
  if (!is_kubernetes_name(options.name_space, 63))
    return fail(Code::invalid_argument, "\"" + escaped(options.name_space) + "\" is no name of a namespace of Kubernetes");
  std::unique_ptr<ApiServer> server(new ApiServer(std::move(options)));
  HttpOptions http;
  http.certificates = server->options_.certificates;
  http.server_setting = server->options_.server_setting;
  http.certificate_setting = "the CA file of the service account, or of the election's options";
  http.connect_timeout = http.patience = server->options_.patience;
  WEFT_ASSIGN(server->http_, HttpClient::open(std::move(http)));
  return server;
}

Result<HttpResponse> ApiServer::ask(const char* method, const std::string& path, const std::string& body, const CallTime& time) {
  HttpRequest request{
      .method = method, .url = options_.server + path, .headers = {"Accept: application/json", "Content-Type: application/json"}};
  if (!options_.token_file.empty()) {
    WEFT_ASSIGN(std::string header, authorization());
    request.headers.push_back(std::move(header));
  }
  request.body = SharedBytes(Buffer::copy_of(as_bytes(body)));
  request.most_bytes = kLargestApiAnswer;
  request.most_tries = 1;
  request.timeout = time.left();
  request.follow = false;
  const bool late = request.timeout < std::chrono::milliseconds(1);
  auto response = late ? Result<HttpResponse>(fail(Code::deadline_exceeded, "the time for an answer is over"))
                       : http_->exchange(std::move(request));
  if (response) return response;
  const bool wrong = response.error().code() == Code::invalid_argument;
  return fail(std::move(response).error().wrap(
      wrong ? Code::invalid_argument : Code::unavailable,
      fmt::format("the API server of Kubernetes does not answer at {}; check that it runs and that {} is its URL", options_.server,
                  options_.server_setting)));
}

/// The token is read each time, because it is replaced before it expires.
Result<std::string> ApiServer::authorization() const {
  auto token = read_file(options_.token_file, kLargestToken);
  if (!token) return fail(std::move(token).error().wrap(Code::invalid_argument, "the token for the API server cannot be read"));
  const std::string_view plain = trim(*token);
  if (plain.empty() || !std::all_of(plain.begin(), plain.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; }))
    return fail(Code::invalid_argument, options_.token_file + " has no token for the API server");
  return fmt::format("Authorization: Bearer {}", plain);
}

Error ApiServer::refusal(const HttpResponse& response, const Object& object) const {
  const std::string said = message_of(response), name = options_.name_space + "/" + object.name;
  switch (response.status) {
    case 401:
      return {Code::invalid_argument,
              fmt::format("the API server {} refuses the login ({}); the token is that of {}", options_.server, said,
                          options_.token_file.empty() ? "nobody: no file of a token is named" : options_.token_file)};
    case 403:
      return {Code::invalid_argument,
              fmt::format("the service account may not use the {} {} ({}); it needs a Role with the verbs {}", object.kind, name,
                          said, object.right)};
    case 404:
      return {Code::invalid_argument, fmt::format("the API server {} has no place for the {} {} ({}); check the namespace",
                                                  options_.server, object.kind, name, said)};
    case 400:
    case 422:
      return {Code::invalid_argument,
              fmt::format("the API server {} refuses the {} {}: {}", options_.server, object.kind, name, said)};
    default:
      return {Code::unavailable,
              fmt::format("the API server {} answers {}: {}; check that it works", options_.server, response.status, said)};
  }
}

}  // namespace weft::master
