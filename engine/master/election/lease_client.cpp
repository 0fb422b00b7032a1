#include "engine/master/election/lease_client.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

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

constexpr std::uint64_t kLargestLeaseAnswer = 4u << 20;  // an object has at most 1.5 MiB
constexpr std::uint64_t kLargestToken = 64u << 10;

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

Result<std::optional<LeaseObject>> lease_in(HttpResponse response) {
  auto object = parse_lease(std::move(response.body));
  if (!object)
    return fail(std::move(object).error().wrap(Code::unavailable, "the API server of Kubernetes answers what makes no sense"));
  return *std::move(object);
}

}  // namespace

LeaseClient::LeaseClient(KubernetesOptions options)
    : options_(std::move(options)),
      name_(options_.name_space + "/" + options_.lease_name),
      collection_(options_.server + "/apis/coordination.k8s.io/v1/namespaces/" + options_.name_space + "/leases") {}

Result<std::unique_ptr<LeaseClient>> LeaseClient::open(KubernetesOptions options) {
  std::unique_ptr<LeaseClient> client(new LeaseClient(std::move(options)));
  HttpOptions http;
  http.certificates = client->options_.certificates;
  http.server_setting = client->options_.server_setting;
  http.certificate_setting = "the CA file of the service account, or of the election's options";
  http.connect_timeout = http.patience = client->options_.patience;
  WEFT_ASSIGN(client->http_, HttpClient::open(std::move(http)));
  return client;
}

Result<std::optional<LeaseObject>> LeaseClient::get(const CallTime& time) {
  WEFT_ASSIGN(HttpResponse response, ask("GET", collection_ + "/" + options_.lease_name, "", time));
  if (response.status == 404) return std::nullopt;
  if (response.status != 200) return fail(refusal(response));
  return lease_in(std::move(response));
}

Result<std::optional<LeaseObject>> LeaseClient::put(const LeaseObject& base, const LeaseFields& fields, const CallTime& time) {
  const bool fresh = base.version.empty();
  WEFT_ASSIGN(const std::string text, changed_lease(base, fields));
  WEFT_ASSIGN(HttpResponse response,
              ask(fresh ? "POST" : "PUT", fresh ? collection_ : collection_ + "/" + options_.lease_name, text, time));
  if (response.status == 409 || (response.status == 404 && !fresh)) return std::nullopt;
  if (response.status != 200 && response.status != 201) return fail(refusal(response));
  return lease_in(std::move(response));
}

Result<HttpResponse> LeaseClient::ask(const char* method, const std::string& url, const std::string& body, const CallTime& time) {
  HttpRequest request{.method = method, .url = url, .headers = {"Accept: application/json", "Content-Type: application/json"}};
  if (!options_.token_file.empty()) {
    WEFT_ASSIGN(std::string header, authorization());
    request.headers.push_back(std::move(header));
  }
  request.body = SharedBytes(Buffer::copy_of(as_bytes(body)));
  request.most_bytes = kLargestLeaseAnswer;
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
Result<std::string> LeaseClient::authorization() const {
  auto token = read_file(options_.token_file, kLargestToken);
  if (!token) return fail(std::move(token).error().wrap(Code::invalid_argument, "the token for the API server cannot be read"));
  const std::string_view plain = trim(*token);
  if (plain.empty() || !std::all_of(plain.begin(), plain.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; }))
    return fail(Code::invalid_argument, options_.token_file + " has no token for the API server");
  return fmt::format("Authorization: Bearer {}", plain);
}

Error LeaseClient::refusal(const HttpResponse& response) const {
  const std::string said = message_of(response);
  switch (response.status) {
    case 401:
      return {Code::invalid_argument,
              fmt::format("the API server {} refuses the login ({}); the token is that of {}", options_.server, said,
                          options_.token_file.empty() ? "nobody: no file of a token is named" : options_.token_file)};
    case 403:
      return {Code::invalid_argument,
              fmt::format(
                  "the service account may not use the Lease {} ({}); it needs a Role with the verbs get, create and update for "
                  "the resource leases of the group coordination.k8s.io",
                  name_, said)};
    case 404:
      return {Code::invalid_argument, fmt::format("the API server {} has no place for the Lease {} ({}); check the namespace",
                                                  options_.server, name_, said)};
    case 400:
    case 422:
      return {Code::invalid_argument, fmt::format("the API server {} refuses the Lease {}: {}", options_.server, name_, said)};
    default:
      return {Code::unavailable,
              fmt::format("the API server {} answers {}: {}; check that it works", options_.server, response.status, said)};
  }
}

}  // namespace weft::master
