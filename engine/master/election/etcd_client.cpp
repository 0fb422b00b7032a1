#include "engine/master/election/etcd_client.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/bytes.hpp"
#include "base/json_reader.hpp"
#include "base/text.hpp"
#include "storage/http/web_text.hpp"

namespace weft::master {
namespace {

using storage::http::base64;
using storage::http::from_base64;
using storage::http::HttpClient;
using storage::http::HttpOptions;
using storage::http::HttpRequest;

constexpr std::uint64_t kLargestEtcdAnswer = 4u << 20;  // etcd takes requests of at most 1.5 MiB
constexpr std::string_view kEtcdSource = "etcd's answer";
constexpr std::int64_t kNotFound = 5, kPermissionDenied = 7, kUnauthenticated = 16, kLargestCode = 16;  // of gRPC

/// The gateway writes numbers of 64 bits as texts, and leaves out those that are 0.
Result<std::int64_t> read_number(JsonReader& json) {
  if (json.peek() == JsonReader::Kind::number) return json.integer();
  WEFT_ASSIGN(const std::string text, json.text());
  if (const auto number = parse_number<std::int64_t>(text)) return *number;
  return fail(json.error("\"" + escaped(text) + "\" is no number"));
}

Result<EtcdValue> read_value(JsonReader& json) {
  EtcdValue value;
  WEFT_TRY(json.object([&](std::string_view name) -> Result<void> {
    if (name == "value") {
      WEFT_ASSIGN(const std::string text, json.text());
      auto bytes = from_base64(text);
      if (!bytes) return fail(json.error("a value is not in base64"));
      value.value = *std::move(bytes);
    } else if (name == "mod_revision") {
      WEFT_ASSIGN(value.revision, read_number(json));
    } else if (name == "lease") {
      WEFT_ASSIGN(value.lease, read_number(json));
    } else {
      return json.skip();
    }
    return {};
  }));
  return value;
}

Result<void> read_range(JsonReader& json, std::optional<EtcdValue>& value) {
  return json.object([&](std::string_view name) -> Result<void> {
    if (name != "kvs") return json.skip();
    return json.array([&]() -> Result<void> {
      WEFT_ASSIGN(value, read_value(json));
      return {};
    });
  });
}

Result<std::int64_t> read_revision(JsonReader& json) {
  std::int64_t revision = 0;
  WEFT_TRY(json.object([&](std::string_view name) -> Result<void> {
    if (name != "revision") return json.skip();
    WEFT_ASSIGN(revision, read_number(json));
    return {};
  }));
  return revision;
}

Result<EtcdOutcome> read_outcome(const std::string& text) {
  EtcdOutcome outcome;
  JsonReader json(text, kEtcdSource);
  WEFT_TRY(json.object([&](std::string_view name) -> Result<void> {
    if (name == "succeeded") {
      WEFT_ASSIGN(outcome.held, json.flag());
    } else if (name == "header") {
      WEFT_ASSIGN(outcome.revision, read_revision(json));
    } else if (name == "responses") {
      return json.array([&] {
        return json.object([&](std::string_view kind) {
          return kind == "response_range" ? read_range(json, outcome.values.emplace_back()) : json.skip();
        });
      });
    } else {
      return json.skip();
    }
    return {};
  }));
  WEFT_TRY(json.finish());
  if (outcome.revision == 0) return fail(json.error("it has no revision"));
  return outcome;
}

/// One member of an object, perhaps inside its member "result"; 0 and an empty text when there is none.
struct Member {
  std::string_view name;
  std::int64_t number = 0;
  std::string text{};
};

Result<void> read_members(JsonReader& json, std::vector<Member>& wanted) {
  return json.object([&](std::string_view name) -> Result<void> {
    if (name == "result") return read_members(json, wanted);
    const auto found = std::find_if(wanted.begin(), wanted.end(), [&](const Member& member) { return member.name == name; });
    if (found == wanted.end()) return json.skip();
    if (json.peek() == JsonReader::Kind::number) {
      WEFT_ASSIGN(found->number, json.integer());
      return {};
    }
    WEFT_ASSIGN(found->text, json.text());
    found->number = parse_number<std::int64_t>(found->text).value_or(0);
    return {};
  });
}

Result<std::vector<Member>> members_of(const std::string& text, const std::vector<std::string_view>& names) {
  std::vector<Member> wanted;
  for (const std::string_view name : names) wanted.push_back({name});
  JsonReader json(text, kEtcdSource);
  WEFT_TRY(read_members(json, wanted));
  WEFT_TRY(json.finish());
  return wanted;
}

std::string number_body(const char* name, std::int64_t number) {
  return JsonWriter().begin_object().member(name, std::to_string(number)).end_object().text();
}

/// It does not reach clients as what it is.
Error makes_no_sense(Error error) {
  return std::move(error).wrap(Code::unavailable, "etcd answers what makes no sense; is there something else between it and weft?");
}

bool means_no_login(std::int64_t code, std::string_view message) {
  return code == kUnauthenticated || code == kPermissionDenied || message.find("user name is empty") != std::string_view::npos ||
         message.find("invalid user ID or password") != std::string_view::npos;
}

/// What an operator can do about a refusal; empty where the message says it.
std::string remedy_of(std::string_view message) {
  if (message.find("space exceeded") == std::string_view::npos) return "";
  return "; see etcd's alarms (etcdctl alarm list), make room (etcdctl compact, defrag) and end them (etcdctl alarm disarm)";
}

}  // namespace

// ---- transactions

EtcdTransaction& EtcdTransaction::if_absent(std::string_view key) {
  conditions_.push_back({"CREATE", "create_revision", std::string(key), 0});
  return *this;
}

EtcdTransaction& EtcdTransaction::if_revision(std::string_view key, std::int64_t revision) {
  conditions_.push_back({"MOD", "mod_revision", std::string(key), revision});
  return *this;
}

EtcdTransaction& EtcdTransaction::if_lease(std::string_view key, std::int64_t lease) {
  conditions_.push_back({"LEASE", "lease", std::string(key), lease});
  return *this;
}

EtcdTransaction& EtcdTransaction::then_put(std::string_view key, std::string_view value, std::int64_t lease) {
  then_.push_back({std::string(key), std::string(value), lease});
  return *this;
}

EtcdTransaction& EtcdTransaction::then_get(std::string_view key) {
  then_.push_back({std::string(key), std::nullopt});
  return *this;
}

EtcdTransaction& EtcdTransaction::else_get(std::string_view key) {
  else_.push_back({std::string(key), std::nullopt});
  return *this;
}

void EtcdTransaction::write(JsonWriter& json, const Operation& operation) {
  json.begin_object().key(operation.value ? "request_put" : "request_range").begin_object();
  json.member("key", base64(operation.key));
  if (operation.value) json.member("value", base64(*operation.value)).member("lease", std::to_string(operation.lease));
  json.end_object().end_object();
}

std::string EtcdTransaction::text() const {
  JsonWriter json;
  json.begin_object().key("compare").begin_array();
  for (const Condition& condition : conditions_) {
    json.begin_object().member("key", base64(condition.key)).member("target", condition.target).member("result", "EQUAL");
    json.member(condition.member, std::to_string(condition.value)).end_object();
  }
  json.end_array().key("success").begin_array();
  for (const Operation& operation : then_) write(json, operation);
  json.end_array().key("failure").begin_array();
  for (const Operation& operation : else_) write(json, operation);
  json.end_array().end_object();
  return json.text();
}

// ---- the client

Result<std::unique_ptr<EtcdClient>> EtcdClient::open(EtcdOptions options) {
  std::unique_ptr<EtcdClient> client(new EtcdClient(std::move(options)));
  HttpOptions http;
  http.certificates = client->options_.certificates;
  http.server_setting = client->options_.url_setting;
  http.certificate_setting = client->options_.certificate_setting;
  http.connect_timeout = http.patience = client->options_.patience;
  WEFT_ASSIGN(client->http_, HttpClient::open(std::move(http)));
  return client;
}

Result<EtcdOutcome> EtcdClient::commit(const EtcdTransaction& transaction, const CallTime& time) {
  WEFT_ASSIGN(const std::string body, call("kv/txn", transaction.text(), time));
  auto outcome = read_outcome(body);
  if (!outcome) return fail(makes_no_sense(std::move(outcome).error()));
  return outcome;
}

Result<std::int64_t> EtcdClient::grant(std::int64_t seconds, const CallTime& time) {
  WEFT_ASSIGN(const std::string body, call("lease/grant", number_body("TTL", seconds), time));
  auto members = members_of(body, {"ID"});
  if (!members) return fail(makes_no_sense(std::move(members).error()));
  if (members->front().number == 0) return fail(makes_no_sense({Code::corrupt, "it grants a lease without an id"}));
  return members->front().number;
}

Result<bool> EtcdClient::keep_alive(std::int64_t lease, const CallTime& time) {
  WEFT_ASSIGN(const std::string body, call("lease/keepalive", number_body("ID", lease), time));
  auto members = members_of(body, {"ID", "TTL"});
  if (!members) return fail(makes_no_sense(std::move(members).error()));
  if ((*members)[0].number != lease) return fail(makes_no_sense({Code::corrupt, "it prolongs another lease"}));
  return (*members)[1].number > 0;
}

Result<void> EtcdClient::revoke(std::int64_t lease, const CallTime& time) {
  WEFT_ASSIGN(const Answer answer, answer_to("lease/revoke", number_body("ID", lease), time));
  if (answer.status == 200 || answer.code == kNotFound) return {};
  return fail(Code::unavailable, "etcd does not end the lease: " + escaped(answer.message));
}

/// The body of an answer that is no error.
Result<std::string> EtcdClient::call(std::string_view path, const std::string& body, const CallTime& time) {
  WEFT_ASSIGN(Answer answer, answer_to(path, body, time));
  if (answer.status == 200) return std::move(answer.body);
  if (answer.code == kNotFound) return fail(Code::unavailable, "the lease ended while it was used; try again");
  return fail(Code::unavailable, fmt::format("etcd refuses {}: {}{}", path, escaped(answer.message), remedy_of(answer.message)));
}

/// Logs in first where that is needed: once, and again when the login is not valid any more.
Result<EtcdClient::Answer> EtcdClient::answer_to(std::string_view path, const std::string& body, const CallTime& time) {
  const bool login = !options_.user.empty();
  const bool fresh = login && token_.empty();
  if (fresh) WEFT_TRY(log_in(time));
  WEFT_ASSIGN(Answer answer, ask_somebody(path, body, time));
  if (answer.code == kUnauthenticated && login && !fresh) {
    WEFT_TRY(log_in(time));
    WEFT_ASSIGN(answer, ask_somebody(path, body, time));
  }
  if (!means_no_login(answer.code, answer.message)) return answer;
  return fail(
      Code::invalid_argument,
      fmt::format("etcd refuses the login{} ({}); {} say it, and its role needs to read and write the keys {}/leader and {}/state",
                  login ? " of " + options_.user : "", escaped(answer.message), options_.login_setting, options_.prefix,
                  options_.prefix));
}

Result<void> EtcdClient::log_in(const CallTime& time) {
  token_.clear();
  const std::string body =
      JsonWriter().begin_object().member("name", options_.user).member("password", options_.password).end_object().text();
  WEFT_ASSIGN(const Answer answer, ask_somebody("auth/authenticate", body, time));
  if (answer.status != 200)
    return fail(Code::invalid_argument, fmt::format("etcd refuses the login of {} ({}); {} say it", options_.user,
                                                    escaped(answer.message), options_.login_setting));
  auto members = members_of(answer.body, {"token"});
  if (!members) return fail(makes_no_sense(std::move(members).error()));
  token_ = members->front().text;
  const bool plain = std::all_of(token_.begin(), token_.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (token_.empty() || !plain) return fail(makes_no_sense({Code::corrupt, "its login has no token"}));
  return {};
}

/// Each URL has its part of what is left of the time. The one that answered last is first.
Result<EtcdClient::Answer> EtcdClient::ask_somebody(std::string_view path, const std::string& body, const CallTime& time) {
  std::vector<std::string> reasons;
  bool wrong = true;  // whatever is tried
  const std::size_t count = options_.urls.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Duration part = time.left() / static_cast<std::int64_t>(count - i);
    if (part < std::chrono::milliseconds(1)) {
      reasons.push_back("the time for an answer is over");
      wrong = false;
      break;
    }
    const std::size_t index = (first_ + i) % count;
    auto answer = ask(options_.urls[index], path, body, part);
    if (answer) {
      first_ = index;
      return answer;
    }
    wrong = wrong && answer.error().code() == Code::invalid_argument;
    reasons.push_back(answer.error().to_string());
  }
  return fail(unreachable(wrong ? Code::invalid_argument : Code::unavailable, reasons));
}

Result<EtcdClient::Answer> EtcdClient::ask(const std::string& url, std::string_view path, const std::string& body,
                                           Duration timeout) {
  HttpRequest request{.method = "POST", .url = url + "/v3/" + std::string(path), .headers = {"Content-Type: application/json"}};
  request.body = SharedBytes(Buffer::copy_of(as_bytes(body)));
  if (!token_.empty()) request.headers.push_back("Authorization: " + token_);
  request.most_bytes = kLargestEtcdAnswer;
  request.most_tries = 1;
  request.timeout = timeout;
  request.follow = false;
  WEFT_ASSIGN(auto response, http_->exchange(std::move(request)));
  Answer answer{response.status, std::move(response.body)};
  if (answer.status == 200) return answer;
  const auto error = members_of(answer.body, {"code", "error", "message"});  // "error" until etcd 3.5
  if (error) answer.message = (*error)[1].text.empty() ? (*error)[2].text : (*error)[1].text;
  answer.code = error ? (*error)[0].number : 0;
  if (answer.status >= 500 || answer.code < 1 || answer.code > kLargestCode)
    return fail(answer.status == 404 ? Code::invalid_argument : Code::unavailable,
                fmt::format("{} answers {} to /v3/{}{}{}", url, answer.status, path, answer.message.empty() ? "" : ": ",
                            escaped(answer.message)));
  return answer;
}

Error EtcdClient::unreachable(Code code, const std::vector<std::string>& reasons) const {
  return {code,
          fmt::format("no etcd answers at {} ({}); check that it runs, and that {} has the URLs for clients of etcd 3.4 or later",
                      join(options_.urls, ", "), join(reasons, "; "), options_.url_setting)};
}

}  // namespace weft::master
